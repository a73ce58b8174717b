"""One repetition of a command, and all that was seen of the machine meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.trace.window import TraceWindow
    from noisewatch.model.interval.clock_shift import ClockShift
    from noisewatch.model.interval.interval import Interval
    from noisewatch.model.run.books import Books


@dataclass(frozen=True, slots=True)
class CommandUse:
    """What the kernel says of one command that has ended: it, and its descendants that were waited for.

    `left_ns` is the CPU time that those had which it has left running. `unsure_ns` is in none of the others: what
    orphans had that it may have started, or another that lived before it.

    `stopped_ns`: a signal had stopped it, or what it has started, which the trace or the looks at its threads tell.

    `waited_ns`: its first thread was ready to run and had to wait for a CPU (/proc/PID/schedstat); None is unknown.
    `ran_alone`: no other thread or process of it had a part worth mentioning in its CPU time.
    """

    user_ns: int
    system_ns: int
    waited_ns: int | None
    ran_alone: bool
    stopped_ns: int
    minor_faults: int  # pages that it touched first
    major_faults: int
    blocks_in: int  # reads from disk, as often as not in units of 512 bytes
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """Times are on CLOCK_MONOTONIC, in ns; `began_wall_ns` is since 1970 in UTC.

    `span` is from the counters just before it to those just after. `windows` are the intervals between looks at all
    threads that overlap it, in order: several within a long one, one around many short ones. `status` is the exit
    status, negative for the signal that ended it. `trace` is what the kernel's trace has told of it, in its place why
    that is not known.
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
    own_cpu_ns: int  # noisewatch itself used so much, from the counters before to those after
    windows: tuple[Interval, ...]
    allowed: CpuSet | None  # the CPUs that the command's first thread could run on in the end; None is unknown
    left_pids: frozenset[int] | None = None  # of its processes that live on; None is unknown
    held_up_ns: int = 0  # noisewatch was woken so much later than it was due, though its CPU was free
    seen_late_ns: int | None = 0  # by so much, at most, its end was seen late; None is unknown
    thread_waits: tuple[tuple[int, int], ...] = ()  # by the looks: how long each thread ran, and waited for a CPU
    earlier_pids: frozenset[int] = frozenset()  # of processes that earlier repetitions have left: they disturb this one
    trace: TraceWindow | str = NOT_TRACED
    freezing: Freezing = NOT_FROZEN
    quota: Freezing = NOT_FROZEN  # of groups that the command is in, and noisewatch is not
    is_cut_short: bool = False  # the series was asked to end meanwhile

    @property
    def is_measurement(self) -> bool:
        """Whether its time tells anything: it succeeded, and nobody cut it short."""
        return self.status == 0 and not self.is_cut_short

    @property
    def length_ns(self) -> int:
        return self.ended_ns - self.began_ns

    @property
    def seconds(self) -> float:
        return self.length_ns / 1e9

    @property
    def target(self) -> CpuSet:
        """As it was when it began: CPUs may go offline meanwhile."""
        return self.span.before.target.cpus

    def share_of(self, ns: float) -> float:
        """What part of its length that is, 1 at the most."""
        return min(ns / max(self.length_ns, 1), 1.0)

    def within(self, window: Interval) -> int:
        """How many ns of the window were in the repetition."""
        begin, end = window.before.taken_at_ns, window.after.taken_at_ns
        return max(min(end, self.ended_ns) - max(begin, self.began_ns), 0)

    def outside(self, window: Interval) -> int:
        """How many ns of the window were not in the repetition."""
        return window.length_ns - self.within(window)

    @property
    def name_by_left_pid(self) -> dict[int, str | None]:
        """Of the processes that it has left running; None where the look behind it did not see it."""
        tasks = self.windows[-1].after.tasks if self.windows else None
        found = {pid: tasks.by_tid.get(pid) if tasks is not None else None for pid in sorted(self.left_pids or ())}
        return {pid: task.name if task is not None else None for pid, task in found.items()}

    @property
    def slack_ns(self) -> int:
        """What `span` covers beside the repetition: who ran then did not disturb it."""
        return max(self.span.length_ns - self.length_ns, 0)
