"""Memory: daemons, reclaim, room and swap."""

from __future__ import annotations

from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example, served_by_lxcfs
from tests.written.quiet.memory import MEMINFO, SWAPS, vmstat
from tests.written.quiet_machine import process

_MEMINFO, _VMSTAT = "/proc/meminfo", "/proc/vmstat"
_ROOT = "/sys/fs/cgroup"
_MB = 1 << 20
_GB = 1 << 30
_CONTAINER = {
    f"{_ROOT}/cgroup.events": "populated 1\n",
    f"{_ROOT}/cpu.max": "max 100000\n",
    f"{_ROOT}/cpu.stat": "nr_throttled 0\n",
    f"{_ROOT}/memory.max": "max\n",
    f"{_ROOT}/memory.high": "max\n",
}
_TWO_NODES = {
    "/sys/devices/system/node/node0/cpulist": "0-1\n",
    "/sys/devices/system/node/node1/cpulist": "2-3\n",
}
_MEMORY_ALONE = {"/sys/devices/system/node/node2/cpulist": "\n"}
_NO_NODES = ("/sys/devices/system/node",)
_KERNEL_THREAD = 0x0020_0000
_KSM_ON: dict[str, str] = {Knob.KSM_RUN: "1\n"}
_HUGE = "khugepaged-collapses-pages"


def _counters(**counts: int) -> dict[str, str]:
    return {_VMSTAT: vmstat(**counts)}


def _swaps(used_kb: int) -> dict[str, str]:
    return {"/proc/swaps": SWAPS.replace("\t\t0\t", f"\t\t{used_kb}\t")}


def _sized(**kb: int) -> dict[str, str]:
    rows = [line.split()[0] for line in MEMINFO.splitlines()]
    usual_kb = {line.split()[0]: int(line.split()[1]) for line in MEMINFO.splitlines()}
    return {_MEMINFO: "".join(f"{name} {kb.get(name.rstrip(':'), usual_kb[name])} kB\n" for name in rows)}


_ONE_PAGE_IN = {path: text.replace("pswpout 0\n", "") for path, text in _counters(pswpin=1).items()}
_NO_SWAPS = {"/proc/swaps": SWAPS.splitlines()[0] + "\n"}
_SWAPPING = [
    Example("swapping", "fail", {}, "20 pages", after=_counters(pswpin=12, pswpout=8)),
    Example("swapping", "fail", {}, "20 pages", loaded=_counters(pswpin=20)),
    Example("swapping", "warn", {}, "20 pages", after=_counters(pswpin=20), rules=Rules(budget=Budget(max_cv=0.02))),
    Example("swapping", "warn", {}, "1 page was swapped", after=_counters(pswpin=1)),
    Example("swapping", "unknown", {_VMSTAT: vmstat().replace("pswpout 0\n", "")}, after=_ONE_PAGE_IN),
    Example("swapping", "fail", {}, "1 page was swapped", after=_counters(pswpin=1), rules=Rules("latency")),
    Example("swapping", "pass", _counters(pswpin=5), "nothing was swapped"),
    Example("swapping", "pass", _sized(SwapTotal=0, SwapFree=0) | _NO_SWAPS, "no swap"),
    Example("swapping", "warn", _sized(SwapFree=99_996), "MB"),
    Example("swapping", "warn", {}, "12 pages were compressed", after=_counters(zswpin=4, zswpout=8)),
    Example("swapping", "pass", {_VMSTAT: vmstat().replace("zswpin 0\nzswpout 0\n", "")}, "nothing was swapped"),
    Example("swapping", "warn", _sized(SwapTotal=0, SwapFree=0) | _swaps(900_000), "879 MB"),
    Example("swapping", "warn", _swaps(900_000), "879 MB"),
    Example("swapping", "unknown", _sized(SwapTotal=999_996, SwapFree=1_999_996), "more swap is free"),
    Example("swapping", "unknown", gone=(_VMSTAT,)),
    Example("swapping", "unknown", gone=(_MEMINFO,)),
]


def _limited(limit: str = "max", *, high: str = "max", used: int = 0, cached: int = 0, hits: int = 5) -> dict[str, str]:
    """Return the files of a cgroup two levels deep whose upper level has the limit."""
    upper, own = f"{_ROOT}/ci", f"{_ROOT}/ci/job"
    return {
        "/proc/self/cgroup": "0::/ci/job\n",
        **{f"{group}/cgroup.controllers": "cpu memory\n" for group in (upper, own)},
        **{f"{group}/cpu.max": "max 100000\n" for group in (upper, own)},
        **{f"{group}/cpu.stat": "nr_throttled 0\n" for group in (upper, own)},
        f"{own}/memory.max": "max\n",
        f"{own}/memory.high": "max\n",
        f"{upper}/memory.max": f"{limit}\n",
        f"{upper}/memory.high": f"{high}\n",
        f"{upper}/memory.current": f"{used}\n",
        f"{upper}/memory.stat": f"anon 5\ninactive_file {cached}\nactive_file 0\nslab_reclaimable 0\n",
        f"{upper}/memory.events.local": f"low 0\nhigh {hits}\nmax 0\noom 0\noom_kill 0\n",
    }


