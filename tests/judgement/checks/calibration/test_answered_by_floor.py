"""The noise floor answers checks whose files a guest cannot read, where it was measured and can block."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.faults import RAISED
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import DEFAULT, Rules
from noisewatch.judgement.terms import Severity
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import BANDWIDTH, OF_WORK
from tests.judgement.checks.calibration.calibrating import NO_CPUFREQ, every_third_slow, guest, verdict_of
from tests.judgement.judging import finding
from tests.written import without
from tests.written.calibration import CHAIN_NS, WORK_NS
from tests.written.quiet_machine import quiet_files

_FLOOR, _GOVERNOR = "noise-floor-above-budget", "governor-not-performance"
_S = 1_000_000_000


def _moving_chain(at_ns: int) -> int:
    return CHAIN_NS * (100 + at_ns // (_S // 20) % 3 * 5) // 100


def _verdict(budget: Budget | None = None, rules: Rules = DEFAULT, **written: Any) -> Verdict:
    """Return the verdict on a guest without cpufreq whose clock moves by 10%, so that only the floor can answer."""
    return verdict_of(guest(*NO_CPUFREQ), budget, rules, **{"chain": _moving_chain, **written})


def _statuses(verdict: Verdict) -> tuple[str, str, str | None]:
    return verdict.verdict, finding(verdict, _FLOOR).status, finding(verdict, _GOVERNOR).answered_by


def test_a_floor_within_the_budget_answers_though_the_clock_moved() -> None:
    verdict = _verdict()
    assert finding(verdict, "effective-frequency-moves").status == "fail"
    assert finding(verdict, _GOVERNOR).status == "unknown"
    assert _statuses(verdict) == ("stable", "pass", _FLOOR)
    hidden = [result for result in verdict.findings if result.is_unknown_to_guests and result.check.ground is not None]
    assert len(hidden) > 2
    assert all(result.answered_by is not None for result in hidden)


@pytest.mark.parametrize("check_id", ["clock-rate-wrong", "machine-checks", "burstable-instance"])
def test_the_floor_does_not_answer_checks_of_faults_that_no_sample_shows(check_id: str) -> None:
    """The floor passes, and a clock at a wrong rate would measure it wrongly too."""
    case = replace(_verdict().case, clock_comparison="for the test")
    verdict = judge(replace(case, rules=Rules(severity_by_id={check_id: Severity.BLOCKING})))
    result = finding(verdict, check_id)
    assert (result.status, result.answered_by, result.is_blocking_unknown) == ("unknown", None, True)
    assert verdict.verdict == "unknown"
    excused = finding(judge(replace(case, rules=Rules("shared"))), check_id)
    assert excused.status == "not-applicable"
    assert "measured" not in (excused.answer.reason or "")


def test_a_floor_that_only_warns_answers_as_all_required_kinds_of_work_pass() -> None:
    assert _statuses(_verdict(others={BANDWIDTH: every_third_slow})) == ("stable", "warn", _FLOOR)


def test_a_floor_above_the_budget_answers_as_it_blocks_itself() -> None:
    assert _statuses(_verdict(work=every_third_slow)) == ("unstable", "fail", _FLOOR)


def test_an_undecided_floor_answers_as_it_blocks_itself() -> None:
    calibrated = _verdict(work=every_third_slow).case.calibrated
    assert calibrated is not None
    assert calibrated.floor is not None
    undecided = Budget(max_cv=calibrated.floor.cv_expected, work=Work.MIXED)
    assert _statuses(_verdict(undecided, work=every_third_slow)) == ("unknown", "unknown", _FLOOR)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(ignored=frozenset({_FLOOR})),
        Rules(severity_by_id={_FLOOR: Severity.WARNING}),
        Rules(severity_by_id={_FLOOR: Severity.INFORMATION}),
        Rules("strict"),
    ],
    ids=["ignored", "a warning", "information", "strict"],
)
def test_a_floor_that_fails_without_blocking_answers_no_other_check(rules: Rules) -> None:
    verdict = _verdict(rules=rules, work=every_third_slow)
    governor = finding(verdict, _GOVERNOR)
    assert (governor.answered_by, governor.is_blocking_unknown) == (None, True)
    assert verdict.verdict in ("unknown", "unstable")


@pytest.mark.parametrize(
    "rules", [Rules(severity_by_id={_GOVERNOR: Severity.BLOCKING}), Rules(required=frozenset({_GOVERNOR}))]
)
def test_the_floor_does_not_answer_checks_that_the_user_made_blocking(rules: Rules) -> None:
    assert _statuses(_verdict(rules=rules)) == ("unknown", "pass", None)
    assert _statuses(_verdict(rules=replace(rules, profile="shared"))) == ("unknown", "pass", None)


def test_under_strict_a_floor_that_passes_answers_no_other_check() -> None:
    assert _statuses(_verdict(rules=Rules("strict")))[1:] == ("pass", None)
    assert _verdict(rules=Rules("strict")).verdict != "stable"


def test_a_floor_that_passes_answers_though_it_would_only_warn() -> None:
    assert _statuses(_verdict(rules=Rules(severity_by_id={_FLOOR: Severity.WARNING}))) == ("stable", "pass", _FLOOR)


@pytest.mark.parametrize(
    ("budget", "written"),
    [
        (None, {"changes": {cpu: {key: [] for key in OF_WORK} for cpu in (2, 3)}}),
        (None, {"changes": {cpu: {"state": "moved"} for cpu in (2, 3)}}),
        (None, {"seconds": 0.9}),
        (Budget(at_ns=10 * _S), {}),
        (None, {"changes": {3: {"lost_gaps": 5, "lost_gaps_ns": 10_000, "lost_gaps_max_ns": 3_000}}}),
    ],
    ids=["no work", "CPUs that went offline", "too short", "extrapolated", "lost gaps"],
)
def test_a_floor_that_was_not_measured_answers_no_other_check(budget: Budget | None, written: dict[str, Any]) -> None:
    verdict = _verdict(budget, **written)
    assert _statuses(verdict) == ("unknown", "unknown", None)
    assert finding(verdict, _GOVERNOR).is_blocking_unknown


def test_the_floor_does_not_answer_for_bare_metal_without_settings() -> None:
    verdict = verdict_of(without(quiet_files(), *NO_CPUFREQ), chain=_moving_chain)
    assert _statuses(verdict) == ("unknown", "pass", None)


def test_the_floor_answers_in_a_container_only_where_settings_are_hidden() -> None:
    """A container with visible settings counts as bare metal; one with hidden settings counts as a guest."""
    unreadable = {path: "rubbish\n" for path in quiet_files() if "throttle" in path} | {"/.dockerenv": ""}
    budget = Budget(max_cv=0.2)
    rules = Rules("micro", budget=budget)
    for hidden, is_answered in (((), False), (NO_CPUFREQ, True)):
        files = without(quiet_files() | unreadable, *hidden)
        verdict = verdict_of(files, budget, rules, work=lambda at_ns: round(WORK_NS * (1 + at_ns / (100 * _S))))
        assert (finding(verdict, "throttled").answered_by == _FLOOR) is is_answered


def test_a_check_that_raised_is_never_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def divide(*_: object) -> Answer:
        raise ZeroDivisionError

    monkeypatch.delenv(RAISED)
    broken = [replace(check, answer=divide) if check.id == _GOVERNOR else check for check in CATALOGUE]
    for rules in (DEFAULT, Rules("shared")):
        verdict = verdict_of(guest(*NO_CPUFREQ), rules=rules, checks=broken, chain=_moving_chain)
        assert _statuses(verdict) == ("unknown", "pass", None)
