"""Threads of a machine and their run times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import parse_allowed, program_in
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.kernel.tasks.threads import TaskReader
from tests.kernel.tasks.test_threads_read_again import crowd_of, read_tasks
from tests.written import Files, WrittenMachine, reading, without
from tests.written.quiet_machine import SCHEDSTAT, crowd, process, stat_line

KERNEL_THREAD, BOUND = 0x0020_0000, 0x0400_0000
TARGET = frozenset({2})


def _read(files: Files, *, all_affinities: bool = False) -> Tasks:
    tasks = TaskReader(asks_all_affinities=all_affinities).read(reading(files), TARGET)
    assert tasks is not None
    return tasks


def _one_task(files: Files) -> Task:
    (task,) = _read(files).by_tid.values()
    return task


def _several(pid: int, *threads: int, ran_ns: int = 500) -> dict[str, str]:
    """Return the files of a process with several threads: its stat has the sum, each schedstat a thread's time."""
    files = process(pid, "server", 1, ran_ns, busy=90)
    files[f"/proc/{pid}/stat"] = _with_threads(files[f"/proc/{pid}/stat"], len(threads) + 1)
    for tid in (pid, *threads):
        folder = f"/proc/{pid}/task/{tid}"
        files[f"{folder}/stat"] = _with_threads(stat_line(tid, f"worker{tid}", 2, busy=7), len(threads) + 1)
        files[f"{folder}/schedstat"] = SCHEDSTAT.format(ran_ns=tid)
        files[f"{folder}/status"] = "Cpus_allowed_list:\t2\n"
    return files


def _with_threads(line: str, count: int) -> str:
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    fields[17] = str(count)
    return f"{head}) {' '.join(fields)}\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bash", "bash"),
        ("a b", "a b"),
        ("a) R 1 (b", "a) R 1 (b"),
        (") R 1 1", ") R 1 1"),
        ("((x))", "((x))"),
        ("a\nb", "a·b"),
        ("\x1b[2J\x07", "·[2J·"),
        ("\u202eevil", "·evil"),
        ("", ""),
        ("(sd-pam)", "(sd-pam)"),
    ],
)
def test_process_may_have_any_name(name: str, shown: str) -> None:
    task = _one_task(process(9, name, 3, 100))
    assert (task.tid, task.name, task.cpu, task.ran_ns) == (9, shown, 3, 100)


def test_name_that_is_not_text_is_a_name() -> None:
    assert _one_task(process(9, "b\udcffd", 3, 100)).name == "b\ufffdd"


@pytest.mark.parametrize(
    ("flags", "is_kernel", "is_bound"),
    [(0, False, False), (KERNEL_THREAD, True, False), (KERNEL_THREAD | BOUND, True, True), (BOUND, False, True)],
)
def test_flags_distinguish_kernel_threads_and_bound_threads(flags: int, is_kernel: bool, is_bound: bool) -> None:
    task = _one_task(process(9, "x", 0, 1, flags=flags))
    assert (task.is_kernel, task.is_bound) == (is_kernel, is_bound)


def test_task_has_its_parent_its_start_and_the_time_of_ended_children() -> None:
    task = _one_task(process(9, "make", 0, 1, parent=5, children=40))
    assert (task.parent_pid, task.started_ticks, task.children_ns) == (5, 109, 40 * TICK_NS)


def test_process_with_several_threads_is_read_thread_by_thread() -> None:
    tasks = _read(_several(50, 51, 52))
    assert {tid: (task.pid, task.ran_ns) for tid, task in tasks.by_tid.items()} == {
        50: (50, 500),
        51: (50, 51),
        52: (50, 52),
    }


def test_ended_children_belong_only_to_the_first_thread() -> None:
    files = _several(50, 51)
    for path in ("/proc/50/stat", "/proc/50/task/50/stat", "/proc/50/task/51/stat"):
        tid = int(path.split("/")[-2])
        files[path] = _with_threads(stat_line(tid, "x", 0, children=30), 2)
    assert [task.children_ns for task in _read(files).by_tid.values()] == [30 * TICK_NS, 0]


def test_thread_that_ends_meanwhile_is_left_out() -> None:
    assert sorted(_read(without(_several(50, 51, 52), "/proc/50/task/51/stat")).by_tid) == [50, 52]


def test_process_that_ends_meanwhile_is_read_and_has_no_threads() -> None:
    files = process(9, "x", 0, 1) | {"/proc/10/maps": ""}
    tasks = _read(files)
    assert sorted(tasks.by_tid) == [9]
    assert tasks.is_complete
    assert tasks.read_pids == {9, 10}


