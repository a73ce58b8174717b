"""Who had a traced CPU: threads of one name together where there are many."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.kernel.interrupts.irqs import Irq, Irqs
from noisewatch.kernel.trace.runs import CpuPieces, parse_trace
from noisewatch.kinds import Kind
from noisewatch.model.calibration.gap_causes import longest_interruptions
from noisewatch.model.trace.culprits import TracedCpu, culprits_of
from tests.written.trace import written_trace

_MS = 1_000_000


def _traced(*shells_ns: int) -> TracedCpu:
    """Return CPU 2 of the written trace with one more thread named sh for each time (ns)."""
    said = written_trace()
    for number, ns in enumerate(shells_ns):
        said["cpus"][0]["sources"].append(["thread", "sh", 1_000 + number, None])
        said["cpus"][0]["spells"].append([2, ns, ns, [ns, 2]])
        said["threads"][str(1_000 + number)] = {"name": "sh", "pid": 1_000 + number, "is_kernel": False}
    return culprits_of(parse_trace(said), None)[0]


def _shells(traced: TracedCpu) -> list[tuple[str, int | None, int | None, int, int | None]]:
    found = [each for each in traced.culprits if each.disturbance.name.startswith("sh")]
    return [
        (each.disturbance.name, each.disturbance.pid, each.disturbance.tid, each.count, each.disturbance.stolen_ns)
        for each in found
    ]


def test_a_few_threads_of_one_name_are_told_apart() -> None:
    assert _shells(_traced(3 * _MS, _MS)) == [("sh", 1000, 1000, 2, 3 * _MS), ("sh", 1001, 1001, 2, _MS)]


def test_many_are_one_source_and_belong_to_no_process() -> None:
    assert _shells(_traced(*[_MS] * 5)) == [("sh (5 threads)", None, None, 10, 5 * _MS)]


def test_those_that_have_had_the_cpu_for_long_stand_by_themselves() -> None:
    assert _shells(_traced(90 * _MS, 30 * _MS, *[_MS] * 4)) == [
        ("sh", 1000, 1000, 2, 90 * _MS),
        ("sh", 1001, 1001, 2, 30 * _MS),
        ("sh (4 threads)", None, None, 8, 4 * _MS),
    ]


def test_a_crowd_is_never_what_works_there() -> None:
    traced = _traced(*[15 * _MS] * 100)
    assert traced.main_thread is not None
    assert traced.main_thread.disturbance.name == "bench"


def test_a_thread_that_had_ended_has_no_process_and_a_worker_of_the_kernels_is_one_all_the_same() -> None:
    said = written_trace()
    said["threads"]["30"] |= {"pid": None, "is_kernel": None}
    said["threads"]["456"] |= {"pid": None, "is_kernel": None}
    found = {each.disturbance.tid: each.disturbance for each in culprits_of(parse_trace(said), None)[0].culprits}
    assert (found[30].kind, found[30].pid, found[30].process) == ("kernel-thread", None, "thread 30")
    assert (found[456].pid, found[456].process) == (None, "thread 456")


def _ended(*parents: dict[str, Any] | None) -> TracedCpu:
    """Return CPU 2 with one exited thread for each of these parents; None is an unknown parent."""
    said = written_trace()
    for tid, parent in enumerate(parents, start=1_000):
        said["cpus"][0]["sources"].append(["thread", "sh", tid, None])
        said["cpus"][0]["spells"].append([2, 3 * _MS, 2 * _MS, [_MS, 1, 2 * _MS, 1]])
        said["threads"][str(tid)] = {"name": "sh", "pid": None, "is_kernel": None, "parent": parent}
    return culprits_of(parse_trace(said), None)[0]


_MAKE = {"pid": 500, "name": "make", "is_process": False}


def test_ended_threads_of_one_name_and_parent_are_one_source() -> None:
    traced = _ended(*[_MAKE] * 400, {**_MAKE, "pid": 501})
    assert _shells(traced) == [
        ("sh (400 ended children of make)", 500, None, 800, 1_200 * _MS),
        ("sh", None, 1400, 2, 3 * _MS),
    ]
    assert traced.culprits[0].max_ns == 2 * _MS
    assert traced.culprits[0].count_by_length == {_MS: 400, 2 * _MS: 400}


def test_ended_threads_of_a_process_that_lives_are_its_threads_and_others_are_nobodys() -> None:
    assert _shells(_ended(*[{**_MAKE, "is_process": True}] * 2))[0][:2] == ("sh (2 ended threads of make)", 500)
    assert _shells(_ended(None, None))[0][:2] == ("sh (2 ended threads)", None)


def test_a_trace_recorded_before_parents_were_kept_is_read_all_the_same() -> None:
    assert _shells(_ended({"pid": "?"}, {}))[0][:2] == ("sh (2 ended threads)", None)


def test_no_time_is_lost_by_it() -> None:
    apart, together = _traced(3 * _MS, 2 * _MS), _traced(*[_MS] * 5)
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
    """Return the kinds and names of the culprits if CPU 2 has these sources for two seconds."""
    said = written_trace()
    said["cpus"][0] |= {
        "sources": list(sources),
        "spells": [[count, count * 2_000, 2_000, [2_000, count]]] * len(sources),
        "pieces": [],
    }
    found = culprits_of(parse_trace(said), irqs, hz)[0].culprits
    return [(each.disturbance.kind, each.disturbance.name) for each in found]


def test_a_timer_that_runs_something_else_than_the_tick_is_named_after_it() -> None:
    sources = ["tick", "local_timer", 0, "tick_nohz_handler"], ["tick", "local_timer", 0, "perf_swevent_hrtimer"]
    assert _kinds(None, 250, *sources) == [("tick", "timer tick"), ("timer", "perf_swevent_hrtimer (a profiler's)")]


def test_a_numbered_timer_of_the_cpu_is_the_tick_or_what_it_runs() -> None:
    sources = ["irq", "", 11, None], ["irq", "", 11, "tick_nohz_handler"], ["irq", "", 11, "hrtimer_wakeup"]
    assert _kinds(_IRQS, 250, *sources) == [("tick", "timer tick"), ("timer", "hrtimer_wakeup (threads that sleep)")]


@pytest.mark.parametrize(
    ("per_s", "hz", "told"),
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
def test_timer_interrupts_far_above_hz_are_no_tick(per_s: int, hz: int | None, told: str) -> None:
    ((_, name),) = _kinds(None, hz, ["tick", "local_timer", 0, None], count=2 * per_s)
    assert name == told


_BENCH, _TICK, _DISK, _BLOCK, _WORKER = 1, 2, 3, 4, 5


def _pieces(*pieces: tuple[int, int, int]) -> CpuPieces:
    said = written_trace()
    said["cpus"][0]["pieces"] = [word for piece in pieces for word in piece]
    return parse_trace(said).cpus[0]


def _found(pieces: CpuPieces, most: int = 9) -> list[tuple[int, int, list[tuple[str, int]]]]:
    stretches = longest_interruptions(pieces, 900, None, most)
    return [(each.start_ns, each.length_ns, [(part.name, part.ns) for part in each.parts]) for each in stretches]


def test_what_comes_one_after_the_other_is_one_stretch_and_each_source_is_in_it_once() -> None:
    pieces = _pieces((0, 10, _BENCH), (10, 12, _TICK), (12, 20, _WORKER), (20, 21, _TICK), (21, 90, _BENCH))
    assert _found(pieces) == [(10, 11, [("kworker/2:1", 8), ("timer tick", 3)])]


def test_idleness_ends_a_stretch_as_the_work_does() -> None:
    pieces = _pieces((0, 10, _TICK), (50, 53, _DISK), (53, 55, _BLOCK), (55, 60, _BENCH), (60, 64, _TICK))
    assert [each[:2] for each in _found(pieces)] == [(0, 10), (50, 5), (60, 4)]


def test_only_the_longest_are_kept() -> None:
    pieces = _pieces(*((100 * number, 100 * number + number, _TICK) for number in range(1, 50)))
    assert [each[1] for each in _found(pieces, 3)] == [49, 48, 47]
