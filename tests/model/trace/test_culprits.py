"""Culprits on a traced CPU: many threads of one name are one culprit."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.kernel.interrupts.irqs import Irq, Irqs
from noisewatch.kernel.trace.runs import CpuPieces, Thread, TracedSource, TracedTime, TraceWindow, parse_trace
from noisewatch.kinds import Kind
from noisewatch.model.calibration.gap_causes import longest_interruptions
from noisewatch.model.trace.culprits import TracedCpu, culprits_of, threads_in
from tests.written.trace import trace_with_regular_hog, written_trace

_MS = 1_000_000


def _traced_cpu(*shells_ns: int) -> TracedCpu:
    """Return CPU 2 of the written trace with one more thread named sh for each time (ns)."""
    trace = written_trace()
    for number, ns in enumerate(shells_ns):
        trace["cpus"][0]["sources"].append(["thread", "sh", 1_000 + number, None])
        trace["cpus"][0]["spells"].append([2, ns, ns, [ns, 2]])
        trace["threads"][str(1_000 + number)] = {"name": "sh", "pid": 1_000 + number, "is_kernel": False}
    return culprits_of(parse_trace(trace), None)[0]


def _shells(traced: TracedCpu) -> list[tuple[str, int | None, int | None, int, int | None]]:
    shells = [culprit for culprit in traced.culprits if culprit.disturbance.name.startswith("sh")]
    return [
        (shell.disturbance.name, shell.disturbance.pid, shell.disturbance.tid, shell.count, shell.disturbance.stolen_ns)
        for shell in shells
    ]


def test_few_threads_of_one_name_are_listed_separately() -> None:
    assert _shells(_traced_cpu(3 * _MS, _MS)) == [("sh", 1000, 1000, 2, 3 * _MS), ("sh", 1001, 1001, 2, _MS)]


def test_many_threads_of_one_name_are_one_culprit_without_a_process() -> None:
    assert _shells(_traced_cpu(*[_MS] * 5)) == [("sh (5 threads)", None, None, 10, 5 * _MS)]


def test_longest_running_threads_are_listed_separately() -> None:
    assert _shells(_traced_cpu(90 * _MS, 30 * _MS, *[_MS] * 4)) == [
        ("sh", 1000, 1000, 2, 90 * _MS),
        ("sh", 1001, 1001, 2, 30 * _MS),
        ("sh (4 threads)", None, None, 8, 4 * _MS),
    ]


def test_group_of_threads_is_never_the_main_thread() -> None:
    traced = _traced_cpu(*[15 * _MS] * 100)
    assert traced.main_thread is not None
    assert traced.main_thread.disturbance.name == "bench"


def test_ended_thread_has_no_process_and_a_kernel_worker_is_recognized_by_name() -> None:
    trace = written_trace()
    trace["threads"]["30"] |= {"pid": None, "is_kernel": None}
    trace["threads"]["456"] |= {"pid": None, "is_kernel": None}
    culprits = culprits_of(parse_trace(trace), None)[0].culprits
    by_tid = {culprit.disturbance.tid: culprit.disturbance for culprit in culprits}
    assert (by_tid[30].kind, by_tid[30].pid, by_tid[30].process) == ("kernel-thread", None, "thread 30")
    assert (by_tid[456].pid, by_tid[456].process) == (None, "thread 456")


def _with_exited(*parents: dict[str, Any] | None) -> TracedCpu:
    """Return CPU 2 with one exited thread for each parent; None is an unknown parent."""
    trace = written_trace()
    for tid, parent in enumerate(parents, start=1_000):
        trace["cpus"][0]["sources"].append(["thread", "sh", tid, None])
        trace["cpus"][0]["spells"].append([2, 3 * _MS, 2 * _MS, [_MS, 1, 2 * _MS, 1]])
        trace["threads"][str(tid)] = {"name": "sh", "pid": None, "is_kernel": None, "parent": parent}
    return culprits_of(parse_trace(trace), None)[0]


_MAKE = {"pid": 500, "name": "make", "is_process": False}


def test_ended_threads_of_one_name_and_parent_are_one_culprit() -> None:
    traced = _with_exited(*[_MAKE] * 400, {**_MAKE, "pid": 501})
    assert _shells(traced) == [
        ("sh (400 ended children of make)", 500, None, 800, 1_200 * _MS),
        ("sh", None, 1400, 2, 3 * _MS),
    ]
    assert traced.culprits[0].max_ns == 2 * _MS
    assert traced.culprits[0].count_by_length == {_MS: 400, 2 * _MS: 400}


def test_ended_threads_belong_to_their_process_if_it_lives() -> None:
    assert _shells(_with_exited(*[{**_MAKE, "is_process": True}] * 2))[0][:2] == ("sh (2 ended threads of make)", 500)
    assert _shells(_with_exited(None, None))[0][:2] == ("sh (2 ended threads)", None)


def test_trace_recorded_without_parents_is_read() -> None:
    assert _shells(_with_exited({"pid": "?"}, {}))[0][:2] == ("sh (2 ended threads)", None)


def test_grouping_of_threads_keeps_their_time() -> None:
    apart, together = _traced_cpu(3 * _MS, 2 * _MS), _traced_cpu(*[_MS] * 5)
    assert apart.stolen_ns == together.stolen_ns


_IRQS = Irqs(
    None,
    {
        11: Irq(
            irq=11, allowed=None, effective=None, movable=False, actions=("arch_timer",), device=None, kind=Kind.TICK
        )
    },
)


def _kinds(irqs: Irqs | None, hz: int | None, *sources: list[Any], count: int = 100) -> list[tuple[str, str]]:
    """Return the kinds and names of the culprits if CPU 2 has the sources for two seconds."""
    trace = written_trace()
    trace["cpus"][0] |= {
        "sources": list(sources),
        "spells": [[count, count * 2_000, 2_000, [2_000, count]]] * len(sources),
        "pieces": [],
    }
    culprits = culprits_of(parse_trace(trace), irqs, hz)[0].culprits
    return [(culprit.disturbance.kind, culprit.disturbance.name) for culprit in culprits]


def test_timer_is_named_after_its_function_unless_it_is_the_tick() -> None:
    sources = ["tick", "local_timer", 0, "tick_nohz_handler"], ["tick", "local_timer", 0, "perf_swevent_hrtimer"]
    assert _kinds(None, 250, *sources) == [("tick", "timer tick"), ("timer", "perf_swevent_hrtimer (a profiler's)")]


def test_numbered_timer_irq_is_the_tick_or_named_after_its_function() -> None:
    sources = ["irq", "", 11, None], ["irq", "", 11, "tick_nohz_handler"], ["irq", "", 11, "hrtimer_wakeup"]
    assert _kinds(_IRQS, 250, *sources) == [("tick", "timer tick"), ("timer", "hrtimer_wakeup (threads that sleep)")]


@pytest.mark.parametrize(
    ("per_s", "hz", "expected"),
    [
        (250, 250, "timer tick"),
        (300, 250, "timer tick"),
        (450, 250, "timer interrupts"),
        (14_158, 250, "timer interrupts"),
        (1_000, 1000, "timer tick"),
        (1_000, None, "timer tick"),
        (14_158, None, "timer interrupts"),
    ],
)
def test_timer_interrupts_far_above_hz_are_not_ticks(per_s: int, hz: int | None, expected: str) -> None:
    ((_, name),) = _kinds(None, hz, ["tick", "local_timer", 0, None], count=2 * per_s)
    assert name == expected


_BENCH, _TICK, _DISK, _BLOCK, _WORKER = 1, 2, 3, 4, 5


def _pieces(*pieces: tuple[int, int, int]) -> CpuPieces:
    trace = written_trace()
    trace["cpus"][0]["pieces"] = [word for piece in pieces for word in piece]
    return parse_trace(trace).cpus[0]


def _longest(pieces: CpuPieces, most: int = 9) -> list[tuple[int, int, list[tuple[str, int]]]]:
    stretches = longest_interruptions(pieces, 900, None, most)
    return [
        (stretch.start_ns, stretch.length_ns, [(part.name, part.ns) for part in stretch.parts]) for stretch in stretches
    ]


def test_consecutive_pieces_are_one_stretch_with_each_source_once() -> None:
    pieces = _pieces((0, 10, _BENCH), (10, 12, _TICK), (12, 20, _WORKER), (20, 21, _TICK), (21, 90, _BENCH))
    assert _longest(pieces) == [(10, 11, [("kworker/2:1", 8), ("timer tick", 3)])]


def test_idle_time_ends_a_stretch() -> None:
    pieces = _pieces((0, 10, _TICK), (50, 53, _DISK), (53, 55, _BLOCK), (55, 60, _BENCH), (60, 64, _TICK))
    assert [stretch[:2] for stretch in _longest(pieces)] == [(0, 10), (50, 5), (60, 4)]


def test_only_the_longest_stretches_are_kept() -> None:
    pieces = _pieces(*((100 * number, 100 * number + number, _TICK) for number in range(1, 50)))
    assert [stretch[1] for stretch in _longest(pieces, 3)] == [49, 48, 47]


def test_times_of_one_culprit_within_a_command_add_up() -> None:
    thread = Thread(tid=7, name="cron", pid=7, is_kernel=False)
    source = TracedSource(kind=Kind.THREAD, name="cron", thread=thread)
    times = (
        TracedTime(cpu=2, source=source, ns=300, count=3, begin_ns=500, end_ns=900, doubt_ns=10),
        TracedTime(cpu=2, source=source, ns=100, count=2, begin_ns=100, end_ns=200, doubt_ns=5),
        TracedTime(cpu=3, source=source, ns=1000, count=1, begin_ns=0, end_ns=1000),
    )
    window = TraceWindow(begin_ns=0, end_ns=1000, own_ns_by_cpu={}, times=times)
    (culprit,) = threads_in(window, frozenset({2}))
    assert (culprit.name, culprit.pid) == ("cron", 7)
    assert (culprit.ns, culprit.count, culprit.begin_ns, culprit.end_ns, culprit.doubt_ns) == (400, 5, 100, 900, 15)


def test_regular_thread_has_a_rhythm_and_the_main_thread_that_it_interrupts_has_none() -> None:
    (traced,) = culprits_of(parse_trace(trace_with_regular_hog()), None)
    rhythm_by_name = {culprit.disturbance.name: culprit.disturbance.rhythm for culprit in traced.culprits}
    hog = rhythm_by_name["hog"]
    assert hog is not None
    assert (hog.text, hog.count) == ("10 times a second, 5 ms each", 20)
    assert traced.main_thread is not None
    assert (traced.main_thread.disturbance.name, traced.main_thread.disturbance.rhythm) == ("bench", None)


@pytest.mark.parametrize("missing", [{"lost_events": 1}, {"lost_events": None}, {"lost_pieces": 1}])
def test_incomplete_trace_shows_no_rhythm(missing: dict[str, int | None]) -> None:
    trace = trace_with_regular_hog()
    trace["cpus"][0] |= missing
    (traced,) = culprits_of(parse_trace(trace), None)
    assert {culprit.disturbance.rhythm for culprit in traced.culprits} == {None}
