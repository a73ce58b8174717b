"""What a CPU gave over time, replayed for samples of any length."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from noisewatch.kernel.calibration import CpuSamples, Gaps, Samples
from noisewatch.machine.spinning.calibration.buffer import Slot
from noisewatch.model.calibration.timeline import INTERRUPTIONS as GAPS_ALONE
from noisewatch.model.calibration.timeline import Timeline, Timelines, timelines_of


def _sample_times(timeline: Timeline, work_ns: float) -> list[float]:
    """Return the times (ns) of consecutive samples of `work_ns` of work."""
    count = int(timeline.useful_ns / work_ns)
    edges = [timeline.passed_at(number * work_ns) for number in range(count + 1)]
    return [end - begin for begin, end in pairwise(edges)]


def test_undisturbed_work_takes_its_own_time() -> None:
    assert _sample_times(Timeline([(100.0, 100.0)] * 10), 250.0) == [250.0] * 4


def test_a_gap_lengthens_the_sample_that_it_falls_into() -> None:
    assert _sample_times(Timeline([(100.0, 100.0), (50.0, 0.0), (100.0, 100.0)]), 100.0) == [100.0, 150.0]


def test_a_slow_stretch_lengthens_what_is_done_in_it() -> None:
    assert _sample_times(Timeline([(100.0, 100.0), (200.0, 100.0)]), 50.0) == [50.0, 50.0, 100.0, 100.0]


def test_of_nothing_there_is_no_sample() -> None:
    assert _sample_times(Timeline([]), 10.0) == []
    assert _sample_times(Timeline([(5.0, 5.0)]), 10.0) == []
    assert Timeline([]).passed_at(3.0) == 0.0


def test_every_other_run_begins_somewhere_in_a_start_and_goes_on_steadily() -> None:
    slow_start = Timeline([(3_000.0, 1_000.0)])
    timelines = Timelines(Timeline([(1_000.0, 1_000.0)]), (slow_start,))
    runs = [[round(time, 6) for time in timelines.run_times(100.0, 3, Random(seed))] for seed in range(200)]
    kinds = {tuple(run) for run in runs}
    assert {(100.0, 100.0, 100.0), (300.0, 300.0, 300.0)} <= kinds
    assert all(run == sorted(run, reverse=True) for run in runs)
    assert 60 < sum(run[0] > 100.0 for run in runs) < 110


def test_a_gap_in_one_start_is_met_as_seldom_as_it_is_short() -> None:
    """A thousandth of the start: what a run of a hundredth of it meets is one in a hundred, not each."""
    start = Timeline([(10.0, 0.0), (10_000.0, 10_000.0)])
    timelines = Timelines(Timeline([(10_000.0, 10_000.0)]), (start,))
    met = sum(max(timelines.run_times(50.0, 1, Random(seed))) > 50.0 for seed in range(1_000))
    assert met < 20


def test_a_run_that_is_longer_than_the_steady_time_goes_round() -> None:
    timelines = Timelines(Timeline([(100.0, 100.0), (50.0, 0.0)]), ())
    times = timelines.run_times(100.0, 20, Random(1))
    assert sum(times) == pytest.approx(150.0 * 20, rel=0.05)


def _said(slots: list[Slot], series: dict[str, Samples], **rest: Any) -> CpuSamples:
    return CpuSamples(0, None, slots=tuple(slots), samples_by_series=series, **rest)


def _steadily(*parts: tuple[int, int, int]) -> Samples:
    """Return consecutive samples. A part is the start, the end and the length of each sample (ns)."""
    starts = [(at, length) for begin, end, length in parts for at in range(begin, end, length)]
    return Samples(tuple(at for at, _ in starts), tuple(length for _, length in starts))


_MS = 1_000_000
_SLOTS: list[Slot] = [
    ("work", 0, 10 * _MS),
    ("latency_work", 10 * _MS, 20 * _MS),
    ("gaps", 20 * _MS, 30 * _MS),
    ("work", 30 * _MS, 40 * _MS),
    ("latency_work", 40 * _MS, 50 * _MS),
    ("gaps", 50 * _MS, 60 * _MS),
]
_CHAIN = _steadily((10 * _MS, 20 * _MS, 200_000), (40 * _MS, 50 * _MS, 200_000))
_INTERPRETED = _steadily((0, 10 * _MS, 100_000), (30 * _MS, 40 * _MS, 200_000))  # a sibling is busy the second time
_SPINS = Samples((20 * _MS, 50 * _MS), (10 * _MS, 10 * _MS))


def _times(series: tuple[str, ...], said: CpuSamples, ms: float = 5.0) -> list[float]:
    """Return the times of samples of `ms`, as multiples of the shortest one."""
    times = _sample_times(timelines_of([said], series).steady, ms * _MS)
    return [round(time / min(times), 2) for time in times]


def test_what_shares_the_core_slows_only_the_kind_of_work_that_it_slowed() -> None:
    said = _said(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS)
    assert set(_times(("latency_work",), said)) == {1.0}
    assert set(_times(GAPS_ALONE, said)) == {1.0}
    interpreted = _times(("work",), said, 1.0)
    assert (min(interpreted), max(interpreted)) == (1.0, 2.0)
    assert 0.4 < sum(time == 2.0 for time in interpreted) / len(interpreted) < 0.6  # half of the time


def test_a_kind_is_laid_out_over_all_of_the_time_whatever_was_measured_then() -> None:
    said = _said(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS)
    for series in (("work",), ("latency_work",), ("work", "latency_work"), GAPS_ALONE):
        assert timelines_of([said], series).steady.passed_ns == pytest.approx(60 * _MS)


def test_a_long_gap_interrupts_every_kind_once_and_where_it_was() -> None:
    gaps = Gaps((25 * _MS,), (3 * _MS,), (1,), (0,))
    said = _said(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS, gaps=gaps)
    for series in (("work",), ("latency_work",), GAPS_ALONE):
        steady = timelines_of([said], series).steady
        calm = timelines_of([said], series, are_interrupted=False).steady
        assert steady.passed_ns == pytest.approx(60 * _MS)
        assert calm.useful_ns / calm.passed_ns > steady.useful_ns / steady.passed_ns
    assert [time > 1.1 for time in _times(("latency_work",), said)] == [at == 5 for at in range(11)]


def test_a_long_interruption_of_work_is_one_for_other_kinds_too() -> None:
    at, length = 35 * _MS, 4 * _MS
    lengths = [200_000] * 25 + [length] + [200_000] * 5
    starts = tuple(30 * _MS + sum(lengths[:number]) for number in range(len(lengths)))
    work = Samples((*range(0, 10 * _MS, 200_000), *starts), (*[200_000] * 50, *lengths))
    said = _said(_SLOTS, {"work": work, "latency_work": _CHAIN}, spins=_SPINS)
    assert starts[25] == at
    for series in (("work",), ("latency_work",), GAPS_ALONE):
        assert max(_times(series, said, 1.0)) > 4.0, series
        assert sum(time > 1.1 for time in _times(series, said, 1.0)) == 1, series


def test_short_gaps_are_in_the_pieces_of_a_kind_and_not_counted_twice() -> None:
    """A tenth is lost to gaps of 10 µs: the chain's pieces have them, and so the spin adds none."""
    gaps = Gaps(tuple(range(20 * _MS, 30 * _MS, 100_000)), (10_000,) * 100, (0,) * 100, (0,) * 100)
    said = _said(_SLOTS, {"latency_work": _CHAIN}, spins=_SPINS, gaps=gaps)
    assert set(_times(("latency_work",), said)) == {1.0}
    alone = timelines_of([said], GAPS_ALONE).steady
    assert alone.useful_ns / alone.passed_ns == pytest.approx(0.95, abs=0.01)  # of two spins one had them


