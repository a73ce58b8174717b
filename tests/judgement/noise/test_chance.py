"""The chance that samples stay within the budget, and whether a floor meets or exceeds it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT, drift_of
from noisewatch.judgement.noise.floor import floors_by_cpu, worst_of
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kinds import Work
from tests.judgement.checks.calibration.calibrating import every_third_slow, verdict_of
from tests.judgement.judging import finding
from tests.written.calibration import WORK_NS, written_calibration

_MS = 1_000_000
_CVS = (0.0, 1e-4, 0.001, 0.01, 0.03, 0.1, 1.0)
_UNEVEN = parse_calibration(written_calibration(work=lambda at_ns: WORK_NS + at_ns // (20 * _MS) % 5 * 5_000))


def _floor(max_cv: float = 0.01, at_ns: int = 10 * _MS) -> NoiseFloor:
    floors = floors_by_cpu([_UNEVEN], Budget(at_ns, max_cv=max_cv))[2]
    return next(floor for floor in floors if floor.sample_ns == at_ns)


@pytest.mark.parametrize("length_ns", [_MS, 10 * _MS, 100 * _MS])
def test_the_chance_grows_with_the_budget_and_falls_with_the_noise(length_ns: int) -> None:
    for fixed in _CVS:
        by_budget = [USUAL_DRIFT.chance_within(most, fixed, length_ns) for most in _CVS]
        by_noise = [USUAL_DRIFT.chance_within(fixed, cv, length_ns) for cv in _CVS]
        assert by_budget == sorted(by_budget)
        assert by_noise == sorted(by_noise, reverse=True)
        assert all(0 <= chance <= 1 for chance in (*by_budget, *by_noise))


def test_the_chance_is_even_at_the_median_ratio_and_symmetric_around_it() -> None:
    measured = 0.87 * 0.01
    assert USUAL_DRIFT.chance_within(measured, 0.01, _MS) == pytest.approx(0.5)
    above, below = (USUAL_DRIFT.chance_within(most, 0.01, _MS) for most in (2 * measured, measured / 2))
    assert above + below == pytest.approx(1)


def test_a_larger_drift_makes_every_chance_less_certain() -> None:
    steady, moving = (drift_of([({Work.LATENCY: {_MS: 0.02}}, {Work.LATENCY: {_MS: cv}})] * 20) for cv in (0.02, 0.2))
    assert moving.chance_within(0.02, 0.01, _MS) < steady.chance_within(0.02, 0.01, _MS)
    assert moving.chance_within(0.01, 0.02, _MS) > steady.chance_within(0.01, 0.02, _MS)


def test_the_chance_of_a_floor_grows_with_the_budget_alone() -> None:
    floors = [_floor(max_cv) for max_cv in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)]
    chances = [floor.chance for floor in floors]
    assert None not in chances
    assert all((less or 0) < (more or 0) for less, more in pairwise(chances))
    assert len({floor.cv_expected for floor in floors}) == 1
    assert (chances[0] or 0) < 0.1 < 0.9 < (chances[-1] or 0)


def test_an_extrapolated_floor_has_no_chance() -> None:
    floor = _floor(at_ns=10_000 * _MS)
    assert (floor.extrapolated, floor.chance) == (True, None)
    coarse = parse_calibration(written_calibration(work=lambda at_ns: 2 * _MS))
    assert [floor.chance is None for floor in floors_by_cpu([coarse], Budget())[2]] == [True, False, False, True]


def test_the_worst_of_several_cpus_has_the_least_chance_or_none_if_one_is_unknown() -> None:
    floor = _floor()
    chances = (0.7, 0.2, 0.9)
    assert worst_of([replace(floor, chance=chance) for chance in chances]).chance == 0.2
    assert worst_of([replace(floor, chance=chance) for chance in (*chances, None)]).chance is None


@pytest.mark.parametrize(
    ("chance", "confidence", "is_met", "is_exceeded"),
    [
        (0.91, None, True, False),
        (0.89, None, False, False),
        (0.5, None, False, False),
        (0.11, None, False, False),
        (0.09, None, False, True),
        (0.8, 0.75, True, False),
        (0.24, 0.75, False, True),
        (0.96, 0.97, False, False),
        (0.04, 0.97, False, False),
    ],
)
def test_a_floor_passes_or_fails_if_its_chance_reaches_the_confidence(
    chance: float, confidence: float | None, is_met: bool, is_exceeded: bool
) -> None:
    budget, floor = Budget(confidence=confidence), replace(_floor(), chance=chance)
    assert (budget.is_met_by(floor), budget.is_exceeded_by(floor)) == (is_met, is_exceeded)


def test_an_extrapolated_floor_is_never_met_and_fails_by_its_interval() -> None:
    floor = replace(_floor(), chance=None, extrapolated=True, cv_low=0.001, cv_high=0.002)
    assert (Budget().is_met_by(floor), Budget().is_exceeded_by(floor)) == (False, False)
    assert Budget().is_exceeded_by(replace(floor, cv_low=0.02, cv_high=0.03))


@pytest.mark.parametrize("work", [None, Work.MIXED])
def test_the_finding_has_the_chance_in_its_text_and_its_evidence(work: Work | None) -> None:
    chance_finding = finding(verdict_of(budget=Budget(work=work)), "noise-floor-above-budget")
    assert chance_finding.status == "pass"
    assert chance_finding.answer.said.startswith("25 samples of 100 ms stay within 1%: chance >99% (")
    assert chance_finding.answer.evidence["chance"] > 0.9


def test_the_confidence_decides_on_an_uncertain_floor() -> None:
    calibrated = verdict_of(work=every_third_slow).case.calibrated
    assert calibrated is not None
    assert calibrated.floor is not None
    most = calibrated.floor.cv_expected * 1.6
    statuses = {
        confidence: finding(
            verdict_of(work=every_third_slow, budget=Budget(max_cv=most, work=Work.MIXED, confidence=confidence)),
            "noise-floor-above-budget",
        ).status
        for confidence in (0.6, 0.99)
    }
    assert statuses == {0.6: "pass", 0.99: "unknown"}
