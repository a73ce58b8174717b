"""Threads read in one snapshot after another: unchanged threads are not read again."""

from __future__ import annotations

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import SCHEDSTAT, crowd, process

TARGET = frozenset({2})


def read_tasks(task_reader: TaskReader, machine: WrittenMachine) -> Tasks:
    """Return the threads of one snapshot."""
    tasks = task_reader.read(Reader(machine), TARGET)
    assert tasks is not None
    return tasks


def _two_reads(before: Files, after: Files, task_reader: TaskReader | None = None) -> tuple[Tasks, list[str]]:
    """Return the threads of the second snapshot, and the paths that were read for it."""
    machine = WrittenMachine(before, after)
    task_reader = task_reader or TaskReader()
    read_tasks(task_reader, machine)
    machine.advance()
    machine.reads.clear()
    return read_tasks(task_reader, machine), machine.reads


def crowd_of(count: int, ran_ns: int = 1) -> dict[str, str]:
    """Return the files of `count` processes, numbered from 10 on, which ran on CPU 0 instead of the target."""
    files: dict[str, str] = {}
    for pid in range(10, 10 + count):
        files |= process(pid, f"p{pid}", 0, ran_ns)
    return files


def test_thread_with_constant_schedstat_is_not_read_again() -> None:
    tasks, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 0, 5))
    assert reads == ["/proc/", "/proc/9/schedstat"]
    assert tasks.by_tid[9].ran_ns == 5


def test_thread_that_ran_is_read_again() -> None:
    tasks, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 1, 6))
    assert "/proc/9/stat" in reads
    assert (tasks.by_tid[9].ran_ns, tasks.by_tid[9].cpu) == (6, 1)


def test_main_thread_that_sleeps_while_another_one_runs_keeps_its_affinity_and_migrations() -> None:
    """The main thread is read again nevertheless, because its stat has the time of all threads."""
    files = crowd(9, "x", [2, 2], "2-3", ran_ns=5_000_000)
    files["/proc/9/sched"] = "x (9, #threads: 2)\nse.nr_migrations     :   17\n"
    tasks, reads = _two_reads(files, files | {"/proc/9/task/10/schedstat": SCHEDSTAT.format(ran_ns=6_000_000)})
    assert "/proc/9/stat" in reads
    assert (tasks.by_tid[9].allowed, tasks.by_tid[9].migrations) == (frozenset({2, 3}), 17)


def test_thread_without_schedstat_is_always_read_again() -> None:
    before, after = process(9, "x", 0, 5, busy=1), process(9, "x", 0, 5, busy=2)
    del before["/proc/9/schedstat"], after["/proc/9/schedstat"]
    tasks, _ = _two_reads(before, after)
    assert tasks.by_tid[9].ran_ns == 20_000_000


def test_affinity_of_a_thread_that_ran_on_a_target_is_read() -> None:
    tasks, _ = _two_reads(process(9, "x", 2, 5, allowed="0-2"), process(9, "x", 2, 6, allowed="0-2"))
    assert tasks.by_tid[9].allowed == frozenset({0, 1, 2})


def test_affinity_of_a_thread_that_ran_elsewhere_is_not_read() -> None:
    _, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 0, 6))
    assert "/proc/9/status" not in reads


def _sched(moves: int) -> dict[str, str]:
    return {"/proc/9/sched": f"x (9, #threads: 1)\nse.nr_migrations    :     {moves}\n"}


def test_moves_of_a_thread_that_ran_long_enough_are_read() -> None:
    for ran_ns, reads in ((999_999, False), (1_000_000, True)):
        after = process(9, "x", 0, 5 + ran_ns) | _sched(7)
        tasks, paths = _two_reads(process(9, "x", 0, 5) | _sched(7), after)
        assert ("/proc/9/sched" in paths, tasks.by_tid[9].migrations) == (reads, 7 if reads else None)


def test_affinity_of_a_thread_is_read_if_it_moved() -> None:
    for moves, allowed in ((8, {0, 1}), (7, None)):
        before = process(9, "x", 0, 2_000_000, allowed="0-1") | _sched(7)
        after = process(9, "x", 0, 4_000_000, allowed="0-1") | _sched(moves)
        assert _two_reads(before, after)[0].by_tid[9].allowed == allowed


def test_moves_of_a_pinned_thread_are_not_read() -> None:
    after = process(9, "x", 2, 4_000_000, allowed="2") | _sched(7)
    _, paths = _two_reads(process(9, "x", 2, 2_000_000, allowed="2") | _sched(7), after)
    assert "/proc/9/sched" not in paths


def test_time_of_a_thread_on_a_tickless_cpu_is_updated_before_it_is_read() -> None:
    machine = WrittenMachine(process(9, "x", 2, 5))
    task_reader = TaskReader()
    task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads[-3:] == ["/proc/9/task/9/stat", "/proc/9/schedstat", "/proc/9/status"]
    machine.reads.clear()
    task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads == ["/proc/", "/proc/9/task/9/stat", "/proc/9/schedstat"]


def test_time_of_a_bound_kernel_thread_is_not_updated() -> None:
    machine = WrittenMachine(process(9, "migration/2", 2, 5, flags=0x0420_0000))
    task_reader = TaskReader()
    for _ in range(2):
        machine.reads.clear()
        task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads == ["/proc/", "/proc/9/schedstat"]


def test_ended_process_is_forgotten() -> None:
    tasks, _ = _two_reads(process(8, "x", 0, 5) | process(9, "y", 0, 5), process(8, "x", 0, 5))
    assert tasks == Tasks(tasks.by_tid, frozenset({8}), frozenset({8}))
    assert list(tasks.by_tid) == [8]


def test_reused_number_is_another_process() -> None:
    after = process(9, "new", 0, 7)
    after["/proc/9/stat"] = after["/proc/9/stat"].replace(" 109 ", " 5000 ")
    tasks, _ = _two_reads(process(9, "newer-than-old", 0, 5), after)
    assert (tasks.by_tid[9].name, tasks.by_tid[9].started_ticks) == ("new", 5000)


def test_thread_that_takes_a_shorter_name_has_it() -> None:
    tasks, _ = _two_reads(process(9, "worker-10", 0, 5), process(9, "worker-1", 0, 6))
    assert tasks.by_tid[9].name == "worker-1"


def test_budget_stops_the_reading_of_all_affinities() -> None:
    machine = WrittenMachine(crowd_of(1), crowd_of(1, ran_ns=2))
    task_reader = TaskReader(asks_all_affinities=True)
    assert read_tasks(task_reader, machine).by_tid[10].allowed == frozenset({0, 1})
    task_reader.limit(1_000_000)
    machine.advance()
    machine.reads.clear()
    read_tasks(task_reader, machine)
    assert "/proc/10/status" not in machine.reads
