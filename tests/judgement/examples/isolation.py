"""Area `isolation`: what keeps others off the target CPUs, and confines the benchmark to them."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from tests.judgement.example import Example
from tests.written.quiet_machine import CPUS, crowd, process, stat_file


def _partition(kind: str, cpus: str, group: str = "bench") -> dict[str, str]:
    files = {"cpuset.cpus.partition": kind, "cpuset.cpus": cpus, "cpuset.cpus.effective": "0-3"}
    return {f"/sys/fs/cgroup/{group}/{file}": f"{text}\n" for file, text in files.items()}


_DEEP = {path: text for depth in range(1, 35) for path, text in _partition("member", "", "/".join("a" * depth)).items()}
_HOG = process(900, "hog", 2, 2_000_000_000, allowed="0-3") | {"/proc/stat": stat_file({2: 200}, 300)}
_BUSY_BY_MANY = {"/proc/stat": stat_file({2: 12}, 300)}
_MANY = _BUSY_BY_MANY | {
    path: text for pid in range(900, 930) for path, text in process(pid, "worker", 2, 4_000_000).items()
}
_MANY_OF_ONE = _BUSY_BY_MANY | crowd(900, "worker", [2] * 30, "0-3", ran_ns=4_000_000)

EXAMPLES = [
    Example("partition-invalid", "fail", _partition("isolated invalid (not exclusive)", "2"), "(not exclusive)", {2}),
    Example("partition-invalid", "pass", _partition("isolated invalid (not exclusive)", "0"), "(not exclusive)"),
    Example("partition-invalid", "fail", _partition("isolated invalid (no cpus)", ""), "(no cpus)"),
    Example("partition-invalid", "fail", _partition("root invalid (x)", "2", "lxc.payload.x"), "lxc.payload.x", {2}),
    Example("partition-invalid", "unknown", _DEEP),
    Example("partition-invalid", "unknown", _partition("isolated perhaps", "2")),
    Example("partition-invalid", "unknown", gone=("/proc/self/mounts",)),
    Example("partition-invalid", "pass", _partition("isolated", "2"), "all valid"),
    Example("partition-invalid", "not-applicable", {}, "no cgroup partition"),
    Example("threads-confined-to-isolated-cpus", "warn", crowd(900, "bench", [2, 2], "2-3"), "are on 2", {2, 3}),
    Example("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [2, 2], "2"), "no process"),
    Example("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [2, 2], "1-3"), "no process"),
    Example("threads-confined-to-isolated-cpus", "unknown", gone=(f"{CPUS}/isolated",)),
    Example("threads-confined-to-isolated-cpus", "not-applicable", {f"{CPUS}/isolated": "3\n"}, "fewer than two"),
    Example("target-not-isolated", "fail", {f"{CPUS}/isolated": "3\n"}, "CPU 2", {2}),
    Example("target-not-isolated", "unknown", gone=(f"{CPUS}/isolated",)),
    Example("target-not-isolated", "not-applicable", {}, "load balancer", rules=Rules("parallel")),
    Example(*("tasks-on-target", "fail", {}, "hog", {2}), after=_HOG),
    Example("tasks-on-target", "warn", process(900, "idle", 0, 0, allowed="0-3"), "1 of"),
    Example(*("tasks-on-target", "fail", {}, "worker (30 threads): ~4.0% of CPU 2", {2}), after=_MANY),
    Example(*("tasks-on-target", "fail", {}, "worker (30 threads) (pid 900): ~4.0%", {2}), after=_MANY_OF_ONE),
    Example(
        *("tasks-on-target", "fail", {}, "time of no thread seen", {2}), after={"/proc/stat": stat_file({2: 30}, 300)}
    ),
    Example("tasks-on-target", "unknown", gone=("/proc/stat",)),
]
