"""Signals that a wrapper receives: each reaches the command once, and none is lost."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

import pytest

from noisewatch.errors import CannotStart
from noisewatch.machine.command.running import Commands
from tests.machine.command.wrapped import CORES, RunningWrapper, state_of, with_all_cores
from tests.plumbing.waiting import wait_until

_ASKING = [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP]
_HANDLED = [*_ASKING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH]
_STOPPED_S = 0.1
_SLEEP = "while :; do sleep 0.02; done"


@pytest.mark.parametrize(
    ("core", "number"),
    [*((CORES[0], number) for number in _HANDLED), *((core, signal.SIGTERM) for core in CORES[1:])],
)
def test_signal_to_the_wrapper_reaches_the_command(core: str, number: signal.Signals, tmp_path: Path) -> None:
    name = number.name.removeprefix("SIG")
    with RunningWrapper(core, tmp_path, f"trap 'echo told; exit 9' {name}; echo ready; {_SLEEP}") as wrapper:
        wrapper.signal(number)
        result = wrapper.end()
    assert wrapper.output == "ready\ntold\n"
    assert (result["exit_status"], wrapper.process.returncode) == (9, 9)
    assert result["asked"] == (number if number in _ASKING else None)


@with_all_cores
def test_wrapper_dies_by_the_signal_that_killed_its_command(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, f"echo ready; {_SLEEP}") as wrapper:
        wrapper.signal(signal.SIGTERM)
        result = wrapper.end()
    assert (result["exit_status"], result["signal_number"]) == (None, signal.SIGTERM)
    assert wrapper.process.returncode == -signal.SIGTERM


@with_all_cores
def test_command_that_ignores_a_signal_ends_by_itself_and_is_the_last(core: str, tmp_path: Path) -> None:
    script = f"trap '' INT; echo ready; until [ -e {tmp_path}/end ]; do sleep 0.02; done; exit 4"
    with RunningWrapper(core, tmp_path, script, runs=3) as wrapper:
        wrapper.signal(signal.SIGINT)
        (tmp_path / "end").touch()
        result = wrapper.end()
    assert (len(wrapper.pids), result["exit_status"], result["asked"]) == (1, 4, signal.SIGINT)
    assert wrapper.process.returncode == 4


@with_all_cores
def test_signal_that_was_ignored_from_the_start_ends_neither(core: str, tmp_path: Path) -> None:
    script = f"echo ready; until [ -e {tmp_path}/end ]; do sleep 0.02; done; exit 6"
    ignoring = ("sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh")
    with RunningWrapper(core, tmp_path, script, prefix=ignoring) as wrapper:
        for number in (signal.SIGHUP, signal.SIGINT):
            wrapper.signal(number)
            os.kill(wrapper.pids[0], number)
        (tmp_path / "end").touch()
        result = wrapper.end()
    assert (result["exit_status"], result["asked"], wrapper.process.returncode) == (6, None, 6)


@with_all_cores
def test_signal_from_the_command_is_not_returned_to_it(core: str, tmp_path: Path) -> None:
    script = "trap 'echo told' USR1; echo ready; kill -USR1 $PPID; sleep 0.2; exit 3"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        assert wrapper.end()["exit_status"] == 3
    assert wrapper.output == "ready\n"


@with_all_cores
def test_burst_of_signals_is_forwarded_and_the_end_is_not_missed(core: str, tmp_path: Path) -> None:
    script = f"trap : USR1; trap 'exit 8' USR2; echo ready; {_SLEEP}"
    with RunningWrapper(core, tmp_path, script) as wrapper:
        for _ in range(200):
            wrapper.signal(signal.SIGUSR1)
        wrapper.signal(signal.SIGUSR2)
        assert wrapper.end()["exit_status"] == 8


@with_all_cores
def test_stop_of_the_wrapper_stops_both_and_both_continue(core: str, tmp_path: Path) -> None:
    with RunningWrapper(core, tmp_path, f"trap 'exit 5' USR1; echo ready; {_SLEEP}") as wrapper:
        both = wrapper.process.pid, wrapper.pids[0]
        wrapper.signal(signal.SIGTSTP)
        wait_until(lambda: all(state_of(pid) == "T" for pid in both))
        time.sleep(_STOPPED_S)
        wrapper.signal(signal.SIGCONT)
        wait_until(lambda: all(state_of(pid) != "T" for pid in both))
        wrapper.signal(signal.SIGUSR1)
        result = wrapper.end()
    assert (result["exit_status"], result["stop_count"]) == (5, 1)
    assert result["stopped_ns"] > 0.9e9 * _STOPPED_S


@with_all_cores
def test_threads_that_have_read_the_machine_receive_no_signals(core: str, tmp_path: Path) -> None:
    script = f"trap 'exit 9' TERM; echo ready; {_SLEEP}"
    with RunningWrapper(core, tmp_path, script, has_read=True) as wrapper:
        assert len(os.listdir(f"/proc/{wrapper.process.pid}/task")) > 1
        os.kill(wrapper.pids[0], signal.SIGSTOP)
        wait_until(lambda: state_of(wrapper.pids[0]) == "T")
        time.sleep(_STOPPED_S)
        os.kill(wrapper.pids[0], signal.SIGCONT)
        wrapper.signal(signal.SIGTERM)
        result = wrapper.end()
    assert (result["exit_status"], result["asked"]) == (9, signal.SIGTERM)
    assert result["stopped_ns"] > 0.9e9 * _STOPPED_S


@pytest.mark.parametrize("refused", ["fork", "pipe"])
def test_refused_guard_leaves_signals_unchanged(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    blocked, handler = signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGCHLD)
    opened = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, refused, refuse)
    with pytest.raises(CannotStart, match="cannot supervise the command: resource temporarily unavailable") as raised:
        Commands().__enter__()
    assert raised.value.status == CannotStart.OURS
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == blocked
    assert len(os.listdir("/proc/self/fd")) == opened
    signal.signal(signal.SIGCHLD, handler)
