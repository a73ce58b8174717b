"""Threads of a command and of all its descendants."""

from __future__ import annotations

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.command_threads import CommandLook, CommandThreadReader
from noisewatch.kernel.tasks.threads import TaskReader
from tests.kernel.tasks.commands import thread_files
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import process


def _looks(*moments: Files, pids: tuple[int, ...] = (9,), reaper: int | None = None) -> list[CommandLook]:
    machine = WrittenMachine(*moments)
    threads = CommandThreadReader(machine, pids, reaper, used_ns=lambda: 0)
    looks = [threads.look()]
    while machine.has_next:
        machine.advance()
        looks.append(threads.look())
    return looks


def test_thread_has_its_cpu_its_state_and_its_times() -> None:
    (look,) = _looks(thread_files(9, cpu=3, ran_ns=50, waited_ns=7, state="R"))
    thread = look.threads[9]
    assert (thread.cpu, thread.ran_ns, thread.waited_ns, thread.is_ready, thread.name) == (3, 50, 7, True, "bench")
    assert look.reason is None


def test_first_thread_has_its_own_time_and_not_the_processs() -> None:
    whole = {path.replace("/task/9", ""): text for path, text in thread_files(9, cpu=1, ran_ns=99).items()}
    (look,) = _looks(whole | thread_files(9, cpu=3, ran_ns=50))
    assert (look.threads[9].cpu, look.threads[9].ran_ns) == (3, 50)


def test_thread_that_moved_has_its_new_cpu() -> None:
    _, look = _looks(thread_files(9, cpu=2, ran_ns=5), thread_files(9, cpu=3, ran_ns=6))
    assert (look.threads[9].cpu, look.threads[9].ran_ns) == (3, 6)


def test_resting_thread_is_the_same_record_and_its_stat_is_not_read_again() -> None:
    files = thread_files(9)
    machine = WrittenMachine(files, files)
    threads = CommandThreadReader(machine, [9], used_ns=lambda: 0)
    first = threads.look()
    machine.advance()
    machine.reads.clear()
    assert threads.look().threads[9] is first.threads[9]
    assert machine.reads == ["/proc/9/task/9/schedstat"]


def test_stat_of_a_ready_thread_is_read_before_its_time() -> None:
    files = thread_files(9, state="R")
    machine = WrittenMachine(files, files)
    threads = CommandThreadReader(machine, [9], used_ns=lambda: 0)
    threads.look()
    machine.reads.clear()
    threads.look()
    assert machine.reads == ["/proc/9/task/9/stat", "/proc/9/task/9/schedstat"]


def _files_debugged_by(tracer: int, state: str = "t") -> dict[str, str]:
    files = thread_files(9, state=state, children="11 ") | thread_files(11) | {"/proc/77/comm": "strace\n"}
    return files | {"/proc/9/task/9/status": f"Name:\tbench\nTracerPid:\t{tracer}\n"}


@pytest.mark.parametrize(
    ("files", "debuggers"),
    [
        (_files_debugged_by(77), {(77, "strace")}),
        (_files_debugged_by(78), {(78, "?")}),  # the debugger has exited
        (_files_debugged_by(11), set()),  # the debugger is the command's own
        (_files_debugged_by(0), set()),
        (_files_debugged_by(77, "R"), {(77, "strace")}),
    ],
)
def test_foreign_debugger_is_listed(files: Files, debuggers: set[tuple[int, str]]) -> None:
    (look,) = _looks(files)
    assert look.debuggers == debuggers


def test_a_look_that_does_not_ask_for_debuggers_reads_no_status() -> None:
    machine = WrittenMachine(_files_debugged_by(77))
    look = CommandThreadReader(machine, [9]).look(finds_debuggers=False)
    assert look.debuggers == frozenset()
    assert not any(path.endswith("/status") for path in machine.reads)


def test_debugger_that_may_be_the_commands_own_is_not_listed() -> None:
    """The children of the first thread are unknown here."""
    (look,) = _looks(without(_files_debugged_by(77), "/proc/9/task/9/children"))
    assert look.debuggers == frozenset()


def test_threads_that_a_process_starts_later_are_detected() -> None:
    before = thread_files(9, ran_ns=1)
    after = thread_files(9, ran_ns=2, threads=2) | thread_files(9, 10, cpu=3)
    first, second = _looks(before, after)
    assert (set(first.threads), set(second.threads)) == ({9}, {9, 10})


def test_thread_that_replaces_an_ended_one_is_detected() -> None:
    before = thread_files(9, threads=2) | thread_files(9, 10, threads=2)
    after = thread_files(9, threads=2) | thread_files(9, 11, threads=2)
    _, look = _looks(before, after)
    assert look.threads.keys() == {9, 11}


def test_descendants_and_later_ones_are_detected_at_once() -> None:
    before = thread_files(9, children="10 ") | thread_files(10, children="11 ") | thread_files(11)
    after = (
        thread_files(9, children="10 ")
        | thread_files(10, children="11 ")
        | thread_files(11, ran_ns=1, children="12 ")
        | thread_files(12)
    )
    first, second = _looks(before, after)
    assert (set(first.threads), set(second.threads)) == ({9, 10, 11}, {9, 10, 11, 12})


def test_child_of_a_second_thread_is_detected() -> None:
    (look,) = _looks(thread_files(9, threads=2) | thread_files(9, 10, children="30 ", threads=2) | thread_files(30))
    assert look.threads.keys() == {9, 10, 30}


