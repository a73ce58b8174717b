"""The target CPUs and the CPUs next to them: siblings, caches, kinds of core, isolation."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet.system import CONFIG
from tests.written.quiet_machine import CPUS, cpu_row, crowd, process, quiet_files, stat_file

_HOG = process(900, "hog", 2, 2_000_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 200}, 300)}
_OTHER_SPINNER = process(900, "noisewatch-spin", 2, 2_000_000_000, allowed="2") | {
    "/proc/stat": stat_file({2: 200}, 300)
}
_BUSY_BY_MANY = {"/proc/stat": stat_file({2: 12}, 300)}
_MANY = _BUSY_BY_MANY | {
    path: text for pid in range(900, 930) for path, text in process(pid, "worker", 2, 4_000_000).items()
}
_MANY_OF_ONE = _BUSY_BY_MANY | crowd(900, "worker", [2] * 30, "0-3", ran_ns=4_000_000)
_SIBLINGS_1_2 = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
_VIRTUALBOX = {"/sys/bus/pci/devices/0000:00:02.0/vendor": "0x80ee\n"}  # VirtualBox 4 does not set the flag
_NO_CPUFREQ = tuple(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4))
_IDLE_PAIR = {
    **{f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "2-3\n" for cpu in (2, 3)},
    f"{CPUS}/cpu2/online": "1\n",
}
_NO_CACHES = tuple(f"{CPUS}/cpu{cpu}/cache" for cpu in range(4))
_ALL = frozenset({0, 1, 2, 3})
_LXCFS = "".join(
    f"lxcfs {path} fuse.lxcfs rw 0 0\n" for path in ("/proc/cpuinfo", "/proc/stat", "/sys/devices/system/cpu/online")
)
_MOUNTS = quiet_files()["/proc/self/mounts"]
_RENUMBERED = {"/proc/self/mounts": _MOUNTS + _LXCFS}
_COVERED = {"/proc/self/mounts": f"{_MOUNTS}/dev/vda {CPUS}/online ext4 rw 0 0\n"}
_TWO_LISTED = {f"{CPUS}/online": "0-1\n", f"{CPUS}/present": "0-3\n", f"{CPUS}/offline": "\n"}
_PARALLEL, _STRICT = Rules("parallel"), Rules("strict")
_PAIRS = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
_ONLINE_FILES = (f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo")
_ALONE = {f"{CPUS}/online": "0\n", "/proc/stat": cpu_row("cpu") + cpu_row("cpu0")}
_RANK = "cpufreq/amd_pstate_prefcore_ranking"
_BIG_LITTLE = "".join(
    f"processor\t: {cpu}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
    for cpu, part in enumerate(("0xd05", "0xd05", "0xd05", "0xd0b"))
)
_NODES = "/sys/devices/system/node"
_NODE_1 = {f"{_NODES}/node0/cpulist": "0-2\n", f"{_NODES}/node1/cpulist": "3\n"}
_CACHES = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}
_CACHE_OF_ITS_OWN = {f"{CPUS}/cpu3/cache/index3/shared_cpu_list": "3\n"}
_LEVEL_2 = {
    f"{CPUS}/cpu{cpu}/cache/index2/{name}": f"{text}\n"
    for cpu in range(4)
    for name, text in (("level", "2"), ("shared_cpu_list", "0-1" if cpu < 2 else "2-3"))
}
_NO_LEVEL_3 = tuple(f"{CPUS}/cpu{cpu}/cache/index3" for cpu in range(4))
_THREADS = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}


def _per_cpu(name: str, *values: int) -> dict[str, str]:
    return {f"{CPUS}/cpu{cpu}/{name}": f"{value}\n" for cpu, value in enumerate(values)}


_ONE = frozenset({2})
_PRIORITY = _per_cpu("cpufreq/base_frequency", 2_700_000, 2_700_000, 2_700_000, 2_100_000)
_NO_BASE_OF_0 = {f"{CPUS}/cpu0/cpufreq/base_frequency": "\n"}
_HWP = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate\n" for cpu in range(4)}
_SIZE = f"{CPUS}/cpu3/cache/index3/size"
_GUEST = {"/proc/cpuinfo": quiet_files()["/proc/cpuinfo"].replace("fpu", "fpu hypervisor")}
_BAD_SIZES = {f"{CPUS}/cpu{cpu}/cache/index3/size": "rubbish\n" for cpu in range(4)}
_WITHOUT_SIZE = tuple(f"{CPUS}/cpu{cpu}/cache/index3/size" for cpu in range(4))
_KINDS = {"/sys/devices/cpu_core/cpus": "0-1\n", "/sys/devices/cpu_atom/cpus": "2-3\n"}
_FASTER = _per_cpu("cpufreq/cpuinfo_max_freq", 3_000_000, 3_000_000, 3_100_000, 3_000_000)


_FAVOURED = _per_cpu(_RANK, 211, 211, 236, 211)


def _designs(*registers: int) -> dict[str, str]:
    paths = {cpu: f"{CPUS}/cpu{cpu}/regs/identification/midr_el1" for cpu in range(4)}
    return {paths[cpu]: f"0x{register:016x}\n" for cpu, register in enumerate(registers)}


_V1 = "/sys/fs/cgroup/cpuset"
_VERSION_1 = {
    f"{CPUS}/isolated": "\n",
    "/proc/self/cgroup": "4:cpuset:/\n0::/\n",
    "/proc/self/mounts": f"{quiet_files()['/proc/self/mounts']}cgroup {_V1} cgroup rw,cpuset 0 0\n",
    f"{_V1}/release_agent": "\n",
    f"{_V1}/cpuset.sched_load_balance": "1\n",
    f"{_V1}/cpuset.effective_cpus": "0-3\n",
    f"{_V1}/system/cpuset.sched_load_balance": "1\n",
    f"{_V1}/system/cpuset.effective_cpus": "0-1\n",
}
_UNTICKLESS = {
    CONFIG: "# CONFIG_NO_HZ_FULL is not set\n# CONFIG_RCU_NOCB_CPU is not set\n",
    f"{CPUS}/nohz_full": "\n",
    f"{CPUS}/isolated": "\n",
}
_TWO_DESIGNS = _designs(0x410FD050, 0x410FD050, 0x411FD0B0, 0x414FD0B1)

EXAMPLES = [
    Example("boot-cpu-is-target", "pass", {f"{CPUS}/online": "1-3\n"}, "not known to be online"),
    Example("no-housekeeping-cpu", "unknown", gone=(f"{CPUS}/cpu2/topology/thread_siblings_list",)),
    #
    Example("target-not-isolated", "fail", {f"{CPUS}/isolated": "3\n"}, "CPU 2", {2}),
    Example("target-not-isolated", "unknown", gone=(f"{CPUS}/isolated",)),
    Example("target-not-isolated", "pass", _VERSION_1 | {f"{_V1}/cpuset.sched_load_balance": "0\n"}, "by cgroup v1"),
    Example("target-not-isolated", "fail", _VERSION_1, "CPUs 2-3: not isolated", {2, 3}),
    Example("target-not-isolated", "warn", _VERSION_1, "cgroup v1 isolates", {2, 3}, gone=(f"{_V1}/release_agent",)),
    Example("isolation-options-wrong", "unknown", gone=("/proc/cmdline",)),
    *(
        Example("isolation-options-wrong", status, {"/proc/cmdline": f"{line}\n", **files}, words)
        for status, line, words, files in (
            ("pass", "isolcpus=2-3 nohz_full=2-3 rcu_nocbs=0-3 irqaffinity=0-1", "in effect", {}),
            ("fail", "nohz_full=2-3", "nohz_full=2-3 has no effect (this kernel is built without", _UNTICKLESS),
            ("fail", "rcu_nocbs=2-3", "rcu_nocbs=2-3 has no effect (this kernel is built without", _UNTICKLESS),
            ("fail", "isolcpus=nohz,domain,2", "isolcpus=nohz,domain,2 has no effect (this", _UNTICKLESS),
            ("fail", "nohz_full=rubbish", "nohz_full=rubbish has no effect", {f"{CPUS}/nohz_full": "\n"}),
            ("fail", "isolcpus=rubbish", "isolcpus=rubbish has no effect", {f"{CPUS}/isolated": "\n"}),
            ("fail", "isolcpus=2-3 irqaffinity=3", "irqaffinity is swapped: it sends interrupts to CPU 3", {}),
            ("fail", "isolcpus=2-3 irqaffinity=0,3", "irqaffinity is wrong: it sends interrupts to CPU 3", {}),
            ("fail", "isolcpus=2 nohz_full=3", "isolcpus (2) and nohz_full (3) have no CPU in common", {}),
            ("fail", "isolcpus=2 nohz_full=0-1,3 irqaffinity=2", "isolcpus is swapped: it names CPU 2", {}),
            ("unknown", "isolcpus=2-3", "isolated", {f"{CPUS}/isolated": "rubbish\n"}),
            ("unknown", "nohz_full=2-3", "nohz_full", {f"{CPUS}/nohz_full": "rubbish\n"}),
            ("unknown", "rcu_nocbs=2-3", "config", _UNTICKLESS | {CONFIG: "rubbish"}),
            ("not-applicable", "quiet", "without options", {}),
        )
    ),
    Example("target-not-isolated", "not-applicable", {}, "load balancing", rules=Rules("parallel")),
    Example(*("tasks-on-target", "fail", {}, "hog", {2}), after=_HOG),
    Example(*("tasks-on-target", "fail", {}, "noisewatch-spin (pid 900): 66.7%", {2}), after=_OTHER_SPINNER),
    Example("tasks-on-target", "warn", process(900, "idle", 0, 0, allowed="0-3"), "1 of"),
    Example(*("tasks-on-target", "fail", {}, "worker (30 threads): ~4.0% of CPU 2", {2}), after=_MANY),
    Example(*("tasks-on-target", "fail", {}, "worker (30 threads) (pid 900): ~4.0%", {2}), after=_MANY_OF_ONE),
    Example(*("tasks-on-target", "fail", {}, "unattributed time", {2}), after={"/proc/stat": stat_file({2: 30}, 300)}),
    Example("tasks-on-target", "unknown", gone=("/proc/stat",)),
    #
    Example(
        *("target-cpu-unusable", "fail", {f"{CPUS}/online": "0-2\n"}, "CPU 3: not online", {3}),
        answers={"pin to CPUs": {"granted": [2]}},
    ),
    Example("target-cpu-unusable", "unknown", {f"{CPUS}/online": "0-2\n"}, "the kernel pins a process there"),
    Example("target-cpu-unusable", "pass", _RENUMBERED | _TWO_LISTED, "CPUs 2-3: online"),
    Example("target-cpu-unusable", "pass", _COVERED | _TWO_LISTED, "CPUs 2-3: online"),
    Example("target-cpu-unusable", "unknown", _RENUMBERED, "served by lxcfs"),
    Example("target-cpu-unusable", "fail", {}, "allows only 2", {3}, answers={"pin to CPUs": {"granted": [2]}}),
    Example(
        *("target-cpu-unusable", "fail", {}, "invalid argument", {2, 3}),
        answers={"pin to CPUs": {"reason": "invalid argument"}},
    ),
    Example("target-cpu-unusable", "unknown", gone=(f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo")),
    Example("busy-sibling", "warn", _SIBLINGS_1_2, "sibling on CPU 1", {1}),
    Example("busy-sibling", "fail", _SIBLINGS_1_2, "CPU 1: 50% busy", {1}, {"/proc/stat": stat_file({1: 150}, 300)}),
    Example("busy-sibling", "warn", _VIRTUALBOX, "a virtual machine cannot see"),
    Example("busy-sibling", "warn", named="may be a virtual machine", gone=_NO_CPUFREQ),
    Example("busy-sibling", "warn", _VIRTUALBOX | _IDLE_PAIR, "a virtual machine cannot see", target=frozenset({3})),
    Example("busy-sibling", "pass", _IDLE_PAIR, "CPU 3: online, 0.0% busy", target=frozenset({2})),
    Example("busy-sibling", "warn", _SIBLINGS_1_2 | {f"{CPUS}/cpu2/topology/core_cpus_list": "2\n"}, "CPU 1", {1}),
    Example("busy-sibling", "unknown", gone=(f"{CPUS}/cpu2/topology/thread_siblings_list",)),
    Example("target-cpu-unusable", "unknown", {f"{CPUS}/offline": "2\n"}, "CPU 2: online according to"),
    Example(
        *("busy-cache-neighbour", "fail", {}, "CPU 1, sharing a", {1}),
        after={"/proc/stat": stat_file({1: 290}, 300)},
    ),
    Example("busy-cache-neighbour", "fail", {}, "0.91 CPUs busy", {1}, after={"/proc/stat": stat_file({1: 273}, 300)}),
    Example("busy-cache-neighbour", "warn", {}, "0.31 CPUs busy", {1}, after={"/proc/stat": stat_file({1: 92}, 300)}),
    Example("busy-cache-neighbour", "warn", {}, "0.5 CPUs", {1}, after={"/proc/stat": stat_file({1: 150}, 300)}),
    Example("busy-cache-neighbour", "unknown", {}, f"{CPUS}/cpu2/cache", gone=_NO_CACHES),
    Example("busy-cache-neighbour", "unknown", named="may be a virtual machine", gone=_NO_CPUFREQ),
    Example("busy-cache-neighbour", "unknown", VIRTUAL, "cannot see what else"),
    #
    Example("no-housekeeping-cpu", "fail", {}, "every online CPU", set(_ALL), target=_ALL),
    Example("no-housekeeping-cpu", "fail", {}, "every online CPU", target=_ALL, rules=_PARALLEL),
    Example("no-housekeeping-cpu", "fail", {f"{CPUS}/online": "2-3\n"}, "every online CPU"),
    Example("no-housekeeping-cpu", "fail", _PAIRS, "on the cores of the target"),
    Example("no-housekeeping-cpu", "pass", {}, "CPUs 0-1"),
    Example("no-housekeeping-cpu", "unknown", gone=_ONLINE_FILES),
    Example("boot-cpu-is-target", "fail", {}, "CPU 0", {0}, target=frozenset({0, 2})),
    Example("boot-cpu-is-target", "fail", {}, "CPU 0", {0}, target=_ALL - {3}, rules=_PARALLEL),
    Example("boot-cpu-is-target", "not-applicable", {}, "there is no other CPU to choose", target=_ALL),
    Example("boot-cpu-is-target", "not-applicable", _ALONE, target=frozenset({0})),
    Example("boot-cpu-is-target", "fail", {f"{CPUS}/online": "0\n"}, "CPU 0", {0}, target=frozenset({0})),
    Example("boot-cpu-is-target", "unknown", gone=_ONLINE_FILES, target=frozenset({0})),
    Example("target-cores-differ", "fail", _per_cpu("cpu_capacity", 1024, 1024, 1024, 446), "efficiency", {2, 3}),
    Example("target-cores-differ", "pass", _per_cpu("cpu_capacity", 446, 446, 1024, 1024), "one kind"),
    Example("target-cores-differ", "warn", _per_cpu("cpu_capacity", 1024, 1024, 1024, 980), "capacity of CPU 3", {3}),
    Example("target-cores-differ", "pass", _per_cpu("cpu_capacity", 1024, 1024, 1024, 1004), "one kind"),
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
    Example("target-cores-differ", "pass", {}, "one target", target=_ONE),
    Example("target-cores-differ", "pass", {}, "one target", gone=_NO_CPUFREQ, target=_ONE),
    Example("target-cores-differ", "pass", _GUEST, "one target", gone=_NO_CPUFREQ, target=_ONE),
    Example("target-cores-differ", "unknown", _GUEST | _BAD_SIZES, "rubbish", gone=_NO_CPUFREQ, target=_ONE),
    *(
        Example("target-cores-differ", "unknown", _GUEST, f"{CPUS}/cpu0/cache", gone=_NO_CPUFREQ + gone, target=target)
        for gone in (_WITHOUT_SIZE, _NO_CACHES)
        for target in (_ONE, frozenset({2, 3}))
    ),
    Example("target-cores-differ", "warn", _GUEST | _KINDS, "efficiency", target=_ONE, gone=_NO_CPUFREQ + _NO_CACHES),
    Example("target-cores-differ", "unknown", _per_cpu("cpu_capacity", 1024, 446), "other CPUs may be", target=_ONE),
    Example("target-cores-differ", "warn", _per_cpu("cpu_capacity", 1024, 1024, 446, 446), "efficiency", {2, 3}),
    Example("target-cores-differ", "warn", _per_cpu("cpu_capacity", 1024, 1024, 446, 446), "efficiency", target=_ONE),
    Example("target-cores-differ", "fail", _PRIORITY, "highest frequency of CPU 3 is up to 22% lower", {3}),
    Example(
        "target-cores-differ", "warn", _PRIORITY, "base frequency of CPU 3 is 22% lower", {3}, target=frozenset({3})
    ),
    Example("target-cores-differ", "pass", _PRIORITY, "one target", target=_ONE),
    Example("target-cores-differ", "warn", _PRIORITY | _NO_BASE_OF_0, "base frequency of CPU 3", target=frozenset({3})),
    Example("target-cores-differ", "unknown", _PRIORITY | _NO_BASE_OF_0, "cpu0/cpufreq/base_frequency", target=_ONE),
    Example("target-cores-differ", "pass", _PRIORITY | {f"{CPUS}/cpufreq/boost": "1\n"}, "one kind"),
    Example("target-cores-differ", "unknown", _HWP, "base_frequency"),
    Example("target-cores-differ", "pass", _HWP | {"/proc/sys/kernel/osrelease": "4.15.0\n"}, "one kind"),
    Example("target-cores-differ", "unknown", named="design of CPUs 0-3 is unknown", gone=_WITHOUT_SIZE),
    Example("target-cores-differ", "unknown", {"/proc/cpuinfo": "processor : 0\n"}, "design of CPUs 0-3"),
    Example("target-cores-differ", "unknown", named="/proc/cpuinfo: no such file", gone=("/proc/cpuinfo",)),
    Example("target-cores-differ", "fail", {_SIZE: "14080K\n"}, "cores of several designs"),
    Example("target-cores-differ", "pass", {}, "the same work", gone=_NO_CPUFREQ),
    Example("target-cores-differ", "unknown", gone=_NO_CPUFREQ, target=frozenset({1, 2})),
    Example("target-cores-differ", "unknown", gone=_NO_CPUFREQ, target=frozenset({1, 2}), rules=_PARALLEL),
    Example("target-cores-differ", "fail", _designs(0x410FD050, 0x410FD050, 0x410FD050, 0x411FD0B0), "0x41/0xd0b"),
    Example("target-cores-differ", "fail", {"/proc/cpuinfo": _BIG_LITTLE}, "CPU 2: 0x41/0xd05; CPU 3: 0x41/0xd0b"),
    Example("target-cores-differ", "unknown", _TWO_DESIGNS, "several designs, and does not report which"),
    Example("target-cores-differ", "pass", _TWO_DESIGNS | _per_cpu("cpu_capacity", 446, 446, 1024, 1024), "one kind"),
    Example(
        *("target-cores-differ", "unknown", _designs(0x410FD050, 0x410FD050, 0x410FD050, 0x410FD050)),
        gone=_NO_CPUFREQ,
        target=frozenset({1, 2}),
    ),
    Example("target-cpus-far-apart", "fail", _NODE_1, "span 2 NUMA nodes (0-1)", {2, 3}),
    Example("target-cpus-far-apart", "fail", _NODE_1, "2 NUMA nodes", rules=_STRICT),
    Example(
        *("target-cpus-far-apart", "pass", {f"{_NODES}/node0/cpulist": "1-3\n", f"{_NODES}/node1/cpulist": "0\n"}),
    ),
    Example("target-cpus-far-apart", "warn", _CACHES, "CPUs 1 | 2", {1, 2}, target=frozenset({1, 2})),
    Example("target-cpus-far-apart", "pass", _CACHES, "one node, one last-level cache"),
    Example("target-cpus-far-apart", "unknown", _CACHE_OF_ITS_OWN, "contradicts"),
    Example("target-cpus-far-apart", "unknown", {f"{CPUS}/cpu3/cache/index3/shared_cpu_list": "0-1\n"}, "contradicts"),
    Example("target-cpus-far-apart", "unknown", named=f"{CPUS}/cpu2/cache", gone=_NO_CACHES),
    Example("target-cpus-far-apart", "pass", _LEVEL_2, "one last-level cache", gone=_NO_LEVEL_3),
    Example(
        *("target-cpus-far-apart", "warn", _LEVEL_2 | _THREADS, "2 last-level caches: CPUs 1 | 2"),
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