def test_a_kind_that_was_not_measured_has_no_time() -> None:
    assert timelines_of([_said(_SLOTS, {"work": _INTERPRETED}, spins=_SPINS)], ("latency_work",)).useful_ns == 0


def test_starts_are_kept_apart_from_the_steady_time() -> None:
    said = _said([("start", 0, 10), ("work", 10, 20)], {"work": Samples((0, 5, 10, 15), (5, 5, 5, 5))})
    timelines = timelines_of([said])
    assert [start.passed_ns for start in timelines.starts] == [10.0]
    assert (timelines.steady.passed_ns, timelines.passed_ns, timelines.useful_ns) == (10.0, 20.0, 20.0)


def test_a_start_of_several_kinds_is_one_start_and_a_kind_has_the_speed_that_it_had_there() -> None:
    slots: list[Slot] = [("start", 0, 10), ("start_latency", 10, 20), ("work", 20, 30), ("latency_work", 30, 40)]
    work, chain = Samples((0, 5, 20, 25), (5, 5, 5, 5)), Samples((10, 30, 35), (10, 5, 5))
    timelines = timelines_of([_said(slots, {"work": work, "latency_work": chain})], ("latency_work",))
    (start,) = timelines.starts
    assert start.passed_ns == 20.0
    assert start.useful_ns == pytest.approx(10.0)
    assert (timelines.steady.passed_ns, timelines.steady.useful_ns) == (20.0, 20.0)


