"""When a calibration of adaptive length is long enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift, Learned
from noisewatch.judgement.noise.floor import floors_by_cpu
from noisewatch.judgement.noise.settled import is_settled
from noisewatch.kernel.calibration import CalibrationSamples, parse_calibration
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import INTERPRETER, LATENCY, MEMORY, OF_WORK
from tests.written.calibration import WORK_NS, written_calibration

_MS = 1_000_000
_WILD = Drift({10 * _MS: Learned(100, 4.0)})  # of a machine that differs in each calibration


def _swinging(at_ns: int) -> int:
    return WORK_NS + at_ns // (12 * _MS) % 5 * 4_000


def _in_bursts(at_ns: int) -> int:
    return _swinging(at_ns) * (9 if at_ns // (400 * _MS) % 5 == 0 else 1)


def _samples(seconds: float = 3.0, changes: Mapping[int, Any] | None = None, **others: Any) -> CalibrationSamples:
    cpus = (2,) if changes is None else (2, *changes)
    return parse_calibration(written_calibration(cpus=cpus, seconds=seconds, changes=changes, **others))


def _floor(calibrated: CalibrationSamples, work: str, drift: Drift = USUAL_DRIFT, samples: int = 25) -> NoiseFloor:
    floors = floors_by_cpu([calibrated], Budget(10 * _MS, samples, work=Work(work)), drift)[2]
    return next(floor for floor in floors if floor.sample_ns == 10 * _MS)


def _budget_inside(floor: NoiseFloor, **others: Any) -> Budget:
    """Return a budget inside the floor's interval: whether the floor exceeds it is uncertain."""
    return Budget(10 * _MS, max_cv=floor.cv_expected, **others)


@pytest.mark.parametrize(("max_cv", "is_enough"), [(1e-4, True), (0.5, True), (None, False)])
def test_a_calibration_is_settled_once_the_budget_is_outside_of_all_intervals(
    max_cv: float | None, is_enough: bool
) -> None:
    calibrated = _samples(work=_swinging, others={MEMORY: _in_bursts})
    floor = _floor(calibrated, "memory")
    assert floor.cv_high > 4 * floor.cv_low, "too wide to decide"
    budget = (
        _budget_inside(floor)
        if max_cv is None
        else Budget(10 * _MS, max_cv={0.5: floor.cv_high * 2}.get(max_cv, max_cv))
    )
    assert is_settled(calibrated, budget, USUAL_DRIFT) is is_enough


def test_only_a_requested_kind_has_to_be_settled() -> None:
    calibrated = _samples(others={MEMORY: _in_bursts})
    budget = _budget_inside(_floor(calibrated, "memory"))
    assert not is_settled(calibrated, budget, USUAL_DRIFT)
    assert is_settled(calibrated, Budget(10 * _MS, max_cv=budget.max_cv, work=Work.LATENCY), USUAL_DRIFT)


def test_mixed_work_has_to_be_settled_only_if_requested() -> None:
    calibrated = _samples(4.0, others={INTERPRETER: lambda at_ns: WORK_NS * (9 if at_ns // (10 * _MS) % 2 == 0 else 1)})
    max_cv, mixed = 0.9 * _floor(calibrated, "interpreter").cv_low, _floor(calibrated, "mixed")
    assert mixed.cv_low < max_cv < mixed.cv_high, "all others are outside"
    assert is_settled(calibrated, Budget(10 * _MS, max_cv=max_cv), USUAL_DRIFT)
    assert not is_settled(calibrated, Budget(10 * _MS, max_cv=max_cv, work=Work.MIXED), USUAL_DRIFT)


def test_a_large_drift_keeps_a_calibration_unsettled() -> None:
    calibrated = _samples(others={LATENCY: _in_bursts})
    budget = Budget(10 * _MS, max_cv=_floor(calibrated, "latency").cv_high * 1.01, work=Work.LATENCY)
    assert is_settled(calibrated, budget, USUAL_DRIFT)
    assert not is_settled(calibrated, budget, _WILD)


def test_an_interval_that_is_wide_by_drift_alone_is_settled() -> None:
    calibrated = _samples(work=_swinging)
    floor = _floor(calibrated, "latency", _WILD)
    assert floor.cv_high > 50 * floor.cv_low
    assert is_settled(calibrated, _budget_inside(floor, work=Work.LATENCY), _WILD)


def test_extrapolated_samples_or_a_missing_kind_are_not_settled() -> None:
    assert not is_settled(_samples(), Budget(10_000 * _MS), USUAL_DRIFT)
    missing = written_calibration(cpus=(2,))
    missing["cpus"][0][LATENCY] = []
    assert not is_settled(parse_calibration(missing), Budget(10 * _MS), USUAL_DRIFT)


_NO_WORK = {"spun_ns": 0, "gaps": [], "spins": [], "cycles": [], **{series: [] for series in OF_WORK}}


@pytest.mark.parametrize("work", [None, Work.LATENCY])
def test_too_little_work_on_one_cpu_is_not_settled(work: Work | None) -> None:
    budget = Budget(10 * _MS, work=work)
    calibrated = _samples(changes={3: _NO_WORK})
    assert not floors_by_cpu([calibrated], budget)[3]
    assert not is_settled(calibrated, budget, USUAL_DRIFT)
    assert is_settled(_samples(changes={3: {}}), budget, USUAL_DRIFT)


def test_an_uncertain_worst_sample_is_not_settled() -> None:
    """The CV is certain, but the worst of 1,000 samples is not."""
    calibrated = _samples(work=_swinging)
    floor = _floor(calibrated, "latency", samples=1_000)
    assert not floor.bounded
    for max_inflation, is_enough in ((None, True), (2.0, False), (1.0001, True)):
        budget = Budget(10 * _MS, 1_000, floor.cv_high * 2, max_inflation, Work.LATENCY)
        assert is_settled(calibrated, budget, USUAL_DRIFT) is is_enough
