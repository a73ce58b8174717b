"""What is known about a source of noise, and what helps against it: the machine is asked on demand."""

from __future__ import annotations

from collections.abc import Callable

from noisewatch.errors import NoisewatchError
from noisewatch.judgement.case import Case
from noisewatch.judgement.remedies import remedy_of
from noisewatch.machine import Machine
from noisewatch.machine.recording import Recording
from noisewatch.model.disturbance import Disturbance
from noisewatch.sources.cpulist import CpuSet, format_cpu_list
from noisewatch.sources.names import clean
from noisewatch.sources.snapshot import Snapshot, Wish, read_snapshot
from noisewatch.sources.tasks import TaskReader
from noisewatch.surfaces.frame import CulpritLine
from noisewatch.surfaces.reports.finding_words import commands_of
from noisewatch.surfaces.tui.screen_model import Advice
from noisewatch.surfaces.tui.source_words import describe_source

_ENDED = "It has ended since, or is not called so any more: there is nothing to move now."


def advise(open_machine: Callable[[], Machine], target: CpuSet, about: CulpritLine) -> Advice:
    """What helps, with the commands for this machine. Nothing is executed."""
    culprit = Disturbance(
        about.kind,
        about.name,
        about.cpu,
        round(about.stolen_ns_per_s),
        about.stolen_ns_per_s / 1e9,
        about.rate_per_s,
        about.pid,
        about.tid,
        about.irq,
        about.is_estimate,
    )
    try:
        machine = open_machine()
        if isinstance(machine, Recording):
            machine.go_to_end()
        snapshot = read_snapshot(machine, Wish(target), TaskReader(asks_all_affinities=True))
        remedy = remedy_of(culprit, Case(snapshot))
    except NoisewatchError as error:
        return Advice(about, (f"Nothing can be advised: {error}",))
    task = snapshot.tasks.by_tid.get(about.tid) if snapshot.tasks is not None and about.tid is not None else None
    if about.tid is not None and (task is None or task.name != about.name):
        return _for_the_next_time(about, snapshot, Case(snapshot).housekeeping)
    commands = commands_of(remedy.fix)
    said = [*describe_source(about, snapshot.irqs), remedy.said, *(f"{name}: {command}" for name, command in commands)]
    return Advice(about, tuple(map(clean, said)), tuple(commands))


def _for_the_next_time(about: CulpritLine, snapshot: Snapshot, housekeeping: CpuSet) -> Advice:
    """Of a thread that is gone."""
    said, commands = [*describe_source(about, snapshot.irqs), _ENDED], []
    if housekeeping and about.kind == "thread":
        cpus = format_cpu_list(housekeeping)
        commands = [("next time", f"taskset -c {cpus} COMMAND")]
        said += [f"next time: taskset -c {cpus} COMMAND", f"for a service: AllowedCPUs={cpus} in its unit"]
    return Advice(about, tuple(map(clean, said)), tuple(commands))
