"""This host: missing files are absent, and hanging reads are abandoned."""

from __future__ import annotations

import errno
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from noisewatch.errors import Absent, CannotMeasure, Unreadable
from noisewatch.machine.live import AGAIN_AFTER, MOST_STUCK, HungReads, LiveMachine, unreadable
from tests.plumbing.waiting import reading_threads, wait_until

DEADLINE_S = 0.2


@pytest.fixture
def pipes(tmp_path: Path) -> Iterator[list[str]]:
    """Two files whose reads block until the test is over, and end then."""
    paths = [str(tmp_path / name) for name in ("one", "two")]
    for path in paths:
        os.mkfifo(path)
    yield paths
    for path in paths:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


def read_or_reason(machine: LiveMachine, path: str) -> str:
    try:
        return machine.read_bytes(path).decode()
    except Unreadable as error:
        return error.reason


def _run(work: Callable[[LiveMachine], list[str]]) -> list[str]:
    machine = LiveMachine(deadline_s=DEADLINE_S)
    return machine.within_deadline(lambda: work(machine))


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (LiveMachine.read_bytes, "missing"),
        (LiveMachine.read_bytes, "file/below"),
        (LiveMachine.list_names, "missing"),
        (LiveMachine.mode, "missing"),
    ],
)
def test_missing_file_is_absent(tmp_path: Path, ask: Callable[[LiveMachine, str], object], name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Absent):
        ask(LiveMachine(), str(tmp_path / name))


