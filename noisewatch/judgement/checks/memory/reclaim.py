"""Area `memory`: what the kernel does to find free memory, and to find it in one piece."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.counted import grown_in_all, grown_in_zones, why_not_grown
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.grading import judged_knob, turned
from noisewatch.judgement.rules import LATENCY, MEMORY, STRICT
from noisewatch.judgement.shared_caches import nodes
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.kernel.snapshot.knobs import Knob

_VM_DOC = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_DIRECT = Limit(
    key="fails",
    name="times that a task had to free memory itself",
    value=0,
    unit="times",
    reason="it waits for it, at the worst for a disk",
)
_SCANNED = Limit(
    key="passes",
    name="pages that kswapd looked at",
    value=0,
    unit="pages",
    reason="it only runs where free memory fell below what is to be kept",
)


@check(
    id="memory-reclaimed",
    area="memory",
    question="Does the kernel find free memory without taking any back?",
    severity=Severity.WARNING,
    severity_in={STRICT: Severity.BLOCKING},
    reads=(f"{VMSTAT} (allocstall, pgscan_kswapd) over the sample and the calibration",),
    limits=(_SCANNED, _DIRECT),
    why=(
        "When free memory runs low, kswapd takes pages back, on any CPU of the node; when it does not keep up, whoever "
        "asks for memory has to do it, in the middle of what was to be measured."
    ),
    remedy="Stop what fills the memory or reads large files; reserve more of it with vm.watermark_scale_factor.",
    sources=("https://docs.kernel.org/admin-guide/mm/concepts.html", _VM_DOC),
    asks_rates=True,
    sees_load=True,
)
def memory_reclaimed(case: Case) -> Answer:
    direct, scanned = grown_in_zones(case, "allocstall"), grown_in_zones(case, "pgscan_kswapd")
    evidence = {"direct_reclaims": direct, "pages_scanned_by_kswapd": scanned}
    if direct is not None and direct > case.bound(_DIRECT):
        said = f"tasks had to free memory themselves {direct} times"
        return Answer(Status.FAIL, said, measured=direct, limit=case.bound(_DIRECT), unit="times", evidence=evidence)
    if direct is None or scanned is None:
        return unknown(why_not_grown(case))
    if scanned > case.bound(_SCANNED):
        said = f"kswapd looked at {scanned} pages to take some back"
        return Answer(Status.WARN, said, measured=scanned, limit=case.bound(_SCANNED), unit="pages", evidence=evidence)
    return Answer(
        Status.PASS, "no memory was taken back", measured=0, limit=case.bound(_DIRECT), unit="times", evidence=evidence
    )


_STALLED = Limit(
    key="fails",
    name="times that a task waited for compaction",
    value=0,
    unit="times",
    reason="pages are copied while it waits",
)
_MOVED = Limit(
    key="passes",
    name="pages that compaction looked at",
    value=0,
    unit="pages",
    reason="each that moves is unmapped for a while",
)


@check(
    id="memory-compacted",
    area="memory",
    question="Is memory not being compacted?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{VMSTAT} (compact_stall, compact_migrate_scanned) over the sample and the calibration", Knob.COMPACTION),
    limits=(_MOVED, _STALLED),
    why=(
        "To make room for huge pages the kernel copies others together, and interrupts all CPUs on which their process "
        "runs, to have their old addresses forgotten."
    ),
    remedy=(
        "Free memory, or have the kernel not compact ahead of need. Writing anything but 0 to that setting has it "
        "compact once, at once."
    ),
    sources=(_VM_DOC,),
    asks_rates=True,
    sees_load=True,
)
def memory_compacted(case: Case) -> Answer:
    stalled, scanned = grown_in_all(case, "compact_stall"), grown_in_all(case, "compact_migrate_scanned")
    ahead = case.snapshot.settings.knobs.integer(Knob.COMPACTION)
    evidence = {"stalls": stalled, "pages_scanned": scanned, "proactiveness": ahead}
    if stalled is not None and stalled > case.bound(_STALLED):
        said = f"tasks waited {stalled} times for memory to be compacted"
        return Answer(
            Status.FAIL,
            said,
            measured=stalled,
            limit=case.bound(_STALLED),
            unit="times",
            evidence=evidence,
            fix=_stop(case),
        )
    if stalled is None or scanned is None:
        return unknown(why_not_grown(case))
    if scanned > case.bound(_MOVED):
        said = f"compaction looked at {scanned} pages"
        return Answer(
            Status.WARN,
            said,
            measured=scanned,
            limit=case.bound(_MOVED),
            unit="pages",
            evidence=evidence,
            fix=_stop(case),
        )
    return Answer(
        Status.PASS, "nothing was compacted", measured=0, limit=case.bound(_STALLED), unit="times", evidence=evidence
    )


def _stop(case: Case) -> Fix | None:
    """What the kernel does ahead of need can be switched off, where it does anything."""
    return turned(case, Knob.COMPACTION, 0) if case.snapshot.settings.knobs.integer(Knob.COMPACTION) else None


@check(
    id="zone-reclaim-enabled",
    area="memory",
    question="Does a full NUMA node use memory of another one before it reclaims its own?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.ZONE_RECLAIM, f"{NODES}/nodeN/cpulist"),
    why=(
        "With several memory nodes the kernel may be told to free pages of the nearest one, rather than to use free "
        "ones that are further away: an allocation then waits although memory is free."
    ),
    remedy="Switch it off, unless the benchmark is about that, and bind memory with numactl where distance matters.",
    sources=(_VM_DOC,),
)
def zone_reclaim_enabled(case: Case) -> Answer:
    mode = case.snapshot.settings.knobs.integer(Knob.ZONE_RECLAIM)
    known = nodes(case)
    if mode and known is None:
        return unknown(case.why_unknown(NODES))
    if mode and known is not None and len(known) < 2:
        return not_applicable("there is one memory node")
    return judged_knob(case, Knob.ZONE_RECLAIM, lambda value: value == 0, "a node's own memory is taken back first", 0)
