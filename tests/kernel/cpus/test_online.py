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
    return online.online, online.offline, online.said_by


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
