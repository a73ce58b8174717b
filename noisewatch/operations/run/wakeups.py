"""Whether noisewatch itself was woken when it was due, while it waited for a command: what was late, and why.

    /proc/PID/schedstat    177645329 16002335 366      ns on a CPU, ns ready and waiting for one, …

What its own CPU kept it waiting for, the kernel counts. What it is late beyond that is not its CPU's doing: the whole
machine stood still (a hypervisor had paused it, or firmware had it), or somebody stopped noisewatch alone.
"""

from __future__ import annotations

import os
import time

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.running import StartedCommand, scheduling_of


class WakeUps:
    """Of one repetition. `held_up_ns`: late for no reason of its CPU; `seen_late_ns`: by how much its end was, at most.

    A pause counts from when it was due, so one that is shorter than the waits (100 ms) may be missed. Without
    schedstat neither is known, and both are 0.
    """

    def __init__(self) -> None:
        self.held_up_ns = 0
        self.seen_late_ns = 0

    def wait(self, started: StartedCommand, until_ns: int) -> EndedCommand | None:
        """As the command's own `wait`."""
        before_ns = _waited_ns()
        end = started.wait(until_ns)
        now_ns, after_ns = time.monotonic_ns(), _waited_ns()
        if before_ns is not None and after_ns is not None:
            waited_ns = after_ns - before_ns
            held_up_ns = max(now_ns - until_ns - waited_ns, 0)
            self.held_up_ns += held_up_ns
            if end is not None:
                self.seen_late_ns = waited_ns + held_up_ns
        return end


def _waited_ns() -> int | None:
    try:
        return parse_schedstat(scheduling_of(os.getpid()))[1]
    except Malformed:
        return None
