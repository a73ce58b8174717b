"""What a source of noise is, in words: a kernel thread by what it does, an IRQ by its device and where it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kernel.interrupts.irqs import Irq, Irqs
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.vocabulary import describe_action, explain_thread
from noisewatch.operations.frame.frame import CulpritLine

_IRQ_THREAD = re.compile(r"irq/(\d+)-")

_OF_QUOTA = (
    "The group has used up its CPU quota, and the kernel stops its threads until the next period begins. The kernel "
    "counts the time of all CPUs together: that it was lost here is inferred."
)

_MAY_HAVE_MOVED = (
    "How long it ran is measured; how much of that was on this CPU is an estimate. It moved between CPUs, or may have, "
    "and the kernel does not count a thread's time by CPU."
)


def describe_source(about: CulpritLine, irqs: Irqs | None) -> list[str]:
    """Sentences; none for a source whose name says it all, or says nothing to us."""
    found: list[str] = []
    if about.kind == Kind.KERNEL_THREAD:
        does = explain_thread(about.name)
        found += [f"{about.name} {does}."] if does is not None else []
    if about.kind in THREADS and about.is_estimate:
        found.append(_MAY_HAVE_MOVED)
    if about.kind == Kind.QUOTA:
        found.append(_OF_QUOTA)
    number = _irq_of(about)
    if number is not None:
        irq = irqs.by_number.get(number) if irqs is not None else None
        found += _describe_irq(number, irq) if irq is not None else [f"Nothing more is known about IRQ {number}."]
    return found


def _irq_of(about: CulpritLine) -> int | None:
    of_thread = _IRQ_THREAD.match(about.name) if about.kind == Kind.KERNEL_THREAD else None
    return int(of_thread[1]) if of_thread is not None else about.irq


def _describe_irq(number: int, irq: Irq) -> Iterator[str]:
    queues = [words for words in map(describe_action, irq.actions) if words is not None]
    device = irq.device if irq.device not in (None, "none") else None
    told = "; ".join([*queues, *([f"device: {device}"] if device is not None else [])])
    if told:
        yield f"IRQ {number}: {told}."
    if irq.kind != Kind.IRQ:
        return
    yield f"It may go to {_cpus(irq.allowed)}, and goes to {_cpus(irq.effective)}; {_MOVABLE[irq.movable]}."


_MOVABLE = {
    True: "it can be moved",
    False: "it cannot be moved",
    None: "whether it can be moved this kernel does not tell",
}


def _cpus(cpus: CpuSet | None) -> str:
    return "unknown CPUs" if cpus is None else name_cpus(cpus)
