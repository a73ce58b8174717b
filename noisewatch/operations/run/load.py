"""Keeps other CPUs busy during a series and its calibrations: the option --load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.judgement.case import Case
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.spinning.load.run import BusyProcesses, busy_processes
from noisewatch.operations.pinning import read_allowed_cpus
from noisewatch.operations.progress import ProgressListener
from noisewatch.units import describe_busy_processes, describe_share

# Share of what a busy process gets if nothing else runs on its CPU. noisewatch and --prepare run there too: on 2 CPUs a
# process had 77 to 84%, and one other process that is always ready leaves half.
_LEAST_SHARE = 0.5
_STARVED = "each process had {} of its CPU on average, expected about {}"


class SeriesLoad(Struct, frozen=True):
    """Busy processes during a series, pinned to `cpus` in turn.

    `busy_share` is the mean share that each had of its CPU, or None before the end. `trouble` is the reason why the
    load was or may have been smaller than requested, or None.
    """

    processes: int
    cpus: CpuSet
    busy_share: float | None = None
    trouble: str | None = None


class RunningLoad:
    """The busy processes of a series until `end` is called."""

    def __init__(self, busy: BusyProcesses, count: int) -> None:
        """Begin with the processes that could be pinned; `count` processes were requested."""
        self._busy = busy
        missing = count - len(busy.cpus)
        trouble = f"{describe_busy_processes(missing)} could not be pinned to another CPU" if missing else None
        self.begun = SeriesLoad(len(busy.cpus), frozenset(busy.cpus), trouble=trouble)

    def end(self) -> SeriesLoad:
        """End the busy processes; return the load with the share that they had of their CPUs."""
        try:
            share = self._busy.end()
        except CannotMeasure as error:
            return replace(self.begun, trouble=self.begun.trouble or str(error))
        return replace(self.begun, busy_share=share, trouble=self.begun.trouble or _starved_reason(self.begun, share))


def _starved_reason(load: SeriesLoad, share: float) -> str | None:
    """Return why processes with this mean share of their CPUs are a smaller load than requested, or None."""
    expected = min(len(load.cpus) / load.processes, 1.0)
    if share >= _LEAST_SHARE * expected:
        return None
    return _STARVED.format(describe_share(share, 0), describe_share(expected, 0))


def cpus_for_load(snapshot: Snapshot) -> CpuSet:
    """Return the CPUs for busy processes: neither target CPUs nor their siblings, if possible noisewatch's own CPUs.

    Raise UsageError if there is none.
    """
    case = Case(snapshot)
    cpus = case.online - case.target - case.siblings
    if not cpus:
        raise UsageError(
            "--load: expected an online CPU that is neither a target CPU nor a sibling of one, found none (targets: "
            f"{name_cpus(case.target)}); choose fewer target CPUs with --cpus"
        )
    return cpus & read_allowed_cpus() or cpus


@contextmanager
def running_load(count: int, snapshot: Snapshot, listener: ProgressListener) -> Iterator[RunningLoad | None]:
    """Run `count` busy processes (0: none) until the context is left or this process ends for any reason.

    Raise UsageError if no CPU may be busy, and CannotMeasure if the processes cannot be started.
    """
    if not count:
        yield None
        return
    places = list(islice(cycle(sorted(cpus_for_load(snapshot))), count))
    with busy_processes(places) as busy:
        load = RunningLoad(busy, count)
        if load.begun.trouble is not None:
            listener.on_remark(f"--load: {load.begun.trouble}")
        yield load
