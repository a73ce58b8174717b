"""The drift of noise between calibrations, and its effect on the intervals."""

from __future__ import annotations

import math

import pytest

from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift, drift_of
from noisewatch.judgement.noise.floor import floors_by_cpu
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kinds import Work
from noisewatch.model.history.entries import Cvs
from tests.written.calibration import WORK_NS, written_calibration

_MS = 1_000_000
_LENGTHS = (_MS, 10 * _MS, 100 * _MS)


def _cvs(cv: float, work: Work = Work.LATENCY, lengths: tuple[int, ...] = _LENGTHS) -> Cvs:
    return {work: dict.fromkeys(lengths, cv)}


def _drift_of_ratio(changes: int, ratio: float) -> Drift:
    return drift_of([(_cvs(0.02), _cvs(0.02 * ratio))] * changes)


@pytest.mark.parametrize("at_ns", _LENGTHS)
def test_equal_calibrations_narrow_the_margin_and_different_ones_widen_it(at_ns: int) -> None:
    usual = USUAL_DRIFT.margin_at(at_ns)
    steady, moving = _drift_of_ratio(20, 1.0).margin_at(at_ns), _drift_of_ratio(20, 3.0).margin_at(at_ns)
    assert 1 < steady < usual < moving
    assert _drift_of_ratio(2, 1.0).margin_at(at_ns) > steady, "two changes narrow the margin less than twenty"
    assert moving == pytest.approx(_drift_of_ratio(20, 1 / 3).margin_at(at_ns)), "less noise counts like more"


def test_changes_among_tiny_cvs_count_as_none() -> None:
    assert drift_of([(_cvs(1e-9), _cvs(1e-4))] * 9) == _drift_of_ratio(9, 1.0)
    assert drift_of([(_cvs(1e-9), _cvs(3e-4))] * 9).margin_at(_MS) > USUAL_DRIFT.margin_at(_MS)


def test_kinds_and_lengths_in_only_one_of_both_calibrations_are_ignored() -> None:
    both = (_cvs(0.01, lengths=(10 * _MS,)), _cvs(0.01, lengths=(_MS, 10 * _MS)))
    drift = drift_of([(_cvs(0.01), _cvs(0.5, Work.MEMORY)), both])
    assert [drift.changes_at(length) for length in _LENGTHS] == [0, 1, 0]
    assert drift.margin_at(_MS) == USUAL_DRIFT.margin_at(_MS)
    assert drift.margin_at(10 * _MS) < USUAL_DRIFT.margin_at(10 * _MS)


def test_a_length_in_few_calibrations_has_the_drift_of_these() -> None:
    """Most calibrations may have been too short for such a length."""
    few = drift_of([(_cvs(0.02), _cvs(0.06))] * 2 + [(_cvs(0.02, lengths=(_MS,)), _cvs(0.02))] * 20)
    assert [few.changes_at(length) for length in _LENGTHS] == [22, 2, 2]
    assert few.changes == 22
    assert few.margin_at(100 * _MS) == pytest.approx(_drift_of_ratio(2, 3.0).margin_at(100 * _MS))


def test_several_kinds_in_one_calibration_are_one_change() -> None:
    several = ({**_cvs(0.02), **_cvs(0.1, Work.MEMORY)}, {**_cvs(0.06), **_cvs(0.3, Work.MEMORY)})
    assert drift_of([several]).changes == 1
    assert drift_of([several]).margin_at(_MS) == pytest.approx(_drift_of_ratio(1, 3.0).margin_at(_MS))


@pytest.mark.parametrize("changes", [[], [({}, {})] * 9, [(_cvs(0.01), _cvs(0.5, Work.MEMORY))] * 9])
def test_calibrations_without_common_figures_have_the_usual_drift(changes: list[tuple[Cvs, Cvs]]) -> None:
    assert drift_of(changes) == USUAL_DRIFT


def test_a_length_between_two_has_the_drift_of_the_longer_one() -> None:
    drift = drift_of([(_cvs(0.02, lengths=(10 * _MS,)), _cvs(0.06, lengths=(10 * _MS,)))] * 3)
    assert [drift.changes_at(length) for length in (2 * _MS, 20 * _MS, 10_000 * _MS)] == [3, 0, 0]


def test_the_width_of_an_interval_follows_the_drift() -> None:
    samples = parse_calibration(written_calibration(work=lambda at_ns: WORK_NS + (at_ns // 10_000_000 % 7) * 10_000))
    budget = Budget(10 * _MS)
    wide = _drift_of_ratio(9, 10.0)
    ends = [floors_by_cpu([samples], budget, drift)[2][1] for drift in (USUAL_DRIFT, wide)]
    by = wide.margin_at(10 * _MS) / USUAL_DRIFT.margin_at(10 * _MS)
    assert ends[1].cv_high == pytest.approx(ends[0].cv_high * by)
    assert ends[1].cv_low == pytest.approx(ends[0].cv_low / by)
    assert ends[1].cv_expected == ends[0].cv_expected


def test_an_interval_without_noise_has_a_small_upper_bound() -> None:
    """The bound is the smallest CV from which drift is learned, times the usual drift."""
    (floor, *_) = floors_by_cpu([parse_calibration(written_calibration())], Budget(_MS))[2]
    assert floor.cv_low == pytest.approx(0, abs=1e-9)
    assert floor.cv_high == pytest.approx(1e-4 * USUAL_DRIFT.margin_at(_MS))


def test_intervals_stay_finite_after_huge_changes() -> None:
    drift = drift_of([(_cvs(0.0), _cvs(100.0))] * 200)
    assert math.isfinite(drift.widen(0.1, 100.0, _MS)[1])