_ROOM = _limited("2147483648", used=1 * _GB)


_SHORT = [
    Example("memory-short", "pass", {}, "11.5 GB are free"),
    Example("memory-short", "fail", _sized(MemAvailable=800_000), "781 MB of 15.6 GB"),
    Example("memory-short", "warn", _sized(MemAvailable=1_600_000), "1.5 GB of 15.6 GB"),
    Example("memory-short", "pass", _sized(MemAvailable=1_631_642), "1.6 GB are free"),
    Example("memory-short", "pass", _sized(MemTotal=200_000_000, MemAvailable=4_194_304), "4.0 GB are free"),
    Example("memory-short", "fail", _sized(MemTotal=200_000_000, MemAvailable=4_194_303), "of 190.7 GB"),
    Example("memory-short", "unknown", gone=(_MEMINFO,)),
    Example("memory-short", "unknown", _sized(MemAvailable=16_316_413), "more memory is available than exists"),
    Example("memory-short", "unknown", _sized(MemTotal=0, MemAvailable=0), _MEMINFO),
    Example("memory-short", "unknown", {_MEMINFO: "MemTotal: 16316412 kB\nMemFree: 1 kB\n"}),
    Example("memory-short", "pass", _ROOM, "1.0 GB are free within /sys/fs/cgroup/ci"),
    Example("memory-short", "fail", _ROOM, "was reached 2 times", after=_limited("2147483648", used=1 * _GB, hits=7)),
    Example("memory-short", "fail", _ROOM, "was reached 1 times", loaded=_limited("2147483648", used=_GB, hits=6)),
    Example("memory-short", "fail", _limited("2147483648", used=2000 * _MB), "48 MB of 2.0 GB are free within"),
    Example("memory-short", "fail", _limited(high="2147483648", used=3 * _GB), "0 MB of 2.0 GB"),
    Example("memory-short", "fail", _limited(high="0", used=_MB), "0 MB of 0 MB are free within"),
    Example("memory-short", "fail", _limited("0", used=_MB, cached=_MB), "of 0 MB are free within"),
    Example("memory-short", "unknown", _sized(MemTotal=0, MemAvailable=0)),
    Example("memory-short", "warn", _limited("2147483648", used=2000 * _MB, cached=_GB), "1.0 GB more if cached"),
    Example("memory-short", "pass", _limited(), "11.5 GB are free"),
    Example("memory-short", "unknown", _ROOM, "memory.current", gone=(f"{_ROOT}/ci/memory.current",)),
    Example("memory-short", "unknown", _ROOM, "memory.events", gone=(f"{_ROOT}/ci/memory.events.local",)),
    Example("memory-short", "unknown", _ROOM, "memory.high", gone=(f"{_ROOT}/ci/memory.high",)),
    Example("memory-short", "unknown", _ROOM, after=_limited("2147483648", used=_GB, hits=4)),
    Example("memory-short", "unknown", _CONTAINER, "the root of a container"),
    Example("memory-short", "fail", _CONTAINER | _sized(MemAvailable=800_000), "781 MB"),
    Example("memory-short", "unknown", _limited(), "memory.max", gone=(f"{_ROOT}/ci/job/memory.max",)),
]


_RECLAIM = [
    Example("memory-reclaimed", "fail", {}, "themselves 2 times", after=_counters(allocstall_normal=5)),
    Example("memory-reclaimed", "fail", {}, "themselves 1 times", loaded=_counters(allocstall_dma32=1)),
    Example("memory-reclaimed", "warn", {}, "kswapd scanned 32 pages", after=_counters(pgscan_kswapd=932)),
    Example("memory-reclaimed", "fail", {}, after=_counters(allocstall_normal=5), rules=Rules("strict")),
    Example("memory-reclaimed", "unknown", gone=(_VMSTAT,)),
    Example("memory-reclaimed", "unknown", {}, after=_counters(allocstall_normal=2)),
    Example("memory-reclaimed", "unknown", {_VMSTAT: vmstat().replace("pgscan_kswapd", "pgscan_other")}),
    Example("memory-compacted", "fail", {}, "waited 1 times", after=_counters(compact_stall=8)),
    Example("memory-compacted", "warn", {}, "scanned 64 pages", loaded=_counters(compact_migrate_scanned=564)),
    Example("memory-compacted", "fail", {}, after=_counters(compact_stall=8), rules=Rules("latency")),
    Example("memory-compacted", "unknown", gone=(_VMSTAT,)),
    Example("memory-compacted", "unknown", {}, after=_counters(compact_stall=6)),
    Example("zone-reclaim-enabled", "fail", _TWO_NODES | {Knob.ZONE_RECLAIM: "1\n"}, "reclaims its own memory first"),
    Example(
        "zone-reclaim-enabled", "fail", _MEMORY_ALONE | {Knob.ZONE_RECLAIM: "1\n"}, "reclaims its own memory first"
    ),
    Example("zone-reclaim-enabled", "not-applicable", {Knob.ZONE_RECLAIM: "1\n"}, "one memory node"),
    Example("zone-reclaim-enabled", "not-applicable", gone=(Knob.ZONE_RECLAIM,)),
    Example("zone-reclaim-enabled", "unknown", gone=(Knob.ZONE_RECLAIM,), is_copy=True),
    Example("zone-reclaim-enabled", "unknown", {Knob.ZONE_RECLAIM: "on\n"}, "'on'"),
    Example("zone-reclaim-enabled", "unknown", {Knob.ZONE_RECLAIM: "1\n"}, gone=_NO_NODES),
]


