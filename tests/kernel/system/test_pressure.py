"""Waiting for CPU, memory and I/O, and the number of runnable threads."""

from __future__ import annotations

from noisewatch.kernel.system.pressure import (
    LoadAverage,
    Pressure,
    Stall,
    parse_load_average,
    parse_stall,
    read_load_average,
    read_pressure,
)
from tests.written import PROC_MOUNT, reading

STALL = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1473177\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


def test_stalls_are_converted_from_microseconds_to_nanoseconds() -> None:
    assert parse_stall(STALL) == Stall(1_473_177_000, 7_000)


def test_older_kernel_has_no_full_stalls_of_the_cpu() -> None:
    assert parse_stall(STALL.splitlines()[0]) == Stall(1_473_177_000, None)


def test_pressure_of_one_resource_may_be_unknown() -> None:
    mounts = {"/proc/self/mounts": PROC_MOUNT}
    reader = reading({"/proc/pressure/cpu": STALL, "/proc/pressure/memory": "rubbish"} | mounts)
    assert read_pressure(reader) == Pressure(Stall(1_473_177_000, 7_000), None, None)
    assert sorted(reader.reason_by_path) == ["/proc/pressure/io", "/proc/pressure/memory"]


def test_kernel_without_pressure_has_one_reason() -> None:
    reader = reading({})
    assert read_pressure(reader) == Pressure(None, None, None)
    assert reader.reason_by_path == {"/proc/pressure": "no such file"}


def test_load_includes_the_number_of_runnable_threads() -> None:
    assert parse_load_average("0.52 10.58 0.09 3/1182 28916\n") == LoadAverage(0.52, 10.58, 0.09, 3)


def test_load_from_lxcfs_is_unknown() -> None:
    mounts = "lxcfs /proc/loadavg fuse.lxcfs rw 0 0\n"
    assert read_load_average(reading({"/proc/loadavg": "0 0 0 1/2 3\n", "/proc/self/mounts": mounts})) is None
