"""Waiting for what other processes do: as short as it takes, and never for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack

from noisewatch.machine.live import _Attempt


def wait_until(is_so: Callable[[], bool], limit_s: float = 20.0, every_s: float = 0.02) -> None:
    """Returns as soon as it is so; an AssertionError where it does not come to that."""
    given_up = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < given_up
        time.sleep(every_s)


def reading_threads() -> int:
    """How many threads of this process read for a machine."""
    stacks = [walk_stack(frame) for frame in sys._current_frames().values()]
    return sum(any(frame.f_code is _Attempt._run.__code__ for frame, _ in stack) for stack in stacks)


def children_of(pid: int) -> list[int]:
    """The processes that it has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in found.stdout.split()]


def descendants_of(pid: int) -> list[int]:
    """What it has started, and what they have; each before its own."""
    return [each for child in children_of(pid) for each in (child, *descendants_of(child))]


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
