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


def _placement_watch(*moments: Files) -> tuple[PlacementWatch, WrittenMachine]:
    machine = WrittenMachine(*moments)
    return PlacementWatch(machine, HOME, TWO_NODES), machine


def test_each_command_has_a_placement_of_its_own() -> None:
    watch, machine = _placement_watch(_nodes(0) | thread_files(9, cpu=2, ran_ns=5), _nodes(0) | thread_files(10, cpu=3))
    watch.begin(9)
    watch.sample()
    first = watch.end(used_ns=10)
    machine.advance()
    watch.begin(10)
    watch.sample()
    second = watch.end()
    assert [[thread.tid for thread in placement.threads] for placement in (first, second)] == [[9], [10]]
    assert (first.seen_share, second.seen_share) == (0.5, None)


def test_orphans_adopted_by_noisewatch_are_the_commands() -> None:
    own = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    before = _nodes(0) | thread_files(9) | {own: "9 "}
    watch, machine = _placement_watch(before, before | thread_files(30) | {own: "9 30 "})
    watch.begin(9)
    machine.advance()
    look = watch.sample()
    assert look is not None
    assert set(look.threads) == {9, 30}


def test_migrations_of_a_few_threads_are_counted_at_each_look() -> None:
    moments = [_nodes(0) | thread_files(9, ran_ns=count, migrations=count) for count in range(4)]
    watch, machine = _placement_watch(*moments)
    watch.begin(9)
    watch.sample()
    while machine.has_next:
        machine.advance()
        watch.sample()
    assert watch.end().threads[0].migrations == 3


@pytest.mark.parametrize(("target", "expected"), [(HOME, 0), (frozenset({1, 2}), 3)])
def test_migrations_of_many_threads_are_counted_at_each_look_where_the_target_spans_nodes(
    target: CpuSet, expected: int
) -> None:
    """Counting is expensive, so on one node it is done at each tenth look only."""

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
    assert {thread.migrations for thread in threads} == {expected}


def test_migrations_between_nodes_count_from_the_start_of_the_command() -> None:
    moments = [_nodes(0) | thread_files(9, cpu=1, ran_ns=100, migrations=count) for count in (4, 6)]
    machine = WrittenMachine(*moments)
    watch = PlacementWatch(machine, frozenset({1, 2}), TWO_NODES)
    watch.begin(9)
    machine.advance()
    watch.sample()
    placement = watch.end(used_ns=100)
    assert (placement.threads[0].migrations, placement.hidden_ns) == (2, 100)


def test_memory_on_other_nodes_is_bounded_by_their_counters() -> None:
    watch, machine = _placement_watch(_nodes(0), _nodes(100))
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
def test_uncounted_memory_is_unknown(files: Files, words: str) -> None:
    watch, _ = _placement_watch(files)
    watch.begin(9)
    memory = watch.end().memory
    assert memory.share is None
    assert words in str(memory.reason)


def test_a_cpu_of_an_unknown_node_makes_memory_unknown() -> None:
    watch = PlacementWatch(WrittenMachine(_nodes(0)), HOME, UNKNOWN_NODES)
    watch.begin(9)
    placement = watch.end()
    assert placement.memory.share is None
    assert placement.nodes == {None}


@pytest.mark.parametrize("files", [{**BARE}, {**BARE, **NUMA_KERNEL, f"{NODES}/node0/cpulist": "0-3\n"}])
def test_no_memory_is_on_other_nodes_if_there_is_one_node(files: dict[str, str]) -> None:
    places = ONE_NODE if f"{NODES}/node0/cpulist" in files else UNKNOWN_NODES
    watch = PlacementWatch(WrittenMachine(files), HOME, places)
    watch.begin(9)
    placement = watch.end()
    assert placement.memory.size_bytes == 0
    assert placement.nodes == {0}


def test_memory_is_unknown_without_a_command() -> None:
    watch, _ = _placement_watch(_nodes(0))
    assert watch.sample() is None
    assert watch.end().memory.share is None


