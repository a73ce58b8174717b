"""One repetition of a command, and all observations of the machine during the repetition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.trace.runs import TraceWindow
    from noisewatch.model.interval.clock_shift import ClockShift
    from noisewatch.model.interval.interval import Interval
    from noisewatch.model.run.books import Books


class CommandUse(Struct, frozen=True):
    """The kernel's counts for one command that has ended, with its descendants that were waited for.

    `left_ns` is the CPU time of processes that it has left running. `unsure_ns`, in none of the other times, is of
    orphans that this command or an earlier one may have started.

    `stopped_ns`: a signal had stopped the command, or its descendants, by the trace or by the looks at its threads.
    `waited_ns`: its first thread was ready to run and had to wait for a CPU (/proc/PID/schedstat); None is unknown.
    `ran_alone`: none of its other threads or processes had a notable part of its CPU time.
    """

    user_ns: int
    system_ns: int
    waited_ns: int | None
    ran_alone: bool
    stopped_ns: int
    minor_faults: int  # first touches of pages
    major_faults: int
    blocks_in: int  # reads from disk, mostly in units of 512 bytes
    blocks_out: int
    switches: int
    preemptions: int  # involuntary switches
    most_resident_bytes: int | None
    left_ns: int = 0
    unsure_ns: int = 0

    @property
    def cpu_ns(self) -> int:
        return self.user_ns + self.system_ns + self.left_ns

    @property
    def did_disk_io(self) -> bool:
        return self.blocks_in > 0 or self.blocks_out > 0


class Repetition(Struct, frozen=True, kw_only=True):
    """One run of a command. Times are on CLOCK_MONOTONIC, in ns; `began_wall_ns` is since 1970 in UTC.

    `span` is from the counters just before it to those just after. `windows` are the intervals between looks at all
    threads that overlap it, in order: several in a long repetition, one around many short ones. `status` is the exit
    status, negative for the signal that ended it. `trace` is the kernel's trace of it, or why there is none.
    """

    number: int  # from 1 on
    command: int  # 0, or 1 for the other one of two
    began_ns: int
    ended_ns: int
    began_wall_ns: int
    status: int
    use: CommandUse
    shift: ClockShift
    span: Interval
    books: Books
    own_cpu_ns: int  # CPU time of noisewatch itself, from the counters before to those after
    windows: tuple[Interval, ...]
    allowed: CpuSet | None  # allowed CPUs of the command's first thread at the end; None is unknown
    name_by_left_pid: Mapping[int, str | None] | None = None  # processes left running; None is unknown
    held_up_ns: int = 0  # how late noisewatch was woken although its CPU was free
    seen_late_ns: int | None = 0  # the maximum delay in noticing its end; None is unknown
    thread_waits: tuple[tuple[int, int], ...] = ()  # by the looks: how long each thread ran, and waited for a CPU
    earlier_pids: frozenset[int] = frozenset()  # of processes that earlier repetitions have left: they disturb this one
    trace: TraceWindow | str = NOT_TRACED
    freezing: Freezing = NOT_FROZEN
    quota: Freezing = NOT_FROZEN  # of groups that the command is in, and noisewatch is not
    served: str | None = None  # type of its files' file system, if a server may serve it
    is_cut_short: bool = False  # the series was asked to end during it

    @property
    def is_measurement(self) -> bool:
        """Whether its time is a measurement: it succeeded, and was not cut short."""
        return self.status == 0 and not self.is_cut_short

    @property
    def length_ns(self) -> int:
        return self.ended_ns - self.began_ns

    @property
    def seconds(self) -> float:
        return self.length_ns / 1e9

    @property
    def target(self) -> CpuSet:
        """The target CPUs at its start: CPUs may go offline later."""
        return self.span.before.target.cpus

    def share_of(self, ns: float) -> float:
        """Return `ns` as a share of its length, at most 1."""
        return min(ns / max(self.length_ns, 1), 1.0)

    def within(self, window: Interval) -> int:
        """Return the time (ns) of the window within the repetition."""
        begin, end = window.before.taken_at_ns, window.after.taken_at_ns
        return max(min(end, self.ended_ns) - max(begin, self.began_ns), 0)

    def outside(self, window: Interval) -> int:
        """Return the time (ns) of the window outside of the repetition."""
        return window.length_ns - self.within(window)

    @property
    def slack_ns(self) -> int:
        """The time (ns) that `span` covers beyond the repetition: noise in it did not disturb the command."""
        return max(self.span.length_ns - self.length_ns, 0)
