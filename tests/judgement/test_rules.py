"""Profiles and user options change which checks are asked and how much they weigh, and never their answers."""

from __future__ import annotations

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import PROFILES, Rules
from noisewatch.judgement.terms import Severity
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import finding, finding_on, judged
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files, stat_file

_BOOST = {f"{CPUS}/cpufreq/boost": "1\n"}
_NO_CPUFREQ = (*(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)), f"{CPUS}/cpufreq")


def _machine(changed: Files | None = None, missing: tuple[str, ...] = (), after: Files | None = None) -> WrittenMachine:
    moments = (quiet_files(), quiet_files(3.0) | dict(after or {}), loaded_files())
    return WrittenMachine(*(without(files | dict(changed or {}), *missing) for files in moments), answers=ANSWERS)


def test_turbo_does_not_block_under_micro_and_blocks_under_strict() -> None:
    assert [judged(_machine(_BOOST), rules=Rules(name)).exit_status for name in ("micro", "strict")] == [0, 1]


def test_ignored_checks_are_still_listed() -> None:
    verdict = judged(_machine(_BOOST), rules=Rules(ignored=frozenset({"turbo-enabled", "clock"})))
    result = finding(verdict, "turbo-enabled")
    assert (result.status, result.answer.reason) == ("ignored", "ignored, as requested")
    assert finding(verdict, "slow-clock-source").status == "ignored"
    assert (verdict.exit_status, len(verdict.findings)) == (0, len(CATALOGUE))


def test_only_selected_checks_are_asked() -> None:
    verdict = judged(_machine(_BOOST), rules=Rules(selected=frozenset({"frequency"})))
    asked = {result.check.area for result in verdict.findings if result.status != "ignored"}
    assert asked == {"frequency"}


@pytest.mark.parametrize(("severity", "status"), [("blocking", 1), ("warning", 0), ("information", 0)])
def test_the_users_severity_outranks_the_profiles(severity: str, status: int) -> None:
    rules = Rules("strict", severity_by_id={"turbo-enabled": Severity(severity)})
    assert judged(_machine(_BOOST), rules=rules).exit_status == status


def test_the_users_limit_decides_and_is_reported() -> None:
    busy = {"/proc/stat": stat_file({3: 10}, 300)}
    rules = Rules(value_by_limit={("target-cpu-busy", "fails"): 0.02})
    result = finding_on(_machine(after=busy), "target-cpu-busy", rules=rules)
    assert (result.status, result.answer.limit) == ("fail", 0.02)
    assert finding_on(_machine(after=busy), "target-cpu-busy").status == "warn"


def test_settings_hidden_from_a_guest_do_not_apply_once_their_effect_is_measured() -> None:
    machine = _machine(VIRTUAL, _NO_CPUFREQ)
    governor = finding_on(machine, "governor-not-performance", rules=Rules("shared"))
    assert governor.status == "not-applicable"
    assert "effective-frequency-moves" in (governor.answer.reason or "")


def test_without_a_measurement_a_guest_is_unknown_under_any_profile() -> None:
    for name in PROFILES:
        verdict = judged(_machine(VIRTUAL, _NO_CPUFREQ), rules=Rules(name), is_calibrated=False)
        assert verdict.exit_status == 3


def test_missing_settings_of_bare_metal_are_unknown_under_shared() -> None:
    result = finding_on(_machine(missing=_NO_CPUFREQ), "turbo-enabled", rules=Rules("shared"))
    assert result.status == "unknown"


def test_each_profile_that_a_declaration_names_exists() -> None:
    named = {name for check in CATALOGUE for name in (*check.severity_in, *check.not_asked_in)}
    named |= {name for check in CATALOGUE for limit in check.limits for name in limit.value_in}
    assert named <= PROFILES.keys()
    assert len(named) > 3


def test_the_limits_of_a_check_have_different_keys() -> None:
    keys = {check.id: [limit.key for limit in check.limits] for check in CATALOGUE}
    assert {name: own for name, own in keys.items() if len(set(own)) < len(own)} == {}


def test_an_ignored_measurement_answers_no_other_check() -> None:
    rules = Rules(ignored=frozenset({"effective-frequency-moves"}))
    verdict = judged(_machine(missing=_NO_CPUFREQ), rules=rules)
    assert verdict.exit_status == 3
