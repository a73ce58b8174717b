"""The useful time of a CPU over time, replayed for samples of any length."""

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


def test_gap_lengthens_the_sample_that_contains_it() -> None:
    assert _sample_times(Timeline([(100.0, 100.0), (50.0, 0.0), (100.0, 100.0)]), 100.0) == [100.0, 150.0]


def test_slow_stretch_lengthens_the_samples_in_it() -> None:
    assert _sample_times(Timeline([(100.0, 100.0), (200.0, 100.0)]), 50.0) == [50.0, 50.0, 100.0, 100.0]


def test_timeline_shorter_than_a_sample_yields_no_sample() -> None:
    assert _sample_times(Timeline([]), 10.0) == []
    assert _sample_times(Timeline([(5.0, 5.0)]), 10.0) == []
    assert Timeline([]).passed_at(3.0) == 0.0


def test_every_other_run_begins_at_a_random_place_of_a_start_and_continues_in_steady_time() -> None:
    slow_start = Timeline([(3_000.0, 1_000.0)])
    timelines = Timelines(Timeline([(1_000.0, 1_000.0)]), (slow_start,))
    runs = [[round(time, 6) for time in timelines.run_times(100.0, 3, Random(seed))] for seed in range(200)]
    kinds = {tuple(run) for run in runs}
    assert {(100.0, 100.0, 100.0), (300.0, 300.0, 300.0)} <= kinds
    assert all(run == sorted(run, reverse=True) for run in runs)
    assert 60 < sum(run[0] > 100.0 for run in runs) < 110


def test_chance_to_meet_a_gap_in_a_start_is_its_share_of_the_start() -> None:
    """The gap is a thousandth of the start, and a run a two-hundredth: few runs meet the gap."""
    start = Timeline([(10.0, 0.0), (10_000.0, 10_000.0)])
    timelines = Timelines(Timeline([(10_000.0, 10_000.0)]), (start,))
    hits = sum(max(timelines.run_times(50.0, 1, Random(seed))) > 50.0 for seed in range(1_000))
    assert hits < 20


def test_run_longer_than_the_steady_time_wraps_around() -> None:
    timelines = Timelines(Timeline([(100.0, 100.0), (50.0, 0.0)]), ())
    times = timelines.run_times(100.0, 20, Random(1))
    assert sum(times) == pytest.approx(150.0 * 20, rel=0.05)


def _cpu_samples(slots: list[Slot], series: dict[str, Samples], **rest: Any) -> CpuSamples:
    return CpuSamples(0, None, slots=tuple(slots), samples_by_series=series, **rest)


def _consecutive(*parts: tuple[int, int, int]) -> Samples:
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
_CHAIN = _consecutive((10 * _MS, 20 * _MS, 200_000), (40 * _MS, 50 * _MS, 200_000))
_INTERPRETED = _consecutive((0, 10 * _MS, 100_000), (30 * _MS, 40 * _MS, 200_000))  # a sibling is busy the second time
_SPINS = Samples((20 * _MS, 50 * _MS), (10 * _MS, 10 * _MS))


def _times(series: tuple[str, ...], samples: CpuSamples, ms: float = 5.0) -> list[float]:
    """Return the times of samples of `ms`, as multiples of the shortest one."""
    times = _sample_times(timelines_of([samples], series).steady, ms * _MS)
    return [round(time / min(times), 2) for time in times]


def test_busy_sibling_slows_only_the_kind_of_work_that_it_overlapped() -> None:
    samples = _cpu_samples(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS)
    assert set(_times(("latency_work",), samples)) == {1.0}
    assert set(_times(GAPS_ALONE, samples)) == {1.0}
    interpreted = _times(("work",), samples, 1.0)
    assert (min(interpreted), max(interpreted)) == (1.0, 2.0)
    assert 0.4 < sum(time == 2.0 for time in interpreted) / len(interpreted) < 0.6  # half of the time


def test_timeline_of_each_kind_covers_all_of_the_time() -> None:
    samples = _cpu_samples(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS)
    for series in (("work",), ("latency_work",), ("work", "latency_work"), GAPS_ALONE):
        assert timelines_of([samples], series).steady.passed_ns == pytest.approx(60 * _MS)


