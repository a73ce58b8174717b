"""Kernel-managed interrupts: the CPUs that they are delivered to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, unknown
from noisewatch.judgement.terms import Status
from noisewatch.kernel.interrupts.irqs import FOLDER, Irq
from noisewatch.kinds import Kind

READS = (f"{FOLDER}/N/effective_affinity_list", f"{FOLDER}/N/smp_affinity (its mode, from Linux 6.12 on)")
_MOST_NAMED = 4
_NOT_TOLD = "this kernel does not tell which interrupts cannot be moved (Linux 6.12 does)"


def fixed_irqs_by_cpu(case: Case) -> Mapping[int, int]:
    """Return the number of kernel-managed IRQs by CPU, as far as known."""
    irqs = case.snapshot.irqs.by_number.values() if case.snapshot.irqs is not None else ()
    return Counter(cpu for irq in irqs if irq.is_managed for cpu in _delivered(irq))


def judge_fixed_irqs(case: Case, cpus: CpuSet) -> Answer:
    """Return the answer on whether a kernel-managed IRQ is delivered to one of these CPUs."""
    if case.snapshot.irqs is None:
        return unknown(case.why_unknown(FOLDER))
    coming = [irq for irq in case.snapshot.irqs.by_number.values() if _delivered(irq) & cpus and irq.kind == Kind.IRQ]
    fixed = [irq for irq in coming if irq.is_managed]
    evidence = {"irqs": [irq.irq for irq in fixed]}
    if fixed:
        hit = frozenset().union(*map(_delivered, fixed)) & cpus
        named = ", ".join(f"{irq.irq} {', '.join(irq.actions)}".strip() for irq in fixed[:_MOST_NAMED])
        more = ", …" if len(fixed) > _MOST_NAMED else ""
        count = f"{len(fixed)} interrupt{'s' if len(fixed) != 1 else ''}"
        said = f"{count} on {name_cpus(hit)} that only the kernel can move: {named}{more}"
        return Answer(Status.WARN, said, cpus=hit, evidence=evidence)
    if any(irq.is_managed is None for irq in coming):
        return replace(unknown(_NOT_TOLD), evidence=evidence)
    return Answer(Status.PASS, "no interrupt comes to them that cannot be moved", evidence=evidence)


def _delivered(irq: Irq) -> CpuSet:
    """Return the CPUs that the IRQ is delivered to, or its allowed CPUs if that is unknown."""
    return (irq.allowed if irq.effective is None else irq.effective) or frozenset()