def _ksmd(ran_ns: int) -> dict[str, str]:
    return process(50, "ksmd", 0, ran_ns, flags=_KERNEL_THREAD)


_DAEMONS = [
    Example(_HUGE, "fail", {}, "2 huge pages", after=_counters(thp_collapse_alloc=42)),
    Example(_HUGE, "fail", {}, "1 huge pages", loaded=_counters(thp_collapse_alloc=41)),
    Example(_HUGE, "pass", {Knob.THP_ENABLED: "[always] madvise never\n"}, "policy always"),
    Example(_HUGE, "fail", {}, after=_counters(thp_collapse_alloc=42), rules=Rules("memory")),
    Example(_HUGE, "not-applicable", gone=(Knob.THP_ENABLED,)),
    Example(_HUGE, "unknown", gone=(_VMSTAT,)),
    Example(_HUGE, "unknown", {}, after=_counters(thp_collapse_alloc=39)),
    Example("ksm-scans", "fail", {Knob.KSM_RUN: "1\n"}, "on"),
    Example(
        *("ksm-scans", "fail", _KSM_ON | _ksmd(5), "took 10.0% of a CPU"),
        after=_ksmd(300_000_005),
    ),
    Example("ksm-scans", "warn", _KSM_ON | _ksmd(5), "nothing to do"),
    Example("ksm-scans", "pass", {Knob.KSM_RUN: "2\n"}, "off"),
    Example("ksm-scans", "not-applicable", gone=(Knob.KSM_RUN,)),
    Example("ksm-scans", "unknown", {Knob.KSM_RUN: "rubbish\n"}, "'rubbish'"),
    Example("ksm-scans", "unknown", gone=(Knob.KSM_RUN,), is_copy=True),
    Example("numa-balancing-runs", "warn", _TWO_NODES | {Knob.NUMA_BALANCING: "1\n"}, "on, with 2 nodes"),
    Example(
        *("numa-balancing-runs", "fail", _TWO_NODES | {Knob.NUMA_BALANCING: "1\n"}, "6 pages were unmapped"),
        after=_counters(numa_pte_updates=6),
    ),
    Example(
        *("numa-balancing-runs", "fail", _TWO_NODES | {Knob.NUMA_BALANCING: "1\n"}, "6 pages were unmapped"),
        loaded=_counters(numa_pte_updates=6),
        rules=Rules("strict"),
    ),
    Example("numa-balancing-runs", "pass", _TWO_NODES, "off", after=_counters(numa_pte_updates=6)),
    Example("numa-balancing-runs", "warn", _MEMORY_ALONE | {Knob.NUMA_BALANCING: "1\n"}, "on, with 2 nodes"),
    Example("numa-balancing-runs", "fail", {Knob.NUMA_BALANCING: "1\n"}, after=_counters(numa_pte_updates=6)),
    Example("numa-balancing-runs", "not-applicable", {Knob.NUMA_BALANCING: "1\n"}, "one memory node"),
    Example("numa-balancing-runs", "not-applicable", gone=(Knob.NUMA_BALANCING,)),
    Example("numa-balancing-runs", "unknown", {Knob.NUMA_BALANCING: "1\n"}, gone=_NO_NODES),
    Example("numa-balancing-runs", "unknown", gone=(Knob.NUMA_BALANCING,), is_copy=True),
    Example("dirty-pages-pending", "warn", _sized(Dirty=51_000, Writeback=201), "50 MB"),
    Example("dirty-pages-pending", "pass", _sized(Dirty=51_000, Writeback=200), "50 MB"),
    Example("dirty-pages-pending", "fail", _sized(Dirty=900_000), "879 MB"),
    Example("dirty-pages-pending", "fail", _sized(Dirty=900_000), "879 MB", rules=Rules("io")),
    Example("dirty-pages-pending", "unknown", gone=(_MEMINFO,)),
    Example("dirty-pages-pending", "unknown", {_MEMINFO: MEMINFO.replace("Writeback:", "WritebackTmp:")}),
]


EXAMPLES = [
    Example("swapping", "unknown", served_by_lxcfs("meminfo"), "lxcfs"),
    Example("memory-short", "unknown", served_by_lxcfs("meminfo"), "lxcfs"),
    #
    *_SWAPPING,
    *_SHORT,
    *_RECLAIM,
    *_DAEMONS,
]
