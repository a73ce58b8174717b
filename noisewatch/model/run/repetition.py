"""One repetition of a command, with all observations of the machine during it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.machine.command.counting import UNCOUNTED, CommandCounts
from noisewatch.model.run.energy import UNMEASURED, RunEnergy
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing
from noisewatch.model.run.leaving import NEVER_OUTSIDE, TimeOutside

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.tasks.identity import ProcessIdentity
    from noisewatch.kernel.trace.runs import TraceWindow
    from noisewatch.model.interval.clock_shift import ClockShift
    from noisewatch.model.interval.interval import Interval
    from noisewatch.model.run.books import Books
    from noisewatch.model.run.layout import Layout


class CommandUse(Struct, frozen=True):
    """The kernel's counts for a command that has ended, and for its descendants that were waited for.

    `left_ns` is the CPU time of processes that it has left running. `unsure_ns` is the time of orphans that this
    command or an earlier one may have started; no other time includes it.

    `stopped_ns` is the time for which a signal had stopped the command or its descendants, by the trace or by looks at
    its threads. `waited_ns` is the time for which its first thread was ready but waited for a CPU
    (/proc/PID/schedstat); None means unknown. `ran_alone` is whether the first thread used nearly all of the CPU time.
    """

    user_ns: int
    system_ns: int
    waited_ns: int | None
    ran_alone: bool
    stopped_ns: int
    minor_faults: int  # first accesses to pages
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

    `span` is the interval from the counters just before the run to those just after it. A look is a snapshot with all
    threads; `windows` are the intervals between looks that overlap the run, in order: several for a long repetition,
    one common interval for many short ones. `status` is the exit status, or negative for the signal that ended the
    command. `trace` is the kernel's trace of it, or the reason why there is none.
    """

    number: int  # from 1 on
    command: int  # 0, or 1 for the second of two commands
    began_ns: int
    ended_ns: int
    began_wall_ns: int
    status: int
    use: CommandUse
    shift: ClockShift
    span: Interval
    books: Books
    own_cpu_ns: int  # CPU time of noisewatch itself within `span`
    windows: tuple[Interval, ...]
    allowed: CpuSet | None  # allowed CPUs of the command's first thread at the end; None means unknown
    first_outside: TimeOutside = NEVER_OUTSIDE  # of the first thread, by its affinity
    name_by_left_pid: Mapping[int, str | None] | None = None  # processes left running; None means unknown
    held_up_ns: int = 0  # how late the kernel woke noisewatch, less waits for a CPU if the kernel counts these
    seen_late_ns: int | None = 0  # the maximum delay in noticing the command's end; None means unknown
    thread_waits: tuple[tuple[int, int], ...] = ()  # each thread's run time and wait for a CPU, in the looks
    earlier_pids: frozenset[int] = frozenset()  # processes that earlier repetitions left running
    trace: TraceWindow | str = NOT_TRACED
    counts: CommandCounts = UNCOUNTED
    energy: RunEnergy = UNMEASURED
    layout: Layout | None = None  # if the series varies it
    freezing: Freezing = NOT_FROZEN
    quota: Freezing = NOT_FROZEN  # stops of groups that contain the command, but not noisewatch
    served: str | None = None  # file system type of the command's files, if it may be on a server
    no_looks_reason: str | None = None  # why noisewatch took no looks during the repetition
    is_cut_short: bool = False  # the series was aborted during this repetition
    is_warm_up: bool = False  # warm-ups have numbers of their own

    @property
    def name(self) -> str:
        """The repetition's name in reports: `run 3`, or `warm-up 1`."""
        return f"{'warm-up' if self.is_warm_up else 'run'} {self.number}"

    @property
    def is_measurement(self) -> bool:
        """Whether the repetition's time counts: it is not a warm-up, it succeeded, and it was not cut short."""
        return self.status == 0 and not self.is_cut_short and not self.is_warm_up

    @property
    def length_ns(self) -> int:
        return self.ended_ns - self.began_ns

    @property
    def seconds(self) -> float:
        return self.length_ns / 1e9

    @property
    def target(self) -> CpuSet:
        """The target CPUs at the start, because CPUs may go offline later."""
        return self.span.before.target.cpus

    def share_of(self, ns: float) -> float:
        """Return `ns` as a share of the repetition's length, at most 1."""
        return min(ns / max(self.length_ns, 1), 1.0)

    def within(self, window: Interval) -> int:
        """Return how much of the window (ns) is within the repetition."""
        begin, end = window.before.taken_at_ns, window.after.taken_at_ns
        return max(min(end, self.ended_ns) - max(begin, self.began_ns), 0)

    def outside(self, window: Interval) -> int:
        """Return how much of the window (ns) is outside of the repetition."""
        return window.length_ns - self.within(window)

    def identity_of(self, pid: int | None, begin_ns: int, end_ns: int) -> ProcessIdentity | None:
        """Return the identity of the process that ran in this time, or None if it is unknown or ambiguous."""
        identities = {
            window.identities[pid]
            for window in self.windows
            if pid is not None
            and pid in window.identities
            and window.before.taken_at_ns <= end_ns
            and window.after.taken_at_ns >= begin_ns
        }
        return identities.pop() if len(identities) == 1 else None

    @property
    def slack_ns(self) -> int:
        """The part of `span` (ns) outside of the repetition, in which noise did not disturb the command."""
        return max(self.span.length_ns - self.length_ns, 0)
