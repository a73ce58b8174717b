"""Resources that a program and all its children have used so far."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_CPU_CLOCK_OF_A_PROCESS = 2  # CPUCLOCK_SCHED in the kernel's posix-timers.h: to the nanosecond, ended threads included
_PREFIX = "voluntary_ctxt_switches:"


@dataclass(frozen=True, slots=True)
class Used:
    """CPU time by process, and of ended children; wake-ups of running threads; resident memory."""

    cpu_s_by_pid: dict[int, float]
    ended_cpu_s: float
    wake_ups: int
    resident_bytes: int

    @property
    def cpu_s(self) -> float:
        """The total CPU time, of running processes and of ended children."""
        return sum(self.cpu_s_by_pid.values()) + self.ended_cpu_s


def used_by(pid: int) -> Used:
    """Return what a program and its children have used."""
    cpu_s, children_s, wake_ups, resident = {}, 0.0, 0, 0
    with suppress(psutil.NoSuchProcess):
        program = psutil.Process(pid)
        for process in (program, *program.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, OSError):
                times = process.cpu_times()
                cpu_s[process.pid] = time.clock_gettime((~process.pid << 3) | _CPU_CLOCK_OF_A_PROCESS)
                children_s += times.children_user + times.children_system
                wake_ups += _wake_ups(process.pid)
                resident += process.memory_info().rss
    return Used(cpu_s, children_s, wake_ups, resident)


def _wake_ups(pid: int) -> int:
    """Return how often the threads of a process have gone to sleep, and so been woken."""
    count = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(OSError):
            lines = (line for line in status.read_text().splitlines() if line.startswith(_PREFIX))
            count += sum(int(line.removeprefix(_PREFIX)) for line in lines)
    return count