def test_unreadable_process_is_left_out_with_the_reason() -> None:
    reader = reading({"/proc/10/maps": ""}, is_copy=True)
    tasks = TaskReader().read(reader, TARGET)
    assert tasks == Tasks({}, frozenset({10}), frozenset())
    assert not tasks.is_complete
    assert reader.reason_by_path == {"/proc/10": "no such file"}


def test_process_with_a_malformed_stat_is_left_out_with_the_reason() -> None:
    reader = reading({"/proc/10/stat": "10 (x) S 1 2 3\n"})
    tasks = TaskReader().read(reader, TARGET)
    assert tasks is not None
    assert not tasks.is_complete
    assert "expected `pid (name) state …`" in reader.reason_by_path["/proc/10/stat"]


def test_malformed_schedstat_is_named_in_the_reason() -> None:
    reader = reading(process(10, "x", 0, 1) | {"/proc/10/schedstat": "rubbish\n"})
    tasks = TaskReader().read(reader, TARGET)
    assert tasks is not None
    assert not tasks.is_complete
    assert list(reader.reason_by_path) == ["/proc/10/schedstat"]


def test_name_among_the_threads_that_is_no_number_is_ignored() -> None:
    assert {50, 51} >= _read(_several(50, 51) | {"/proc/50/task/rubbish/stat": ""}).by_tid.keys()


@pytest.mark.parametrize(
    ("files", "path"),
    [({}, "/proc"), ({"/proc/stat": "cpu 1 2 3 4\n"}, "/proc/PID")],
    ids=["no proc", "no process"],
)
def test_tasks_are_unknown_without_any_process(files: Files, path: str) -> None:
    reader = Reader(WrittenMachine(files))
    assert TaskReader().read(reader, TARGET) is None
    assert list(reader.reason_by_path) == [path]


def test_time_is_in_ticks_without_schedstat() -> None:
    task = _one_task(without(process(9, "x", 0, 1, busy=7), "/proc/9/schedstat"))
    assert (task.ran_ns, task.waited_ns) == (7 * TICK_NS, None)


def test_ticks_of_a_thread_are_its_own_without_schedstat() -> None:
    files = _several(50, 51)
    tasks = _read(without(files, *[path for path in files if path.endswith("schedstat")]))
    assert {tid: task.ran_ns for tid, task in tasks.by_tid.items()} == {50: 7 * TICK_NS, 51: 7 * TICK_NS}


def test_schedstat_is_preferred_to_ticks_that_include_ended_threads() -> None:
    assert _one_task(process(9, "x", 0, 1_000, busy=500)).ran_ns == 1_000


def test_affinities_are_read_only_on_request_and_not_of_bound_threads() -> None:
    files = process(8, "x", 0, 1, allowed="0-1") | process(9, "kworker", 0, 1, allowed="2", flags=BOUND)
    assert [task.allowed for task in _read(files).by_tid.values()] == [None, None]
    assert [task.allowed for task in _read(files, all_affinities=True).by_tid.values()] == [{0, 1}, None]


@pytest.mark.parametrize("files", [process(8, "x", 2, 5, allowed="2"), crowd(8, "x", [2, 2], "2")], ids=["one", "two"])
def test_affinity_that_was_changed_while_a_thread_slept_is_read_again(files: Files) -> None:
    moved = {path: text.replace("list:\t2", "list:\t3") for path, text in files.items()}
    machine, reader = WrittenMachine(files, moved), TaskReader(asks_all_affinities=True)
    allowed = []
    for _ in range(2):
        tasks = reader.read(Reader(machine), TARGET)
        assert tasks is not None
        allowed.append({task.allowed for task in tasks.by_tid.values()})
        machine.advance()
    assert allowed == [{frozenset({2})}, {frozenset({3})}]


def test_unreadable_affinity_is_unknown() -> None:
    files = process(8, "x", 0, 1) | {"/proc/8/status": "Name:\tx\n"}
    assert _read(files, all_affinities=True).by_tid[8].allowed is None


def test_truncated_name_is_completed_when_the_thread_matters() -> None:
    before = process(9, "a-very-long-pro", 2, 1)
    machine = WrittenMachine(
        before,
        process(9, "a-very-long-pro", 2, 5_000),
        answers={"name of process 9": "a-very-long-program\x1b"},
    )
    task_reader = TaskReader()
    task_reader.read(Reader(machine), TARGET)
    machine.advance()
    tasks = task_reader.read(Reader(machine), TARGET)
    assert tasks is not None
    assert tasks.by_tid[9].name == "a-very-long-program·"


