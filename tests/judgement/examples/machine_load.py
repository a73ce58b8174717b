"""Area `load`: the rest of the machine."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.judgement.terms import Severity
from noisewatch.kernel.memory.temporary_files import QUESTION as TEMPORARY_FILES
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from tests.judgement.example import Example
from tests.written.quiet.load import MDSTAT, diskstats
from tests.written.quiet_machine import CPUS, process, stat_file

_LOADAVG, _DISKSTATS, _MDSTAT, _STAT = "/proc/loadavg", "/proc/diskstats", "/proc/mdstat", "/proc/stat"
_TWO_CACHES = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": "0-1\n" if cpu < 2 else "2-3\n" for cpu in range(4)}
_WORK = "      [==>..................]  {} = 12.6% (246/1953) finish=165.2min speed=172213K/sec\n"
_SERVED = {
    "/proc/self/mounts": (
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
        "lxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"
        "lxcfs /proc/diskstats fuse.lxcfs rw 0 0\n"
    )
}


def _queue(runnable: int, average: float = 0.12) -> dict[str, str]:
    return {_LOADAVG: f"{average:.2f} 0.34 0.30 {runnable}/312 4711\n"}


def _working(word: str) -> dict[str, str]:
    return {_MDSTAT: MDSTAT.replace("[UU]\n", "[UU]\n" + _WORK.format(word))}


def _busy(**ms: int) -> dict[str, str]:
    return {_DISKSTATS: diskstats(**ms)}


_OTHERS = [
    Example("other-cpus-busy", "pass", {}, "share a cache", after={_STAT: stat_file({0: 300, 1: 300}, 300)}),
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
    Example("run-queue-full", "fail", _queue(4), "at least 3 runnable tasks for 2 CPUs"),
    Example("run-queue-full", "pass", _queue(3), "at least 2 runnable tasks"),
    Example("run-queue-full", "pass", _queue(1), "at least 0", after=_queue(40)),
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
    Example("other-users-logged-in", "unknown", {"/.dockerenv": ""}, "a container does not see"),
    Example("other-users-logged-in", "unknown", {}, answers={SESSIONS: None}),
    Example("other-users-logged-in", "unknown", {}, answers={SESSIONS: {"sessions": True, "users": "root"}}),
]
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
        *("own-load-on-target", "pass", process(950, "noisewatch", 0, 5), "ran elsewhere"),
        after=process(950, "noisewatch", 0, 2_000_000_005),
        own_pids=(950,),
    ),
    Example("own-load-on-target", "unknown", {}, "did not see itself", own_pids=(950,)),
    Example(
        *("own-load-on-target", "unknown", process(950, "noisewatch", 2, 5), "/proc/950/schedstat stood still"),
        own_pids=(950,),
    ),
    Example(
        *("own-load-on-target", "pass", process(950, "noisewatch", 2, 5), "ran elsewhere"),
        gone=("/proc/950/schedstat",),
        own_pids=(950,),
    ),
]
_DISKS = [
    Example("disks-busy", "fail", {}, "nvme0n1 was busy for 30%", after=_busy(nvme0n1=900)),
    Example("disks-busy", "warn", {}, "sda was busy for 10%", after=_busy(sda=300)),
    Example("disks-busy", "pass", {}, "5.0% of the time", after=_busy(sda=150)),
    Example("disks-busy", "warn", {}, "sda was busy for 5%", after=_busy(sda=150), rules=Rules("io")),
    Example("disks-busy", "fail", {}, "sda was busy for 15%", after=_busy(sda=450), rules=Rules("io")),
    Example("disks-busy", "pass", {}, after=_busy(loop0=3000, sda1=3000)),
    Example("disks-busy", "pass", _working("check"), "md0, sda, sdb left out", after=_busy(sda=3000, sdb=3000, md0=90)),
    Example("disks-busy", "fail", _working("check"), "nvme0n1", after=_busy(nvme0n1=900)),
    *(
        Example("disks-busy", "fail", _working("check"), "sda was busy for 100%", after=_busy(sda=3000), rules=rules)
        for rules in (
            Rules(ignored=frozenset({"disk-array-rebuilds"})),
            Rules(selected=frozenset({"disks-busy"})),
            Rules(severity_by_id={"disk-array-rebuilds": Severity.INFORMATION}),
        )
    ),
    Example("disks-busy", "unknown", {}, "came, went", after=_busy(nvme0n1=-5)),
    Example("disks-busy", "unknown", {}, "sdb came, went", after={_DISKSTATS: diskstats().replace(" sdb ", " sdc ")}),
    Example("disks-busy", "unknown", {_DISKSTATS: ""}, "no disk"),
    Example("disks-busy", "unknown", gone=(_DISKSTATS,)),
    Example("disks-busy", "unknown", _SERVED, "lxcfs"),
    Example("disk-array-rebuilds", "fail", _working("check"), "md0: check, 12.6% done"),
    Example("disk-array-rebuilds", "fail", _working("recovery"), "md0: recovery", rules=Rules("io")),
    Example("disk-array-rebuilds", "pass", {}, "no array", gone=(_MDSTAT,)),
    Example("disk-array-rebuilds", "unknown", gone=(_MDSTAT,), is_copy=True),
    Example("disk-array-rebuilds", "unknown", {_MDSTAT: "rubbish\n"}),
    Example("temporary-files-far-away", "fail", {}, "on nfs4", answers={TEMPORARY_FILES: "nfs4"}),
    Example(*("temporary-files-far-away", "fail", {}, "on nfs4"), answers={TEMPORARY_FILES: "nfs4"}, rules=Rules("io")),
    Example("temporary-files-far-away", "fail", {}, "on 9p", answers={TEMPORARY_FILES: "9p"}),
    Example("temporary-files-far-away", "warn", {}, "on overlay", answers={TEMPORARY_FILES: "overlay"}),
    Example("temporary-files-far-away", "pass", {}, "on tmpfs", answers={TEMPORARY_FILES: "tmpfs"}),
    Example("temporary-files-far-away", "unknown", {}, answers={TEMPORARY_FILES: None}),
    Example("temporary-files-far-away", "unknown", {}, answers={TEMPORARY_FILES: "two words"}),
]

EXAMPLES = [*_OTHERS, *_OWN, *_DISKS]
