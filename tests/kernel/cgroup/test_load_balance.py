"""CPUs that cgroup v1 excludes from load balancing."""

from __future__ import annotations

import pytest

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.kernel.cgroup.partitions import BALANCE, read_unbalanced
from tests.written import Files, reading

_ROOT = "/sys/fs/cgroup/cpuset"
_ONLINE = frozenset(range(8))


def _group(path: str, balances: int | str, cpus: str) -> dict[str, str]:
    folder = f"{_ROOT}/{path}".rstrip("/")
    return {
        f"{folder}/{BALANCE}": f"{balances}\n",
        f"{folder}/cpuset.cpus": "0-7\n",
        f"{folder}/cpuset.effective_cpus": f"{cpus}\n",
    }


_BARE = {
    "/proc/self/cgroup": "4:cpuset:/user\n0::/\n",
    "/proc/self/mounts": f"cgroup {_ROOT} cgroup rw,cpuset 0 0\n",
    "/proc/self/mountinfo": f"30 20 0:26 / {_ROOT} rw - cgroup cgroup rw,cpuset\n",
    f"{_ROOT}/release_agent": "\n",
}
VERSION_1 = (
    _BARE
    | _group("", 0, "0-7")
    | _group("system", 1, "0-1")
    | _group("kubepods", 0, "2-7")
    | _group("kubepods/pod1", 0, "4-5")
)


def _unbalanced(files: Files, *, is_copy: bool = False) -> CpuSet | None:
    return read_unbalanced(reading(files, is_copy=is_copy), _ONLINE)


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, "2-7"),
        (_group("", 1, "0-7"), ""),
        (_group("kubepods/pod2", 1, "6"), "2-5,7"),
        (_group("system/inner", 1, "5"), "2-7"),
        (_group("empty", 1, ""), "2-7"),
    ],
    ids=["all the way", "root balances", "one pod balances", "below a balanced group", "a group without CPUs"],
)
def test_cpus_of_no_group_that_balances_load_are_isolated(files: Files, cpus: str) -> None:
    assert _unbalanced({**VERSION_1, **files}) == parse_cpu_list(cpus)


def test_requested_cpus_of_a_group_count_before_linux_3_17() -> None:
    files = {path: text for path, text in VERSION_1.items() if not path.endswith("effective_cpus")}
    assert _unbalanced({**files, f"{_ROOT}/system/cpuset.cpus": "0\n"}) == frozenset(range(1, 8))


@pytest.mark.parametrize(
    "files",
    [
        {f"{_ROOT}/system/{BALANCE}": "rubbish\n"},
        {f"{_ROOT}/{BALANCE}": "rubbish\n"},
        {f"{_ROOT}/system/cpuset.effective_cpus": "x\n", f"{_ROOT}/system/cpuset.cpus": "x\n"},
        {"/proc/self/mounts": "proc /proc proc rw 0 0\n"},
        {"/proc/self/cgroup": "rubbish\n"},
        {path: text for number in range(1024) for path, text in _group(f"pod{number}", 0, "2").items()},
    ],
    ids=["a group", "the root", "its CPUs", "not mounted", "no membership", "too many groups"],
)
def test_unreadable_group_leaves_isolation_unknown(files: Files) -> None:
    assert _unbalanced({**VERSION_1, **files}) is None


def test_part_of_the_hierarchy_does_not_show_what_the_root_balances() -> None:
    assert _unbalanced({path: text for path, text in VERSION_1.items() if not path.endswith("agent")}) is None


def test_version_2_has_no_unbalanced_groups() -> None:
    assert _unbalanced(VERSION_1 | {"/proc/self/cgroup": "0::/\n"}) == frozenset()


def test_kernel_without_cgroups_isolates_no_cpus() -> None:
    assert _unbalanced({}) == frozenset()
    assert _unbalanced({}, is_copy=True) is None
