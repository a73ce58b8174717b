"""Waiting for other processes, with a time limit."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack

from noisewatch.machine.live import _Attempt


def wait_until(condition: Callable[[], bool], limit_s: float = 20.0, every_s: float = 0.02) -> None:
    """Return as soon as the condition is true; fail after `limit_s` seconds."""
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(every_s)


def reading_threads() -> int:
    """Return the number of this process's threads that read for a machine."""
    stacks = [walk_stack(frame) for frame in sys._current_frames().values()]
    return sum(any(frame.f_code is _Attempt._run.__code__ for frame, _ in stack) for stack in stacks)


def children_of(pid: int) -> list[int]:
    """Return the PIDs of the process's children."""
    process = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in process.stdout.split()]


def descendants_of(pid: int) -> list[int]:
    """Return the PIDs of all descendants, parents before children."""
    return [descendant for child in children_of(pid) for descendant in (child, *descendants_of(child))]


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
