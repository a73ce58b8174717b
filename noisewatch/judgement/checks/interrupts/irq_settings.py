"""Area `interrupts`: where interrupts will go that are set up, or balanced, later."""

from __future__ import annotations

from noisewatch.cpus import format_cpu_list, format_cpu_mask, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, check, unknown
from noisewatch.judgement.fixes.actions import run_command, write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import BootOptions, ByHand
from noisewatch.judgement.programs import running, why_unseen
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.interrupts.irqs import DEFAULT

_AFFINITY_DOC = "https://docs.kernel.org/core-api/irq/irq-affinity.html"


@check(
    id="default-irq-affinity-includes-target",
    area="interrupts",
    question="Will new interrupts be kept off the target CPUs?",
    severity=Severity.INFORMATION,
    reads=(DEFAULT,),
    why="A driver that loads, or a link that comes up, gets its interrupts delivered within this mask.",
    remedy="Write the mask of the housekeeping CPUs there, or boot with irqaffinity.",
    sources=(_AFFINITY_DOC,),
    severity_in={STRICT: Severity.WARNING},
)
def default_irq_affinity_includes_target(case: Case) -> Answer:
    irqs = case.snapshot.irqs
    if irqs is None or irqs.default_allowed is None:
        return unknown(case.why_unknown(DEFAULT))
    shared = irqs.default_allowed & case.target
    evidence = {"default_allowed": sorted(irqs.default_allowed)}
    if not shared:
        return Answer(Status.PASS, "new interrupts go to other CPUs", evidence=evidence)
    fix = None
    if case.housekeeping:
        before = format_cpu_mask(irqs.default_allowed)
        fix = Fix(
            (write(DEFAULT, format_cpu_mask(case.housekeeping), before),),
            (BootOptions(f"irqaffinity={format_cpu_list(case.housekeeping)}"),),
        )
    return Answer(
        Status.FAIL,
        f"new interrupts may go to {name_cpus(shared)}",
        cpus=shared,
        evidence=evidence,
        fix=fix,
    )


@check(
    id="irqbalance-may-move-irqs",
    area="interrupts",
    question="Will irqbalance leave the target CPUs alone?",
    severity=Severity.WARNING,
    reads=("/proc/PID/stat",),
    why="It rewrites affinities every ten seconds, during a benchmark too; isolated and nohz_full CPUs it spares.",
    remedy="Stop irqbalance, or set IRQBALANCE_BANNED_CPULIST to the target CPUs in its environment.",
    sources=("https://github.com/Irqbalance/irqbalance",),
)
def irqbalance_may_move_irqs(case: Case) -> Answer:
    if case.snapshot.tasks is None:
        return unknown(case.why_unknown("/proc/PID"))
    found = running(case, {"irqbalance"})
    isolation = case.snapshot.isolation
    spared = (isolation.boot or frozenset()) | (isolation.nohz_full or frozenset())  # it knows nothing of partitions
    reason = why_unseen(case)
    if case.target and case.target <= spared and (found or reason is not None):
        return Answer(Status.PASS, f"irqbalance {'spares' if found else 'would spare'} the target CPUs")
    if found:
        banned = f"IRQBALANCE_BANNED_CPULIST={format_cpu_list(case.target)}"
        fix = Fix(
            (run_command("systemctl stop irqbalance", "systemctl start irqbalance"),),
            (ByHand(f"{banned} in /etc/default/irqbalance or /etc/sysconfig/irqbalance"),),
        )
        return Answer(
            Status.FAIL, f"irqbalance runs (pid {found[0].pid}) and may use {name_cpus(case.target)}", fix=fix
        )
    return Answer(Status.PASS, "irqbalance does not run") if reason is None else unknown(reason)
