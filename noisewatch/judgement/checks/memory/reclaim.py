"""Area `memory`: how the kernel frees memory: it reclaims pages, compacts them, or swaps them out."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.counted import grown, grown_in_all, grown_in_zones, why_not_grown
from noisewatch.judgement.fixes.actions import SwitchSwapOff
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import ByHand
from noisewatch.judgement.grading import judged_knob, turned
from noisewatch.judgement.rules import LATENCY, MEMORY, STRICT
from noisewatch.judgement.shared_caches import nodes
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.counters import MEMINFO, VMSTAT, Swap
from noisewatch.kernel.memory.counters import PATH as SWAPS
from noisewatch.kernel.snapshot.knobs import Knob

_VM_DOC = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_DIRECT = Limit(
    key="fails",
    name="direct reclaims: a task had to free memory itself",
    value=0,
    unit="times",
    reason="the task waits, at worst for a disk",
)
_SCANNED = Limit(
    key="passes",
    name="pages scanned by kswapd",
    value=0,
    unit="pages",
    reason="kswapd runs only when free memory is below its low watermark",
)


@check(
    id="memory-reclaimed",
    area="memory",
    question="Is enough memory free that the kernel reclaims none?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={STRICT: Severity.BLOCKING},
    reads=(f"{VMSTAT} (allocstall, pgscan_kswapd) over the sample and the calibration",),
    limits=(_SCANNED, _DIRECT),
    why=(
        "When free memory runs low, kswapd reclaims pages, on any CPU of the node. If it cannot keep up, a program "
        "that allocates memory has to reclaim pages itself, in the middle of the measurement."
    ),
    remedy=(
        "Stop the program that fills memory or reads large files, or reserve more memory with "
        "vm.watermark_scale_factor."
    ),
    sources=("https://docs.kernel.org/admin-guide/mm/concepts.html", _VM_DOC),
    asks_rates=True,
    sees_load=True,
    covers_calibration=True,
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
        said = f"kswapd scanned {scanned} pages to reclaim memory"
        return Answer(Status.WARN, said, measured=scanned, limit=case.bound(_SCANNED), unit="pages", evidence=evidence)
    return Answer(
        Status.PASS, "no memory was reclaimed", measured=0, limit=case.bound(_DIRECT), unit="times", evidence=evidence
    )


_STALLED = Limit(
    key="fails",
    name="compaction stalls: a task waited for compaction",
    value=0,
    unit="times",
    reason="the task waits while pages are copied",
)
_MOVED = Limit(
    key="passes",
    name="pages scanned by compaction",
    value=0,
    unit="pages",
    reason="each page that moves is unmapped meanwhile",
)


@check(
    id="memory-compacted",
    area="memory",
    question="Is memory free of compaction?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{VMSTAT} (compact_stall, compact_migrate_scanned) over the sample and the calibration", Knob.COMPACTION),
    limits=(_MOVED, _STALLED),
    why=(
        "To make room for huge pages the kernel moves other pages together, and interrupts every CPU that runs their "
        "process to flush the old addresses."
    ),
    remedy=(
        "Free memory, or switch off proactive compaction (0). Writing any other value to this setting starts one "
        "compaction at once."
    ),
    sources=(_VM_DOC,),
    asks_rates=True,
    sees_load=True,
    covers_calibration=True,
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
        said = f"compaction scanned {scanned} pages"
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
        Status.PASS, "no memory was compacted", measured=0, limit=case.bound(_STALLED), unit="times", evidence=evidence
    )


def _stop(case: Case) -> Fix | None:
    """Return the fix that switches proactive compaction off, or None if it is off."""
    return turned(case, Knob.COMPACTION, 0) if case.snapshot.settings.knobs.integer(Knob.COMPACTION) else None


@check(
    id="zone-reclaim-enabled",
    area="memory",
    question="Does a full NUMA node use another node's memory before it reclaims its own?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.ZONE_RECLAIM, f"{NODES}/nodeN/cpulist"),
    why=(
        "On several NUMA nodes the kernel can be set to reclaim pages of the local node before it uses free pages of "
        "another: an allocation then waits although memory is free."
    ),
    remedy=(
        "Switch zone reclaim off, unless the benchmark is about it, and bind memory with numactl where locality "
        "matters."
    ),
    sources=(_VM_DOC,),
)
def zone_reclaim_enabled(case: Case) -> Answer:
    mode = case.snapshot.settings.knobs.integer(Knob.ZONE_RECLAIM)
    known = nodes(case)
    if mode and known is None:
        return unknown(case.why_unknown(NODES))
    if mode and known is not None and len(known) < 2:
        return not_applicable("there is one memory node")
    return judged_knob(
        case, Knob.ZONE_RECLAIM, lambda value: value == 0, "a full node reclaims its own memory first", 0
    )


_SWAPPED = Limit(
    key="fails",
    name="pages swapped in or out",
    value=0,
    unit="pages",
    reason="reading one page back costs a millisecond",
)
_USED = Limit(
    key="used",
    name="swap in use that passes",
    value=65_536,
    unit="kB",
    reason="usually pages that were swapped out once and not used since",
)
_COUNTERS = ("pswpin", "pswpout")
_COMPRESSED_COUNTERS = ("zswpin", "zswpout")  # Linux 5.19; what zswap keeps in memory is in neither of the others


@check(
    id="swapping",
    area="memory",
    question="Is the machine free of swapping?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(f"{VMSTAT} over the sample and the calibration", MEMINFO, SWAPS),
    limits=(_SWAPPED, _USED),
    why=(
        "A swapped-out page is read back when it is needed: the benchmark waits for milliseconds, or for microseconds "
        "if the page was compressed in memory. Pages that are in swap now may be needed during the benchmark."
    ),
    remedy="Free memory, or switch swap off during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/vm.html", "https://docs.kernel.org/filesystems/proc.html"),
    covers_calibration=True,
)
def swapping(case: Case) -> Answer:
    sizes = case.snapshot.background.memory.kb_by_name
    growths = [grown(interval, name) for interval in case.intervals for name in _COUNTERS]
    moved = sum(count for count in growths if count is not None)
    by_zswap = [grown(interval, name) for interval in case.intervals for name in _COMPRESSED_COUNTERS]
    compressed = sum(count for count in by_zswap if count is not None)
    total, free = (sizes or {}).get("SwapTotal"), (sizes or {}).get("SwapFree")
    swaps = case.snapshot.settings.swaps or ()
    evidence = {
        "pages": moved if case.intervals and None not in growths else None,
        "compressed_pages": compressed if case.intervals and None not in by_zswap else None,
        "swap_kb": total,
        "swap_free_kb": free,
    }
    fix = _switch_off(swaps)
    if moved > case.bound(_SWAPPED):
        said = f"{moved} pages were swapped"
        return Answer(
            Status.FAIL, said, measured=moved, limit=case.bound(_SWAPPED), unit="pages", evidence=evidence, fix=fix
        )
    if None in growths:
        return unknown(why_not_grown(case))
    if total is None or free is None:
        return unknown(case.why_unknown(MEMINFO))
    is_contradictory = free > total
    used = max(total - free, sum(swap.used_kb for swap in swaps))
    total = max(total, sum(swap.size_kb for swap in swaps))
    if total and not case.intervals and case.no_sample_reason is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=case.no_sample_reason, evidence=evidence)
    if compressed:
        said = f"{compressed} pages were compressed or decompressed in memory (zswap)"
        return Answer(Status.WARN, said, measured=compressed, limit=0, unit="pages", evidence=evidence, fix=fix)
    if used > case.bound(_USED):
        said = f"{used / 1024:.0f} MB of swap is in use"
        return Answer(Status.WARN, said, measured=used, limit=case.bound(_USED), unit="kB", evidence=evidence, fix=fix)
    if is_contradictory:
        return unknown(f"{MEMINFO}: more swap is free ({free} kB) than there is")
    said = "nothing was swapped" if case.intervals else "almost no swap is in use"
    return Answer(Status.PASS, said if total else "there is no swap", evidence=evidence)


def _switch_off(swaps: tuple[Swap, ...]) -> Fix:
    """Return the fix that switches swap off. Undo restores the areas read, with a priority that was set explicitly.

    /etc/fstab may not list them.
    """
    areas = [(swap.path, swap.priority) for swap in sorted(swaps, key=lambda swap: -swap.priority)]
    return Fix((SwitchSwapOff(tuple(areas)),), (ByHand("remove swap from /etc/fstab"),))
