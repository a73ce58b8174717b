"""Area `memory`: how much memory is left, on the machine and in a container, and whether the kernel has to free some.

The kernel reclaims pages, compacts them, or swaps them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from noisewatch.judgement.answer import Answer, Counted, Graded, Limit, not_applicable, passing_and_failing, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import (
    growth_by_name,
    total,
    total_vmstat_growth,
    unknown_growth_reason,
    vmstat_growth,
)
from noisewatch.judgement.effect import blocking_limit
from noisewatch.judgement.fixes.actions import SwitchSwapOff, write
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import judge_knob, knob_fix
from noisewatch.judgement.rules import LATENCY, MEMORY, STRICT
from noisewatch.judgement.shared_caches import nodes
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.counters import MEMINFO, VMSTAT, Swap
from noisewatch.kernel.memory.counters import PATH as SWAPS
from noisewatch.kernel.memory.limits import MemoryLimit
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.interval import Interval
from noisewatch.units import describe_count

_VM_DOC = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_DIRECT = Limit(
    key="fails",
    name="direct reclaims (a task had to free memory itself)",
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
    area=Area.MEMORY,
    question="Is enough memory free that the kernel need not reclaim any?",
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
    direct, scanned = total_vmstat_growth(case, "allocstall*"), total_vmstat_growth(case, "pgscan_kswapd*")
    graded = case.graded(evidence={"direct_reclaims": direct, "pages_scanned_by_kswapd": scanned})
    return _answer_of_freeing(
        *(case, graded, "no memory was reclaimed"),
        Counted(direct, _DIRECT, Status.FAIL, f"tasks had to free memory themselves {direct} times"),
        Counted(scanned, _SCANNED, Status.WARN, f"kswapd scanned {scanned} pages to reclaim memory"),
    )


def _answer_of_freeing(
    case: Case, graded: Graded, calm: str, waits: Counted, scanned: Counted, fix: Fix | None = None
) -> Answer:
    """Return the answer from the numbers of waits for memory and, if known, of scanned pages."""
    if waits.number is None or scanned.number is None:
        return graded.by_counts([waits], calm, unknown_growth_reason(case), fix)
    return graded.by_counts([waits, scanned], calm, None, fix)


_STALLED = Limit(
    key="fails",
    name="compaction stalls (a task waited for compaction)",
    value=0,
    unit="times",
    reason="the task waits while pages are copied",
)
_MOVED = Limit(
    key="passes",
    name="pages scanned by compaction",
    value=0,
    unit="pages",
    reason="compaction unmaps each page while it moves the page",
)


@check(
    id="memory-compacted",
    area=Area.MEMORY,
    question="Does the kernel run without compacting memory?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{VMSTAT} (compact_stall, compact_migrate_scanned) over the sample and the calibration", Knob.COMPACTION),
    limits=(_MOVED, _STALLED),
    why=(
        "To make room for huge pages the kernel moves other pages together, and interrupts every CPU that runs their "
        "process to flush the old addresses."
    ),
    remedy=(
        "Free memory, or switch off proactive compaction (vm.compaction_proactiveness=0). Writing any other value to "
        "that setting starts one compaction at once."
    ),
    sources=(_VM_DOC,),
    asks_rates=True,
    sees_load=True,
    covers_calibration=True,
)
def memory_compacted(case: Case) -> Answer:
    stalled, scanned = total_vmstat_growth(case, "compact_stall"), total_vmstat_growth(case, "compact_migrate_scanned")
    proactiveness = case.snapshot.settings.knobs.integer(Knob.COMPACTION)
    return _answer_of_freeing(
        case,
        case.graded(evidence={"stalls": stalled, "pages_scanned": scanned, "proactiveness": proactiveness}),
        "no memory was compacted",
        Counted(stalled, _STALLED, Status.FAIL, f"tasks waited {stalled} times for memory to be compacted"),
        Counted(scanned, _MOVED, Status.WARN, f"compaction scanned {scanned} pages"),
        knob_fix(case, Knob.COMPACTION, 0) if proactiveness else None,
    )


@check(
    id="zone-reclaim-enabled",
    area=Area.MEMORY,
    question="Does a full NUMA node use another node's memory before it reclaims its own?",
    severity=Severity.INFORMATION,
    severity_in={MEMORY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(Knob.ZONE_RECLAIM, f"{NODES}/nodeN/cpulist"),
    why=(
        "On several NUMA nodes the kernel can be set to reclaim pages of the local node before it uses free pages of "
        "another. An allocation then waits although memory is free."
    ),
    remedy=(
        "Switch zone reclaim off, unless the benchmark measures it, and bind memory with numactl if locality matters."
    ),
    sources=(_VM_DOC,),
)
def zone_reclaim_enabled(case: Case) -> Answer:
    mode = case.snapshot.settings.knobs.integer(Knob.ZONE_RECLAIM)
    numbers = nodes(case)
    if mode and numbers is None:
        return case.unread(NODES)
    if mode and numbers is not None and len(numbers) < 2:
        return not_applicable("there is only one memory node")
    return judge_knob(case, Knob.ZONE_RECLAIM, "a full node reclaims its own memory first", quiet=0)


_SWAPPED = Limit(
    key="fails",
    name="pages swapped in or out, under the profiles latency and strict",
    value=0,
    unit="pages",
    reason="waiting for one page adds about a millisecond: an outlier",
)
_SWAPPED_COST = blocking_limit("cost-fails", "share of time that swapping may take, at 1 ms per page")
_PAGE_S = 1e-3  # the time to read a page from a hard disk; flash takes a tenth of it
_USED = Limit(
    key="used",
    name="swap in use that passes",
    value=65_536,
    unit="kB",
    reason="usually pages that were swapped out once and not used since",
)
_COUNTERS = ("pswpin", "pswpout")
_COMPRESSED_COUNTERS = ("zswpin", "zswpout")  # pages that zswap keeps in memory count only here (since Linux 5.19)


@check(
    id="swapping",
    area=Area.MEMORY,
    question="Is the machine free of swapping?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(f"{VMSTAT} over the sample and the calibration", MEMINFO, SWAPS),
    limits=(_SWAPPED, _SWAPPED_COST, _USED),
    reads_counters=True,
    why=(
        "A swapped-out page is read back when it is needed: the benchmark waits for milliseconds, or for microseconds "
        "if the page was compressed in memory. Pages that are in swap now may be needed during the benchmark. Each "
        "page counts as 1 ms. Under the profiles latency and strict, a single page fails the check."
    ),
    remedy="Free memory, or switch swap off during the benchmark.",
    sources=("https://docs.kernel.org/admin-guide/sysctl/vm.html", "https://docs.kernel.org/filesystems/proc.html"),
    covers_calibration=True,
)
def swapping(case: Case) -> Answer:
    sizes = case.snapshot.background.memory.kb_by_name
    growths = [vmstat_growth(interval, name) for interval in case.intervals for name in _COUNTERS]
    moved = sum(count for count in growths if count is not None)
    cost = max((_share_of_swapping(interval) for interval in case.intervals), default=0.0)
    by_zswap = [vmstat_growth(interval, name) for interval in case.intervals for name in _COMPRESSED_COUNTERS]
    compressed = sum(count for count in by_zswap if count is not None)
    total, free = (sizes or {}).get("SwapTotal"), (sizes or {}).get("SwapFree")
    swaps = case.snapshot.settings.swaps or ()
    graded = case.graded(
        evidence={
            "pages": moved if case.intervals and None not in growths else None,
            "compressed_pages": compressed if case.intervals and None not in by_zswap else None,
            "swap_kb": total,
            "swap_free_kb": free,
        }
    )
    fix = _switch_off(swaps)
    if moved > case.bound(_SWAPPED):
        text = f"{describe_count(moved, 'page')} {'was' if moved == 1 else 'were'} swapped"
        if case.rules.profile in (LATENCY, STRICT):
            return graded.by(_SWAPPED, moved).fails(text, fix=fix)
        if cost > case.bound(_SWAPPED_COST):
            return graded.by(_SWAPPED_COST, cost).fails(text, fix=fix)
        if None not in growths:
            return graded.by(_SWAPPED_COST, cost).warns(text, fix=fix)
    if None in growths:
        return unknown(unknown_growth_reason(case))
    if total is None or free is None:
        return case.unread(MEMINFO)
    is_contradictory = free > total
    used = max(total - free, sum(swap.used_kb for swap in swaps))
    total = max(total, sum(swap.size_kb for swap in swaps))
    if total and not case.intervals and case.no_sample_reason is not None:
        return graded.unknown(case.no_sample_reason)
    if compressed:
        pages = f"{describe_count(compressed, 'page')} {'was' if compressed == 1 else 'were'}"
        text = f"{pages} compressed or decompressed in memory (zswap)"
        return graded.warns(text, measured=compressed, limit=0, unit="pages", fix=fix)
    if used > case.bound(_USED):
        return graded.by(_USED, used).warns(f"{used / 1024:.0f} MB of swap is in use", fix=fix)
    if is_contradictory:
        return unknown(f"{MEMINFO}: more swap is free ({free} kB) than exists")
    text = "nothing was swapped" if case.intervals else "almost no swap is in use"
    return graded.passes(text if total else "there is no swap")


def _share_of_swapping(interval: Interval) -> float:
    return sum(vmstat_growth(interval, name) or 0 for name in _COUNTERS) * _PAGE_S / interval.seconds


def _switch_off(swaps: tuple[Swap, ...]) -> Fix:
    """Return the fix that switches swap off.

    Undo restores the swap areas, which /etc/fstab may not list, with any priority that was set explicitly.
    """
    areas = [(swap.path, swap.priority) for swap in sorted(swaps, key=lambda swap: -swap.priority)]
    return Fix((SwitchSwapOff(tuple(areas)),), (ByHand("remove swap from /etc/fstab"),))


_PASSES, _FAILS = passing_and_failing(
    "share of memory left",
    "share",
    passes=(0.10, "leaves room for what a benchmark allocates while it runs"),
    fails=(0.05, "the next allocation may find no free page"),
    is_least=True,
)
_ROOMY = Limit(
    key="roomy",
    name="memory left that passes, whatever its share",
    value=4_194_304,
    unit="kB",
    reason="a large machine does not need a tenth of its memory free",
)
_KB = 1024


class _Room(Struct, frozen=True):
    """Free memory of the machine or within a limit.

    `available_bytes` includes caches that the kernel can reclaim; `free_bytes` does so only for the machine.
    """

    where: str
    of_bytes: int
    free_bytes: int
    available_bytes: int
    limit: MemoryLimit | None = None


@check(
    id="memory-short",
    area=Area.MEMORY,
    question="Is enough memory left for the benchmark?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    severity_in={STRICT: Severity.BLOCKING},
    reads=(
        f"{MEMINFO} (MemAvailable)",
        f"{MEMBERSHIP}; memory.max, .high, .current, .stat and .events.local (v2), from this cgroup up to the root",
        "memory.limit_in_bytes, .usage_in_bytes, .stat and .failcnt (v1)",
    ),
    limits=(_PASSES, _FAILS, _ROOMY),
    reads_counters=True,
    why=(
        "When no page is free, a program that allocates memory has to wait until the kernel has reclaimed a page. A "
        "container reaches this point at its memory limit, long before the machine is full; cached files count "
        "towards that limit."
    ),
    remedy=(
        "Stop the programs that hold memory, or lift the container's limit. On the host, dropping caches does not help."
    ),
    sources=(
        "https://docs.kernel.org/filesystems/proc.html#meminfo",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
    ),
    covers_calibration=True,
)
def memory_short(case: Case) -> Answer:
    limits = case.snapshot.background.memory_limits.limits
    growths = [growth_by_name(interval, _hits, [limit.folder for limit in limits]) for interval in case.intervals]
    hits = {limit.folder: total(growth[limit.folder] for growth in growths) if growths else 0 for limit in limits}
    rooms = [*_room_of_machine(case.snapshot), *(room for limit in limits if (room := _room_within(limit)) is not None)]
    graded = case.graded(evidence=_evidence(case, hits))
    hit = [limit for limit in limits if hits[limit.folder]]
    if hit:
        count = hits[hit[0].folder]
        text = f"the limit of {hit[0].folder} was reached {count} times"
        return graded.fails(text, measured=count, limit=0, unit="times", fix=_lift(hit[0]))
    short = [room for room in rooms if _is_below(case, room.available_bytes, room.of_bytes, _FAILS)]
    if short:
        return _short_of(case, Status.FAIL, short[0], short[0].available_bytes, graded)
    reason = _unknown_memory_reason(case, hits, rooms)
    if reason is not None:
        return graded.unknown(reason)
    tight = [room for room in rooms if _is_below(case, room.free_bytes, room.of_bytes, _PASSES)]
    if tight:
        return _short_of(case, Status.WARN, tight[0], tight[0].free_bytes, graded)
    least = min(rooms, key=lambda room: room.free_bytes)
    share = least.free_bytes / least.of_bytes
    text = f"{_size(least.free_bytes)} are free{least.where}"
    # The memory may be enough, whatever its share of the total.
    limit = case.bound(_FAILS) if share >= case.bound(_FAILS) else None
    return graded.by(_FAILS, share).passes(text, limit=limit)


def _short_of(case: Case, status: Status, room: _Room, left_bytes: int, graded: Graded) -> Answer:
    text = f"{_size(left_bytes)} of {_size(room.of_bytes)} are free{room.where}"
    if status == Status.WARN and room.available_bytes > left_bytes:
        text += f", and {_size(room.available_bytes - left_bytes)} more if cached files are dropped"
    fix = _lift(room.limit) if room.limit is not None else None
    share = left_bytes / room.of_bytes if room.of_bytes else 0.0
    return graded.by(_FAILS, share).answer(status, text, fix=fix)


def _is_below(case: Case, left_bytes: int, of_bytes: int, limit: Limit) -> bool:
    """Return whether less memory is left than `limit`, a share of the total, and less than what always passes.

    If the total is 0 bytes, return True.
    """
    return of_bytes <= 0 or (left_bytes < of_bytes * case.bound(limit) and left_bytes < case.bound(_ROOMY) * _KB)


def _size(count: int) -> str:
    return f"{count / _KB**3:.1f} GB" if count >= _KB**3 else f"{count / _KB**2:.0f} MB"


def _room_of_machine(snapshot: Snapshot) -> list[_Room]:
    sizes = snapshot.background.memory.kb_by_name or {}
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if not total or available is None or available > total:
        return []
    return [_Room("", total * _KB, available * _KB, available * _KB)]


def _room_within(limit: MemoryLimit) -> _Room | None:
    if limit.used_bytes is None or limit.cached_bytes is None:
        return None
    free = max(limit.limit_bytes - limit.used_bytes, 0)
    return _Room(
        where=f" within {limit.folder}",
        of_bytes=limit.limit_bytes,
        free_bytes=free,
        available_bytes=free + limit.cached_bytes,
        limit=limit,
    )


def _hits(snapshot: Snapshot) -> dict[str, int | None]:
    """Return how often each memory limit was reached so far, by folder."""
    return {limit.folder: limit.hits for limit in snapshot.background.memory_limits.limits}


def _unknown_memory_reason(case: Case, hits: Mapping[str, int | None], rooms: list[_Room]) -> str | None:
    """Return why there may be less memory than reported, or None if all is known."""
    if not _room_of_machine(case.snapshot):
        sizes = case.snapshot.background.memory.kb_by_name or {}
        has_more = None not in (sizes.get("MemTotal"), sizes.get("MemAvailable"))
        return f"{MEMINFO}: more memory is available than exists" if has_more else case.unread_reason(MEMINFO)
    limits = case.snapshot.background.memory_limits
    if limits.unread is not None:
        return case.unread_reason(limits.unread)
    unread_folders = [
        limit.folder for limit in limits.limits if hits[limit.folder] is None or _room_within(limit) is None
    ]
    return case.unread_reason(unread_folders[0]) if unread_folders else None


def _evidence(case: Case, hits: Mapping[str, int | None]) -> dict[str, Any]:
    sizes = case.snapshot.background.memory.kb_by_name or {}
    return {
        "available_kb": sizes.get("MemAvailable"),
        "total_kb": sizes.get("MemTotal"),
        "limits": {
            limit.folder: {
                "limit_bytes": limit.limit_bytes,
                "used_bytes": limit.used_bytes,
                "cached_bytes": limit.cached_bytes,
                "reached_in_sample": hits[limit.folder],
            }
            for limit in case.snapshot.background.memory_limits.limits
        },
    }


def _lift(limit: MemoryLimit) -> Fix:
    """Return the fix that lifts the memory limit now; for good, its owner has to lift it.

    The limit that includes swap may not be lower than the other limit, so it is lifted first and restored last.
    """
    files = {f"{limit.folder}/{name}": text for name, text in limit.text_by_file.items()}
    lifted = [write(path, "-1" if path.endswith("_in_bytes") else "max", text) for path, text in files.items()]
    return Fix(tuple(lifted), (ByHand("start the container or service without a memory limit"),))
