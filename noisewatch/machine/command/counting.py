"""Counts a command's instructions, cycles and cache misses by perf_event_open(2).

The counters are opened, disabled, on the thread that starts the command. The command inherits them at its fork, and the
kernel enables them at its execve. So nothing before the execve is counted, but the command's descendants are.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from contextlib import ExitStack, suppress
from enum import StrEnum
from types import TracebackType
from typing import Self

from msgspec import Struct

from noisewatch.errors import system_reason

_OPEN = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}  # perf_event_open, by machine
_HARDWARE, _SOFTWARE = 0, 1  # enum perf_type_id
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _ENABLE_ON_EXEC = 1, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_USER_ONLY = _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
_CLOSE_ON_EXEC = 1 << 3  # PERF_FLAG_FD_CLOEXEC
_ATTRIBUTES = struct.Struct("=IIQQQQQ")  # type, size, config, sample period, sample type, read format, flags
_SIZE = 64  # PERF_ATTR_SIZE_VER0
_COUNT = struct.Struct("=QQQ")  # value, time enabled and time running in ns

NOT_COUNTED = "not requested"


class Event(StrEnum):
    """An event that the kernel counts for a command."""

    CYCLES = "cycles"
    INSTRUCTIONS = "instructions"
    USER_INSTRUCTIONS = "user_instructions"  # does not vary with interrupts
    CACHE_MISSES = "cache_misses"  # of the last level
    BRANCH_MISSES = "branch_misses"
    CPU_TIME = "cpu_time_ns"
    MIGRATIONS = "migrations"


# Type, config (enum perf_hw_id, perf_sw_ids) and whether kernel code is never counted. Only five hardware counters, so
# that no common CPU has to multiplex them.
_EVENTS = {
    Event.CYCLES: (_HARDWARE, 0, False),
    Event.INSTRUCTIONS: (_HARDWARE, 1, False),
    Event.USER_INSTRUCTIONS: (_HARDWARE, 1, True),
    Event.CACHE_MISSES: (_HARDWARE, 3, False),
    Event.BRANCH_MISSES: (_HARDWARE, 5, False),
    Event.CPU_TIME: (_SOFTWARE, 1, False),
    Event.MIGRATIONS: (_SOFTWARE, 4, False),
}
_NEEDS_KERNEL = {Event.MIGRATIONS}  # an event of the kernel: without kernel code its count is always 0


class EventCount(Struct, frozen=True):
    """An event's count, scaled to the whole time; `counted_share` is the share of time in which it was counted."""

    value: int
    counted_share: float


class CommandCounts(Struct, frozen=True):
    """The counts of a command and its descendants. `unknown` is why hardware events are missing or inexact, or None.

    With `is_user_only`, kernel code is not counted.
    """

    counts: dict[Event, EventCount]
    is_user_only: bool
    unknown: str | None

    def value(self, event: Event) -> int | None:
        """Return the event's count, or None if it was not counted."""
        count = self.counts.get(event)
        return None if count is None else count.value


UNCOUNTED = CommandCounts({}, is_user_only=False, unknown=NOT_COUNTED)


class CommandCounter:
    """A context manager that counts the commands started in it, one after the other, by this thread.

    While it is open, it keeps one counter of each kind, because the first one reserves the CPU's counters and may
    interrupt all CPUs. `unknown` is the reason why there are no hardware counters, or None.
    """

    def __init__(self, is_requested: bool = True) -> None:
        self.unknown: str | None = None if is_requested else NOT_COUNTED
        self._events: dict[Event, int] = {}  # flags of the events that can be opened
        self._is_requested = is_requested
        self._kept = ExitStack()
        self._open: dict[Event, int] = {}
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def __enter__(self) -> Self:
        if self._is_requested:
            for event in Event:
                self._try(event)
        if self.unknown is not None:
            self._events.clear()  # the software events alone explain nothing, but would slow down forks
            self._kept.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._kept.close()

    def _try(self, event: Event) -> None:
        """Find the flags with which the event can be opened. The disabled counter that this opens is kept open."""
        _, _, is_user_only = _EVENTS[event]
        failure: OSError | None = None
        for flags in (_USER_ONLY,) if is_user_only else (0, _USER_ONLY):
            try:
                self._kept.callback(os.close, self._open_event(event, flags | _DISABLED))
            except OSError as error:
                failure = error
                if error.errno not in (errno.EACCES, errno.EPERM):
                    break
            else:
                if not (flags and event in _NEEDS_KERNEL):
                    self._events[event] = flags
                return
        if failure is not None and event in _REQUIRED and self.unknown is None:
            self.unknown = _reason(failure)

    def begin(self) -> None:
        """Open the counters, right before the command is started."""
        for event, flags in self._events.items():
            with suppress(OSError):  # for example too many open files
                self._open[event] = self._open_event(event, flags | _DISABLED | _INHERIT | _ENABLE_ON_EXEC)

    def end(self) -> CommandCounts:
        """Return the counts of the command that has ended, including its descendants, even if these still run."""
        counts = {event: count for event, file in self._open.items() if (count := _read(file)) is not None}
        self._close()
        unknown = self.unknown
        if unknown is None and not counts.keys() >= _REQUIRED:
            unknown = _NOTHING_COUNTED
        shares = [count.counted_share for event, count in counts.items() if event in _REQUIRED]
        if unknown is None and min(shares) < _LEAST_SHARE:
            unknown = _PARTLY_COUNTED.format(min(shares))
        is_user_only = self._events.get(Event.CYCLES, 0) == _USER_ONLY
        return CommandCounts(counts, is_user_only, unknown)

    def _close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def _open_event(self, event: Event, flags: int) -> int:
        """Return the descriptor of a counter of this thread, on all CPUs. Raise OSError."""
        number = _OPEN.get(platform.machine())
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        kind, config, _ = _EVENTS[event]
        attributes = _ATTRIBUTES.pack(kind, _SIZE, config, 0, 0, _TIMES, flags).ljust(_SIZE, b"\0")
        descriptor = self._call(number, attributes, 0, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
        if descriptor < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return int(descriptor)


_REQUIRED = {Event.CYCLES, Event.INSTRUCTIONS}
_LEAST_SHARE = 0.9  # of the time; a larger extrapolation would be a guess
_PARTLY_COUNTED = (
    "hardware events were counted for only {:.0%} of the time: the kind of core changed, or others use the counters"
)
_NOTHING_COUNTED = "the kernel stopped counting, as it does when a command becomes another user (setuid)"
_REASONS = {
    errno.ENOENT: "this machine has no hardware counters (PMU), like most virtual machines",
    errno.EACCES: "kernel.perf_event_paranoid forbids counting (2 or less allows it)",
    errno.EPERM: "a seccomp filter or security module forbids perf_event_open, as in Docker containers",
    errno.ENOSYS: "perf_event_open is not available",
}
_REASONS |= dict.fromkeys((errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO), _REASONS[errno.ENOENT])


def _reason(error: OSError) -> str:
    return _REASONS.get(error.errno or 0) or system_reason(error)


def _read(file: int) -> EventCount | None:
    """Return the count of an event, or None if it was never counted or cannot be read."""
    try:
        value, enabled_ns, running_ns = _COUNT.unpack(os.read(file, _COUNT.size))
    except (OSError, struct.error):
        return None
    if not running_ns:
        return None
    return EventCount(round(value * enabled_ns / running_ns), running_ns / enabled_ns)
