"""Online CPUs, from the first of four sources that lists them."""

from __future__ import annotations

from collections.abc import Set

import pytest

from noisewatch.kernel.cpus.online import CPUS, read_cpu_folders, read_online
from tests.written import Files, reading

STAT = {"/proc/stat": "cpu 1 1 1 1\ncpu0 1 1 1 1\ncpu2 1 1 1 1\n"}
CPUINFO = {"/proc/cpuinfo": "processor\t: 0\nmodel name\t: A\n\nprocessor\t: 3\n"}


def _online_and_source(files: Files) -> tuple[Set[int] | None, Set[int] | None, str | None]:
    """Return the online CPUs, the offline CPUs, and the file that lists them."""
    online = read_online(reading(files))
    return online.online, online.offline, online.source


def _flags(**flag_by_cpu: str) -> dict[str, str]:
    return {f"{CPUS}/{cpu}/online": flag for cpu, flag in flag_by_cpu.items()}


def test_list_of_sysfs_comes_first() -> None:
    files = {f"{CPUS}/online": "0-1\n", f"{CPUS}/offline": "2-3\n"} | _flags(cpu5="1\n") | STAT | CPUINFO
    assert _online_and_source(files) == (frozenset({0, 1}), frozenset({2, 3}), f"{CPUS}/online")


def test_blank_list_of_offline_cpus_is_empty() -> None:
    assert read_online(reading({f"{CPUS}/online": "0\n", f"{CPUS}/offline": "\n"})).offline == frozenset()


def test_missing_list_of_offline_cpus_is_unknown() -> None:
    assert read_online(reading({f"{CPUS}/online": "0\n"})).offline is None


def test_flags_of_cpus_are_read_without_the_list() -> None:
    files = _flags(cpu1="1\n", cpu2="0\n") | {f"{CPUS}/cpu0/topology/core_id": "0\n"} | STAT
    assert _online_and_source(files) == (frozenset({0, 1}), frozenset({2}), f"{CPUS}/cpuN/online")


def test_cpu_without_flag_and_files_is_not_online() -> None:
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
def test_other_files_of_the_kernel_replace_a_covered_list(mount: str, words: str) -> None:
    files = _LIST_OF_LXCFS | {"/proc/self/mounts": f"proc /proc proc rw 0 0\n{mount}"}
    assert _online_and_source(files) == (frozenset(range(5)), frozenset({5}), f"{CPUS}/{{present,offline}}")
    assert words in (read_online(reading(files)).renumbered or "")


@pytest.mark.parametrize("mounts", [None, "proc /proc proc rw 0 0\n", f"sysfs {CPUS}/online sysfs ro 0 0\n"])
def test_uncovered_list_of_the_kernel_is_used(mounts: str | None) -> None:
    files = _LIST_OF_LXCFS | ({} if mounts is None else {"/proc/self/mounts": mounts})
    online = read_online(reading(files))
    assert (online.online, online.renumbered) == (frozenset({0, 1}), None)


def test_online_cpus_are_unknown_if_lxcfs_covers_all_sources() -> None:
    covered = "".join(f"lxcfs {path} fuse.lxcfs rw 0 0\n" for path in (f"{CPUS}/online", "/proc/stat", "/proc/cpuinfo"))
    reader = reading({f"{CPUS}/online": "0\n", "/proc/self/mounts": covered} | STAT | CPUINFO)
    assert read_online(reader).online is None
    assert "lxcfs" in reader.reason_by_path[f"{CPUS}/online"]


@pytest.mark.parametrize("listed", [None, "\n", "rubbish\n", "5-2\n"])
def test_rows_of_proc_stat_are_read_without_sysfs(listed: str | None) -> None:
    files: Files = STAT | CPUINFO | ({f"{CPUS}/online": listed} if listed is not None else {})
    assert _online_and_source(files) == (frozenset({0, 2}), None, "/proc/stat")


def test_processors_in_cpuinfo_are_the_last_source() -> None:
    assert _online_and_source(CPUINFO) == (frozenset({0, 3}), None, "/proc/cpuinfo")


def test_cpuinfo_of_another_architecture_is_read() -> None:
    assert read_online(
        reading({"/proc/cpuinfo": "processor       : 0\nBogoMIPS\t: 50\nprocessor: 1\n"})
    ).online == frozenset({0, 1})


def test_online_cpus_are_unknown_without_any_source() -> None:
    reader = reading({})
    assert read_online(reader).online is None
    assert reader.reason_by_path[f"{CPUS}/online"] == "no such file"


def test_only_folders_of_cpus_count() -> None:
    names = ("cpu0", "cpu10", "cpufreq", "cpuidle", "power", "cpu1x")
    assert read_cpu_folders(reading({f"{CPUS}/{name}/x": "" for name in names})) == {0, 10}
