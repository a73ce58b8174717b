"""Threads read snapshot after snapshot: what stands still is spared, and what is left out is said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import crowd, process

TARGET = frozenset({2})


def _ticking(budget_ns: int | None = None) -> TaskReader:
    """Each look at the time that it has used finds one more nanosecond."""
    return TaskReader(budget_ns, used_ns=count().__next__)


def _read(task_reader: TaskReader, machine: WrittenMachine) -> Tasks:
    tasks = task_reader.read(Reader(machine), TARGET)
    assert tasks is not None
    return tasks


def _two_reads(before: Files, after: Files, task_reader: TaskReader | None = None) -> tuple[Tasks, list[str]]:
    """The second reading, and the paths that it took."""
    machine = WrittenMachine(before, after)
    task_reader = task_reader or TaskReader()
    _read(task_reader, machine)
    machine.advance()
    machine.reads.clear()
    return _read(task_reader, machine), machine.reads


def _crowd(count: int, ran_ns: int = 1) -> dict[str, str]:
    files: dict[str, str] = {}
    for pid in range(10, 10 + count):
        files |= process(pid, f"p{pid}", 0, ran_ns)
    return files


def test_a_thread_whose_schedstat_stands_still_is_not_read_again() -> None:
    tasks, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 0, 5))
    assert reads == ["/proc/", "/proc/9/schedstat"]
    assert tasks.by_tid[9].ran_ns == 5


def test_a_thread_that_ran_is_read_again() -> None:
    tasks, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 1, 6))
    assert "/proc/9/stat" in reads
    assert (tasks.by_tid[9].ran_ns, tasks.by_tid[9].cpu) == (6, 1)


def test_a_thread_without_schedstat_is_always_read_again() -> None:
    before, after = process(9, "x", 0, 5, busy=1), process(9, "x", 0, 5, busy=2)
    del before["/proc/9/schedstat"], after["/proc/9/schedstat"]
    tasks, _ = _two_reads(before, after)
    assert tasks.by_tid[9].ran_ns == 20_000_000


def test_a_thread_that_ran_on_a_target_is_asked_for_its_affinity() -> None:
    tasks, _ = _two_reads(process(9, "x", 2, 5, allowed="0-2"), process(9, "x", 2, 6, allowed="0-2"))
    assert tasks.by_tid[9].allowed == frozenset({0, 1, 2})


def test_a_thread_that_ran_elsewhere_is_not_asked_for_its_affinity() -> None:
    _, reads = _two_reads(process(9, "x", 0, 5), process(9, "x", 0, 6))
    assert "/proc/9/status" not in reads


def _sched(moves: int) -> dict[str, str]:
    return {"/proc/9/sched": f"x (9, #threads: 1)\nse.nr_migrations    :     {moves}\n"}


def test_who_has_run_for_long_is_asked_whether_it_moved() -> None:
    for ran_ns, reads in ((999_999, False), (1_000_000, True)):
        after = process(9, "x", 0, 5 + ran_ns) | _sched(7)
        tasks, paths = _two_reads(process(9, "x", 0, 5) | _sched(7), after)
        assert ("/proc/9/sched" in paths, tasks.by_tid[9].migrations) == (reads, 7 if reads else None)


def test_who_moved_is_asked_where_it_may_be_and_who_did_not_is_not() -> None:
    for moves, allowed in ((8, {0, 1}), (7, None)):
        before = process(9, "x", 0, 2_000_000, allowed="0-1") | _sched(7)
        after = process(9, "x", 0, 4_000_000, allowed="0-1") | _sched(moves)
        assert _two_reads(before, after)[0].by_tid[9].allowed == allowed


def test_who_cannot_be_elsewhere_is_not_asked_whether_it_moved() -> None:
    after = process(9, "x", 2, 4_000_000, allowed="2") | _sched(7)
    _, paths = _two_reads(process(9, "x", 2, 2_000_000, allowed="2") | _sched(7), after)
    assert "/proc/9/sched" not in paths


def test_the_time_of_a_thread_on_a_tickless_cpu_is_brought_up_to_date_before_it_is_read() -> None:
    machine = WrittenMachine(process(9, "x", 2, 5))
    task_reader = TaskReader()
    task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads[-3:] == ["/proc/9/task/9/stat", "/proc/9/schedstat", "/proc/9/status"]
    machine.reads.clear()
    task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads == ["/proc/", "/proc/9/task/9/stat", "/proc/9/schedstat"]


def test_the_time_of_a_bound_kernel_thread_is_not() -> None:
    machine = WrittenMachine(process(9, "migration/2", 2, 5, flags=0x0420_0000))
    task_reader = TaskReader()
    for _ in range(2):
        machine.reads.clear()
        task_reader.read(Reader(machine), TARGET, frozenset({2}))
    assert machine.reads == ["/proc/", "/proc/9/schedstat"]


def test_a_process_that_ended_is_forgotten() -> None:
    tasks, _ = _two_reads(process(8, "x", 0, 5) | process(9, "y", 0, 5), process(8, "x", 0, 5))
    assert tasks == Tasks(tasks.by_tid, frozenset({8}), frozenset({8}))
    assert list(tasks.by_tid) == [8]


def test_another_process_under_a_number_that_was_free_is_another() -> None:
    after = process(9, "new", 0, 7)
    after["/proc/9/stat"] = after["/proc/9/stat"].replace(" 109 ", " 5000 ")
    tasks, _ = _two_reads(process(9, "newer-than-old", 0, 5), after)
    assert (tasks.by_tid[9].name, tasks.by_tid[9].started_ticks) == ("new", 5000)


def test_a_thread_that_takes_a_shorter_name_is_called_by_it() -> None:
    tasks, _ = _two_reads(process(9, "worker-10", 0, 5), process(9, "worker-1", 0, 6))
    assert tasks.by_tid[9].name == "worker-1"


def test_without_a_budget_all_processes_are_read() -> None:
    tasks = _read(_ticking(), WrittenMachine(_crowd(20)))
    assert tasks.is_complete
    assert len(tasks.by_tid) == 20


def test_a_budget_leaves_processes_out_and_says_which() -> None:
    tasks = _read(_ticking(budget_ns=3), WrittenMachine(_crowd(20)))
    assert not tasks.is_complete
    assert 0 < len(tasks.read_pids) < 20
    assert len(tasks.pids) == 20
    assert tasks.by_tid.keys() == tasks.read_pids


def test_a_budget_too_small_for_anything_still_reads_one_process() -> None:
    assert len(_read(_ticking(budget_ns=0), WrittenMachine(_crowd(20))).read_pids) == 1


def test_with_a_budget_all_processes_have_their_turn() -> None:
    machine = WrittenMachine(_crowd(20))
    task_reader = _ticking(budget_ns=3)
    seen: set[int] = set()
    for _ in range(20):
        seen |= _read(task_reader, machine).read_pids
    assert seen == set(range(10, 30))


def _sleepers_and_runners(moments: int) -> list[dict[str, str]]:
    """Moment after moment: 10 to 12 rest, 20 to 39 run."""
    rest = _crowd(3)
    return [
        rest | {path: text for pid in range(20, 40) for path, text in process(pid, "runs", 0, ran_ns).items()}
        for ran_ns in range(1, moments + 1)
    ]


@pytest.mark.parametrize("budget_ns", [0, 4])
def test_with_a_budget_who_runs_elsewhere_all_the_time_has_its_turn_and_leaves_others_theirs(budget_ns: int) -> None:
    """As where there are hundreds of such, or one that alone takes longer than the budget."""
    machine = WrittenMachine(*_sleepers_and_runners(62))
    task_reader = _ticking()
    for _ in range(2):
        _read(task_reader, machine)
        machine.advance()
    task_reader.limit(budget_ns)
    seen: set[int] = set()
    for _ in range(59):
        seen |= _read(task_reader, machine).read_pids
        machine.advance()
    assert seen == {*range(10, 13), *range(20, 40)}


def test_with_a_budget_who_ran_on_a_target_lately_comes_first() -> None:
    before, after = _crowd(20), _crowd(20)
    before |= process(29, "hog", 2, 5)
    after |= process(29, "hog", 2, 6)
    machine = WrittenMachine(before, after, after, after)
    task_reader = _ticking()
    for _ in range(2):
        _read(task_reader, machine)
        machine.advance()
    task_reader.limit(1)
    readings = [_read(task_reader, machine).read_pids for _ in range(3)]
    assert [29 in pids for pids in readings] == [True, True, True]


def test_with_a_budget_who_was_just_started_comes_before_the_others() -> None:
    before = _crowd(20)
    started = before | process(40, "hog", 2, 5)
    machine = WrittenMachine(before, started, started)
    task_reader = _ticking(budget_ns=0)
    _read(task_reader, machine)
    machine.advance()
    assert _read(task_reader, machine).read_pids == {40}
    machine.advance()
    assert 40 in _read(task_reader, machine).read_pids  # on a target CPU, so it is looked at again


def test_who_was_just_started_elsewhere_is_looked_at_until_it_has_had_time_to_come() -> None:
    before = _crowd(20)
    started, arrived = process(40, "hog", 0, 5), process(40, "hog", 2, 6)
    machine = WrittenMachine(before, before | started, before | arrived, before | arrived)
    task_reader = _ticking()
    _read(task_reader, machine)
    task_reader.limit(0)
    for _ in range(3):
        machine.advance()
        tasks = _read(task_reader, machine)
        assert tasks.read_pids == {40}
    assert tasks.by_tid[40].cpu == 2


def test_newer_ones_do_not_keep_a_new_one_from_being_read() -> None:
    crowds = [_crowd(20)]
    for pid in range(40, 46):
        crowds.append(crowds[-1] | process(pid, "new", 0, 5))
    machine = WrittenMachine(*crowds)
    task_reader = _ticking()
    _read(task_reader, machine)
    task_reader.limit(0)
    seen: set[int] = set()
    for _ in range(6):
        machine.advance()
        seen |= _read(task_reader, machine).read_pids
    assert 40 in seen


class _ReadTogether(WrittenMachine):
    """Reads again what is asked for at once, as this host does."""

    def reread(self, files: Sequence[tuple[str, bytes]]) -> list[tuple[int, bytes | None]]:
        contents = [self.read_bytes(path) for path, _ in files]
        return [(at, content) for at, content in enumerate(contents) if content != files[at][1]]


@pytest.mark.parametrize("cpu", [0, 2])
def test_a_process_of_many_threads_costs_nobody_else_the_budget(cpu: int) -> None:
    """Those that ran on a target come before it, though it ran there too."""
    moments = [
        {path: text for pid in (10, 11, 12) for path, text in process(pid, "hog", 2, ran_ns).items()}
        | crowd(9, "many", [cpu] * 400, "0-1", ran_ns)
        for ran_ns in range(1, 6)
    ]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    for _ in range(3):
        _read(task_reader, machine)
        machine.advance()
    task_reader.limit(100)
    for _ in range(2):
        assert _read(task_reader, machine).read_pids >= {10, 11, 12}
        machine.advance()


def test_a_process_of_many_threads_has_its_turn_though_others_are_started_all_the_time() -> None:
    moments = [crowd(9, "many", [2] * 400, "0-1", ran_ns) | _crowd(ran_ns * 60) for ran_ns in range(1, 7)]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    seen = []
    for number in range(6):
        seen.append(9 in _read(task_reader, machine).read_pids)
        if number == 1:
            task_reader.limit(100)
        if machine.has_next:
            machine.advance()
    assert sum(seen[2:]) == 2


def test_at_the_beginning_nobody_counts_as_just_started() -> None:
    machine = WrittenMachine(_crowd(20))
    task_reader = _ticking(budget_ns=0)
    assert _read(task_reader, machine).read_pids == {10}
    assert _read(task_reader, machine).read_pids == {11}


def test_with_a_budget_who_may_run_on_a_target_is_looked_at_again_from_the_first_sight_on() -> None:
    crowd = _crowd(20) | process(29, "hog", 2, 5) | process(28, "migration/2", 2, 5, flags=0x0420_0000)
    task_reader = _ticking()
    _read(task_reader, WrittenMachine(crowd))
    task_reader.limit(0)
    assert [_read(task_reader, WrittenMachine(crowd)).read_pids for _ in range(3)] == [{29}] * 3


def test_a_limit_ends_the_asking_for_all_affinities() -> None:
    machine = WrittenMachine(_crowd(1), _crowd(1, ran_ns=2))
    task_reader = TaskReader(asks_all_affinities=True)
    assert _read(task_reader, machine).by_tid[10].allowed == frozenset({0, 1})
    task_reader.limit(1_000_000)
    machine.advance()
    machine.reads.clear()
    _read(task_reader, machine)
    assert "/proc/10/status" not in machine.reads