def test_long_gap_interrupts_every_kind_once_and_at_its_place() -> None:
    gaps = Gaps((25 * _MS,), (3 * _MS,), (1,), (0,))
    samples = _cpu_samples(_SLOTS, {"work": _INTERPRETED, "latency_work": _CHAIN}, spins=_SPINS, gaps=gaps)
    for series in (("work",), ("latency_work",), GAPS_ALONE):
        steady = timelines_of([samples], series).steady
        calm = timelines_of([samples], series, are_interrupted=False).steady
        assert steady.passed_ns == pytest.approx(60 * _MS)
        assert calm.useful_ns / calm.passed_ns > steady.useful_ns / steady.passed_ns
    assert [time > 1.1 for time in _times(("latency_work",), samples)] == [at == 5 for at in range(11)]


def test_long_interruption_of_work_interrupts_other_kinds_too() -> None:
    at, length = 35 * _MS, 4 * _MS
    lengths = [200_000] * 25 + [length] + [200_000] * 5
    starts = tuple(30 * _MS + sum(lengths[:number]) for number in range(len(lengths)))
    work = Samples((*range(0, 10 * _MS, 200_000), *starts), (*[200_000] * 50, *lengths))
    samples = _cpu_samples(_SLOTS, {"work": work, "latency_work": _CHAIN}, spins=_SPINS)
    assert starts[25] == at
    for series in (("work",), ("latency_work",), GAPS_ALONE):
        assert max(_times(series, samples, 1.0)) > 4.0, series
        assert sum(time > 1.1 for time in _times(series, samples, 1.0)) == 1, series


def test_short_gaps_in_the_pieces_of_a_kind_are_counted_once() -> None:
    """A tenth is lost to gaps of 10 µs. The chain's pieces contain them, and so the spin adds none."""
    gaps = Gaps(tuple(range(20 * _MS, 30 * _MS, 100_000)), (10_000,) * 100, (0,) * 100, (0,) * 100)
    samples = _cpu_samples(_SLOTS, {"latency_work": _CHAIN}, spins=_SPINS, gaps=gaps)
    assert set(_times(("latency_work",), samples)) == {1.0}
    alone = timelines_of([samples], GAPS_ALONE).steady
    assert alone.useful_ns / alone.passed_ns == pytest.approx(0.95, abs=0.01)  # one of the two spins contains the gaps


def test_kind_that_was_not_measured_has_no_time() -> None:
    assert timelines_of([_cpu_samples(_SLOTS, {"work": _INTERPRETED}, spins=_SPINS)], ("latency_work",)).useful_ns == 0


def test_starts_are_separate_from_the_steady_time() -> None:
    samples = _cpu_samples([("start", 0, 10), ("work", 10, 20)], {"work": Samples((0, 5, 10, 15), (5, 5, 5, 5))})
    timelines = timelines_of([samples])
    assert [start.passed_ns for start in timelines.starts] == [10.0]
    assert (timelines.steady.passed_ns, timelines.passed_ns, timelines.useful_ns) == (10.0, 20.0, 20.0)


def test_start_of_several_kinds_is_one_start_with_the_speed_of_each_kind() -> None:
    slots: list[Slot] = [("start", 0, 10), ("start_latency", 10, 20), ("work", 20, 30), ("latency_work", 30, 40)]
    work, chain = Samples((0, 5, 20, 25), (5, 5, 5, 5)), Samples((10, 30, 35), (10, 5, 5))
    timelines = timelines_of([_cpu_samples(slots, {"work": work, "latency_work": chain})], ("latency_work",))
    (start,) = timelines.starts
    assert start.passed_ns == 20.0
    assert start.useful_ns == pytest.approx(10.0)
    assert (timelines.steady.passed_ns, timelines.steady.useful_ns) == (20.0, 20.0)


_CACHED: list[Slot] = [("latency_work", 0, 10 * _MS), ("fetch", 10 * _MS, 20 * _MS), ("memory", 20 * _MS, 40 * _MS)]


