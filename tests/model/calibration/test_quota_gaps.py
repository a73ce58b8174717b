"""Gaps of a CPU quota and their cost: from the trace, the kernel's counters, and the times at which stops end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples, Gaps, Samples
from noisewatch.kernel.trace.runs import CpuPieces, RunStats, Thread, Trace, TracedSource
from noisewatch.kinds import Kind
from noisewatch.machine.spinning.calibration.buffer import INTERPRETER
from noisewatch.model.calibration.attribution import (
    HIDDEN,
    Attribution,
    ConcurrentObservations,
    attribution_of,
    name_of_hidden,
)
from tests.model.interval.sampling import interval_of
from tests.written import Files, mounted

_US, _MS = 1_000, 1_000_000
_GROUP = "/sys/fs/cgroup/ci"
_TICKS, _HOGS, _LOOP = 1, 2, 3
_SOURCES = (
    TracedSource(Kind.IDLE, "idle"),
    TracedSource(Kind.TICK, "local_timer"),
    TracedSource(Kind.THREAD, "hog", thread=Thread(901, "hog", 900, False)),
    TracedSource(Kind.THREAD, "loop", thread=Thread(50, "loop", 50, False)),
)
_Gap = tuple[int, int, int]  # start, length and switches


def _samples(gaps: Sequence[_Gap], work: Sequence[int] = (), length_ms: int = 1000) -> CalibrationSamples:
    """Return a calibration of CPU 1 that looked for gaps, then did pieces of fixed work of the lengths `work` (ns)."""
    begins, lengths, switches = (tuple(gap[at] for gap in sorted(gaps)) for at in range(3))
    starts = [length_ms * _MS + sum(work[:at]) for at in range(len(work))]
    cpu = CpuSamples(
        1,
        None,
        spun_ns=length_ms * _MS,
        gaps=Gaps(begins, lengths, switches, (-1,) * len(gaps)),
        samples_by_series={INTERPRETER: Samples(tuple(starts), tuple(work))},
        spinner_tid=50,
    )
    return CalibrationSamples(
        core="native",
        begin_ns=0,
        length_ns=length_ms * _MS + sum(work),
        threshold_ns=1_000,
        is_realtime=False,
        command=(),
        cpus=(cpu,),
    )


def _group(throttled: int, usec: int, cpu_max: str = "50000 100000") -> Files:
    return {
        "/proc/self/cgroup": "0::/ci\n",
        f"{_GROUP}/cgroup.controllers": "cpu\n",
        f"{_GROUP}/cgroup.events": "populated 1\n",
        f"{_GROUP}/cpu.max": f"{cpu_max}\n",
        f"{_GROUP}/cpu.stat": f"nr_periods 40\nnr_throttled {throttled}\nthrottled_usec {usec}\n",
    }


def _with_quota(usec: int, trace: Trace | str = "permission denied") -> ConcurrentObservations:
    """Return what was counted while the quota stopped the group for `usec`."""
    interval = interval_of(_group(3, 7), _group(13, 7 + usec))
    return ConcurrentObservations(trace, interval.before, interval)


def _with_hidden_parents(trace: Trace | str = "permission denied") -> ConcurrentObservations:
    files = mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/..")
    interval = interval_of(files, files)
    return ConcurrentObservations(trace, interval.before, interval)


def _trace(*pieces: tuple[int, int, int]) -> Trace:
    starts, ends, sources = zip(*sorted(pieces), strict=True)
    cpu = CpuPieces(
        cpu=1,
        lost_events=0,
        lost_pieces=0,
        unseen_switches=0,
        unseen_ns=0,
        sources=_SOURCES,
        stats=(RunStats(0, 0, 0, {}),) * len(_SOURCES),
        start_ns=starts,
        end_ns=ends,
        source=sources,
    )
    return Trace(0, 10_000 * _MS, (), (cpu,))


def _shares(attribution: Attribution) -> dict[str, float]:
    disturbances = (culprit.disturbance for culprit in attribution.culprits_by_cpu[1])
    return {disturbance.kind: round(disturbance.share or 0.0, 3) for disturbance in disturbances}


_STOPS: list[_Gap] = [(100 * _MS * number + 50 * _MS, 50 * _MS, 1) for number in range(10)]
_TICKING: list[_Gap] = [(4 * _MS * number + 5 * _US, 9 * _US, 0) for number in range(250)]
_KWORKER: list[_Gap] = [(100 * _MS * number + 21 * _MS, 40 * _US, 2) for number in range(10)]


def test_gaps_with_a_switch_are_the_quotas_up_to_the_throttled_time() -> None:
    attribution = attribution_of(_samples([*_STOPS, *_TICKING, *_KWORKER]), _with_quota(500_000))
    assert _shares(attribution) == {"quota": 0.5, "tick": 0.002, "thread": 0.0}
    first = attribution.culprits_by_cpu[1][0].disturbance
    assert (first.name, first.is_inferred) == (f"CPU quota of {_GROUP}: 50 ms in each 100 ms", True)
    suspects = attribution.suspects_by_cpu[1]
    assert [suspect.kind for suspect in suspects if suspect.kind in ("quota", "unexplained")] == []


def test_gaps_beyond_the_throttled_time_are_another_threads() -> None:
    attribution = attribution_of(_samples(_STOPS), _with_quota(100_000))
    assert _shares(attribution) == {"thread": 0.4, "quota": 0.1}


def test_short_stops_are_the_quotas_and_not_the_ticks_that_run_in_them() -> None:
    """A tick runs in each stop of 2 ms, and the trace contains nothing else there."""
    stops: list[_Gap] = [(4 * _MS * number, 2 * _MS, 1) for number in range(250)]
    trace = _trace(*((start + 10 * _US, start + 40 * _US, _TICKS) for start, _, _ in stops))
    attribution = attribution_of(_samples(stops), _with_quota(500_000, trace))
    assert _shares(attribution) == {"quota": 0.5}
    assert {culprit.disturbance.is_inferred for culprit in attribution.culprits_by_cpu[1]} == {True}
    assert _shares(attribution_of(_samples(stops), ConcurrentObservations(trace))) != {"quota": 0.5}


def test_idle_stops_look_like_a_quota_of_hidden_parents_however_short_the_period_is() -> None:
    stops: list[_Gap] = [(10 * _MS * number, 5 * _MS, 1) for number in range(100)]
    ticks = _trace(*((start + 10 * _US, start + 40 * _US, _TICKS) for start, _, _ in stops))
    attribution = attribution_of(_samples(stops), _with_hidden_parents(ticks))
    assert _shares(attribution) == {"quota": 0.5}
    assert attribution.culprits_by_cpu[1][0].disturbance.name == HIDDEN
    hogs = _trace(*((start, start + 4 * _MS, _HOGS) for start, _, _ in stops))
    assert _shares(attribution_of(_samples(stops), _with_hidden_parents(hogs))) == {"thread": 0.5}
    assert _shares(attribution_of(_samples(stops[:3]), _with_hidden_parents(ticks))) == {"outside": 0.015}


def test_short_idle_stops_are_summed_over_the_calibration() -> None:
    stops: list[_Gap] = [(10 * _MS * number, 5 * _MS, 1) for number in range(100)]
    ticks = _trace(*((start + 10 * _US, start + 40 * _US, _TICKS) for start, _, _ in stops))
    quota = attribution_of(_samples(stops), _with_hidden_parents(ticks)).quota_by_cpu[1]
    assert (quota.kind, quota.name, quota.share, quota.is_inferred) == ("quota", HIDDEN, 0.5, True)
    assert attribution_of(_samples(stops), _with_hidden_parents()).quota_by_cpu == {}


_PIECE = 200 * _US
_LONG_WORK = [_PIECE] * 500 + [150 * _MS + _PIECE] + [_PIECE] * 4_000 + [150 * _MS + _PIECE] + [_PIECE] * 500


def _traced_pieces(source: int, *, are_stops_idle: bool) -> list[tuple[int, int, int]]:
    """Return a traced piece for each piece of `_LONG_WORK`, after a second of looking for gaps."""
    pieces, at_ns = [], 1000 * _MS
    for length in _LONG_WORK:
        pieces.append((at_ns, at_ns + (_PIECE if are_stops_idle else length), source))
        at_ns += length
    return pieces


def test_two_long_idle_stops_of_work_look_like_a_quota() -> None:
    """A calibration contains few periods of one second."""
    idle, busy = (_traced_pieces(_LOOP, are_stops_idle=is_idle) for is_idle in (True, False))
    quota = attribution_of(_samples([], _LONG_WORK), _with_hidden_parents(_trace(*idle))).quota_by_cpu[1]
    assert quota.name == HIDDEN
    assert quota.share == pytest.approx(0.3 / 2.3, rel=0.01)
    for trace in (_trace(*busy), _trace(*_traced_pieces(_HOGS, are_stops_idle=False)), "permission denied"):
        attribution = attribution_of(_samples([], _LONG_WORK), _with_hidden_parents(trace))
        assert attribution.quota_by_cpu == {}
        assert attribution.long_stops_by_cpu == {1: (150 * _MS, 150 * _MS)}


def test_trace_without_the_loop_does_not_prove_that_it_was_stopped() -> None:
    trace = _trace((0, 1, _TICKS))
    assert attribution_of(_samples([], _LONG_WORK), _with_hidden_parents(trace)).quota_by_cpu == {}


def test_short_stops_do_not_hide_two_long_ones_of_one_period() -> None:
    stops: list[_Gap] = [(0, 400 * _MS, 1), (1000 * _MS, 400 * _MS, 1), (1390 * _MS, 9 * _MS, 1)]
    attribution = attribution_of(_samples(stops, length_ms=2000), _with_hidden_parents())
    assert attribution.quota_by_cpu[1].name == name_of_hidden(1000 * _MS)


@pytest.mark.parametrize(
    ("stops", "period_ms"),
    [
        ([(967, 1111), (1915, 2110)], 1000),
        ([(167, 207), (683, 1204), (1679, 2206)], 1000),
        ([(100, 160), (610, 660), (1100, 1160)], 500),
        ([(967, 1111), (1600, 2011)], None),
        ([(167, 187), (683, 704), (1180, 1206)], None),
    ],
)
def test_two_long_stops_that_end_with_a_long_period_look_like_a_quota(
    stops: list[tuple[int, int]], period_ms: int | None
) -> None:
    gaps: list[_Gap] = [(begin * _MS, (end - begin) * _MS, 1) for begin, end in stops]
    quota = attribution_of(_samples(gaps, length_ms=2000), _with_hidden_parents()).quota_by_cpu.get(1)
    assert (quota.name if quota is not None else None) == (period_ms and name_of_hidden(period_ms * _MS))


def test_single_long_stop_is_reported_without_a_name_where_parents_are_hidden() -> None:
    stop: list[_Gap] = [(300 * _MS, 400 * _MS, 1)]
    attribution = attribution_of(_samples([*stop, *_TICKING]), _with_hidden_parents())
    assert (attribution.quota_by_cpu, attribution.long_stops_by_cpu) == ({}, {1: (400 * _MS,)})
    interval = interval_of({}, {})
    unhidden = attribution_of(_samples(stop), ConcurrentObservations("permission denied", interval.before, interval))
    assert unhidden.long_stops_by_cpu == {}


def test_thread_that_ran_while_the_loop_was_stopped_is_not_the_cause() -> None:
    trace = _trace(*((start, start + 49 * _MS, _HOGS) for start, _, _ in _STOPS))
    assert _shares(attribution_of(_samples(_STOPS), _with_quota(500_000, trace))) == {"quota": 0.5}
    assert _shares(attribution_of(_samples(_STOPS), _with_quota(50_000, trace))) == {"thread": 0.45, "quota": 0.05}


def test_gap_without_a_switch_is_not_a_stop() -> None:
    steal: list[_Gap] = [(start, length, 0) for start, length, _ in _STOPS]
    trace = _trace((0, 1, _TICKS))
    assert _shares(attribution_of(_samples(steal), _with_quota(500_000, trace))) == {"outside": 0.5}


def test_quota_that_stopped_only_work_is_a_suspect() -> None:
    work = [200 * _US] * 500 + [500 * _MS] + [200 * _US] * 500
    for trace in ("permission denied", _trace((0, 1, _TICKS))):
        attribution = attribution_of(_samples([], work), _with_quota(500_000, trace))
        (suspect,) = [candidate for candidate in attribution.suspects_by_cpu[1] if candidate.kind == "quota"]
        assert suspect.share == pytest.approx(500 / 1700, rel=0.01)


def test_quota_is_charged_with_no_more_than_the_stops_of_this_cpu() -> None:
    """The kernel counts the time of all CPUs together."""
    quota = attribution_of(_samples(_STOPS), _with_quota(1_000_000)).quota_by_cpu[1]
    assert quota.share == 0.5


def test_stops_that_end_at_one_phase_of_a_period_look_like_a_quota_where_parents_are_hidden() -> None:
    for period_ms in (20, 100, 250, 500):
        stops: list[_Gap] = [
            (period_ms * _MS * number, round(0.4 * period_ms * _MS) + number % 3 * 90 * _US, 1)
            for number in range(3000 // period_ms)
        ]
        samples = _samples([*stops, *_TICKING, *_KWORKER], length_ms=3000)
        attribution = attribution_of(samples, _with_hidden_parents())
        assert attribution.quota_by_cpu[1].name == name_of_hidden(period_ms * _MS)
        assert attribution.quota_by_cpu[1].share == pytest.approx(0.4, rel=0.02)
        assert _shares(attribution)["quota"] == pytest.approx(0.4, rel=0.02)
        assert attribution.quota_by_cpu[1].is_inferred


def test_nothing_looks_like_a_quota_where_all_groups_are_visible() -> None:
    interval = interval_of({}, {})
    attribution = attribution_of(
        _samples(_STOPS), ConcurrentObservations("permission denied", interval.before, interval)
    )
    assert attribution.quota_by_cpu == {}
    assert _shares(attribution) == {"thread": 0.5}


@pytest.mark.parametrize(
    "stops",
    [
        [(20 * _MS * number + number % 5 * 4 * _MS, 4 * _MS, 1) for number in range(50)],
        [(number * 17 * _MS + number * number * 7_919, 8 * _MS, 1) for number in range(50)],
        _STOPS[:3],
        [],
    ],
    ids=["preempted at the tick", "at any time", "too few", "none"],
)
def test_stops_that_end_at_any_phase_do_not_look_like_a_quota(stops: list[_Gap]) -> None:
    assert attribution_of(_samples(stops), _with_hidden_parents()).quota_by_cpu == {}


def test_thousands_of_stops_are_searched_quickly() -> None:
    stops: list[_Gap] = [(4 * _MS * number, 3 * _MS, 1) for number in range(5_000)]
    assert attribution_of(_samples(stops, length_ms=20_000), _with_hidden_parents()).quota_by_cpu == {}
