"""CPU time by kind, and run time of tasks, on each CPU."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.cpu_time import (
    TICK_NS,
    CpuTime,
    RunTime,
    parse_cpu_time,
    parse_run_time,
    read_cpu_time,
    read_run_time,
)
from tests.written import reading


def test_time_is_in_nanoseconds_by_cpu() -> None:
    (time,) = parse_cpu_time("cpu 9 9 9 9 9 9 9 9 9 9\ncpu5 1 2 3 4 5 6 7 8 9 10\n").items()
    assert time == (5, CpuTime((1, 2, 3, 4, 5, 6, 7, 8)))
    assert (time[1].user_ns, time[1].steal_ns) == (TICK_NS, 8 * TICK_NS)


def test_guest_time_is_not_counted_twice() -> None:
    (time,) = parse_cpu_time("cpu0 1 2 3 4 5 6 7 8 100 100\n").values()
    assert time.total_ns == 36 * TICK_NS


def test_old_kernel_reports_no_steal() -> None:
    (time,) = parse_cpu_time("cpu 1 2 3 4\ncpu0 1 2 3 4\n").values()
    assert (time.idle_ns, time.iowait_ns, time.total_ns) == (4 * TICK_NS, None, 10 * TICK_NS)


@pytest.mark.parametrize("total", ["", "cpu 9 9 9 9 9\n", "cpufreq 1 1 1 1 1\n"], ids=["none", "first", "another"])
def test_rows_are_parsed_after_any_other_rows(total: str) -> None:
    times = {0: CpuTime((1, 2, 3, 4, 5)), 10: CpuTime((2, 3, 4, 5, 6))}
    assert parse_cpu_time(f"{total}cpu0 1 2 3 4 5\ncpu10 2 3 4 5 6\nctxt 7\n") == times


def test_offline_cpus_have_no_row() -> None:
    assert sorted(parse_cpu_time("cpu 1 1 1 1\ncpu1 1 1 1 1\ncpu3 1 1 1 1\nintr 5\n")) == [1, 3]


def test_error_of_a_malformed_row_names_its_line() -> None:
    reader = reading({"/proc/stat": "cpu 1 2 3 4\ncpu0 1 2 3\n", "/proc/self/mounts": "proc /proc proc rw 0 0\n"})
    assert read_cpu_time(reader) is None
    assert reader.reason_by_path["/proc/stat"].endswith("2: expected 4 counts, found 'cpu0 1 2 3'")


@pytest.mark.parametrize(
    ("version", "skipped"),
    [
        (17, "0 0 0 0 0 0"),
        (16, "9 0 8 7 6 5"),
        (15, "9 0 8 7 6 5"),
        (14, "9 9 9 9 8 7 6 5 4"),
        (12, "1 2 3 4 5 6 7 8 9"),
    ],
)
def test_run_time_is_the_last_count_but_two_of_a_cpu(version: int, skipped: str) -> None:
    rows = f"cpu1 {skipped} 281793214 16002335 366\ndomain0 MC 3 1 2 3\n"
    assert parse_run_time(f"version {version}\ntimestamp 4295\n{rows}") == {1: RunTime(281793214, 366)}


def test_missing_schedstat_has_no_reason() -> None:
    reader = reading({})
    assert read_run_time(reader) is None
    assert reader.reason_by_path == {}


_CPUACCT = {
    "/proc/self/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n",
    "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu": "357140593847 426204447989 \n",
}


def test_run_time_is_read_from_the_root_of_cpuacct_without_schedstat() -> None:
    files = _CPUACCT | {"/sys/fs/cgroup/cpu,cpuacct/release_agent": "\n"}
    assert read_run_time(reading(files)) == {0: RunTime(357140593847), 1: RunTime(426204447989)}
    schedstat = {"/proc/schedstat": "version 15\ncpu0 0 0 0 0 0 0 5 6 7\n"}
    assert read_run_time(reading(files | schedstat)) == {0: RunTime(5, 7)}


def test_part_of_cpuacct_has_no_run_time() -> None:
    assert read_run_time(reading(_CPUACCT)) is None
