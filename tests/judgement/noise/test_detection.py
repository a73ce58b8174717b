"""The number of samples that show a given change, and the smallest change that the budget's samples show."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.by_work import KINDS
from noisewatch.judgement.noise.detection import needed_samples, on_cpus, smallest_change_of
from noisewatch.judgement.noise.smallest_change import MOST_SAMPLES, samples_needed, smallest_change
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import LATENCY, MEMORY, OF_WORK, STARTED
from tests.judgement.checks.calibration.calibrating import every_third_slow
from tests.judgement.noise.test_chance_of_kind import calibrate_written
from tests.written.calibration import WORK_NS, written_calibration

_MS = 1_000_000


def _uneven(at_ns: int) -> int:
    return WORK_NS + at_ns // (20 * _MS) % 2 * 2_000


@given(st.floats(1e-6, 10), st.floats(1e-4, 10))
def test_the_needed_number_of_samples_is_the_least_that_shows_the_change(cv: float, share: float) -> None:
    number = samples_needed(cv, share)
    if number is None:
        assert smallest_change(cv, MOST_SAMPLES) > share * (1 - 1e-6)
    else:
        assert smallest_change(cv, number) <= share
        assert number == 2 or smallest_change(cv, number - 1) > share * (1 - 1e-6)


@pytest.mark.parametrize(("cv", "number"), [(0.0, 2), (math.inf, None), (0.01, 17), (1.0, None)])
def test_constant_samples_need_two_and_very_noisy_ones_more_than_the_maximum(cv: float, number: int | None) -> None:
    assert samples_needed(cv, 0.01) == number


def test_the_number_for_each_kind_and_length_follows_from_its_upper_bound() -> None:
    calibrated = calibrate_written(work=_uneven)
    rows = needed_samples(calibrated, 0.02)
    lengths = (_MS, 10 * _MS, 100 * _MS, 1000 * _MS)
    assert [(row.work, row.sample_ns) for row in rows] == [(work, length) for work in KINDS for length in lengths]
    for row in rows[:2]:
        (floor,) = [floor for floor in calibrated.floors_by_work[row.work].floors if floor.sample_ns == row.sample_ns]
        assert (row.samples, row.reason) == (samples_needed(floor.cv_high, 0.02), None)
    assert {(row.samples, row.reason) for row in rows if row.sample_ns == lengths[-1]} == {
        (None, "too little was measured for samples of this length")
    }


def test_the_budgets_sample_length_has_a_row() -> None:
    rows = needed_samples(calibrate_written(Budget(30 * _MS, work=Work.LATENCY)), 0.02)
    assert [row.sample_ns // _MS for row in rows] == [1, 10, 30, 100, 1000]


def test_more_than_10_000_samples_are_not_a_number() -> None:
    rows = needed_samples(calibrate_written(others={MEMORY: every_third_slow}), 0.0001)
    (row,) = [row for row in rows if (row.work, row.sample_ns) == ("memory", 100 * _MS)]
    assert (row.samples, row.reason) == (None, "more than 10,000 samples")


def test_a_requested_kind_or_a_workload_is_the_only_kind() -> None:
    assert {row.work for row in needed_samples(calibrate_written(Budget(work=Work.CACHE)), 0.02)} == {"cache"}
    calibrated = calibrate_written()
    samples = replace(calibrated.calibration.samples, command=("sleep", "1"))
    measured = replace(calibrated, calibration=replace(calibrated.calibration, samples=samples))
    rows = needed_samples(measured, 0.02)
    assert {row.work for row in rows} == {"workload"}
    assert rows[0].samples is not None, "a measured workload has a known number of samples"


def test_the_worst_cpu_of_each_length_counts() -> None:
    """CPU 2 varies a little all the time, CPU 3 only by a few long stops."""
    stops = [(at * _MS, 30 * _MS, 1, 0) for at in (50, 1_650, 3_250)]
    calm = {**written_calibration((3,))["cpus"][0], "gaps": [word for stop in stops for word in stop]}
    both = calibrate_written(work=_uneven, changes={3: calm})
    needed = [
        [row.samples or MOST_SAMPLES for row in needed_samples(calibrated, 0.005)]
        for calibrated in (both, on_cpus(both, frozenset({2})), on_cpus(both, frozenset({3})))
    ]
    for worst, one, other in zip(*needed, strict=True):
        assert worst == pytest.approx(max(one, other), rel=0.1), "with more CPUs, fewer samples are drawn for each"
    assert {one > other for _, one, other in zip(*needed, strict=True) if one != other} == {True, False}


def test_a_kind_without_measurements_on_one_cpu_has_no_number() -> None:
    missing = {LATENCY, MEMORY}
    slots = written_calibration((2,))["cpus"][0]["slots"]
    kept = [slot for slot in slots if STARTED.get(slot[0], slot[0]) not in missing]
    calibrated = calibrate_written(changes={3: {"slots": kept, **{key: [] for key in missing}}})
    by_kind = {row.work: row for row in needed_samples(calibrated, 0.02) if row.sample_ns == 100 * _MS}
    for work in ("latency", "memory"):
        assert (by_kind[work].samples, by_kind[work].reason) == (None, "too little was measured on CPU 3")
    assert by_kind["interpreter"].samples == 2
    assert smallest_change_of(calibrated) == (None, "latency, memory", "too little was measured on CPU 3")


def test_without_measurements_each_row_has_a_reason() -> None:
    without: dict[int, dict[str, list[int]]] = {cpu: {series: [] for series in OF_WORK} for cpu in (2, 3)}
    for budget in (Budget(), Budget(work=Work.LATENCY)):
        calibrated = calibrate_written(budget, changes=without)
        assert {row.samples for row in needed_samples(calibrated, 0.02)} == {None}
        assert None not in {row.reason for row in needed_samples(calibrated, 0.02)}
        assert smallest_change_of(calibrated).floor is None


@pytest.mark.parametrize("work", [None, Work.LATENCY])
def test_a_cpu_with_an_aborted_measurement_makes_all_numbers_unknown(work: Work | None) -> None:
    calibrated = calibrate_written(Budget(work=work), changes={3: {"state": "moved"}})
    assert {row.samples for row in needed_samples(calibrated, 0.02)} == {None}
    assert smallest_change_of(calibrated).floor is None


def test_real_time_priority_makes_all_numbers_unknown() -> None:
    calibrated = calibrate_written()
    samples = replace(calibrated.calibration.samples, is_realtime=True)
    preempting = replace(calibrated, calibration=replace(calibrated.calibration, samples=samples))
    assert "real-time" in (smallest_change_of(preempting).reason or "")
    assert all("real-time" in (row.reason or "") for row in needed_samples(preempting, 0.02))


def test_the_kind_that_varies_most_decides_the_smallest_change() -> None:
    others = {MEMORY: every_third_slow}
    worst = smallest_change_of(calibrate_written(others=others))
    assert worst.work == "memory"
    of_latency = smallest_change_of(calibrate_written(Budget(work=Work.LATENCY), others=others))
    assert worst.floor is not None
    assert of_latency.floor is not None
    assert of_latency.floor.smallest_change_share < worst.floor.smallest_change_share