def test_a_placement_watch_accepts_a_read_topology() -> None:
    files = _nodes(0) | {f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id": f"{cpu}\n" for cpu in range(4)}
    topology = read_topology(reading(files), None)
    watch = PlacementWatch(WrittenMachine(files), frozenset({1, 2}), topology)
    assert watch.end().nodes == {0, 1}


def test_a_trace_adds_threads_that_no_look_observed() -> None:
    watch, _ = _placement_watch(_nodes(0))
    watch.begin(9)
    thread = TracedThread(9, "bench", {2: 50_000_000, 3: 30_000_000}, {(2, 3): 1})
    window = TraceWindow(0, 100_000_000, {2: 50_000_000, 3: 30_000_000}, (), threads=(thread,))
    placement = watch.by_trace(watch.end(80_000_000), window)
    assert (placement.is_traced, placement.threads[0].moves, placement.threads[0].node_moves) == (True, 1, 0)


PAIRS = {cpu: place(cpu, node=0, core=cpu - cpu % 2 if cpu % 2 else cpu + 1) for cpu in range(4)}


class _Kernel:
    """Affinities by thread ID, changed only by `set_affinity`; a thread without an entry may use all CPUs."""

    def __init__(self, ended: Iterable[int] = (), **cpus_by_name: Iterable[int]) -> None:
        self.ended = set(ended)
        self.cpus: dict[int, CpuSet] = {int(tid[1:]): frozenset(cpus) for tid, cpus in cpus_by_name.items()}

    def affinity(self, tid: int) -> CpuSet:
        if tid in self.ended:
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


def test_stacked_threads_get_a_cpu_each_and_the_first_one_stays() -> None:
    kernel = _Kernel()
    done = kernel.spreader().spread(_look(_ready(7), _ready(8), _ready(9)))
    assert [(pin.tid, pin.cpu, pin.reason) for pin in done] == [(7, 2, None), (8, 0, None), (9, 1, None)]
    assert kernel.cpus == {7: {2}, 8: {0}, 9: {1}}


def test_whole_cores_come_before_second_threads_of_a_core() -> None:
    done = _Kernel().spreader(PAIRS).spread(_look(_ready(7), _ready(8), _ready(9)))
    assert [pin.cpu for pin in done] == [2, 0, 1]
    assert [pin.cpu for pin in _Kernel().spreader(PAIRS).spread(_look(_ready(7, 0), _ready(8, 1)))] == [0, 2]


def test_a_thread_that_has_a_cpu_is_not_pinned_again() -> None:
    spreader = _Kernel().spreader()
    spreader.spread(_look(_ready(8)))
    assert spreader.spread(_look(_ready(8, ran_ns=9))) == []


def test_a_thread_that_sleeps_is_not_pinned() -> None:
    assert _Kernel().spreader().spread(_look(thread_look(8))) == []


def test_a_new_thread_gets_a_free_cpu_though_it_inherited_an_affinity() -> None:
    kernel = _Kernel()
    spreader = kernel.spreader()
    spreader.spread(_look(_ready(8)))
    kernel.cpus[9] = kernel.cpus[8]
    assert [(pin.tid, pin.cpu) for pin in spreader.spread(_look(_ready(8), _ready(9)))] == [(9, 0)]


def test_the_cpu_of_an_ended_thread_is_free_again() -> None:
    spreader = _Kernel().spreader()
    spreader.spread(_look(*(_ready(tid) for tid in range(4))))
    assert [pin.cpu for pin in spreader.spread(_look(*(_ready(tid) for tid in (1, 2, 3, 9))))] == [2]


def test_an_idle_thread_is_unpinned_for_a_busy_one() -> None:
    kernel = _Kernel()
    spreader, busy = kernel.spreader(), [_ready(tid) for tid in (1, 2, 3)]
    resting = thread_look(4, 3)
    spreader.spread(_look(*busy, _ready(4)))
    spreader.spread(_look(*busy, resting))
    done = spreader.spread(_look(*busy, resting, _ready(9)))
    assert [(pin.tid, pin.cpu) for pin in done] == [(4, None), (9, 3)]
    assert kernel.cpus[4] == ALL
    assert kernel.cpus[9] == {3}


def test_a_thread_that_was_kept_from_running_is_not_idle() -> None:
    spreader, busy = _Kernel().spreader(), [_ready(tid) for tid in (1, 2, 3)]
    asleep = thread_look(4, 3)
    spreader.spread(_look(*busy, _ready(4)))
    spreader.spread(_look(*busy, asleep))
    look = CommandLook(0, by_tid(*busy, asleep, _ready(9)), frozenset({4}))
    assert spreader.spread(look) == []


def test_busy_threads_beyond_the_number_of_cpus_are_not_pinned() -> None:
    kernel = _Kernel()
    assert len(kernel.spreader().spread(_look(*(_ready(tid) for tid in range(6))))) == 4
    assert 5 not in kernel.cpus


def test_a_thread_with_its_own_affinity_is_not_pinned_and_reported_once() -> None:
    kernel = _Kernel(t8={3})
    spreader = kernel.spreader()
    (pin,) = spreader.spread(_look(_ready(8)))
    assert (pin.cpu, pin.reason) == (None, "it set its own affinity")
    assert spreader.spread(_look(_ready(8))) == []
    assert kernel.cpus == {8: {3}}


def test_an_ended_thread_is_not_an_error() -> None:
    (pin,) = _Kernel(ended=[8]).spreader().spread(_look(_ready(8)))
    assert (pin.cpu, pin.reason) == (None, "the process is gone")


def test_the_outcome_counts_pinned_threads_and_reasons() -> None:
    spreader = _Kernel(ended=[9], t8={3}, t10={1}).spreader()
    assert spreader.outcome == SpreadThreads(0, {})
    for _ in range(2):
        spreader.spread(_look(_ready(7), _ready(8), _ready(9), _ready(10)))
    assert spreader.outcome == SpreadThreads(1, {"it set its own affinity": 2, "the process is gone": 1})
