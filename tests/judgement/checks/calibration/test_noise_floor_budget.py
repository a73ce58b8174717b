"""The noise floor, held against its budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.noise_floor import Budget
from tests.judgement.checks.calibration.calibrating import every_third_slow, verdict_of
from tests.judgement.judging import finding
from tests.written.calibration import CHAIN_NS, WORK_NS, steady

_MS = 1_000_000


def test_only_the_noise_floor_blocks() -> None:
    assert [each.id for each in CATALOGUE if each.asks_calibration and each.severity == "blocking"] == [
        "noise-floor-above-budget"
    ]


def test_a_floor_above_the_budget_makes_the_machine_unstable_and_says_where_and_why() -> None:
    verdict = verdict_of(work=every_third_slow)
    found = finding(verdict, "noise-floor-above-budget")
    assert verdict.verdict == "unstable"
    assert found.answer.cpus <= {2, 3}
    assert found.answer.evidence["dominated_by"] == "throughput"


def test_interruptions_are_told_from_throughput() -> None:
    def interrupted(at_ns: int) -> int:
        return WORK_NS + (2 * _MS if at_ns % (3 * _MS) < WORK_NS else 0)

    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 5))
    found = finding(verdict_of(gaps=gaps, work=interrupted, budget=Budget(_MS)), "noise-floor-above-budget")
    assert (found.status, found.answer.evidence["dominated_by"]) == ("fail", "interruptions")


def test_a_clock_that_moves_as_much_as_the_work_is_to_blame() -> None:
    def slower(length: int) -> Any:
        return lambda at_ns: length * (3 if at_ns // (50 * _MS) % 3 == 0 else 2)

    found = finding(verdict_of(work=slower(WORK_NS // 2), chain=slower(CHAIN_NS // 2)), "noise-floor-above-budget")
    assert found.answer.evidence["dominated_by"] == "frequency"


def test_a_budget_within_the_interval_is_unknown() -> None:
    floor = verdict_of(work=every_third_slow).case.calibrated
    assert floor is not None
    assert floor.floor is not None
    within = Budget(max_cv=(floor.floor.cv_low + floor.floor.cv_high) / 2)
    verdict = verdict_of(work=every_third_slow, budget=within)
    found = finding(verdict, "noise-floor-above-budget")
    assert (found.status, verdict.verdict) == ("unknown", "unknown")
    assert "lies within" in (found.answer.reason or "")


def test_a_generous_budget_passes() -> None:
    assert (
        finding(verdict_of(work=every_third_slow, budget=Budget(max_cv=5.0)), "noise-floor-above-budget").status
        == "pass"
    )


def test_the_worst_sample_has_a_budget_too() -> None:
    tight = Budget(at_ns=_MS, max_cv=5.0, max_inflation=1.1)
    assert finding(verdict_of(work=every_third_slow, budget=tight), "noise-floor-above-budget").status == "fail"


def test_an_unbounded_worst_sample_is_no_pass_of_its_budget() -> None:
    budget = Budget(at_ns=100 * _MS, samples=1_000, max_inflation=1.5)
    found = finding(verdict_of(budget=budget), "noise-floor-above-budget")
    assert (found.status, "bound" in (found.answer.reason or "")) == ("unknown", True)


def test_samples_that_had_to_be_extrapolated_never_pass() -> None:
    found = finding(verdict_of(budget=Budget(at_ns=10_000 * _MS)), "noise-floor-above-budget")
    assert (found.status, "extrapolated" in (found.answer.reason or "")) == ("unknown", True)


def test_the_floor_is_the_verdicts_own() -> None:
    verdict = verdict_of(work=steady)
    calibrated = verdict.case.calibrated
    assert calibrated is not None
    assert calibrated.floor in calibrated.floors
    assert replace(calibrated, budget=Budget(at_ns=3)).floor is None
