"""Reads counters of the calling thread in some microseconds, between two measurements.

It imports very little because it runs in the benchmark's own process.
"""

from __future__ import annotations

import os
import resource
import time
from typing import NamedTuple

_SCHEDSTAT = "/proc/thread-self/schedstat"  # Linux 3.17
_CPU_FILES = ("/proc/stat", "/proc/interrupts")
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_LONGEST = 100  # bytes: three counts


class ThreadReading(NamedTuple):
    """Counters at one time: the CPU time of this thread (`ran_ns`), of its process, and of reaped children."""

    at_ns: int  # CLOCK_MONOTONIC
    ran_ns: int
    process_ns: int
    usage: resource.struct_rusage
    children_s: float
    schedstat: bytes | None


class OwnThread:
    """The counters of the thread that created the object. The file stays open as long as the object."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = None

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)

    def read_before(self) -> ThreadReading:
        """Read the counters right before a measurement: the clock comes last."""
        schedstat, children_s, usage = self._slow_parts()
        process_ns, ran_ns = time.process_time_ns(), time.thread_time_ns()
        return ThreadReading(time.monotonic_ns(), ran_ns, process_ns, usage, children_s, schedstat)

    def read_after(self) -> ThreadReading:
        """Read the counters right after a measurement: the clock comes first."""
        at_ns = time.monotonic_ns()
        ran_ns, process_ns = time.thread_time_ns(), time.process_time_ns()
        schedstat, children_s, usage = self._slow_parts()
        return ThreadReading(at_ns, ran_ns, process_ns, usage, children_s, schedstat)

    def _slow_parts(self) -> tuple[bytes | None, float, resource.struct_rusage]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        return self._schedstat(), children.ru_utime + children.ru_stime, usage

    def _schedstat(self) -> bytes | None:
        if self._file is None:
            return None
        try:
            return os.pread(self._file, _LONGEST, 0)
        except OSError:
            return None


class CpuReading(NamedTuple):
    """The raw texts of the per-CPU counter files; None if unreadable."""

    at_ns: int
    stat: bytes | None
    interrupts: bytes | None


def read_cpu_files() -> CpuReading:
    """Read the counters of all CPUs: some 10 µs on two CPUs, milliseconds on hundreds."""
    stat, interrupts = (_bytes_of(path) for path in _CPU_FILES)
    return CpuReading(time.monotonic_ns(), stat, interrupts)


def read_siblings(cpu: int) -> bytes | None:
    """Return the list of hardware threads of the CPU's core."""
    return _bytes_of(_SIBLINGS.format(cpu))


def _bytes_of(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return None
