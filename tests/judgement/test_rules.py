"""Profiles and the user's wishes change what is asked and how much it weighs, and never what was found."""

from __future__ import annotations

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import PROFILES, Rules
from noisewatch.judgement.terms import Severity
from tests.judgement.judging import finding, finding_on, judged
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files, stat_file

_BOOST = {f"{CPUS}/cpufreq/boost": "1\n"}
_GUEST = {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
_NO_CPUFREQ = (*(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)), f"{CPUS}/cpufreq")


def _machine(changed: Files | None = None, gone: tuple[str, ...] = (), after: Files | None = None) -> WrittenMachine:
    moments = (quiet_files(), quiet_files(3.0) | dict(after or {}), loaded_files())
    return WrittenMachine(*(without(each | dict(changed or {}), *gone) for each in moments), answers=ANSWERS)


def test_turbo_is_a_warning_that_a_laboratory_does_not_accept() -> None:
    assert [judged(_machine(_BOOST), rules=Rules(name)).exit_status for name in ("micro", "strict")] == [0, 1]


def test_what_is_ignored_is_still_listed() -> None:
    verdict = judged(_machine(_BOOST), rules=Rules(ignored=frozenset({"turbo-enabled", "clock"})))
    found = finding(verdict, "turbo-enabled")
    assert (found.status, found.answer.reason) == ("ignored", "ignored, as requested")
    assert finding(verdict, "slow-clock-source").status == "ignored"
    assert (verdict.exit_status, len(verdict.findings)) == (0, len(CATALOGUE))


def test_only_what_is_selected_is_asked() -> None:
    verdict = judged(_machine(_BOOST), rules=Rules(selected=frozenset({"frequency"})))
    asked = {each.check.area for each in verdict.findings if each.status != "ignored"}
    assert asked == {"frequency"}


@pytest.mark.parametrize(("severity", "status"), [("blocking", 1), ("warning", 0), ("information", 0)])
def test_the_users_severity_outranks_the_profiles(severity: str, status: int) -> None:
    rules = Rules("strict", severity_by_id={"turbo-enabled": Severity(severity)})
    assert judged(_machine(_BOOST), rules=rules).exit_status == status


def test_the_users_limit_judges_and_is_reported() -> None:
    busy = {"/proc/stat": stat_file({3: 10}, 300)}
    rules = Rules(value_by_limit={("target-cpu-busy", "fails"): 0.02})
    found = finding_on(_machine(after=busy), "target-cpu-busy", rules=rules)
    assert (found.status, found.answer.limit) == ("fail", 0.02)
    assert finding_on(_machine(after=busy), "target-cpu-busy").status == "warn"


def test_a_guest_is_not_asked_for_what_only_its_host_knows_once_that_is_measured() -> None:
    machine = _machine(_GUEST, _NO_CPUFREQ)
    governor = finding_on(machine, "governor-not-performance", rules=Rules("shared"))
    assert governor.status == "not-applicable"
    assert "effective-frequency-moves" in (governor.answer.reason or "")


def test_without_a_measurement_a_guest_is_unknown_under_any_profile() -> None:
    for name in PROFILES:
        verdict = judged(_machine(_GUEST, _NO_CPUFREQ), rules=Rules(name), is_calibrated=False)
        assert verdict.exit_status == 3


def test_a_machine_that_is_no_guest_has_to_answer_though_it_is_called_shared() -> None:
    found = finding_on(_machine(gone=_NO_CPUFREQ), "turbo-enabled", rules=Rules("shared"))
    assert found.status == "unknown"


def test_each_profile_that_a_declaration_names_exists() -> None:
    named = {name for each in CATALOGUE for name in (*each.severity_in, *each.not_asked_in)}
    named |= {name for each in CATALOGUE for limit in each.limits for name in limit.value_in}
    assert named <= PROFILES.keys()
    assert len(named) > 3


def test_the_limits_of_a_check_have_different_keys() -> None:
    keys = {each.id: [limit.key for limit in each.limits] for each in CATALOGUE}
    assert {name: own for name, own in keys.items() if len(set(own)) < len(own)} == {}


def test_an_unasked_measurement_answers_nothing() -> None:
    rules = Rules(ignored=frozenset({"effective-frequency-moves"}))
    verdict = judged(_machine(gone=_NO_CPUFREQ), rules=rules)
    assert verdict.exit_status == 3
