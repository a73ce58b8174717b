"""A CPU quota: set at some level, hidden, or of a hierarchy that cannot be read."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered, finding, judged_by_settings
from tests.written import PROC_MOUNT, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_ROOT = "/sys/fs/cgroup"
_HYBRID_MOUNTS = (
    "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
)


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/self/mounts": "proc /proc proc rw 0 0\n", "/proc/self/cgroup": "0::/system.slice/ci.service\n"},
        {"/proc/self/mounts": _HYBRID_MOUNTS, "/proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n"},
        {
            f"{_ROOT}/cgroup.events": "populated 1\n",
            f"{_ROOT}/cpu.max": "max 100000\n",
            f"{_ROOT}/cpu.stat": "nr_throttled 0\n",
        },
        {"/proc/self/cgroup": "0::/../ci.slice/job\n"},
        {"/proc/self/cgroup": "0::/gone (deleted)\n"},
        {"/proc/self/cgroup": "0::/user.slice\n", f"{_ROOT}/user.slice/cgroup.procs": "1\n"},
    ],
    ids=["nothing mounted", "no cpu controller mounted", "container", "outside", "deleted", "incomplete copy"],
)
def test_a_quota_that_cannot_be_seen_is_unknown(files: dict[str, str]) -> None:
    answer = answered("cpu-quota", files)
    assert (answer.status, bool(answer.reason)) == ("unknown", True)


def test_a_known_quota_fails_although_another_level_is_unreadable() -> None:
    folder = f"{_ROOT}/a/b"
    leaf = {
        f"{folder}/{name}": text for name, text in (("cpu.max", "50000 100000\n"), ("cpu.stat", "nr_throttled 0\n"))
    }
    answer = answered("cpu-quota", {"/proc/self/cgroup": "0::/a/b\n"} | leaf)
    assert (answer.status, answer.measured) == ("fail", 0.5)


def test_the_mount_that_shows_our_cgroup_is_the_one_that_counts() -> None:
    mounts = "cgroup2 /run/other cgroup2 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
    quota = {f"{_ROOT}/ci/cpu.max": "10000 100000\n", f"{_ROOT}/ci/cpu.stat": "nr_throttled 0\n"}
    files = {"/proc/self/mounts": mounts, "/proc/self/cgroup": "0::/ci\n", "/run/other/cgroup.controllers": "cpu\n"}
    assert answered("cpu-quota", files | quota).status == "fail"


def test_no_quota_is_unknown_where_throttling_cannot_be_read() -> None:
    files = {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000\n"}
    assert answered("cpu-quota", files).status == "unknown"
    verdict = judged_by_settings(WrittenMachine(quiet_files() | files, answers=ANSWERS))
    assert finding(verdict, "cpu-quota").status == "unknown"


def test_of_several_hierarchies_the_one_with_the_cpu_controller_counts() -> None:
    mounts = "".join(f"cgroup /sys/fs/cgroup/{name} cgroup rw,{name} 0 0\n" for name in ("memory", "cpu"))
    quota = {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_throttled 0\n"}
    files = {"/proc/self/mounts": mounts, "/proc/self/cgroup": "2:memory:/\n1:cpu:/\n"}
    files |= {f"/sys/fs/cgroup/cpu/{name}": text for name, text in quota.items()}
    answer = answered("cpu-quota", files | {"/sys/fs/cgroup/memory/cgroup.procs": "1\n"})
    assert (answer.status, answer.measured) == ("fail", 0.5)


def test_a_negative_quota_other_than_none_is_unknown() -> None:
    files = {
        "/proc/self/mounts": f"{PROC_MOUNT}cgroup {_ROOT}/cpu cgroup rw,cpu 0 0\n",
        "/proc/self/mountinfo": f"3 1 0:3 / {_ROOT}/cpu rw - cgroup cgroup rw,cpu\n",
        "/proc/self/cgroup": "1:cpu:/\n",
        f"{_ROOT}/cpu/release_agent": "\n",
        f"{_ROOT}/cpu/cpu.stat": "nr_throttled 0\nthrottled_time 0\n",
        f"{_ROOT}/cpu/cpu.cfs_period_us": "100000\n",
    }
    for quota, status in (("-1\n", "pass"), ("-50000\n", "unknown")):
        assert answered("cpu-quota", files | {f"{_ROOT}/cpu/cpu.cfs_quota_us": quota}).status == status
