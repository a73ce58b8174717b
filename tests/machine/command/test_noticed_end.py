"""End time of a command that ends while noisewatch is not waiting for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext

import pytest

from noisewatch.machine.command import load_launching, running
from noisewatch.machine.command.running import Commands, scheduling_of
from noisewatch.machine.command.start import CommandPlan
from tests.machine.command.wrapped import state_of, with_all_cores
from tests.plumbing.waiting import wait_until


def _plan(script: str) -> CommandPlan:
    return CommandPlan(argv=("sh", "-c", script))


@with_all_cores
def test_end_during_a_look_is_noticed_at_once(core: str) -> None:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(_plan("sleep 0.05"))
        with command.noticing_end():
            wait_until(lambda: not os.path.exists(f"/proc/{command.pid}"))
            time.sleep(0.05)
            noticed_ns = time.monotonic_ns()
            time.sleep(0.05)
        end = command.wait()
    assert end is not None
    assert command.began_ns + 50_000_000 <= end.ended_ns < noticed_ns


def test_end_before_a_look_is_no_later_than_its_start() -> None:
    with Commands() as commands:
        command = commands.start(_plan("exit 3"))
        wait_until(lambda: state_of(command.pid) == "Z")
        with command.noticing_end():
            look_ns = time.monotonic_ns()
        end = command.wait()
    assert end is not None
    assert (end.exit_status, end.ended_ns <= look_ns) == (3, True)


def test_reading_an_ended_commands_files_does_not_delay_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_slowly(pid: int) -> str:
        time.sleep(0.1)
        return scheduling_of(pid)

    with Commands() as commands:
        command = commands.start(_plan("exit 3"))
        wait_until(lambda: state_of(command.pid) == "Z")
        monkeypatch.setattr(running, "scheduling_of", read_slowly)
        poll_ns = time.monotonic_ns()
        end = command.wait()
    assert end is not None
    assert end.ended_ns - poll_ns < 50_000_000
    assert end.scheduling.split()[0] != "0"


@pytest.mark.parametrize("is_noticed", [True, False])
def test_stop_that_is_over_before_the_wait_is_counted(is_noticed: bool) -> None:
    with Commands() as commands:
        command = commands.start(_plan("(sleep 0.2; kill -CONT $$; sleep 0.2) & kill -STOP $$; sleep 0.2"))
        with command.noticing_end() if is_noticed else nullcontext():
            wait_until(lambda: state_of(command.pid) == "T")
            wait_until(lambda: state_of(command.pid) != "T")
        end = command.wait()
    assert end is not None
    assert end.stop_count == 1
    assert end.stopped_ns > 100_000_000


def test_ended_orphan_or_stop_is_not_the_end_of_the_command() -> None:
    with Commands() as commands:
        command = commands.start(_plan("(sleep 0.05 &); (sleep 0.1; kill -CONT $$) & kill -STOP $$; sleep 0.2"))
        with command.noticing_end():
            wait_until(lambda: state_of(command.pid) == "T")
            stop_ns = time.monotonic_ns()
        end = command.wait()
    assert end is not None
    assert end.ended_ns > stop_ns
    assert end.stop_count == 1
    assert end.left_pids == frozenset()


def test_signal_handling_is_restored_after_an_error() -> None:
    def state() -> tuple[object, ...]:
        return signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(signal.SIG_BLOCK, ()), sys.getswitchinterval()

    with Commands() as commands:
        command = commands.start(_plan("sleep 0.05"))
        before = state()
        with pytest.raises(ZeroDivisionError), command.noticing_end():
            1 / 0  # noqa: B018
        assert state() == before
        assert command.wait() is not None


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_spans_of_a_command_that_keeps_changing_its_affinity_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MOST_SPANS", 2)
    one, other = ({cpu} for cpu in sorted(os.sched_getaffinity(0))[:2])
    with Commands() as commands:
        command = commands.start(_plan("exec sleep 60"))
        for cpus in (one, other, one, one, other):
            os.sched_setaffinity(command.pid, cpus)
            command.poll()
        os.kill(command.pid, signal.SIGKILL)
        end = command.wait()
    assert end is not None
    assert [set(span.allowed) for span in end.affinities] == [one, one | other]
    assert end.affinities[-1].last_scheduling == end.scheduling


def test_signal_after_the_last_command_is_known_at_the_end() -> None:
    with Commands() as commands:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # other threads of a test process do not block it
    assert commands.ended_by == signal.SIGTERM
