"""A command's own processes, and delays in noticing its end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan
from noisewatch.operations.run.watch import RunWatch, WakeUps, own_wait_ns
from tests.machine.command.wrapped import state_of
from tests.plumbing.waiting import wait_until
from tests.written import WrittenMachine
from tests.written.quiet_machine import process, quiet_files
from tests.written.repetitions import MS

_INHERITED, _STARTED, _BELOW_INHERITED, _BELOW_STARTED = 4001, 4002, 4003, 4004


def test_inherited_children_and_their_children_are_not_the_commands() -> None:
    own = os.getpid()
    before = process(own, "python", 0, 0) | process(_INHERITED, "server", 0, 0, parent=own)
    later = (
        before
        | process(_BELOW_INHERITED, "worker", 0, 0, parent=_INHERITED)
        | process(_STARTED, "bench", 1, 0, parent=own)
        | process(_BELOW_STARTED, "child", 1, 0, parent=_STARTED)
    )
    assert _own_pids_later(before, later) == {own, _STARTED, _BELOW_STARTED}


def test_a_command_with_the_reused_pid_of_an_inherited_child_is_a_command() -> None:
    own = os.getpid()
    before = process(own, "python", 0, 0) | process(_INHERITED, "helper", 0, 0, parent=own)
    recycled = process(_INHERITED, "bench", 1, 5_000_000, parent=own)
    later = before | {path: text.replace(f" {100 + _INHERITED} ", " 9000 ") for path, text in recycled.items()}
    assert _own_pids_later(before, later) == {own, _INHERITED}


def _own_pids_later(before: dict[str, str], later: dict[str, str]) -> frozenset[int]:
    machine = WrittenMachine(quiet_files() | before, quiet_files(3.0) | later, own_pids=[os.getpid()])
    watch = RunWatch(machine, SnapshotOptions(frozenset({1}), frozenset({0, 1})))
    watch.begin()
    machine.advance()
    return watch.take_snapshot().after.own_pids


_SOON_NS = 10_000 * MS


def _plan(script: str) -> CommandPlan:
    return CommandPlan(argv=("sh", "-c", script))


def _wait_reader(*waits_ms: int | None) -> Callable[[], int | None]:
    """Return a reader of noisewatch's waiting time that returns these values in turn; None is unknown."""
    answers = iter(waits_ms)

    def read_wait_ns() -> int | None:
        ms = next(answers)
        return None if ms is None else ms * MS

    return read_wait_ns


def _until() -> int:
    return time.monotonic_ns() + _SOON_NS


def test_a_wait_since_the_start_delays_an_end_before_the_first_look() -> None:
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(10, 14, 14))
        started = commands.start(_plan("exit 3"))
        wait_until(lambda: state_of(started.pid) == "Z")
        assert wakeups.wait(started, _until()) is not None
    assert wakeups.seen_late_ns == 4 * MS


def test_a_wait_during_other_work_delays_an_end() -> None:
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(10, 10, 11, 17, 17))
        started = commands.start(_plan("sleep 0.05"))
        assert wakeups.wait(started, time.monotonic_ns()) is None
        with wakeups.working(started):
            wait_until(lambda: started.has_ended)
        assert wakeups.wait(started, _until()) is not None
    assert (wakeups.seen_late_ns or 0) >= 7 * MS


def test_an_end_during_other_work_may_be_noticed_late() -> None:
    """A reading thread that is preempted may hold up the others, so that none notices the end."""
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(10, 10, 10))
        started = commands.start(_plan("exit 0"))
        with wakeups.working(started):
            wait_until(lambda: started.has_ended)
            time.sleep(0.05)
        assert wakeups.wait(started, _until()) is not None
    assert (wakeups.seen_late_ns or 0) >= 40 * MS


def test_a_wait_before_the_command_was_last_running_delays_nothing() -> None:
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(10, 14, 15))
        started = commands.start(_plan("sleep 0.5"))
        with wakeups.working(started):
            time.sleep(0.02)
        assert wakeups.wait(started, _until()) is not None
    assert wakeups.seen_late_ns == MS


def test_the_delay_is_unknown_if_the_kernel_counts_no_waits() -> None:
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(None, None, None))
        started = commands.start(_plan("exit 3"))
        assert wakeups.wait(started, _until()) is not None
    assert wakeups.seen_late_ns is None


def test_an_uncounted_delay_counts_as_held_up() -> None:
    with Commands() as commands:
        wakeups = WakeUps(_wait_reader(None, None, None, None, None))
        started = commands.start(_plan("exec sleep 60"))
        assert wakeups.wait(started, time.monotonic_ns() - 300 * MS) is None
        assert wakeups.held_up_ns >= 300 * MS
        started.forward(signal.SIGTERM)
        assert wakeups.wait(started, _until()) is not None


@pytest.mark.parametrize(("text", "wait_ns"), [("5000 700 3\n", 700), ("0 0 0\n", None), ("", None), ("rubbish", None)])
def test_a_schedstat_row_of_zeros_is_unknown(text: str, wait_ns: int | None) -> None:
    assert own_wait_ns(text) == wait_ns


@pytest.mark.parametrize(("late_ms", "held_up_ms"), [(9, 0), (11, 44)])
def test_usual_delays_do_not_add_up_in_a_long_run(late_ms: int, held_up_ms: int) -> None:
    with Commands() as commands:
        until_ns = time.monotonic_ns()
        wakeups = WakeUps(_wait_reader(*[0] * 20), lambda: until_ns + late_ms * MS)
        started = commands.start(_plan("exec sleep 60"))
        for _ in range(4):
            assert wakeups.wait(started, until_ns) is None
        assert wakeups.held_up_ns == held_up_ms * MS
        started.forward(signal.SIGTERM)
        assert started.wait() is not None
