"""Counters by CPU: softirqs, time in /proc/stat, time that tasks ran, pressure."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpu_time import (
    TICK_NS,
    CpuTime,
    RunTime,
    parse_cpu_time,
    parse_run_time,
    read_cpu_time,
    read_run_time,
)
from noisewatch.kernel.interrupts.table import parse_softirqs, read_softirqs
from noisewatch.kernel.system.pressure import Pressure, Stall, parse_stall, read_pressure
from tests.written import reading

STALL = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1473177\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


def test_softirqs_may_have_more_columns_than_there_are_cpus_online() -> None:
    table = parse_softirqs("CPU0 CPU1 CPU2 CPU3\n HI: 1 2 0 0\n TIMER: 3 4 0 0\n")
    assert table.cpus == (0, 1, 2, 3)
    assert [(row.label, row.counts) for row in table.rows] == [("HI", (1, 2, 0, 0)), ("TIMER", (3, 4, 0, 0))]


def test_a_column_of_softirqs_belongs_to_the_cpu_in_the_header() -> None:
    assert parse_softirqs("CPU1 CPU5\n HI: 1 2\n").cpus == (1, 5)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "CPU0\n", "CPU0 CPU1\nHI: 1\n", "CPU0\nHI: 1 2\n", "CPU0\nHI: x\n", "CPU0\nHI 1\n", "HI: 1\n"],
)
def test_a_text_that_is_no_table_of_softirqs_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_softirqs(text)


def test_softirqs_that_cannot_be_read_are_unknown_with_the_reason() -> None:
    reader = reading({})
    assert read_softirqs(reader) is None
    assert reader.reason_by_path == {"/proc/softirqs": "no such file"}


def test_time_is_nanoseconds_by_cpu_number() -> None:
    (time,) = parse_cpu_time("cpu 9 9 9 9 9 9 9 9 9 9\ncpu5 1 2 3 4 5 6 7 8 9 10\n").items()
    assert time == (5, CpuTime(*(count * TICK_NS for count in (1, 2, 3, 4, 5, 6, 7, 8))))


def test_guest_time_is_not_counted_twice() -> None:
    (time,) = parse_cpu_time("cpu0 1 2 3 4 5 6 7 8 100 100\n").values()
    assert time.total_ns == 36 * TICK_NS


def test_an_old_kernel_does_not_tell_steal() -> None:
    (time,) = parse_cpu_time("cpu0 1 2 3 4\n").values()
    assert (time.iowait_ns, time.steal_ns, time.total_ns) == (None, None, 10 * TICK_NS)


def test_offline_cpus_have_no_row() -> None:
    assert sorted(parse_cpu_time("cpu 1 1 1 1\ncpu1 1 1 1 1\ncpu3 1 1 1 1\nintr 5\n")) == [1, 3]


@pytest.mark.parametrize(
    "text",
    [
        "cpu 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7\n",
        "cpu 1 2 3 4 5 6 7 8\ncpu0\n",
        "cpu 1 2 3 4 5 6 7 8\ncp",
        "cpu0 1 2 3\n",
        "cpu0 1 2 3 -4\n",
        "cpu0 1 2 3 x\n",
        "cpu 1 2 3 4\nintr 5\n",
        "",
        "intr 5\n",
    ],
)
def test_a_row_of_time_that_was_cut_short_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_cpu_time(text)


def test_a_malformed_row_of_time_is_named_by_its_line() -> None:
    reader = reading({"/proc/stat": "cpu 1 2 3 4\ncpu0 1 2 3\n", "/proc/self/mounts": "proc /proc proc rw 0 0\n"})
    assert read_cpu_time(reader) is None
    assert reader.reason_by_path["/proc/stat"].endswith("2: wanted 4 counts, found 'cpu0 1 2 3'")


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


@pytest.mark.parametrize("text", ["", "version 15\n", "cpu0 0 0 0 0 0 0 5 5\n", "cpu0 0 0 0 0 0 0 5 5 5 5\n", "cpu0"])
def test_a_text_without_nine_counts_a_cpu_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_run_time(text)


def test_a_kernel_without_schedstat_is_no_news() -> None:
    reader = reading({})
    assert read_run_time(reader) is None
    assert reader.reason_by_path == {}


_CPUACCT = {
    "/proc/self/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n",
    "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu": "357140593847 426204447989 \n",
}


def test_without_schedstat_the_root_of_cpuacct_tells_as_much() -> None:
    files = _CPUACCT | {"/sys/fs/cgroup/cpu,cpuacct/release_agent": "\n"}
    assert read_run_time(reading(files)) == {0: RunTime(357140593847), 1: RunTime(426204447989)}
    schedstat = {"/proc/schedstat": "version 15\ncpu0 0 0 0 0 0 0 5 6 7\n"}
    assert read_run_time(reading(files | schedstat)) == {0: RunTime(5, 7)}


def test_a_part_of_cpuacct_does_not_know_of_all_tasks() -> None:
    assert read_run_time(reading(_CPUACCT)) is None


def test_stalls_are_told_in_microseconds_and_kept_in_nanoseconds() -> None:
    assert parse_stall(STALL) == Stall(1_473_177_000, 7_000)


def test_an_older_kernel_does_not_tell_full_stalls_of_the_cpu() -> None:
    assert parse_stall(STALL.splitlines()[0]) == Stall(1_473_177_000, None)


@pytest.mark.parametrize("text", ["", "some", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", STALL[:-3] + "x\n"])
def test_a_text_that_tells_no_stall_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_stall(text)


def test_pressure_of_one_resource_may_be_unknown() -> None:
    reader = reading({"/proc/pressure/cpu": STALL, "/proc/pressure/memory": "rubbish"})
    assert read_pressure(reader) == Pressure(Stall(1_473_177_000, 7_000), None, None)
    assert sorted(reader.reason_by_path) == ["/proc/pressure/io", "/proc/pressure/memory"]


def test_a_kernel_without_pressure_is_told_once() -> None:
    reader = reading({})
    assert read_pressure(reader) == Pressure(None, None, None)
    assert reader.reason_by_path == {"/proc/pressure": "no such file"}