def test_truncated_name_of_a_second_thread_is_completed_from_its_process() -> None:
    machine = WrittenMachine(
        *(crowd(9, "a-very-long-pro", [0, 2], "0-3", ran_ns) for ran_ns in (1, 5_000)),
        answers={"name of process 9": "a-very-long-program"},
    )
    task_reader = TaskReader()
    task_reader.read(Reader(machine), TARGET)
    machine.advance()
    tasks = task_reader.read(Reader(machine), TARGET)
    assert tasks is not None
    assert tasks.by_tid[10].name == "a-very-long-program"


def test_complete_name_is_read_again_only_if_the_kernels_name_changes() -> None:
    cut = ["a-very-long-pro", "a-very-long-pro", "a-very-long-pro", "another-long-pr"]
    machine = WrittenMachine(*(process(9, name, 2, 1_000 * at) for at, name in enumerate(cut, start=1)))
    task_reader = TaskReader()
    was_asked = []
    for at in range(len(cut)):
        reader = Reader(machine)
        task_reader.read(reader, TARGET)
        was_asked.append("name of process 9" in reader.asked)
        if at + 1 < len(cut):
            machine.advance()
    assert was_asked == [True, False, False, True]


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (b"/usr/lib/a-very-long-program\0--all\0", "a-very-long-program"),
        (b"a-very-long-program\0/etc/other\0", "a-very-long-program"),
        (b"/opt/My App/a-very-long-program\0", "a-very-long-program"),
        (b"a-very-long-program of a title", "a-very-long-program"),
        (b"sshd: root@pts/0\0\0\0\0", "sshd"),
        (b"nginx: worker process\0", "nginx"),
        (b"/usr/bin/\xff\0", "\ufffd"),
        (b"", ""),
    ],
)
def test_program_is_named_after_its_file(command: bytes, program: str) -> None:
    assert program_in(command) == program


def test_affinity_is_read_from_the_list_and_not_the_mask() -> None:
    assert parse_allowed("Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1,4\nMems_allowed_list:\t0\n") == {0, 1, 4}


def _reader_with_ticking_clock(budget_ns: int | None = None) -> TaskReader:
    """Return a task reader whose used time grows by 1 ns with each query."""
    return TaskReader(budget_ns, used_ns=count().__next__)


def test_all_processes_are_read_without_a_budget() -> None:
    tasks = read_tasks(_reader_with_ticking_clock(), WrittenMachine(crowd_of(20)))
    assert tasks.is_complete
    assert len(tasks.by_tid) == 20


def test_budget_leaves_out_processes_and_lists_them() -> None:
    tasks = read_tasks(_reader_with_ticking_clock(budget_ns=3), WrittenMachine(crowd_of(20)))
    assert not tasks.is_complete
    assert 0 < len(tasks.read_pids) < 20
    assert len(tasks.pids) == 20
    assert tasks.by_tid.keys() == tasks.read_pids


def test_zero_budget_still_reads_one_process() -> None:
    assert len(read_tasks(_reader_with_ticking_clock(budget_ns=0), WrittenMachine(crowd_of(20))).read_pids) == 1


def test_zero_budget_still_reads_the_requested_minimum() -> None:
    task_reader = _reader_with_ticking_clock()
    task_reader.limit(0, least=3)
    assert len(read_tasks(task_reader, WrittenMachine(crowd_of(20))).read_pids) == 3


def test_all_processes_have_their_turn_within_a_budget() -> None:
    machine = WrittenMachine(crowd_of(20))
    task_reader = _reader_with_ticking_clock(budget_ns=3)
    read_pids: set[int] = set()
    for _ in range(20):
        read_pids |= read_tasks(task_reader, machine).read_pids
    assert read_pids == set(range(10, 30))


def _sleepers_and_runners(moments: int) -> list[dict[str, str]]:
    """Return moments in which processes 10 to 12 rest and 20 to 39 run."""
    rest = crowd_of(3)
    return [
        rest | {path: text for pid in range(20, 40) for path, text in process(pid, "runs", 0, ran_ns).items()}
        for ran_ns in range(1, moments + 1)
    ]


@pytest.mark.parametrize("budget_ns", [0, 4])
def test_processes_that_always_run_elsewhere_and_resting_ones_have_their_turn_within_a_budget(budget_ns: int) -> None:
    """Hundreds of such processes, or a single large one, may take longer than the budget."""
    machine = WrittenMachine(*_sleepers_and_runners(62))
    task_reader = _reader_with_ticking_clock()
    for _ in range(2):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(budget_ns)
    read_pids: set[int] = set()
    for _ in range(59):
        read_pids |= read_tasks(task_reader, machine).read_pids
        machine.advance()
    assert read_pids == {*range(10, 13), *range(20, 40)}