def test_ended_process_is_removed_and_its_children_stay() -> None:
    before = thread_files(9, children="10 ") | thread_files(10)
    _, look = _looks(before, thread_files(10, ran_ns=1))
    assert look.threads.keys() == {10}


def test_reused_number_of_a_child_is_detected_again() -> None:
    moments = (
        thread_files(9, children="10 ") | thread_files(10),
        thread_files(9, ran_ns=1),
        thread_files(9, ran_ns=2, children="10 ") | thread_files(10, ran_ns=3),
    )
    assert [len(look.threads) for look in _looks(*moments)] == [2, 1, 2]


def test_orphans_of_the_command_are_distinguished_from_earlier_children_of_the_reaper() -> None:
    before = thread_files(1, children="9 50 ") | thread_files(9) | thread_files(50)
    after = thread_files(1, children="9 50 60 ") | thread_files(9) | thread_files(50) | thread_files(60)
    first, second = _looks(before, after, reaper=1)
    assert (set(first.threads), set(second.threads)) == ({9}, {9, 60})


def test_processes_of_the_observer_are_never_the_commands() -> None:
    files = thread_files(9, children="10 11 ") | thread_files(10) | thread_files(11)
    threads = CommandThreadReader(WrittenMachine(files, own_pids=[10]), [9], used_ns=lambda: 0)
    assert threads.look().threads.keys() == {9, 11}


def test_parents_of_the_last_full_look_are_used_without_children_files() -> None:
    files = without(thread_files(9) | thread_files(10) | thread_files(11), *(_children(pid) for pid in (9, 10, 11)))
    threads = CommandThreadReader(WrittenMachine(files), [9], used_ns=lambda: 0)
    first = threads.look()
    assert first.threads.keys() == {9}
    assert "CONFIG_PROC_CHILDREN" in (first.reason or "")
    full = {
        path: text for pid, parent in _PARENTS.items() for path, text in process(pid, "x", 0, 1, parent=parent).items()
    }
    tasks = TaskReader().read(Reader(WrittenMachine(full)), frozenset())
    assert threads.look(tasks).threads.keys() == {9, 10, 11}


_PARENTS = {9: 1, 10: 9, 11: 10, 12: 1}


def _children(pid: int) -> str:
    return f"/proc/{pid}/task/{pid}/children"


def test_time_is_in_ticks_without_schedstat() -> None:
    missing = "/proc/9/task/9/schedstat"
    before, after = (without(thread_files(9, ran_ns=ran_ns), missing) for ran_ns in (20_000_000, 40_000_000))
    first, second = _looks(before, after)
    assert (first.threads[9].ran_ns, second.threads[9].ran_ns) == (20_000_000, 40_000_000)
    assert second.threads[9].waited_ns is None


@pytest.mark.parametrize("cut", ["stat", "schedstat", "children"])
def test_malformed_file_is_not_a_fault(cut: str) -> None:
    path = f"/proc/9/task/9/{cut}"
    good = thread_files(9, ran_ns=1)
    _, look, last = _looks(good, thread_files(9, ran_ns=2) | {path: "rubbish"}, thread_files(9, ran_ns=3))
    assert last.threads[9].ran_ns == 3
    assert ("rubbish" in (look.reason or "")) is (cut == "children")


def test_migrations_are_counted_on_request_and_kept() -> None:
    moments = [thread_files(9, ran_ns=count, migrations=count) for count in range(3)]
    machine = WrittenMachine(*moments)
    threads = CommandThreadReader(machine, [9], used_ns=lambda: 0)
    assert threads.look(counts_migrations=True).threads[9].migrations == 0
    machine.advance()
    assert threads.look().threads[9].migrations == 0
    machine.advance()
    assert threads.look(counts_migrations=True).threads[9].migrations == 2


def test_ended_command_has_no_threads() -> None:
    assert _looks({"/proc/1/stat": ""})[0].threads == {}


class _Clock:
    """CPU time that passes with each query."""

    def __init__(self) -> None:
        self.now_ns = self.step_ns = 0

    def __call__(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns


def _crowd(count: int, ran_ns: int) -> dict[str, str]:
    """Return the files of a process with `count` threads, of which half run."""
    files: dict[str, str] = {}
    for tid in range(1000, 1000 + count):
        files |= thread_files(1000, tid, ran_ns=ran_ns if tid % 2 else 0, threads=count)
    return files


def test_look_at_many_threads_ends_at_its_budget_and_each_thread_has_its_turn() -> None:
    machine, clock = WrittenMachine(*(_crowd(500, ran_ns) for ran_ns in range(40))), _Clock()
    threads = CommandThreadReader(machine, [1000], budget_ns=2, used_ns=clock)
    assert len(threads.look().threads) == 500
    clock.step_ns = 1
    looks = []
    while machine.has_next:
        machine.advance()
        looks.append(threads.look())
    assert all(0 < len(look.without_turn) < 500 for look in looks)
    assert frozenset.intersection(*(look.without_turn for look in looks[:20])) == frozenset()
    assert min(thread.ran_ns for tid, thread in looks[-1].threads.items() if tid % 2) > 20


def test_new_threads_are_read_up_to_the_budget_and_the_others_next_time() -> None:
    clock = _Clock()
    clock.step_ns = 1
    threads = CommandThreadReader(WrittenMachine(_crowd(100, 1)), [1000], budget_ns=40, used_ns=clock)
    counts = [len(threads.look().threads) for _ in range(4)]
    assert 0 < counts[0] < 50
    assert counts[-1] == 100
