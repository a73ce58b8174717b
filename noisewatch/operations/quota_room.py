"""Decides whether noisewatch may run at the same time as a command or a loop that shares its CPU quota.

The processes of a control group share one quota in each period. If a command uses all of it, any wake-up of noisewatch
stops the command for some milliseconds: the scheduler hands out the quota in slices of 5 ms per CPU
(https://docs.kernel.org/scheduler/sched-bwc.html). So noisewatch sleeps until the command ends, unless there is room.
"""

from __future__ import annotations

from noisewatch.kernel.cgroup.bandwidth import NS_PER_US
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.run.repetition import CommandUse

_NEEDED = 0.2  # CPUs: looks take less than 0.1 CPUs, but each thread takes a slice of the quota
_MAY_LEAVE_ROOM = 2.0  # CPUs: with this quota, most commands leave one


def is_tight(snapshot: Snapshot, cpus: int) -> bool:
    """Return whether the quota leaves no room for noisewatch while other processes use `cpus` whole CPUs."""
    return snapshot.cgroup.known_quota_share < cpus + _NEEDED


class QuotaRoom:
    """The room that a command leaves in the CPU quota, estimated from its last repetition.

    `period_ns` is the period of the quota. If noisewatch sleeps for a period before the command starts, it uses at most
    a slice of the quota in the command's first period.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Begin before the first repetition, which is expected to leave room in a quota of two CPUs or more."""
        self._quota = snapshot.cgroup.known_quota_share
        periods_us = [level.period_us or 0 for level in snapshot.cgroup.levels if level.quota_share == self._quota]
        self.period_ns = max(periods_us, default=0) * NS_PER_US
        self._is_tight = is_tight(snapshot, len(snapshot.target.cpus))
        self._is_full = self._is_tight and self._quota < _MAY_LEAVE_ROOM

    @property
    def reason(self) -> str | None:
        """Why there is no room in the next repetition, or None."""
        if not self._is_full:
            return None
        cpus = f"{self._quota:g} CPU{'s' * (self._quota != 1)}"
        return f"noisewatch slept, because it shares a quota of {cpus} with the command, which needs all of it"

    def end(self, use: CommandUse, length_ns: int) -> None:
        """Add a repetition: the next one is expected to need as much CPU time, including waits for a CPU."""
        needed_ns = use.cpu_ns + (use.waited_ns or 0)
        self._is_full = self._is_tight and needed_ns > (self._quota - _NEEDED) * length_ns