def _memory_samples(*lengths: int) -> Samples:
    """Return consecutive samples of 0.2 ms, with samples of `lengths` (ns) in the middle."""
    all_lengths = [*[200_000] * 20, *lengths, *[200_000] * 20]
    starts = [20 * _MS + sum(all_lengths[:number]) for number in range(len(all_lengths))]
    return Samples(tuple(starts), tuple(all_lengths))


@pytest.mark.parametrize(
    ("lengths", "is_interruption"),
    [((2 * _MS,), True), ((2 * _MS, 2 * _MS, 2 * _MS, 2 * _MS), False), ((2 * _MS, 1_500_000, 1_100_000), False)],
)
def test_emptied_cache_is_no_interruption_of_other_work(lengths: tuple[int, ...], is_interruption: bool) -> None:
    chain = _consecutive((0, 10 * _MS, 200_000))
    samples = _cpu_samples(_CACHED, {"latency_work": chain, "memory": _memory_samples(*lengths)})
    assert (max(_times(("latency_work",), samples, 1.0)) > 2) is is_interruption
    assert max(_times(("memory",), samples, 1.0)) > 2, "but it is part of memory work"


def test_time_between_two_slots_is_foreign_unless_a_cache_is_fetched_in_it() -> None:
    late = _cpu_samples(
        [("work", 0, 10 * _MS), ("latency_work", 10 * _MS, 20 * _MS)],
        {"work": _consecutive((0, 10 * _MS, 100_000)), "latency_work": _consecutive((14 * _MS, 20 * _MS, 200_000))},
    )
    steady = timelines_of([late], ("latency_work",)).steady
    assert steady.passed_ns == pytest.approx(20 * _MS)
    assert max(_times(("latency_work",), late, 1.0)) == pytest.approx(5.0), "another process had 4 ms"
    chain = _consecutive((0, 10 * _MS, 200_000))
    fetched = _cpu_samples(_CACHED, {"latency_work": chain, "memory": _memory_samples()})
    assert set(_times(("latency_work",), fetched, 1.0)) == {1.0}


def test_only_piece_of_a_slot_may_be_an_interrupted_one() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS), ("native_work", 10 * _MS, 15 * _MS), ("work", 15 * _MS, 25 * _MS)]
    slots.append(("native_work", 25 * _MS, 30 * _MS))
    work = _consecutive((0, 10 * _MS, 100_000), (15 * _MS, 25 * _MS, 100_000))
    once, later = Samples((10 * _MS,), (5 * _MS,)), _consecutive((25 * _MS, 30 * _MS, 100_000))
    dense = Samples((*once.start_ns, *later.start_ns), (*once.length_ns, *later.length_ns))
    steady = timelines_of([_cpu_samples(slots, {"work": work, "native_work": dense})], ("work",)).steady
    assert steady.passed_ns - steady.useful_ns == pytest.approx(4_900_000), "another process had the rest"


def test_slots_lost_to_other_processes_after_a_rest_count_as_time() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS)]  # then a rest
    slots += [("work", 20 * _MS, 25 * _MS), ("work", 25 * _MS, 30 * _MS), ("work", 30 * _MS, 40 * _MS)]
    work = _consecutive((0, 10 * _MS, 100_000), (32 * _MS, 40 * _MS, 100_000))
    steady = timelines_of([_cpu_samples(slots, {"work": work})], ("work",)).steady
    assert (steady.passed_ns, steady.useful_ns) == (30 * _MS, 18 * _MS)


def test_slot_lost_to_other_processes_counts_as_time() -> None:
    slots: list[Slot] = [("work", 0, 10 * _MS), ("native_work", 10 * _MS, 15 * _MS), ("work", 15 * _MS, 25 * _MS)]
    slots.append(("native_work", 25 * _MS, 30 * _MS))
    work = _consecutive((0, 10 * _MS, 100_000), (18 * _MS, 25 * _MS, 100_000))
    dense = _consecutive((25 * _MS, 30 * _MS, 100_000))
    steady = timelines_of([_cpu_samples(slots, {"work": work, "native_work": dense})], ("work",)).steady
    assert (steady.passed_ns, steady.useful_ns) == (30 * _MS, 22 * _MS)