def test_processes_that_ran_on_a_target_recently_come_first_within_a_budget() -> None:
    before, after = crowd_of(20), crowd_of(20)
    before |= process(29, "hog", 2, 5)
    after |= process(29, "hog", 2, 6)
    machine = WrittenMachine(before, after, after, after)
    task_reader = _reader_with_ticking_clock()
    for _ in range(2):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(1)
    readings = [read_tasks(task_reader, machine).read_pids for _ in range(3)]
    assert [29 in pids for pids in readings] == [True, True, True]


def test_new_processes_come_before_others_within_a_budget() -> None:
    before = crowd_of(20)
    started = before | process(40, "hog", 2, 5)
    machine = WrittenMachine(before, started, started)
    task_reader = _reader_with_ticking_clock(budget_ns=0)
    read_tasks(task_reader, machine)
    machine.advance()
    assert read_tasks(task_reader, machine).read_pids == {40}
    machine.advance()
    assert 40 in read_tasks(task_reader, machine).read_pids  # on a target CPU, so it is read again


def test_new_process_elsewhere_is_read_until_it_has_had_time_to_move() -> None:
    before = crowd_of(20)
    started, arrived = process(40, "hog", 0, 5), process(40, "hog", 2, 6)
    machine = WrittenMachine(before, before | started, before | arrived, before | arrived)
    task_reader = _reader_with_ticking_clock()
    read_tasks(task_reader, machine)
    task_reader.limit(0)
    for _ in range(3):
        machine.advance()
        tasks = read_tasks(task_reader, machine)
        assert tasks.read_pids == {40}
    assert tasks.by_tid[40].cpu == 2


def test_newer_processes_do_not_delay_a_new_one() -> None:
    crowds = [crowd_of(20)]
    for pid in range(40, 46):
        crowds.append(crowds[-1] | process(pid, "new", 0, 5))
    machine = WrittenMachine(*crowds)
    task_reader = _reader_with_ticking_clock()
    read_tasks(task_reader, machine)
    task_reader.limit(0)
    read_pids: set[int] = set()
    for _ in range(6):
        machine.advance()
        read_pids |= read_tasks(task_reader, machine).read_pids
    assert 40 in read_pids


class _ReadTogether(WrittenMachine):
    """A machine that rereads files together, as this host does."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        contents = [self.read_bytes(path) for path, _ in files]
        return [(at, content) for at, content in enumerate(contents) if content != files[at][1]]


@pytest.mark.parametrize("cpu", [0, 2])
def test_process_of_many_threads_does_not_use_up_the_budget_of_others(cpu: int) -> None:
    """Small processes that ran on a target come before the large one, even if it ran there too."""
    moments = [
        {path: text for pid in (10, 11, 12) for path, text in process(pid, "hog", 2, ran_ns).items()}
        | crowd(9, "many", [cpu] * 400, "0-1", ran_ns)
        for ran_ns in range(1, 6)
    ]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    for _ in range(3):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(100)
    for _ in range(2):
        assert read_tasks(task_reader, machine).read_pids >= {10, 11, 12}
        machine.advance()


def test_process_of_many_threads_has_its_turn_although_others_keep_starting() -> None:
    moments = [crowd(9, "many", [2] * 400, "0-1", ran_ns) | crowd_of(ran_ns * 60) for ran_ns in range(1, 7)]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    has_been_read = []
    for number in range(6):
        has_been_read.append(9 in read_tasks(task_reader, machine).read_pids)
        if number == 1:
            task_reader.limit(100)
        if machine.has_next:
            machine.advance()
    assert sum(has_been_read[2:]) == 2


def test_no_process_counts_as_new_in_the_first_snapshot() -> None:
    machine = WrittenMachine(crowd_of(20))
    task_reader = _reader_with_ticking_clock(budget_ns=0)
    assert read_tasks(task_reader, machine).read_pids == {10}
    assert read_tasks(task_reader, machine).read_pids == {11}


def test_process_that_may_run_on_a_target_is_read_again_from_the_first_snapshot_on() -> None:
    crowd = crowd_of(20) | process(29, "hog", 2, 5) | process(28, "migration/2", 2, 5, flags=0x0420_0000)
    task_reader = _reader_with_ticking_clock()
    read_tasks(task_reader, WrittenMachine(crowd))
    task_reader.limit(0)
    assert [read_tasks(task_reader, WrittenMachine(crowd)).read_pids for _ in range(3)] == [{29}] * 3
