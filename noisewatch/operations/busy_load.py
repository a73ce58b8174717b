"""Busy processes beside a calibration: on which CPUs, and what they had of them."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import cycle, islice

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure, Malformed, Unreadable
from noisewatch.kernel.busy_load import BusyLoad, described, read_busy_load
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine import Json, Machine
from noisewatch.machine.spinning.load.run import BusyProcesses, busy_processes
from noisewatch.operations.progress import ProgressListener


def cpus_for_load(snapshot: Snapshot) -> CpuSet:
    """Where ordinary processes may run: all online CPUs but those target CPUs that are isolated."""
    online = snapshot.online.online or frozenset()
    return online - (snapshot.target.cpus & (snapshot.isolation.isolated or frozenset()))


class LoadBeside:
    """The load of one calibration, until the stack is left; in a recording what it was."""

    def __init__(
        self, machine: Machine, stack: ExitStack, snapshot: Snapshot, count: int, listener: ProgressListener
    ) -> None:
        """Starts `count` processes, one for each CPU that they may run on where it is 0. Raises CannotMeasure."""
        self._machine = machine
        self._busy: BusyProcesses | None = None
        self._ended: BusyLoad | None = None
        if not machine.is_live:
            return
        cpus = sorted(cpus_for_load(snapshot))
        if not cpus:
            raise CannotMeasure("there is no CPU for the load: all of them are isolated target CPUs")
        wanted = list(islice(cycle(cpus), count or len(cpus)))
        self._busy = stack.enter_context(busy_processes(wanted))
        where = name_cpus(frozenset(self._busy.cpus))
        listener.on_remark(f"calibrating again, beside {_processes(len(self._busy.cpus))} on {where}")
        if len(self._busy.cpus) < len(wanted):
            listener.on_remark(f"{_processes(len(wanted) - len(self._busy.cpus))} could not be pinned to their CPUs")

    def end(self) -> BusyLoad:
        """Ends the load, once; what it was. Raises CannotMeasure where it had ended before, or is not recorded."""
        if self._ended is None:
            try:
                self._ended = read_busy_load(self._machine, self._answer)
            except (Unreadable, Malformed) as error:
                raise CannotMeasure(f"a calibration under load: {error.reason}") from error
        return self._ended

    def _answer(self) -> Json:
        assert self._busy is not None
        cpus, share = self._busy.cpus, self._busy.end()
        return described(BusyLoad(frozenset(cpus), len(cpus), share))


def _processes(count: int) -> str:
    return f"{count} busy process{'' if count == 1 else 'es'}"
