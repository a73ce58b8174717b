"""Load of the machine, users and processes at work on it, and its lock."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.tasks.machine_lock import NAMESPACE, PATH
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet_machine import CPUS, process, stat_file

_MANY = {
    path: text for pid in range(900, 930) for path, text in process(pid, "worker", 2, 4_000_000, allowed="2").items()
}
_STOLEN_ONCE = VIRTUAL | {"/proc/stat": stat_file({}, 0, {2: 5, 3: 5})}
_FULL = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"
_LOCKED = {PATH: "900 1000 4026531836 nightly.sh\n"}
_HOLDER = process(900, "nightly.sh", 0, 5)
_LOADAVG, _STAT = "/proc/loadavg", "/proc/stat"
_TWO_CACHES = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}
_SERVED = {
    "/proc/self/mounts": (
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
        "lxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"
        "lxcfs /proc/pressure fuse.lxcfs rw 0 0\n"
        "lxcfs /proc/diskstats fuse.lxcfs rw 0 0\n"
    )
}
_OWN = [
    Example(
        *("own-load-on-target", "fail", process(950, "noisewatch", 2, 5), "3.0% of CPU 2", {2}),
        after=process(950, "noisewatch", 2, 90_000_005),
        own_pids=(950,),
    ),
    Example(
        *("own-load-on-target", "warn", process(950, "noisewatch", 2, 5), "1.0% of CPU 2", {2}),
        after=process(950, "noisewatch", 2, 30_000_005),
        own_pids=(950,),
    ),
    Example(
        *("own-load-on-target", "pass", process(950, "noisewatch", 0, 5), "of a target CPU at most"),
        after=process(950, "noisewatch", 0, 2_000_000_005),
        own_pids=(950,),
    ),
    Example("own-load-on-target", "unknown", {}, "cannot see itself", own_pids=(950,)),
    Example(
        *("own-load-on-target", "unknown", process(950, "noisewatch", 2, 5), "/proc/950/schedstat did not advance"),
        own_pids=(950,),
    ),
    Example(
        *("own-load-on-target", "pass", process(950, "noisewatch", 2, 5), "of a target CPU at most"),
        gone=("/proc/950/schedstat",),
        own_pids=(950,),
    ),
]


def _queue(runnable: int, average: float = 0.12) -> dict[str, str]:
    return {_LOADAVG: f"{average:.2f} 0.34 0.30 {runnable}/312 4711\n"}


_OTHERS = [
    Example("other-cpus-busy", "pass", {}, "outside the target's", after={_STAT: stat_file({0: 300, 1: 300}, 300)}),
    Example(
        *("other-cpus-busy", "fail", _TWO_CACHES | process(901, "builder", 0, 5), "builder", {0}),
        after={_STAT: stat_file({0: 270}, 300)} | process(901, "builder", 0, 2_700_000_000),
    ),
    Example("other-cpus-busy", "warn", _TWO_CACHES, "20.0% busy", {0}, after={_STAT: stat_file({0: 120}, 300)}),
    Example("other-cpus-busy", "pass", _TWO_CACHES, "10.0% busy", after={_STAT: stat_file({0: 60}, 300)}),
    Example(
        *("other-cpus-busy", "fail", _TWO_CACHES, "20.0% busy", {0}),
        after={_STAT: stat_file({0: 120}, 300)},
        rules=Rules("strict"),
    ),
    Example("other-cpus-busy", "pass", _TWO_CACHES, after={_STAT: stat_file({2: 300, 3: 300}, 300)}),
    Example("other-cpus-busy", "unknown", _TWO_CACHES, gone=(_STAT,)),
    Example("other-cpus-busy", "unknown", gone=(f"{CPUS}/online", _STAT, "/proc/cpuinfo")),
    Example(
        *("other-cpus-busy", "fail", {}, "45.0% busy", {0}),
        after={_STAT: stat_file({0: 270}, 300)},
        gone=tuple(f"{CPUS}/cpu{cpu}/{name}" for cpu in range(4) for name in ("cache", "topology/physical_package_id")),
    ),
    Example("run-queue-full", "fail", _queue(4), "3 runnable tasks for 2 CPUs"),
    Example("run-queue-full", "pass", _queue(3), "2 runnable tasks for 2 CPUs"),
    Example("run-queue-full", "pass", _queue(1), "0 runnable tasks", after=_queue(40)),
    Example("run-queue-full", "fail", _queue(6), "5 runnable tasks for 4 CPUs", target=frozenset(range(4))),
    Example("run-queue-full", "unknown", gone=(_LOADAVG,)),
    Example("run-queue-full", "unknown", {}, after={_LOADAVG: "rubbish\n"}),
    Example("run-queue-full", "unknown", _SERVED, "lxcfs"),
    Example("load-average-high", "warn", _queue(1, 2.01), "rising"),
    Example("load-average-high", "pass", _queue(1, 2.0), "2, 0.34 and 0.3"),
    Example("load-average-high", "unknown", gone=(_LOADAVG,)),
    Example("load-average-high", "unknown", _SERVED, "lxcfs"),
    Example("other-users-logged-in", "fail", {}, "2 users in 3", answers={SESSIONS: {"sessions": 3, "users": 2}}),
    Example("other-users-logged-in", "pass", {}, "0 users", answers={SESSIONS: {"sessions": 0, "users": 0}}),
    Example("other-users-logged-in", "unknown", {"/.dockerenv": ""}, "a container cannot see"),
    Example("other-users-logged-in", "unknown", {}, answers={SESSIONS: None}),
    Example("other-users-logged-in", "unknown", {}, answers={SESSIONS: {"sessions": True, "users": "root"}}),
]


EXAMPLES = [
    Example("load-average-high", "unknown", gone=("/proc/self/mounts",), named="lxcfs"),
    Example("own-load-on-target", "unknown", own_pids=(950,)),
    #
    Example(
        *("target-cpu-busy", "warn", {}, "worker (30 threads)", {2}),
        after=_MANY | {"/proc/stat": stat_file({2: 12}, 300)},
    ),
    Example("target-cpu-busy", "fail", {}, "CPU 3 is 10.0% busy", {3}, after={"/proc/stat": stat_file({3: 30}, 300)}),
    Example("target-cpu-busy", "warn", {}, "3.3% busy", after={"/proc/stat": stat_file({3: 10}, 300)}),
    Example("target-cpu-busy", "unknown", gone=("/proc/stat",)),
    Example("hypervisor-steal", "fail", {}, "2.0% of CPU 2", {2}, after={"/proc/stat": stat_file({}, 300, {2: 6})}),
    Example("hypervisor-steal", "warn", {}, "steal: 0.33%", {2}, after={"/proc/stat": stat_file({}, 300, {2: 1})}),
    Example("hypervisor-steal", "not-applicable", {}, "not a virtual machine"),
    Example("hypervisor-steal", "unknown", VIRTUAL, "no steal time was counted since boot"),
    Example(
        *("hypervisor-steal", "pass", _STOLEN_ONCE, "no steal"),
        after={"/proc/stat": stat_file({}, 310, {2: 5, 3: 5})},
    ),
    Example("pressure-stall", "warn", {}, "io 0.8%", after={"/proc/pressure/io": _FULL.format(total=25_000)}),
    Example("pressure-stall", "fail", {}, "cpu 10.0%", after={"/proc/pressure/cpu": _FULL.format(total=301_000)}),
    Example("pressure-stall", "unknown", gone=("/proc/pressure",)),
    Example("pressure-stall", "unknown", _SERVED, "lxcfs"),
    #
    Example("machine-locked", "fail", _LOCKED | _HOLDER, "nightly.sh (pid 900)"),
    Example("machine-locked", "pass", {PATH: "\n"}, "the machine is not locked"),
    Example("machine-locked", "pass", _LOCKED, "a stale lock", answers={"process 900 is gone": True}),
    Example("machine-locked", "unknown", _LOCKED, "nightly.sh (pid 900)", answers={"process 900 is gone": False}),
    Example("machine-locked", "unknown", _LOCKED | _HOLDER, "from here", answers={NAMESPACE: 4026532000}),
    Example("machine-locked", "unknown", _LOCKED | _HOLDER, "from here", answers={NAMESPACE: None}),
    Example("machine-locked", "not-applicable", {}, "no benchmark starts", is_copy=True),
    Example("machine-locked", "unknown", {PATH: "rubbish"}, "expected"),
    #
    *_OTHERS,
    *_OWN,
]
