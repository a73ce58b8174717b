"""Quotas, partitions, confined threads and priorities."""

from __future__ import annotations

from noisewatch.kernel.tasks.own_process import STAT
from tests.judgement.example import Example
from tests.written import mounted
from tests.written.quiet.tasks import own_stat
from tests.written.quiet_machine import CPUS, crowd, process

_NO_KERNEL_THREADS = ("/proc/2", "/proc/30")
_CPU = "/sys/fs/cgroup/cpu"
_UNTHROTTLED = {f"{_CPU}.stat": "nr_throttled 0\n"}
_HIDDEN_GROUP = {"/proc/self/cgroup": "0::/docker/4f\n"}


def _partition(kind: str, cpus: str, group: str = "bench") -> dict[str, str]:
    effective = cpus if kind == "isolated" else "0-3"
    files = {"cpuset.cpus.partition": kind, "cpuset.cpus": cpus, "cpuset.cpus.effective": effective}
    return {f"/sys/fs/cgroup/{group}/{file}": f"{text}\n" for file, text in files.items()}


_ISOLATED = {"/sys/fs/cgroup/cpuset.cpus.isolated": "2\n"}
_DEEP = {path: text for depth in range(1, 35) for path, text in _partition("member", "", "/".join("a" * depth)).items()}


def _group(name: str = "ci", **values: str) -> dict[str, str]:
    """Return the files of this process's cgroup, by default with the usual values."""
    folder = f"/sys/fs/cgroup/{name}"
    attributes = {"weight": "100", "idle": "0", "uclamp_max": "max"} | values
    return {
        "/proc/self/cgroup": f"0::/{name}\n",
        f"{folder}/cgroup.controllers": "cpu\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/cpu.max": "max 100000\n",
        f"{folder}/cpu.stat": "nr_throttled 0\n",
        **{f"{folder}/cpu.{key.replace('_', '.')}": f"{value}\n" for key, value in attributes.items()},
    }


def _group_of_version_1(shares: str, **more: str) -> dict[str, str]:
    folder = "/sys/fs/cgroup/cpu"
    return {
        **mounted(f"cgroup {folder} cgroup rw,cpu 0 0\n"),
        "/proc/self/cgroup": "1:cpu:/ci\n",
        f"{folder}/release_agent": "\n",
        f"{folder}/cpu.shares": "1024\n",
        f"{folder}/ci/cpu.shares": f"{shares}\n",
        **{f"{folder}/ci/cpu.{key}": f"{value}\n" for key, value in more.items()},
    }


_PRIORITY = [
    Example("priority-lowered", "warn", {STAT: own_stat(nice=1)}, "nice value is 1"),
    Example("priority-lowered", "pass", {STAT: own_stat(nice=-5)}, "nice -5"),
    Example("priority-lowered", "pass", {STAT: own_stat(policy=1)}),
    Example("priority-lowered", "fail", {STAT: own_stat(policy=3)}, "policy is batch"),
    Example("priority-lowered", "fail", {STAT: own_stat(nice=19, policy=5)}, "policy is idle; the nice value is 19"),
    Example("priority-lowered", "pass", _group()),
    Example("priority-lowered", "pass", _group(weight="10000")),
    Example("priority-lowered", "warn", _group(weight="99"), "/ci has cpu.weight 99 (default 100)"),
    Example("priority-lowered", "warn", _group(uclamp_max="45.00"), "clamped to 45%"),
    Example("priority-lowered", "fail", _group(weight="0", idle="1"), "/ci is idle"),
    Example("priority-lowered", "fail", _group("a/b") | {"/sys/fs/cgroup/a/cpu.idle": "1\n"}, "/a is idle"),
    Example("priority-lowered", "warn", _group_of_version_1("512"), "cpu.shares 512 (default 1024)"),
    Example("priority-lowered", "fail", _group_of_version_1("1024", idle="1"), "ci is idle"),
    Example("priority-lowered", "pass", _group_of_version_1("1024", idle="0")),
    Example("priority-lowered", "unknown", _group_of_version_1("rubbish"), "cpu.shares"),
    Example("priority-lowered", "unknown", _group_of_version_1("9"), gone=("/sys/fs/cgroup/cpu/ci",)),
    Example(
        *("priority-lowered", "unknown", _group_of_version_1("1024"), "container"),
        gone=("/sys/fs/cgroup/cpu/release_agent",),
    ),
    Example("priority-lowered", "unknown", _group(weight="rubbish"), "cpu.weight"),
    Example("priority-lowered", "unknown", _group(uclamp_max="101%"), "cpu.uclamp.max"),
    Example("priority-lowered", "unknown", _HIDDEN_GROUP),
    Example("priority-lowered", "unknown", {"/sys/fs/cgroup/cgroup.events": "populated 1\n"}, "container"),
    Example("priority-lowered", "unknown", gone=("/proc/self/cgroup",)),
    Example("priority-lowered", "unknown", gone=(STAT,)),
    Example("priority-lowered", "unknown", {STAT: "4711 (python3) R 1 2\n"}, "41 fields"),
]


