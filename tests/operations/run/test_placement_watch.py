"""Watching where the threads of commands run, one command after the other."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping

import pytest

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import NODES, CpuPlace, read_topology
from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.kernel.trace.own_threads import TracedThread
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.model.run.placement import SpreadThreads
from noisewatch.operations.run.placement_watch import PlacementWatch, ThreadSpreader
from tests.kernel.tasks.commands import by_tid, thread_files, thread_look
from tests.model.run.places import ALL, ONE_NODE, TWO_NODES, UNKNOWN_NODES, place
from tests.written import BARE, Files, WrittenMachine, reading

HOME = frozenset({2, 3})
NUMASTAT = "numa_hit 1\nlocal_node {own}\nother_node {others}\n"
NUMA_KERNEL = {"/proc/sys/vm/zone_reclaim_mode": "0\n"}


def _nodes(others: int, **files: str) -> dict[str, str]:
    """Return the files of two NUMA nodes, of which the first has given `others` pages to CPUs of the second."""
    return {
        **BARE,
        **NUMA_KERNEL,
        f"{NODES}/node0/cpulist": "0-1\n",
        f"{NODES}/node1/cpulist": "2-3\n",
        f"{NODES}/node0/numastat": NUMASTAT.format(own=1000, others=others),
        f"{NODES}/node1/numastat": NUMASTAT.format(own=1000 + 3 * others, others=0),
        **files,
    }


def _watched(*moments: Files) -> tuple[PlacementWatch, WrittenMachine]:
    machine = WrittenMachine(*moments)
    return PlacementWatch(machine, HOME, TWO_NODES), machine


def test_each_command_is_told_by_itself() -> None:
    watch, machine = _watched(_nodes(0) | thread_files(9, cpu=2, ran_ns=5), _nodes(0) | thread_files(10, cpu=3))
    watch.begin(9)
    watch.sample()
    first = watch.end(used_ns=10)
    machine.advance()
    watch.begin(10)
    watch.sample()
    second = watch.end()
    assert [[thread.tid for thread in each.threads] for each in (first, second)] == [[9], [10]]
    assert (first.seen_share, second.seen_share) == (0.5, None)


def test_orphans_that_come_back_to_us_are_the_commands() -> None:
    own = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    before = _nodes(0) | thread_files(9) | {own: "9 "}
    watch, machine = _watched(before, before | thread_files(30) | {own: "9 30 "})
    watch.begin(9)
    machine.advance()
    look = watch.sample()
    assert look is not None
    assert set(look.threads) == {9, 30}


def test_migrations_of_a_few_threads_are_counted_at_each_look() -> None:
    moments = [_nodes(0) | thread_files(9, ran_ns=count, migrations=count) for count in range(4)]
    watch, machine = _watched(*moments)
    watch.begin(9)
    watch.sample()
    while machine.has_next:
        machine.advance()
        watch.sample()
    assert watch.end().threads[0].migrations == 3


@pytest.mark.parametrize(("target", "counted"), [(HOME, 0), (frozenset({1, 2}), 3)])
def test_migrations_of_many_threads_are_counted_at_each_look_where_the_target_spans_nodes(
    target: CpuSet, counted: int
) -> None:
    """Elsewhere at each tenth look: to count them takes as long as all else of a thread."""

    def many(migrations: int) -> Files:
        threads = [thread_files(9, tid, ran_ns=migrations, threads=20, migrations=migrations) for tid in range(9, 29)]
        return {path: text for files in (_nodes(0), *threads) for path, text in files.items()}

    machine = WrittenMachine(*(many(count) for count in range(4)))
    watch = PlacementWatch(machine, target, TWO_NODES)
    watch.begin(9)
    watch.sample()
    while machine.has_next:
        machine.advance()
        watch.sample()
    threads = watch.end().threads
    assert len(threads) == 20
    assert {thread.migrations for thread in threads} == {counted}


def test_where_the_target_spans_nodes_migrations_count_from_the_begin_on() -> None:
    """And not from the first look on."""
    moments = [_nodes(0) | thread_files(9, cpu=1, ran_ns=100, migrations=count) for count in (4, 6)]
    machine = WrittenMachine(*moments)
    watch = PlacementWatch(machine, frozenset({1, 2}), TWO_NODES)
    watch.begin(9)
    machine.advance()
    watch.sample()
    placement = watch.end(used_ns=100)
    assert (placement.threads[0].migrations, placement.hidden_ns) == (2, 100)


def test_memory_of_other_nodes_is_bounded_by_what_these_gave_away() -> None:
    watch, machine = _watched(_nodes(0), _nodes(100))
    watch.begin(9)
    machine.advance()
    memory = watch.end().memory
    assert (memory.share, memory.size_bytes, memory.is_bound) == (0.25, 100 * os.sysconf("SC_PAGE_SIZE"), True)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (_nodes(0, **{"/proc/sys/vm/numa_stat": "0\n"}), "is 0"),
        (_nodes(0, **{f"{NODES}/node0/numastat": "rubbish\n"}), "rubbish"),
        ({**BARE, **NUMA_KERNEL}, "no memory node is visible"),
    ],
)
def test_memory_that_nobody_counts_is_unknown(files: Files, words: str) -> None:
    watch, _ = _watched(files)
    watch.begin(9)
    memory = watch.end().memory
    assert memory.share is None
    assert words in str(memory.reason)


def test_a_cpu_of_no_known_node_leaves_memory_unknown() -> None:
    watch = PlacementWatch(WrittenMachine(_nodes(0)), HOME, UNKNOWN_NODES)
    watch.begin(9)
    placement = watch.end()
    assert placement.memory.share is None
    assert placement.nodes == {None}


@pytest.mark.parametrize("files", [{**BARE}, {**BARE, **NUMA_KERNEL, f"{NODES}/node0/cpulist": "0-3\n"}])
def test_with_one_node_no_memory_is_elsewhere(files: dict[str, str]) -> None:
    places = ONE_NODE if f"{NODES}/node0/cpulist" in files else UNKNOWN_NODES
    watch = PlacementWatch(WrittenMachine(files), HOME, places)
    watch.begin(9)
    placement = watch.end()
    assert placement.memory.size_bytes == 0
    assert placement.nodes == {0}


def test_without_a_command_nothing_is_known_of_memory() -> None:
    watch, _ = _watched(_nodes(0))
    assert watch.sample() is None
    assert watch.end().memory.share is None


def test_a_topology_that_was_read_will_do() -> None:
    files = _nodes(0) | {f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id": f"{cpu}\n" for cpu in range(4)}
    topology = read_topology(reading(files), None)
    watch = PlacementWatch(WrittenMachine(files), frozenset({1, 2}), topology)
    assert watch.end().nodes == {0, 1}


def test_a_trace_tells_where_threads_ran_that_no_look_saw() -> None:
    watch, _ = _watched(_nodes(0))
    watch.begin(9)
    thread = TracedThread(9, "bench", {2: 50_000_000, 3: 30_000_000}, {(2, 3): 1})
    window = TraceWindow(0, 100_000_000, {2: 50_000_000, 3: 30_000_000}, (), threads=(thread,))
    placement = watch.by_trace(watch.end(80_000_000), window)
    assert (placement.is_traced, placement.threads[0].moves, placement.threads[0].node_moves) == (True, 1, 0)


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
