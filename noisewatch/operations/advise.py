"""Advice against a culprit, from a fresh snapshot of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, name_cpus
from noisewatch.errors import NoisewatchError
from noisewatch.judgement.case import Case
from noisewatch.judgement.finding_words import commands_of, manual_step
from noisewatch.judgement.remedies import Remedy, remedy_of
from noisewatch.kernel.interrupts.irqs import Irq, Irqs
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import AFTER_AN_INTERRUPT, THREADS, Kind
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.vocabulary import describe_action, explain_thread
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.patterns import regex
from noisewatch.text import printable

_HAS_EXITED = "It has exited, or changed its name, so there is nothing to move."
_ELSEWHERE = "On the machine shown, not on this one:"
_IRQ_THREAD = regex(r"irq/(\d+)-")
_OF_QUOTA = (
    "The group has used up its CPU quota, so the kernel stops its threads until the next period. The kernel counts "
    "this for all CPUs together; this CPU's part is inferred."
)
_MAY_HAVE_MOVED = (
    "The thread's total run time is measured. Its share on this CPU is an estimate, because it may have moved "
    "between CPUs and the kernel does not count a thread's time by CPU."
)
_MOVABLE = {
    True: "it can be moved",
    False: "it cannot be moved",
    None: "unknown whether it can be moved",
}


class Advice(Struct, frozen=True):
    """The description of a culprit, and the remedies against it."""

    about: CulpritLine
    lines: tuple[str, ...]
    commands: tuple[tuple[str, str], ...] = ()  # label (such as now, undo, for good) and shell command
    by_hand: str | None = None  # the permanent remedy, if it is prose instead of a command
    offset: int = 0  # number of scrolled rows


def advise(
    open_machine: Callable[[], Machine], target: CpuSet, about: CulpritLine, others: Iterable[CulpritLine] = ()
) -> Advice:
    """Return advice against the culprit `about`, with commands for the observed machine; no command is run.

    `others` are the interval's other culprits.
    """
    try:
        machine = open_machine()
        if isinstance(machine, Recording):
            machine.go_to_end()
        snapshot = read_snapshot(
            machine, SnapshotOptions(target, is_discreet=True), TaskReader(asks_all_affinities=True)
        )
        remedy = _irq_remedy(about, others, Case(snapshot))
    except NoisewatchError as error:
        return Advice(about, (f"No advice: {error}",))
    task = snapshot.tasks.by_tid.get(about.tid) if snapshot.tasks is not None and about.tid is not None else None
    if about.tid is not None and (task is None or task.name != about.name):
        return _advice_for_next_time(about, snapshot, Case(snapshot).housekeeping)
    commands, by_hand = commands_of(remedy.fix), manual_step(remedy.fix)
    lines = [*_describe(about, snapshot.irqs), remedy.advice]
    if commands and not machine.is_live:
        lines.append(_ELSEWHERE)
    lines += [f"{name}: {command}" for name, command in commands]
    runnable = tuple((name, command) for name, command in commands if command != by_hand)
    return Advice(about, tuple(map(printable, lines)), runnable, by_hand)


def _irq_remedy(about: CulpritLine, others: Iterable[CulpritLine], case: Case) -> Remedy:
    """Return the remedy against the culprit; it has no fix for an IRQ that reaches no target CPU or sibling."""
    others, number, irqs = list(others), _irq_of(about), case.snapshot.irqs
    irq = irqs.by_number.get(number) if irqs is not None and number is not None else None
    disturbed = case.target | case.siblings
    delivered_to = None if irq is None else irq.allowed if irq.effective is None else irq.effective
    heard = {about.cpu, *(line.cpu for line in others if line.irq == number)}
    if delivered_to and disturbed.isdisjoint(delivered_to | heard):
        return Remedy(f"It disturbs no target CPU: it goes to {name_cpus(delivered_to)}.")
    return _softirq_remedy(about, others, case)


def _softirq_remedy(about: CulpritLine, others: Iterable[CulpritLine], case: Case) -> Remedy:
    """Return the remedy against the culprit; for softirqs after an interrupt, it moves the CPU's most frequent IRQ."""
    remedy = remedy_of(about, case)
    if about.kind != Kind.SOFTIRQ or about.name not in AFTER_AN_INTERRUPT:
        return remedy
    interrupts = [line for line in others if line.cpu == about.cpu and line.kind == Kind.IRQ]
    if not interrupts:
        return remedy
    interrupt = max(interrupts, key=lambda line: line.rate_per_s or 0)
    name = interrupt.name.partition(" (")[0]
    text = f"{remedy.said} The most frequent interrupt on CPU {about.cpu} is {name}: its softirqs move with it."
    return Remedy(text, remedy_of(interrupt, case).fix)


def _advice_for_next_time(about: CulpritLine, snapshot: Snapshot, housekeeping: CpuSet) -> Advice:
    """Return the advice for a thread that has exited, or has changed its name."""
    lines, commands = [*_describe(about, snapshot.irqs), _HAS_EXITED], []
    if housekeeping and about.kind == Kind.THREAD:
        cpus = cpu_list_argument(housekeeping)
        commands = [("next time", f"taskset -c {cpus} COMMAND")]
        lines += [f"next time: taskset -c {cpus} COMMAND", f"for a service: AllowedCPUs={cpus} in its unit"]
    return Advice(about, tuple(map(printable, lines)), tuple(commands))


def _describe(about: CulpritLine, irqs: Irqs | None) -> list[str]:
    """Return sentences on the culprit: its work, the estimate of its time, and its IRQ, as far as they apply."""
    lines: list[str] = []
    if about.kind == Kind.KERNEL_THREAD:
        does = explain_thread(about.name)
        lines += [f"{about.name} {does}."] if does is not None else []
    if about.kind in THREADS and about.is_estimate:
        lines.append(_MAY_HAVE_MOVED)
    if about.kind == Kind.QUOTA:
        lines.append(_OF_QUOTA)
    number = _irq_of(about)
    if number is not None:
        irq = irqs.by_number.get(number) if irqs is not None else None
        lines += _describe_irq(number, irq) if irq is not None else [f"IRQ {number}: nothing else is known."]
    return lines


def _irq_of(about: CulpritLine) -> int | None:
    of_thread = _IRQ_THREAD.match(about.name) if about.kind == Kind.KERNEL_THREAD else None
    return int(of_thread[1]) if of_thread is not None else about.irq


def _describe_irq(number: int, irq: Irq) -> Iterator[str]:
    queues = [words for words in map(describe_action, irq.actions) if words is not None]
    device = irq.device if irq.device not in (None, "none") else None
    text = "; ".join([*queues, *([f"device: {device}"] if device is not None else [])])
    if text:
        yield f"IRQ {number}: {text}."
    if irq.kind != Kind.IRQ:
        return
    yield f"Allowed on {_cpus(irq.allowed)}, delivered to {_cpus(irq.effective)}; {_MOVABLE[irq.movable]}."


def _cpus(cpus: CpuSet | None) -> str:
    return "unknown CPUs" if cpus is None else name_cpus(cpus)
