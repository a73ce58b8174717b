"""CPU time that this process's cgroups allow, in both versions."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, QuotaThrottling, parse_throttling, read_cgroup
from noisewatch.kernel.cgroup.mounts import (
    MOUNT_ROOTS,
    parse_cgroup_mounts,
    parse_membership,
    parse_mount_roots,
    read_unified_mount,
)
from tests.written import Files, mounted, reading, without

ROOT = "/sys/fs/cgroup"
V1 = f"{ROOT}/cpu,cpuacct"


def _v2(path: str = "/") -> dict[str, str]:
    return {
        **mounted(f"proc /proc proc rw 0 0\ncgroup2 {ROOT} cgroup2 rw,nosuid 0 0\n"),
        "/proc/self/cgroup": f"0::{path}\n",
        f"{ROOT}/cgroup.controllers": "cpuset cpu io\n",
    }


def _level(path: str, cpu_max: str, throttled: int = 0) -> dict[str, str]:
    folder = ROOT + path
    return {
        f"{folder}/cgroup.controllers": "cpu memory\n",
        f"{folder}/cgroup.events": "populated 1\n",
        f"{folder}/cpu.max": f"{cpu_max}\n",
        f"{folder}/cpu.stat": f"usage_usec 5\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec 1\n",
    }


def _v1(path: str = "/") -> dict[str, str]:
    return {
        **mounted(f"cgroup {V1} cgroup rw,relatime,cpu,cpuacct 0 0\ncgroup {ROOT}/x cgroup rw,pids 0 0\n"),
        f"{V1}/release_agent": "\n",
        "/proc/self/cgroup": f"4:pids:/elsewhere\n3:cpu,cpuacct:{path}\n1:name=systemd:/init.scope\n",
    }


def _v1_level(path: str, quota: str, period: str = "100000", throttled: int = 0) -> dict[str, str]:
    folder = V1 + path
    return {
        f"{folder}/cpu.cfs_quota_us": f"{quota}\n",
        f"{folder}/cpu.cfs_period_us": f"{period}\n",
        f"{folder}/cpu.stat": f"nr_periods 9\nnr_throttled {throttled}\nthrottled_time 0\n",
    }


def _quota(files: Files, *, is_copy: bool = False) -> tuple[float | None, int | None, str | None]:
    cgroup = read_cgroup(reading(files, is_copy=is_copy))
    return cgroup.cpu_quota_share, cgroup.throttled_periods, cgroup.limited_by


def test_true_root_has_no_limit() -> None:
    cgroup = read_cgroup(reading(_v2()))
    assert (cgroup.version, cgroup.cpu_quota_share, cgroup.throttled_periods) == (2, UNLIMITED, 0)
    assert (cgroup.limited_by, cgroup.folder) == (None, ROOT)


_OTHERS_CONTROLLER = {f"{ROOT}/a/b/cgroup.controllers": "memory\n", f"{ROOT}/a/b/cgroup.events": "populated 1\n"}
_THREE_LEVELS = _level("/a", "400000 100000", 1) | _level("/a/b", "50000 100000", 2) | _level("/a/b/c", "max 100000", 4)
_TWO_LEVELS = _v1_level("/a", "50000") | _v1_level("/a/b", "80000")


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        (_v2("/a") | _level("/a", "50000 100000", 12), (0.5, 12, f"{ROOT}/a")),
        (_v2("/a") | _level("/a", "250000 100000"), (2.5, 0, f"{ROOT}/a")),
        (_v2("/a/b/c") | _THREE_LEVELS, (0.5, 7, f"{ROOT}/a/b")),
        (_v2("/a/b") | _level("/a", "max 100000") | _level("/a/b", "max 100000"), (UNLIMITED, 0, None)),
        (_v2("/a/b") | _level("/a", "50000 100000") | _OTHERS_CONTROLLER, (0.5, 0, f"{ROOT}/a")),
        (without(_v2("/a") | _level("/a", "max 100000"), f"{ROOT}/a/cpu.max"), (None, 0, None)),
        (_v1("/a") | _v1_level("", "-1") | _v1_level("/a", "50000", "200000", 5), (0.25, 5, f"{V1}/a")),
        (_v1() | _v1_level("", "-1"), (UNLIMITED, 0, None)),
        (_v1("/a/b") | _v1_level("", "-1") | _TWO_LEVELS, (0.5, 0, f"{V1}/a")),
        (_v1() | {f"{V1}/cpu.shares": "1024\n"}, (UNLIMITED, 0, None)),
    ],
    ids=[
        *("a share of one CPU", "of several CPUs", "the narrowest ancestor", "max on all levels"),
        *(
            "without the controller",
            "missing",
            "v1",
            "v1, negative",
            "v1, the narrowest",
            "v1, a kernel without quotas",
        ),
    ],
)
def test_narrowest_quota_of_all_levels_counts(files: Files, quota: tuple[float | None, int | None, str | None]) -> None:
    assert _quota(files) == quota


def test_container_sees_only_its_own_part_of_the_path() -> None:
    files = _v2("/docker/4f00") | _level("", "50000 100000", 3)
    assert _quota(files) == (None, None, ROOT)
    assert read_cgroup(reading(files)).known_quota_share == 0.5


@pytest.mark.parametrize("broken", ["cpu.max", "cpu.stat"])
@pytest.mark.parametrize("text", ["", "rubbish\n", "max\n"])
def test_malformed_level_leaves_the_quota_unknown(broken: str, text: str) -> None:
    files = _v2("/a") | _level("/a", "50000 100000", 3) | {f"{ROOT}/a/{broken}": text}
    assert None in _quota(files)[:2]


def test_folder_missing_from_a_copy_is_unknown_and_not_unlimited() -> None:
    assert _quota(_v2("/a"), is_copy=True)[0] is None


@pytest.mark.parametrize(
    ("quota", "period"),
    [("50000", "0"), ("0", "100000"), ("rubbish", "100000"), ("50000", "rubbish"), ("50000", "2000000")],
)
def test_malformed_quota_of_version_one_is_unknown(quota: str, period: str) -> None:
    assert _quota(_v1() | _v1_level("", quota, period))[0] is None


def test_version_with_the_controller_limits() -> None:
    files = _v1() | _v1_level("", "50000")
    files["/proc/self/mounts"] += f"cgroup2 {ROOT}/unified cgroup2 rw 0 0\n"
    files["/proc/self/cgroup"] += "0::/\n"
    assert read_cgroup(reading(files)).version == 1


def test_limit_is_unknown_without_a_hierarchy() -> None:
    files = {"/proc/self/mounts": "proc /proc proc rw 0 0\n", "/proc/self/cgroup": "0::/\n"}
    assert read_cgroup(reading(files)).version is None
    assert _quota(files) == (None, None, None)


def _reasons(files: Files) -> str:
    reader = reading(files)
    read_cgroup(reader)
    return "; ".join(reader.reason_by_path.values())


def test_own_group_is_unknown_if_the_mount_shows_more_than_the_namespace() -> None:
    """`unshare --cgroup` leaves the mounts unchanged: `/` may be any group of the mount."""
    throttled = _v1() | _v1_level("", "-1") | mounted(f"cgroup {V1} cgroup rw,cpu,cpuacct 0 0\n", "/..")
    namesake = _v2("/a") | _level("/a", "50000 100000", 3) | mounted(f"cgroup2 {ROOT} cgroup2 rw 0 0\n", "/../..")
    for files in (throttled, namesake):
        cgroup = read_cgroup(reading(files))
        assert (cgroup.cpu_quota_share, cgroup.throttled_periods, cgroup.folder) == (None, None, None)
        assert (cgroup.known_quota_share, cgroup.reaches_root) == (UNLIMITED, False)
        assert "cgroup namespace" in _reasons(files)


def test_limits_outside_a_namespace_with_its_own_mount_are_unknown() -> None:
    files = without(_v1() | _v1_level("", "-1"), f"{V1}/release_agent")
    assert _quota(files) == (None, None, None)
    assert "limits outside it are not visible" in _reasons(files)
    assert _quota(files | {f"{V1}/cpu.cfs_quota_us": "20000\n"}) == (0.2, 0, V1)


def test_container_without_a_namespace_sees_its_own_part_where_it_is_mounted() -> None:
    files = without(_v1("/docker/4f/job"), f"{V1}/release_agent") | _v1_level("", "50000") | _v1_level("/job", "-1")
    files |= mounted(f"cgroup {V1} cgroup rw,cpu,cpuacct 0 0\n", "/docker/4f")
    assert [level.folder for level in read_cgroup(reading(files)).levels] == [f"{V1}/job", V1]
    assert _quota(files)[2] == V1


def test_limit_is_unknown_if_the_roots_of_mounts_are_unknown() -> None:
    for files in (_v2(), _v1() | _v1_level("", "-1")):
        for incomplete in (without(files, MOUNT_ROOTS), files | {MOUNT_ROOTS: "rubbish\n"}):
            assert _quota(incomplete) == (None, None, None)
            assert MOUNT_ROOTS in _reasons(incomplete)


def test_group_reports_its_throttled_time() -> None:
    (level, _) = read_cgroup(reading(_v2("/a") | _level("/a", "50000 100000", 12))).levels
    assert (level.throttling, level.described) == (QuotaThrottling(12, 1_000, 9), f"{ROOT}/a: 50 ms in each 100 ms")
    (level, _) = read_cgroup(reading(_v1("/a") | _v1_level("", "-1") | _v1_level("/a", "1500", "2500", 5))).levels
    assert (level.throttling, level.described) == (QuotaThrottling(5, 0, 9), f"{V1}/a: 1.5 ms in each 2.5 ms")
    assert parse_throttling("nr_throttled 3\n") == QuotaThrottling(3, None)


@pytest.mark.parametrize(
    ("cpu_max", "text"),
    [("123456789 1000000", ": 123456.789 ms in each 1000 ms"), ("1000 3000", ": 1 ms in each 3 ms"), ("max 5", "")],
)
def test_quota_is_described_exactly(cpu_max: str, text: str) -> None:
    (level, _) = read_cgroup(reading(_v2("/a") | _level("/a", cpu_max))).levels
    assert level.described == f"{ROOT}/a{text}"


def test_last_of_several_mounts_on_one_folder_is_visible() -> None:
    line = "30 23 0:26 {} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    other = "31 23 0:27 / /mnt rw - ext4 /dev/vda rw\n"
    assert parse_mount_roots(line.format("/") + other + line.format("/..")) == {"/sys/fs/cgroup": "/.."}


@pytest.mark.parametrize("missing", ["/proc/self/mounts", "/proc/self/cgroup"])
def test_limit_is_unknown_without_mounts_or_membership(missing: str) -> None:
    assert _quota(without(_v2(), missing)) == (None, None, None)


def test_mounts_may_be_listed_at_the_older_path() -> None:
    assert read_unified_mount(reading({"/proc/mounts": f"cgroup2 {ROOT} cgroup2 rw 0 0\n"})) == ROOT


def test_missing_unified_mount_is_not_an_unknown_one() -> None:
    assert read_unified_mount(reading({"/proc/mounts": "proc /proc proc rw 0 0\n"})) == ""
    assert read_unified_mount(reading({})) is None


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_mount_may_have_any_name(separator: str) -> None:
    (mount,) = parse_cgroup_mounts(f"fuse /home/a{separator}b fuse rw 0 0\ncgroup2 {ROOT} cgroup2 rw 0 0\n")
    assert (mount.folder, mount.version) == (ROOT, 2)


def test_path_of_a_cgroup_may_contain_colons() -> None:
    assert parse_membership("1:cpu,cpuacct:/a:b\n0::/c:d\n") == {"cpu": "/a:b", "cpuacct": "/a:b", "": "/c:d"}
