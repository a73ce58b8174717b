"""Which CPUs are online, from the first of four places that says it."""

from __future__ import annotations

from collections.abc import Set

import pytest

from noisewatch.kernel.cpus.online import CPUS, read_cpu_folders, read_online
from tests.written import Files, reading

STAT = {"/proc/stat": "cpu 1 1 1 1\ncpu0 1 1 1 1\ncpu2 1 1 1 1\n"}
CPUINFO = {"/proc/cpuinfo": "processor\t: 0\nmodel name\t: A\n\nprocessor\t: 3\n"}


def _said(files: Files) -> tuple[Set[int] | None, Set[int] | None, str | None]:
    """The online CPUs, the offline ones, and the file that said it."""
    online = read_online(reading(files))
    return online.online, online.offline, online.source


def _flags(**flag_by_cpu: str) -> dict[str, str]:
    return {f"{CPUS}/{cpu}/online": flag for cpu, flag in flag_by_cpu.items()}


def test_the_list_of_sysfs_comes_first() -> None:
    files = {f"{CPUS}/online": "0-1\n", f"{CPUS}/offline": "2-3\n"} | _flags(cpu5="1\n") | STAT | CPUINFO
    assert _said(files) == (frozenset({0, 1}), frozenset({2, 3}), f"{CPUS}/online")


def test_a_blank_list_of_offline_cpus_is_none_of_them() -> None:
    assert read_online(reading({f"{CPUS}/online": "0\n", f"{CPUS}/offline": "\n"})).offline == frozenset()


def test_a_missing_list_of_offline_cpus_is_unknown() -> None:
    assert read_online(reading({f"{CPUS}/online": "0\n"})).offline is None


def test_without_the_list_each_cpus_flag_says_it() -> None:
    files = _flags(cpu1="1\n", cpu2="0\n") | {f"{CPUS}/cpu0/topology/core_id": "0\n"} | STAT
    assert _said(files) == (frozenset({0, 1}), frozenset({2}), f"{CPUS}/cpuN/online")


def test_a_cpu_without_flag_and_files_is_not_online() -> None:
    files = _flags(cpu1="1\n") | {f"{CPUS}/cpu7/uevent": ""}
    assert read_online(reading(files)).online == frozenset({1})


_LIST_OF_LXCFS = {f"{CPUS}/online": "0-1\n", f"{CPUS}/present": "0-5\n", f"{CPUS}/offline": "5\n"}


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        (f"lxcfs {CPUS}/online fuse.lxcfs rw 0 0\n", "lxcfs renumbers"),
        (f"lxcfs {CPUS} fuse.lxcfs rw 0 0\n", "lxcfs renumbers"),
        (f"/dev/vda {CPUS}/online ext4 rw 0 0\n", "a mount covers"),
    ],
)
def test_a_covered_list_is_passed_over_for_the_kernels_other_files(mount: str, words: str) -> None:
    files = _LIST_OF_LXCFS | {"/proc/self/mounts": f"proc /proc proc rw 0 0\n{mount}"}
    assert _said(files) == (frozenset(range(5)), frozenset({5}), f"{CPUS}/{{present,offline}}")
    assert words in (read_online(reading(files)).renumbered or "")


@pytest.mark.parametrize("mounts", [None, "proc /proc proc rw 0 0\n", f"sysfs {CPUS}/online sysfs ro 0 0\n"])
def test_the_kernels_own_list_counts(mounts: str | None) -> None:
    files = _LIST_OF_LXCFS | ({} if mounts is None else {"/proc/self/mounts": mounts})
    online = read_online(reading(files))
    assert (online.online, online.renumbered) == (frozenset({0, 1}), None)


def test_where_lxcfs_covers_all_that_tells_the_online_cpus_are_unknown() -> None:
    covered = "".join(f"lxcfs {path} fuse.lxcfs rw 0 0\n" for path in (f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo"))
    reader = reading({f"{CPUS}/online": "0\n", "/proc/self/mounts": covered} | STAT | CPUINFO)
    assert read_online(reader).online is None
    assert "lxcfs" in reader.reason_by_path[f"{CPUS}/online"]


@pytest.mark.parametrize("listed", [None, "\n", "rubbish\n", "5-2\n"])
def test_without_sysfs_the_rows_of_proc_stat_say_it(listed: str | None) -> None:
    files: Files = STAT | CPUINFO | ({f"{CPUS}/online": listed} if listed is not None else {})
    assert _said(files) == (frozenset({0, 2}), None, "/proc/stat")


def test_with_nothing_else_the_processors_in_cpuinfo_say_it() -> None:
    assert _said(CPUINFO) == (frozenset({0, 3}), None, "/proc/cpuinfo")


def test_cpuinfo_of_another_architecture_says_it_too() -> None:
    assert read_online(
        reading({"/proc/cpuinfo": "processor       : 0\nBogoMIPS\t: 50\nprocessor: 1\n"})
    ).online == frozenset({0, 1})


def test_a_machine_that_says_nothing_is_unknown_and_its_list_is_missed() -> None:
    reader = reading({})
    assert read_online(reader).online is None
    assert reader.reason_by_path[f"{CPUS}/online"] == "no such file"


def test_only_cpus_have_folders_that_count() -> None:
    names = ("cpu0", "cpu10", "cpufreq", "cpuidle", "power", "cpu1x")
    assert read_cpu_folders(reading({f"{CPUS}/{name}/x": "" for name in names})) == {0, 10}