def test_folder_read_as_a_file_is_unreadable_and_not_absent(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        LiveMachine().read_bytes(str(tmp_path))
    assert not isinstance(caught.value, Absent)


def test_file_larger_than_one_read_is_read_to_its_end(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "large").write_bytes(content)
    assert LiveMachine().read_bytes(str(tmp_path / "large")) == content


def test_empty_file_is_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert LiveMachine().read_bytes(str(tmp_path / "empty")) == b""


def test_endless_file_is_abandoned(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="larger than 256 MiB"):
        LiveMachine().read_bytes("/dev/zero")


def test_names_are_sorted(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        (tmp_path / name).write_text("")
    assert LiveMachine().list_names(str(tmp_path)) == ["a", "b", "c"]


def test_mode_is_only_the_permission_bits(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o444)
    assert LiveMachine().mode(str(tmp_path / "file")) == 0o444


def test_observer_is_among_its_own_processes() -> None:
    assert LiveMachine(own_pids=[4711]).own_pids == {4711, os.getpid()}


def test_clock_does_not_run_backwards() -> None:
    machine = LiveMachine()
    assert machine.now_ns() <= machine.now_ns()


def test_refused_question_is_unreadable() -> None:
    def refuse() -> None:
        raise PermissionError(1, "Operation not permitted")

    with pytest.raises(Unreadable, match="operation not permitted"):
        LiveMachine().ask("pin to CPUs", refuse)


def test_work_within_the_deadline_is_done_once() -> None:
    runs = []
    LiveMachine(deadline_s=DEADLINE_S).within_deadline(lambda: runs.append(1))
    assert runs == [1]


def test_error_in_the_work_reaches_the_caller() -> None:
    machine = LiveMachine(deadline_s=DEADLINE_S)
    with pytest.raises(Absent, match="/nowhere: no such file"):
        machine.within_deadline(lambda: machine.read_bytes("/nowhere"))


def test_hanging_read_is_unreadable_and_the_rest_of_the_work_is_done(tmp_path: Path, pipes: list[str]) -> None:
    (tmp_path / "file").write_text("content")
    answers = _run(lambda machine: [read_or_reason(machine, pipes[0]), read_or_reason(machine, f"{tmp_path}/file")])
    assert answers == ["did not respond within 0.2 s", "content"]


def test_work_is_restarted_for_each_hanging_read(pipes: list[str]) -> None:
    runs = []

    def work(machine: LiveMachine) -> list[str]:
        runs.append(1)
        return [read_or_reason(machine, pipe) for pipe in pipes]

    assert _run(work) == ["did not respond within 0.2 s"] * 2
    assert len(runs) == 3


def _release(path: str) -> None:
    """Let blocked reads of the file end, and wait until their threads have exited."""
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    wait_until(lambda: reading_threads() == 0)


@pytest.mark.parametrize("returns", [False, True])
def test_file_that_hung_is_not_read_for_a_while_even_if_its_read_returned(pipes: list[str], returns: bool) -> None:
    machine = LiveMachine(deadline_s=DEADLINE_S)
    machine.within_deadline(lambda: read_or_reason(machine, pipes[0]))
    if returns:
        _release(pipes[0])
    runs = []

    def work() -> str:
        runs.append(1)
        return read_or_reason(machine, pipes[0])

    assert machine.within_deadline(work) == "did not respond within 0.2 s"
    assert runs == [1]


def test_file_that_hung_is_read_again_after_its_read_returned(tmp_path: Path, pipes: list[str]) -> None:
    machine = LiveMachine(deadline_s=DEADLINE_S, again_after=0)
    read = partial(machine.within_deadline, lambda: read_or_reason(machine, pipes[0]))
    assert read() == "did not respond within 0.2 s"
    assert read() == "did not respond within 0.2 s"
    wait_until(lambda: reading_threads() == 1)  # the thread that answered may be about to exit
    _release(pipes[0])
    os.unlink(pipes[0])
    Path(pipes[0]).write_text("here again")
    assert read() == "here again"
    os.unlink(pipes[0])
    os.mkfifo(pipes[0])


def test_number_of_hanging_threads_is_bounded_and_then_nothing_can_be_measured(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number:02}") for number in range(MOST_STUCK + 2)]
    for path in paths:
        os.mkfifo(path)
    machine = LiveMachine(deadline_s=0.02)
    try:
        with pytest.raises(CannotMeasure, match=f"^{MOST_STUCK} files do not answer, {paths[0]} and "):
            machine.within_deadline(lambda: [read_or_reason(machine, path) for path in paths])
        wait_until(lambda: reading_threads() == MOST_STUCK)
    finally:
        for path in paths:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


def test_late_read_does_not_affect_later_reads(tmp_path: Path) -> None:
    """The thread of the late read has exited by then, and the system may reuse its ID for the next one."""
    late = tmp_path / "late"
    os.mkfifo(late)
    (tmp_path / "other").write_text("there")
    machine = LiveMachine(deadline_s=DEADLINE_S)
    machine.within_deadline(lambda: read_or_reason(machine, str(late)))
    _release(str(late))
    for _ in range(20):
        assert machine.within_deadline(lambda: read_or_reason(machine, str(tmp_path / "other"))) == "there"


@pytest.mark.parametrize(
    ("number", "is_absent"), [(errno.ENOENT, True), (errno.ESRCH, True), (errno.EACCES, False), (errno.EPERM, False)]
)
def test_file_is_absent_only_if_the_kernel_denies_it(number: int, is_absent: bool) -> None:
    assert isinstance(unreadable("/proc/x", OSError(number, "why")), Absent) is is_absent


def test_waiting_for_the_reading_thread_keeps_no_descriptor_open(tmp_path: Path) -> None:
    machine = LiveMachine()
    machine.within_deadline(lambda: machine.list_names(str(tmp_path)))
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        machine.within_deadline(lambda: machine.list_names(str(tmp_path)))
    wait_until(lambda: reading_threads() == 0)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_waiting_thread_wakes_once_for_each_read() -> None:
    machine = LiveMachine()
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for _ in range(50):
        machine.within_deadline(lambda: time.sleep(0.01))
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before < 50 * 3


_EXITED = threading.Thread()  # never started: not alive


@pytest.fixture
def hanging() -> Iterator[threading.Thread]:
    """A thread that hangs until the test is over."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield thread
    over.set()
    thread.join()


def test_file_that_never_hung_may_be_read() -> None:
    hung = HungReads()
    assert hung.may_try("/a", 0.0)
    assert "/a" not in hung


def test_file_that_hung_may_be_read_again_after_many_deadlines() -> None:
    hung = HungReads()
    hung.add("/a", _EXITED, 2.0, 100.0)
    assert not hung.may_try("/a", 100.0 + 2 * AGAIN_AFTER - 1)
    assert hung.may_try("/a", 100.0 + 2 * AGAIN_AFTER)
    assert hung.may_try("/b", 100.0)


def test_wait_doubles_with_each_hanging_read_up_to_an_hour() -> None:
    hung, now_s, waits = HungReads(), 0.0, []
    for _ in range(9):
        hung.add("/a", _EXITED, 1.0, now_s)
        waits.append(next(wait_s for wait_s in range(10_000) if hung.may_try("/a", now_s + wait_s)))
        now_s += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_file_is_not_read_while_a_thread_hangs_in_it(hanging: threading.Thread) -> None:
    hung = HungReads()
    hung.add("/a", hanging, 1.0, 0.0)
    assert not hung.may_try("/a", 1e9)
    assert hung.stuck == ["/a"]


def test_answer_resets_the_wait() -> None:
    hung = HungReads()
    hung.add("/a", _EXITED, 1.0, 0.0)
    hung.add("/a", _EXITED, 1.0, 60.0)
    hung.forget("/a")
    assert hung.may_try("/a", 60.0)
    hung.add("/a", _EXITED, 1.0, 60.0)
    assert hung.may_try("/a", 120.0)
    assert hung.stuck == []
