"""Commands at a terminal: its keys reach wrapper and command together, and a shell's job control works."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.command.wrapped import CORES, ROOT, RunningWrapper, state_of, with_all_cores, wrap
from tests.plumbing.waiting import wait_until

_COUNTS = """
import os, signal, sys, time
signal.signal(getattr(signal, f"SIG{sys.argv[1]}"), lambda *_: os.write(1, b"received\\n"))
os.write(1, b"ready\\n")
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
sys.exit(7)
"""
_LONGER_THAN_FORWARDING_S = 0.1
_STOPPED_S = 0.1


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Yield both ends of a pseudoterminal: the one where a user types, and the one that programs use."""
    both = pty.openpty()
    yield both
    for end in both:
        os.close(end)


def _type(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _resize(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 30, 90, 0, 0))


@pytest.mark.parametrize(
    ("core", "name"), [*((CORES[0], name) for name in ("INT", "QUIT", "WINCH")), *((core, "INT") for core in CORES[1:])]
)
def test_signal_from_the_terminal_reaches_the_command_once(
    core: str, name: str, terminal: tuple[int, int], tmp_path: Path
) -> None:
    counting = shlex.join([sys.executable, "-I", "-S", "-c", _COUNTS, name, str(tmp_path / "end")])
    user, programs = terminal
    with RunningWrapper(core, tmp_path, f"exec {counting}", terminal=programs) as wrapper:
        _resize(user) if name == "WINCH" else _type(user, {"INT": "\x03", "QUIT": "\x1c"}[name])
        wait_until(lambda: "received" in wrapper.output)
        time.sleep(_LONGER_THAN_FORWARDING_S)
        (tmp_path / "end").touch()
        result = wrapper.end()
    assert wrapper.output.count("received") == 1
    assert (result["exit_status"], wrapper.process.returncode) == (7, 7)
    assert result["asked"] == (None if name == "WINCH" else signal.Signals[f"SIG{name}"])


@with_all_cores
def test_shell_stops_and_continues_wrapper_and_command(core: str, terminal: tuple[int, int], tmp_path: Path) -> None:
    user, programs = terminal
    begun, report = tmp_path / "begun", tmp_path / "report"
    # Not a shell loop: while a shell starts a program (vfork), it waits for the exec and cannot be stopped.
    inside = shlex.join(wrap(core, ["sleep", "60"], begun=str(begun), report=str(report)))
    shell = subprocess.Popen(
        ["setsid", "--ctty", "sh", "-i"], cwd=ROOT, stdin=programs, stdout=programs, stderr=programs
    )
    try:
        _type(user, f"{inside}; echo $? > {tmp_path}/stopped_as\n")
        wait_until(lambda: _has_whole_line(begun))
        command = int(begun.read_text())
        both = command, _parent_of(command)
        _type(user, "\x1a")
        wait_until(lambda: all(state_of(pid) == "T" for pid in both))
        time.sleep(_STOPPED_S)
        _type(user, f"fg; echo $? > {tmp_path}/ended_as\n")
        wait_until(lambda: all(state_of(pid) != "T" for pid in both))
        os.kill(both[1], signal.SIGUSR1)
        wait_until(lambda: _has_whole_line(tmp_path / "ended_as"))
    finally:
        shell.kill()
        shell.wait()
    assert (tmp_path / "stopped_as").read_text() == f"{128 + signal.SIGTSTP}\n"
    assert (tmp_path / "ended_as").read_text() == f"{128 + signal.SIGUSR1}\n"
    report_text = report.read_text()
    assert '"stop_count": 1,' in report_text


def _has_whole_line(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
