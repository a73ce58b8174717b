"""Watching whether the control group of a command is frozen."""

from __future__ import annotations

from noisewatch.errors import Unreadable
from noisewatch.kernel.cgroup.freezing import FreezeLook, FreezeReader
from noisewatch.machine import Machine
from noisewatch.model.run.freezing import FreezeTally, Freezing


class FreezeWatch:
    """One command after the other: `prepare` before it is started, `sample` while it runs, `end`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reader = FreezeReader(machine)
        self._tally = FreezeTally(FreezeLook(0))

    def prepare(self, cgroup: str | None = None) -> None:
        """It will be in this process's groups, but for the folder of cgroup v2 to which it is moved."""
        look = self._reader.look() or FreezeLook(self._machine.now_ns())
        if cgroup is not None:
            try:
                self._reader.enter(cgroup)
                look = self._reader.look_again()
            except Unreadable as error:
                look = FreezeLook(look.taken_at_ns, reason=str(error))
        self._tally = FreezeTally(look)

    def sample(self, pid: int) -> None:
        """One look at the groups of the command's first process."""
        look = self._reader.look(f"/proc/{pid}/cgroup")
        if look is not None:
            self._tally.add(look)

    def end(self, length_ns: int) -> Freezing:
        """The command has ended, after so long."""
        self._tally.add(self._reader.look_again())
        return self._tally.freezing(length_ns)
