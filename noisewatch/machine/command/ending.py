"""Describes how a command ended and which resources it used, and ends this process in the same way.

Resources are counted as in getrusage(2).
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from typing import NoReturn, Self

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.machine.command import load_launching


class ResourceUsage(Struct, frozen=True):
    """Resources used by processes, and by the descendants that they waited for. Times are exact to 1 µs."""

    user_ns: int = 0
    system_ns: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    blocks_in: int = 0  # of 512 bytes
    blocks_out: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    @classmethod
    def of(cls, used: resource.struct_rusage) -> Self:
        """Return the usage from wait4's struct_rusage."""
        return cls(
            round(used.ru_utime * 1e6) * 1000,
            round(used.ru_stime * 1e6) * 1000,
            used.ru_minflt,
            used.ru_majflt,
            used.ru_inblock,
            used.ru_oublock,
            used.ru_nvcsw,
            used.ru_nivcsw,
        )

    @property
    def cpu_ns(self) -> int:
        """User and system time."""
        return self.user_ns + self.system_ns

    def plus(self, other: ResourceUsage) -> ResourceUsage:
        """Return the sum of both usages."""
        return self._combine(other, 1)

    def less(self, other: ResourceUsage) -> ResourceUsage:
        """Return the usage less `other`, an earlier reading of the same processes."""
        return self._combine(other, -1)

    def _combine(self, other: ResourceUsage, sign: int) -> ResourceUsage:
        return ResourceUsage(*(getattr(self, name) + sign * getattr(other, name) for name in _FIELDS))


_FIELDS = tuple(ResourceUsage.__annotations__)


_PR_SET_DUMPABLE = 4
_BY_SIGNAL = 128  # what a shell adds to the signal's number


class AffinitySpan(Struct):
    """Consecutive polls of a command's first thread with the same allowed CPUs.

    The texts are the thread's /proc/PID/schedstat at the first and the last of these polls.
    """

    allowed: CpuSet
    first_scheduling: str
    last_scheduling: str


class EndedCommand(Struct, frozen=True, kw_only=True):
    """How a command ended, and the resources used by it and by the descendants that it waited for.

    Exactly one of `exit_status` and `signal_number` is set. `max_rss_bytes` is None if no process of the command grew
    larger than noisewatch, because the kernel counts noisewatch's size for the child. `left_pids` are the command's
    living descendants; `adopted_usage` is the usage of descendants that ended before the command without being waited
    for. Both are None if the kernel does not list children. `may_be_others`: both may include children of processes
    older than the command, which are adopted in the same way. `stopped_ns` is as exact as the caller's polling.
    """

    exit_status: int | None
    signal_number: int | None
    has_dumped_core: bool
    ended_ns: int  # CLOCK_MONOTONIC
    usage: ResourceUsage
    max_rss_bytes: int | None
    stop_count: int
    stopped_ns: int
    left_pids: frozenset[int] | None
    may_be_others: bool
    adopted_usage: ResourceUsage | None
    allowed: CpuSet | None  # allowed CPUs of its first thread at the end; None means unknown
    scheduling: str  # its first thread's /proc/PID/schedstat at the end; empty if missing
    affinities: tuple[AffinitySpan, ...] = ()  # of its first thread, in order

    @property
    def shell_status(self) -> int:
        """The exit status, or 128 plus the signal, as a shell reports it."""
        return self.exit_status if self.exit_status is not None else _BY_SIGNAL + (self.signal_number or 0)


def end_as(outcome: EndedCommand) -> NoReturn:
    """End this process with the command's exit status, or by the same signal; no code after the call runs.

    An exit status raises SystemExit. A signal is final: restore and flush everything before the call. No second core
    dump is written.
    """
    number = outcome.signal_number
    if number is None:
        sys.exit(outcome.exit_status)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or a pipe without a reader
            stream.flush()
    load_launching().prctl(_PR_SET_DUMPABLE, 0)
    with suppress(OSError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(_BY_SIGNAL + number)  # the first process of a container survives the signal
