"""What a CPU gave over time, replayed for samples of any length."""

from __future__ import annotations

from random import Random

import pytest

from noisewatch.kernel.calibration import CpuSamples, Gaps, Samples
from noisewatch.model.calibration.timeline import Timeline, Timelines, timelines_of


def test_undisturbed_work_takes_its_own_time() -> None:
    assert Timeline([(100.0, 100.0)] * 10).sample_times(250.0) == [250.0] * 4


def test_a_gap_lengthens_the_sample_that_it_falls_into() -> None:
    assert Timeline([(100.0, 100.0), (50.0, 0.0), (100.0, 100.0)]).sample_times(100.0) == [100.0, 150.0]


def test_a_slow_stretch_lengthens_what_is_done_in_it() -> None:
    assert Timeline([(100.0, 100.0), (200.0, 100.0)]).sample_times(50.0) == [50.0, 50.0, 100.0, 100.0]


def test_of_nothing_there_is_no_sample() -> None:
    assert Timeline([]).sample_times(10.0) == []
    assert Timeline([(5.0, 5.0)]).sample_times(10.0) == []
    assert Timeline([]).passed_at(3.0) == 0.0


def test_gaps_pass_time_between_stretches_as_fast_as_the_work_next_to_them() -> None:
    """Work takes 2 in the first round and 4 in the second, and so 3 usually: a spin gives 3/2 and 3/4 of its time."""
    said = CpuSamples(
        0,
        None,
        slots=(("gaps", 0, 100), ("work", 100, 104), ("gaps", 104, 204), ("work", 204, 212)),
        gaps=Gaps((10,), (20,), (0,), (0,)),
        spins=Samples((0, 104), (100, 100)),
        work=Samples((100, 102, 204, 208), (2, 2, 4, 4)),
    )
    steady = timelines_of([said], next_count=2).steady
    assert steady.passed_ns == 212
    assert steady.passed_at(10 * 3 / 2) == pytest.approx(10)  # up to the gap
    assert steady.useful_ns == pytest.approx(80 * 3 / 2 + 2 * 3 + 100 * 3 / 4 + 2 * 3)


def test_a_run_begins_as_a_start_did_and_goes_on_steadily() -> None:
    slow_start = Timeline([(30.0, 10.0), (100.0, 100.0)])
    timelines = Timelines(Timeline([(1_000.0, 1_000.0)]), (slow_start,))
    runs = [timelines.run_times(5.0, 3, Random(seed)) for seed in range(50)]
    assert {tuple(round(time, 6) for time in run) for run in runs} == {(15.0, 5.0, 5.0), (5.0, 5.0, 5.0)}


def test_a_run_that_is_longer_than_the_steady_time_goes_round() -> None:
    timelines = Timelines(Timeline([(100.0, 100.0), (50.0, 0.0)]), ())
    times = timelines.run_times(100.0, 20, Random(1))
    assert sum(times) == pytest.approx(150.0 * 20, rel=0.05)


def test_starts_are_kept_apart_from_the_steady_time() -> None:
    said = CpuSamples(0, None, slots=(("start", 0, 10), ("work", 10, 20)), work=Samples((0, 5, 10, 15), (5, 5, 5, 5)))
    timelines = timelines_of([said])
    assert [start.passed_ns for start in timelines.starts] == [10.0]
    assert (timelines.steady.passed_ns, timelines.passed_ns, timelines.useful_ns) == (10.0, 20.0, 20.0)
