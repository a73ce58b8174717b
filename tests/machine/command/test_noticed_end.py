"""The end time of a command that ends while noisewatch is not waiting for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext

import pytest

from noisewatch.machine.command import load_launching
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan
from tests.machine.command.wrapped import each_core, state_of
from tests.plumbing.waiting import wait_until


def _plan(script: str) -> CommandPlan:
    return CommandPlan(argv=("sh", "-c", script))


@each_core
def test_a_command_that_ends_during_a_look_ended_then(core: str) -> None:
    with Commands(core=load_launching(core)) as commands:
        started = commands.start(_plan("sleep 0.05"))
        with started.noticed():
            wait_until(lambda: not os.path.exists(f"/proc/{started.pid}"))
            time.sleep(0.05)
            seen_ns = time.monotonic_ns()
            time.sleep(0.05)
        end = started.wait()
    assert end is not None
    assert started.began_ns + 50_000_000 <= end.ended_ns < seen_ns


def test_one_that_had_ended_before_the_look_ended_no_later_than_that_began() -> None:
    with Commands() as commands:
        started = commands.start(_plan("exit 3"))
        wait_until(lambda: state_of(started.pid) == "Z")
        with started.noticed():
            seen_ns = time.monotonic_ns()
        end = started.wait()
    assert end is not None
    assert (end.exit_status, end.ended_ns <= seen_ns) == (3, True)


@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_stop_that_is_over_before_anybody_waits_was_one(is_noticed: bool) -> None:
    with Commands() as commands:
        started = commands.start(_plan("(sleep 0.2; kill -CONT $$; sleep 0.2) & kill -STOP $$; sleep 0.2"))
        with started.noticed() if is_noticed else nullcontext():
            wait_until(lambda: state_of(started.pid) == "T")
            wait_until(lambda: state_of(started.pid) != "T")
        end = started.wait()
    assert end is not None
    assert end.stop_count == 1
    assert end.stopped_ns > 100_000_000


def test_an_orphan_that_ends_or_a_stop_is_no_end_of_the_command() -> None:
    with Commands() as commands:
        started = commands.start(_plan("(sleep 0.05 &); (sleep 0.1; kill -CONT $$) & kill -STOP $$; sleep 0.2"))
        with started.noticed():
            wait_until(lambda: state_of(started.pid) == "T")
            seen_ns = time.monotonic_ns()
        end = started.wait()
    assert end is not None
    assert end.ended_ns > seen_ns
    assert end.stop_count == 1
    assert end.left_pids == frozenset()


def test_all_is_as_before_behind_it_whatever_happens() -> None:
    def state() -> tuple[object, ...]:
        return signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(signal.SIG_BLOCK, ()), sys.getswitchinterval()

    with Commands() as commands:
        started = commands.start(_plan("sleep 0.05"))
        before = state()
        with pytest.raises(ZeroDivisionError), started.noticed():
            1 / 0  # noqa: B018
        assert state() == before
        assert started.wait() is not None


def test_a_signal_behind_the_last_command_is_known_when_all_is_over() -> None:
    with Commands() as commands:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # other threads of a test's process do not block it
    assert commands.ended_by == signal.SIGTERM
