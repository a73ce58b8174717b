"""Area `target`: how the target CPUs were chosen."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet_machine import CPUS, cpu_row

_ALL = frozenset({0, 1, 2, 3})
_ALONE = {f"{CPUS}/online": "0\n", "/proc/stat": cpu_row("cpu") + cpu_row("cpu0")}
_WHO_IS_ONLINE = (f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo")
_NODES = "/sys/devices/system/node"
_PARALLEL, _STRICT = Rules("parallel"), Rules("strict")
_RANK = "cpufreq/amd_pstate_prefcore_ranking"
_PAIRS = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
_NO_CPUFREQ = tuple(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4))


def _of_each(name: str, *values: int) -> dict[str, str]:
    return {f"{CPUS}/cpu{cpu}/{name}": f"{value}\n" for cpu, value in enumerate(values)}


def _designs(*registers: int) -> dict[str, str]:
    paths = {cpu: f"{CPUS}/cpu{cpu}/regs/identification/midr_el1" for cpu in range(4)}
    return {paths[cpu]: f"0x{register:016x}\n" for cpu, register in enumerate(registers)}


_BIG_LITTLE = "".join(
    f"processor\t: {cpu}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
    for cpu, part in enumerate(("0xd05", "0xd05", "0xd05", "0xd0b"))
)
_FAVOURED = _of_each(_RANK, 211, 211, 236, 211)
_FASTER = _of_each("cpufreq/cpuinfo_max_freq", 3_000_000, 3_000_000, 3_100_000, 3_000_000)
_CACHES = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}
_CACHE_OF_ITS_OWN = {f"{CPUS}/cpu3/cache/index3/shared_cpu_list": "3\n"}
_NO_LAST_LEVEL = tuple(f"{CPUS}/cpu{cpu}/cache" for cpu in range(4))
_LEVEL_2 = {
    f"{CPUS}/cpu{cpu}/cache/index2/{name}": f"{text}\n"
    for cpu in range(4)
    for name, text in (("level", "2"), ("shared_cpu_list", "0-1" if cpu < 2 else "2-3"))
}
_NO_LEVEL_3 = tuple(f"{CPUS}/cpu{cpu}/cache/index3" for cpu in range(4))
_THREADS = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}
_NODE_1 = {f"{_NODES}/node0/cpulist": "0-2\n", f"{_NODES}/node1/cpulist": "3\n"}

EXAMPLES = [
    Example("no-housekeeping-cpu", "fail", {}, "every online CPU", set(_ALL), target=_ALL),
    Example("no-housekeeping-cpu", "fail", {}, "every online CPU", target=_ALL, rules=_PARALLEL),
    Example("no-housekeeping-cpu", "fail", {f"{CPUS}/online": "2-3\n"}, "every online CPU"),
    Example("no-housekeeping-cpu", "fail", _PAIRS, "on the cores of the target"),
    Example("no-housekeeping-cpu", "pass", {}, "CPUs 0-1"),
    Example("no-housekeeping-cpu", "unknown", gone=_WHO_IS_ONLINE),
    Example("boot-cpu-is-target", "fail", {}, "CPU 0", {0}, target=frozenset({0, 2})),
    Example("boot-cpu-is-target", "fail", {}, "CPU 0", {0}, target=_ALL - {3}, rules=_PARALLEL),
    Example("boot-cpu-is-target", "not-applicable", {}, "none could be chosen", target=_ALL),
    Example("boot-cpu-is-target", "not-applicable", _ALONE, target=frozenset({0})),
    Example("boot-cpu-is-target", "fail", {f"{CPUS}/online": "0\n"}, "CPU 0", {0}, target=frozenset({0})),
    Example("boot-cpu-is-target", "unknown", gone=_WHO_IS_ONLINE, target=frozenset({0})),
    Example("target-cores-differ", "fail", _of_each("cpu_capacity", 1024, 1024, 1024, 446), "efficiency", {2, 3}),
    Example("target-cores-differ", "pass", _of_each("cpu_capacity", 446, 446, 1024, 1024), "one kind"),
    Example("target-cores-differ", "warn", _of_each("cpu_capacity", 1024, 1024, 1024, 980), "capacity of CPU 3", {3}),
    Example("target-cores-differ", "pass", _of_each("cpu_capacity", 1024, 1024, 1024, 1004), "one kind"),
    Example(
        *("target-cores-differ", "fail", {"/sys/devices/cpu_core/cpus": "0-2\n", "/sys/devices/cpu_atom/cpus": "3\n"}),
        cpus={2, 3},
        rules=_PARALLEL,
    ),
    Example(
        *("target-cores-differ", "warn", _FASTER | {f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "3100000\n"}),
        cpus={3},
    ),
    Example("target-cores-differ", "pass", _FASTER, "one kind"),
    Example("target-cores-differ", "warn", _FAVOURED | {f"{CPUS}/cpufreq/boost": "1\n"}, "rank of CPU 3", {3}),
    Example("target-cores-differ", "pass", _FAVOURED, "one kind"),
    Example("target-cores-differ", "pass", _of_each("cpu_capacity", 1024, 446), "one target", target=frozenset({2})),
    Example("target-cores-differ", "pass", {}, "the same work", gone=_NO_CPUFREQ),
    Example("target-cores-differ", "unknown", gone=_NO_CPUFREQ, target=frozenset({1, 2})),
    Example("target-cores-differ", "unknown", gone=_NO_CPUFREQ, target=frozenset({1, 2}), rules=_PARALLEL),
    Example("target-cores-differ", "fail", _designs(0x410FD050, 0x410FD050, 0x410FD050, 0x411FD0B0), "0x41/0xd0b"),
    Example("target-cores-differ", "fail", {"/proc/cpuinfo": _BIG_LITTLE}, "CPU 2: 0x41/0xd05; CPU 3: 0x41/0xd0b"),
    Example("target-cores-differ", "pass", _designs(0x410FD050, 0x410FD050, 0x411FD0B0, 0x414FD0B1), "one kind"),
    Example(
        *("target-cores-differ", "unknown", _designs(0x410FD050, 0x410FD050, 0x410FD050, 0x410FD050)),
        gone=_NO_CPUFREQ,
        target=frozenset({1, 2}),
    ),
    Example("target-cpus-far-apart", "fail", _NODE_1, "2 nodes: 0, 1", {2, 3}),
    Example("target-cpus-far-apart", "fail", _NODE_1, "2 nodes", rules=_STRICT),
    Example(
        *("target-cpus-far-apart", "pass", {f"{_NODES}/node0/cpulist": "1-3\n", f"{_NODES}/node1/cpulist": "0\n"}),
    ),
    Example("target-cpus-far-apart", "warn", _CACHES, "CPUs 1, 2", {1, 2}, target=frozenset({1, 2})),
    Example("target-cpus-far-apart", "pass", _CACHES, "one node, one last-level cache"),
    Example("target-cpus-far-apart", "unknown", _CACHE_OF_ITS_OWN, "contradicts"),
    Example("target-cpus-far-apart", "unknown", {f"{CPUS}/cpu3/cache/index3/shared_cpu_list": "0-1\n"}, "contradicts"),
    Example("target-cpus-far-apart", "unknown", named=f"{CPUS}/cpu2/cache", gone=_NO_LAST_LEVEL),
    Example("target-cpus-far-apart", "pass", _LEVEL_2, "one last-level cache", gone=_NO_LEVEL_3),
    Example(
        *("target-cpus-far-apart", "warn", _LEVEL_2 | _THREADS, "2 last-level caches: CPUs 1, 2"),
        gone=_NO_LEVEL_3,
        target=frozenset({1, 2}),
    ),
    Example("target-cpus-far-apart", "pass", _CACHES, "one target", target=frozenset({3})),
    Example("target-cpus-far-apart", "pass", gone=(_NODES, Knob.ZONE_RECLAIM)),  # a kernel without NUMA
    Example("target-cpus-far-apart", "unknown", {}, _NODES, gone=(_NODES,)),
    Example("target-cpus-far-apart", "unknown", _CACHES, "2 last-level", target=frozenset({1, 2}), gone=(_NODES,)),
    Example("target-cpus-far-apart", "unknown", {f"{_NODES}/node0/cpulist": "0-2\n"}),
    Example(
        *("target-cpus-far-apart", "unknown"),
        gone=(f"{CPUS}/cpu2/cache",),
    ),
]
