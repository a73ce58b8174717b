"""What is known about a source of noise, and what helps against it: the machine is asked on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import NoisewatchError
from noisewatch.judgement.case import Case
from noisewatch.judgement.finding_words import commands_of, left_to_people
from noisewatch.judgement.remedies import Remedy, remedy_of
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Kind
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.operations.culprit_words import describe_source
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.text import printable

_ENDED = "It has ended since, or is not called so any more: there is nothing to move now."
_ELSEWHERE = "For the machine that is shown, which is not this one:"
_AFTER_AN_INTERRUPT = ("NET_RX", "BLOCK", "TASKLET", "HI", "IRQ_POLL")


@dataclass(frozen=True, slots=True)
class Advice:
    """What is known about a source of noise, and what helps against it."""

    about: CulpritLine
    lines: tuple[str, ...]
    commands: tuple[tuple[str, str], ...] = ()  # that a shell can run, and what each is for: now, undo, persist
    by_hand: str | None = None  # what only people can do
    offset: int = 0  # rows that were scrolled


def advise(
    open_machine: Callable[[], Machine], target: CpuSet, about: CulpritLine, beside: Iterable[CulpritLine] = ()
) -> Advice:
    """What helps, with the commands for this machine; `beside` are the sources of that moment. Nothing is executed."""
    try:
        machine = open_machine()
        if isinstance(machine, Recording):
            machine.go_to_end()
        snapshot = read_snapshot(
            machine, SnapshotOptions(target, is_discreet=True), TaskReader(asks_all_affinities=True)
        )
        remedy = _with_its_interrupt(about, beside, Case(snapshot))
    except NoisewatchError as error:
        return Advice(about, (f"Nothing can be advised: {error}",))
    task = snapshot.tasks.by_tid.get(about.tid) if snapshot.tasks is not None and about.tid is not None else None
    if about.tid is not None and (task is None or task.name != about.name):
        return _for_the_next_time(about, snapshot, Case(snapshot).housekeeping)
    commands, by_hand = commands_of(remedy.fix), left_to_people(remedy.fix)
    said = [*describe_source(about, snapshot.irqs), remedy.said]
    if commands and not machine.is_live:
        said.append(_ELSEWHERE)
    said += [f"{name}: {command}" for name, command in commands]
    runnable = tuple((name, command) for name, command in commands if command != by_hand)
    return Advice(about, tuple(map(printable, said)), runnable, by_hand)


def _with_its_interrupt(about: CulpritLine, beside: Iterable[CulpritLine], case: Case) -> Remedy:
    """What helps; against softirqs that follow an interrupt, moving the one that is the most frequent there."""
    remedy = remedy_of(_disturbance(about), case)
    if about.kind != Kind.SOFTIRQ or about.name not in _AFTER_AN_INTERRUPT:
        return remedy
    interrupts = [line for line in beside if line.cpu == about.cpu and line.kind == Kind.IRQ]
    if not interrupts:
        return remedy
    interrupt = max(interrupts, key=lambda line: line.rate_per_s or 0)
    said = f"{remedy.said} The most frequent interrupt on CPU {about.cpu} is {interrupt.name}: its softirqs go with it."
    return Remedy(said, remedy_of(_disturbance(interrupt), case).fix)


def _disturbance(line: CulpritLine) -> Disturbance:
    return Disturbance(
        kind=line.kind,
        name=line.name,
        cpu=line.cpu,
        stolen_ns=round(line.stolen_ns_per_s),
        share=line.stolen_ns_per_s / 1e9,
        rate_per_s=line.rate_per_s,
        pid=line.pid,
        tid=line.tid,
        irq=line.irq,
        is_inferred=line.is_estimate,
    )


def _for_the_next_time(about: CulpritLine, snapshot: Snapshot, housekeeping: CpuSet) -> Advice:
    """Of a thread that is gone."""
    said, commands = [*describe_source(about, snapshot.irqs), _ENDED], []
    if housekeeping and about.kind == Kind.THREAD:
        cpus = format_cpu_list(housekeeping)
        commands = [("next time", f"taskset -c {cpus} COMMAND")]
        said += [f"next time: taskset -c {cpus} COMMAND", f"for a service: AllowedCPUs={cpus} in its unit"]
    return Advice(about, tuple(map(printable, said)), tuple(commands))
