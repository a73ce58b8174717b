"""Giving each busy thread a CPU of its own."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.model.run.placement import SpreadThreads
from noisewatch.operations.run.placement_watch import ThreadSpreader
from tests.kernel.tasks.commands import by_tid, thread_look
from tests.model.run.places import ALL, ONE_NODE, place

PAIRS = {cpu: place(cpu, node=0, core=cpu - cpu % 2 if cpu % 2 else cpu + 1) for cpu in range(4)}


class _Kernel:
    """Affinities by thread ID, changed only by `set_affinity`; a thread without an entry may use all CPUs."""

    def __init__(self, gone: Iterable[int] = (), **given: Iterable[int]) -> None:
        self.gone = set(gone)
        self.cpus: dict[int, CpuSet] = {int(tid[1:]): frozenset(cpus) for tid, cpus in given.items()}

    def affinity(self, tid: int) -> CpuSet:
        if tid in self.gone:
            raise OSError(errno.ESRCH, "No such process")
        return self.cpus.get(tid, ALL)

    def set_affinity(self, tid: int, cpus: Iterable[int]) -> None:
        self.cpus[tid] = frozenset(cpus)

    def spreader(self, places: Mapping[int, CpuPlace] = ONE_NODE) -> ThreadSpreader:
        return ThreadSpreader(ALL, places, self.affinity, self.set_affinity)


def _look(*threads: ThreadLook) -> CommandLook:
    return CommandLook(0, by_tid(*threads))


def _ready(tid: int, cpu: int = 2, ran_ns: int = 0) -> ThreadLook:
    return thread_look(tid, cpu, ran_ns, state="R")


def test_stacked_threads_get_a_cpu_each_and_the_first_stays_where_it_is() -> None:
    kernel = _Kernel()
    done = kernel.spreader().spread(_look(_ready(7), _ready(8), _ready(9)))
    assert [(each.tid, each.cpu, each.reason) for each in done] == [(7, 2, None), (8, 0, None), (9, 1, None)]
    assert kernel.cpus == {7: {2}, 8: {0}, 9: {1}}


def test_whole_cores_come_before_second_threads_of_a_core() -> None:
    done = _Kernel().spreader(PAIRS).spread(_look(_ready(7), _ready(8), _ready(9)))
    assert [each.cpu for each in done] == [2, 0, 1]
    assert [each.cpu for each in _Kernel().spreader(PAIRS).spread(_look(_ready(7, 0), _ready(8, 1)))] == [0, 2]


def test_a_thread_that_has_a_cpu_is_not_pinned_again() -> None:
    spreader = _Kernel().spreader()
    spreader.spread(_look(_ready(8)))
    assert spreader.spread(_look(_ready(8, ran_ns=9))) == []


def test_a_thread_that_sleeps_is_not_pinned() -> None:
    assert _Kernel().spreader().spread(_look(thread_look(8))) == []


def test_a_thread_that_appears_later_gets_a_free_cpu_although_it_inherited_another_ones() -> None:
    kernel = _Kernel()
    spreader = kernel.spreader()
    spreader.spread(_look(_ready(8)))
    kernel.cpus[9] = kernel.cpus[8]
    assert [(each.tid, each.cpu) for each in spreader.spread(_look(_ready(8), _ready(9)))] == [(9, 0)]


def test_the_cpu_of_a_thread_that_ended_is_free_again() -> None:
    spreader = _Kernel().spreader()
    spreader.spread(_look(*(_ready(tid) for tid in range(4))))
    assert [each.cpu for each in spreader.spread(_look(*(_ready(tid) for tid in (1, 2, 3, 9))))] == [2]


def test_a_thread_that_rests_is_let_go_for_one_that_is_busy() -> None:
    kernel = _Kernel()
    spreader, busy = kernel.spreader(), [_ready(tid) for tid in (1, 2, 3)]
    resting = thread_look(4, 3)
    spreader.spread(_look(*busy, _ready(4)))
    spreader.spread(_look(*busy, resting))
    done = spreader.spread(_look(*busy, resting, _ready(9)))
    assert [(each.tid, each.cpu) for each in done] == [(4, None), (9, 3)]
    assert kernel.cpus[4] == ALL
    assert kernel.cpus[9] == {3}


def test_a_thread_that_had_no_turn_is_not_taken_for_one_that_rests() -> None:
    spreader, busy = _Kernel().spreader(), [_ready(tid) for tid in (1, 2, 3)]
    asleep = thread_look(4, 3)
    spreader.spread(_look(*busy, _ready(4)))
    spreader.spread(_look(*busy, asleep))
    look = CommandLook(0, by_tid(*busy, asleep, _ready(9)), frozenset({4}))
    assert spreader.spread(look) == []


def test_more_busy_threads_than_cpus_leave_the_rest_on_all() -> None:
    kernel = _Kernel()
    assert len(kernel.spreader().spread(_look(*(_ready(tid) for tid in range(6))))) == 4
    assert 5 not in kernel.cpus


def test_a_thread_that_chose_its_cpus_is_left_alone_and_that_is_said_once() -> None:
    kernel = _Kernel(t8={3})
    spreader = kernel.spreader()
    (said,) = spreader.spread(_look(_ready(8)))
    assert (said.cpu, said.reason) == (None, "it chose its CPUs itself")
    assert spreader.spread(_look(_ready(8))) == []
    assert kernel.cpus == {8: {3}}


def test_a_thread_that_has_ended_since_is_no_fault() -> None:
    (said,) = _Kernel(gone=[8]).spreader().spread(_look(_ready(8)))
    assert (said.cpu, said.reason) == (None, "the process is gone")


def test_what_it_came_to_is_counted() -> None:
    spreader = _Kernel(gone=[9], t8={3}, t10={1}).spreader()
    assert spreader.outcome == SpreadThreads(0, {})
    for _ in range(2):
        spreader.spread(_look(_ready(7), _ready(8), _ready(9), _ready(10)))
    assert spreader.outcome == SpreadThreads(1, {"it chose its CPUs itself": 2, "the process is gone": 1})