_ONE_FREE_THREAD = crowd(900, "bench", [2, 2], "1-3")
_ONE_FREE_THREAD |= {path: text.replace("1-3", "2") for path, text in _ONE_FREE_THREAD.items() if "/901/" not in path}
_ONE_ISOLATED = crowd(900, "bench", [2, 2], "2-3")
_FREE_V1 = {
    "cpu.cfs_quota_us": "-1\n",
    "cpu.cfs_period_us": "100000\n",
    "cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
    "cpu.shares": "1024\n",
}
_PERIOD_0 = {
    "/proc/self/cgroup": "1:cpu:/a/b\n",
    **{f"/sys/fs/cgroup/cpu{folder}/{name}": text for folder in ("", "/a", "/a/b") for name, text in _FREE_V1.items()},
    "/sys/fs/cgroup/cpu/release_agent": "\n",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000\n",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "0\n",
    **mounted("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"),
}

EXAMPLES = [
    Example("cpu-quota", "unknown", named="/proc/self/mounts: no such file", gone=("/proc/self/mounts",)),
    Example("cpu-quota", "unknown", _PERIOD_0, "cpu/a/cpu.cfs_period_us: expected a whole number"),
    Example("cpu-quota", "unknown", {"/sys/fs/cgroup/cpu.max": "50000 0\n"}, "cpu.max: expected a whole number"),
    Example("threads-confined-to-isolated-cpus", "unknown", gone=_NO_KERNEL_THREADS, named="no kernel thread"),
    #
    Example("partition-invalid", "fail", _partition("isolated invalid (not exclusive)", "2"), "(not exclusive)", {2}),
    Example("partition-invalid", "pass", _partition("isolated invalid (not exclusive)", "0"), "(not exclusive)"),
    Example("partition-invalid", "fail", _partition("isolated invalid (no cpus)", ""), "(no cpus)"),
    Example("partition-invalid", "fail", _partition("root invalid (x)", "2", "lxc.payload.x"), "lxc.payload.x", {2}),
    Example("partition-invalid", "unknown", {"/sys/fs/cgroup/bench/cpuset.cpus": "2\n"}, "bench/cpuset.cpus.partition"),
    Example(
        *("partition-invalid", "unknown", _partition("isolated", "2"), "not all of its CPUs are isolated (none)"),
        after={"/sys/fs/cgroup/cpuset.cpus.isolated": "\n"},
    ),
    Example("partition-invalid", "unknown", _DEEP),
    Example("partition-invalid", "unknown", _partition("isolated perhaps", "2")),
    Example("partition-invalid", "unknown", gone=("/proc/self/mounts",)),
    Example("partition-invalid", "pass", _partition("isolated", "2") | _ISOLATED, "all partitions are valid"),
    Example("partition-invalid", "not-applicable", {}, "no cgroup partition"),
    Example("threads-confined-to-isolated-cpus", "warn", crowd(900, "bench", [2, 2], "2-3"), "are on 2", {2, 3}),
    Example("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [2, 2], "2"), "no process"),
    Example("threads-confined-to-isolated-cpus", "fail", crowd(900, "bench", [2, 2], "1-3"), "isolated CPU 2", {2}),
    Example("threads-confined-to-isolated-cpus", "fail", _ONE_FREE_THREAD, "1 thread of bench (pid 900)", {2}),
    Example("threads-confined-to-isolated-cpus", "pass", crowd(900, "bench", [1, 1, 2], "1-3"), "no process"),
    Example("threads-confined-to-isolated-cpus", "warn", _ONE_ISOLATED, "are on 2", {2, 3}, target=frozenset({2})),
    Example("threads-confined-to-isolated-cpus", "unknown", gone=(f"{CPUS}/isolated",)),
    Example("threads-confined-to-isolated-cpus", "not-applicable", {f"{CPUS}/isolated": "1\n"}, "no target CPU"),
    #
    Example("cpu-quota", "fail", _UNTHROTTLED | {f"{_CPU}.max": "150000 100000\n"}, "1.5 of 2"),
    Example(
        *("cpu-quota", "warn", _UNTHROTTLED | {f"{_CPU}.max": "400000 100000\n"}),
        "a quota of 4 CPUs leaves 2 CPUs beyond the target's 2 CPUs",
    ),
    Example(
        *("cpu-quota", "warn", _UNTHROTTLED | {f"{_CPU}.max": "100000 100000\n"} | process(999, "python3", 0, 0)),
        "a quota of 1 CPU leaves nothing beyond the target's 1 CPU for the benchmark's other threads, its launcher "
        "and noisewatch (1.0% of a CPU)",
        after=process(999, "python3", 0, 30_000_000),
        target=frozenset({2}),
        own_pids=(999,),
    ),
    Example(
        *("cpu-quota", "fail", _UNTHROTTLED | {f"{_CPU}.max": "400000 100000\n"}, "throttled in 2 periods"),
        after={f"{_CPU}.stat": "nr_throttled 2\n"},
    ),
    Example("cpu-quota", "unknown", mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/.."), "cgroup namespace"),
    Example("cpu-quota", "unknown", gone=("/proc/self/mountinfo",)),
    Example("cpu-quota", "unknown", gone=("/proc/self/cgroup",)),
    Example("cpu-quota", "unknown", gone=("/proc/self/mounts",)),
    #
    *_PRIORITY,
]
