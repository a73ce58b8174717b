"""Whether noisewatch itself was woken in time while it waited for a command: how late, and why.

    /proc/PID/schedstat    177645329 16002335 366      ns on a CPU, ns ready and waiting for one, …
                           0 0 0                       nothing of it is counted (CONFIG_SCHED_INFO, delayacct)

The kernel counts the wait for its own CPU. Any further delay has another cause than its CPU: the whole machine was
paused (by a hypervisor or the firmware), or noisewatch alone was stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.running import StartedCommand, scheduling_of

_PROMPT_NS = 10_000_000  # normal delay of a wait: its timeout is in ms, and timers may depend on ticks


def read_own_wait_ns() -> int | None:
    """Return how long (ns) our main thread has waited for a CPU so far, or None if the kernel has no counts."""
    return own_wait_ns(scheduling_of(os.getpid()))


def own_wait_ns(schedstat: str) -> int | None:
    """Return the wait for a CPU (ns) in the text of a thread that has run, or None if it has no counts."""
    try:
        ran_ns, waited_ns = parse_schedstat(schedstat)
    except Malformed:
        return None
    return waited_ns if ran_ns else None


class WakeUps:
    """The wake-ups of noisewatch in one repetition; to be made before its command is started.

    `held_up_ns`: delays without a cause on its CPU; `seen_late_ns`: by how much the end was noticed late, at most. A
    pause counts from when the wake-up was due, so that a pause shorter than the waits (100 ms) may be missed. Without
    schedstat `seen_late_ns` is None, and waits for a CPU are in `held_up_ns` too.
    """

    def __init__(
        self, wait_ns: Callable[[], int | None] = read_own_wait_ns, now_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.held_up_ns = 0
        self.seen_late_ns: int | None = 0
        self._read_wait_ns, self._now_ns = wait_ns, now_ns
        self._alive_at_ns = wait_ns()  # our wait so far when the command was last known to run
        self._unrun_ns = 0  # since then no thread of ours ran

    @contextmanager
    def working(self, started: StartedCommand) -> Iterator[None]:
        """Return a context for work between waits, within the command's own `noticed`.

        Threads of ours that read files delay the main one in noticing the end, and wait for a CPU as well.
        """
        began_ns, used_ns = time.monotonic_ns(), time.process_time_ns()
        with started.noticed():
            yield
        self._unrun_ns = max(time.monotonic_ns() - began_ns - (time.process_time_ns() - used_ns), 0)

    def wait(self, started: StartedCommand, until_ns: int) -> EndedCommand | None:
        """Wait as the command's own `wait` does, and measure the delay."""
        before_ns = self._read_wait_ns()
        started.look()
        if not started.has_ended:
            self._alive_at_ns, self._unrun_ns = before_ns, 0
        end = started.wait(until_ns)
        now_ns, after_ns = self._now_ns(), self._read_wait_ns()
        late_ns = now_ns - until_ns - (_grown(before_ns, after_ns) or 0)
        held_up_ns = late_ns if late_ns > _PROMPT_NS else 0
        self.held_up_ns += held_up_ns
        if end is not None:
            waited_ns = _grown(self._alive_at_ns, after_ns)
            self.seen_late_ns = None if waited_ns is None else max(waited_ns, self._unrun_ns) + held_up_ns
        return end


def _grown(before_ns: int | None, after_ns: int | None) -> int | None:
    return None if before_ns is None or after_ns is None else after_ns - before_ns