_CACHED: list[Slot] = [("latency_work", 0, 10 * _MS), ("fetch", 10 * _MS, 20 * _MS), ("memory", 20 * _MS, 40 * _MS)]


def _in_cache(*lengths: int) -> Samples:
    """Samples one after the other, of 0.2 ms but for these, which come in the middle."""
    each = [*[200_000] * 20, *lengths, *[200_000] * 20]
    starts = [20 * _MS + sum(each[:number]) for number in range(len(each))]
    return Samples(tuple(starts), tuple(each))


@pytest.mark.parametrize(
    ("lengths", "is_an_interruption"),
    [((2 * _MS,), True), ((2 * _MS, 2 * _MS, 2 * _MS, 2 * _MS), False), ((2 * _MS, 1_500_000, 1_100_000), False)],
)
def test_a_cache_that_was_emptied_is_no_interruption_of_other_work(
    lengths: tuple[int, ...], is_an_interruption: bool
) -> None:
    chain = _steadily((0, 10 * _MS, 200_000))
    said = _said(_CACHED, {"latency_work": chain, "memory": _in_cache(*lengths)})
    assert (max(_times(("latency_work",), said, 1.0)) > 2) is is_an_interruption
    assert max(_times(("memory",), said, 1.0)) > 2, "but of work on the cache it is a part"


def test_time_between_two_slots_is_somebody_elses_but_not_that_in_which_a_cache_is_fetched() -> None:
    late = _said(
        [("work", 0, 10 * _MS), ("latency_work", 10 * _MS, 20 * _MS)],
        {"work": _steadily((0, 10 * _MS, 100_000)), "latency_work": _steadily((14 * _MS, 20 * _MS, 200_000))},
    )
    steady = timelines_of([late], ("latency_work",)).steady
    assert steady.passed_ns == pytest.approx(20 * _MS)
    assert max(_times(("latency_work",), late, 1.0)) == pytest.approx(5.0), "another process had 4 ms"
    chain = _steadily((0, 10 * _MS, 200_000))
    fetched = _said(_CACHED, {"latency_work": chain, "memory": _in_cache()})
    assert set(_times(("latency_work",), fetched, 1.0)) == {1.0}


def test_the_only_piece_of_a_slot_may_be_an_interrupted_one() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS), ("native_work", 10 * _MS, 15 * _MS), ("work", 15 * _MS, 25 * _MS)]
    slots.append(("native_work", 25 * _MS, 30 * _MS))
    work = _steadily((0, 10 * _MS, 100_000), (15 * _MS, 25 * _MS, 100_000))
    once, later = Samples((10 * _MS,), (5 * _MS,)), _steadily((25 * _MS, 30 * _MS, 100_000))
    dense = Samples((*once.start_ns, *later.start_ns), (*once.length_ns, *later.length_ns))
    steady = timelines_of([_said(slots, {"work": work, "native_work": dense})], ("work",)).steady
    assert steady.passed_ns - steady.useful_ns == pytest.approx(4_900_000), "another process had the rest"


def test_slots_that_somebody_else_had_all_of_after_a_rest_are_time_too() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS)]  # then a rest
    slots += [("work", 20 * _MS, 25 * _MS), ("work", 25 * _MS, 30 * _MS), ("work", 30 * _MS, 40 * _MS)]
    work = _steadily((0, 10 * _MS, 100_000), (32 * _MS, 40 * _MS, 100_000))
    steady = timelines_of([_said(slots, {"work": work})], ("work",)).steady
    assert (steady.passed_ns, steady.useful_ns) == (30 * _MS, 18 * _MS)


def test_a_slot_that_somebody_else_had_all_of_is_time_too() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS), ("native_work", 10 * _MS, 15 * _MS), ("work", 15 * _MS, 25 * _MS)]
    slots.append(("native_work", 25 * _MS, 30 * _MS))
    work = _steadily((0, 10 * _MS, 100_000), (18 * _MS, 25 * _MS, 100_000))
    dense = _steadily((25 * _MS, 30 * _MS, 100_000))
    steady = timelines_of([_said(slots, {"work": work, "native_work": dense})], ("work",)).steady
    assert (steady.passed_ns, steady.useful_ns) == (30 * _MS, 22 * _MS)
