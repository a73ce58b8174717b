"""Enough memory: none of it is swapped, and no daemon moves it."""

from __future__ import annotations

from noisewatch.kernel.snapshot.knobs import Knob

MEMINFO = """\
MemTotal:       16316412 kB
MemFree:        11094228 kB
MemAvailable:   12094228 kB
SwapTotal:        999996 kB
SwapFree:         999996 kB
Dirty:               440 kB
Writeback:             0 kB
"""
SWAPS = """\
Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority
/dev/dm-1                               partition\t999996\t\t0\t\t-2
"""
_COUNTERS = {
    "pgfault": 60_000,
    "numa_pte_updates": 0,
    "pswpin": 0,
    "pswpout": 0,
    "allocstall_dma32": 0,
    "allocstall_normal": 3,
    "pgscan_kswapd": 900,
    "pgscan_direct": 30,
    "compact_migrate_scanned": 500,
    "compact_stall": 7,
    "thp_collapse_alloc": 40,
    "zswpin": 0,
    "zswpout": 0,
}


def vmstat(**counts: int) -> str:
    """Return the counters, some of them with other counts."""
    return "".join(f"{name} {count}\n" for name, count in (_COUNTERS | counts).items())


def files(seconds: float) -> dict[str, str]:
    """Return the files of memory. Only the page faults grow, as each snapshot causes some."""
    return {
        "/proc/meminfo": MEMINFO,
        "/proc/vmstat": vmstat(pgfault=60_000 + round(seconds * 1000)),
        "/proc/swaps": SWAPS,
        Knob.THP_ENABLED: "always [madvise] never\n",
        Knob.THP_DEFRAG: "always defer defer+madvise [madvise] never\n",
        Knob.KHUGEPAGED_SLEEP: "10000\n",
        Knob.KSM_RUN: "0\n",
        Knob.NUMA_BALANCING: "0\n",
        Knob.ZONE_RECLAIM: "0\n",
        Knob.COMPACTION: "20\n",
    }
