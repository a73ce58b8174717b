"""One repetition in the receipt of `noisewatch run`: its times, its verdict, and how it ended."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.counters import CountersPart
from noisewatch.documents.document import Amount, Count, Cpus, DocumentPart
from noisewatch.documents.energy import EnergyPart
from noisewatch.documents.layout import LayoutPart
from noisewatch.documents.machine import ProcessPart
from noisewatch.documents.placement import PlacementPart
from noisewatch.judgement.run.reasons import RunOutcome

CommandName = Literal["a", "b"]
_FromOne = Annotated[int, Meta(ge=1)]
_Utc = Annotated[str, Meta(extra_json_schema={"pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z$"})]


class EndPart(DocumentPart, frozen=True, kw_only=True, tag_field="by"):
    """How a command or a series ended."""


class ByExitPart(EndPart, frozen=True, kw_only=True, tag="exit"):
    """A command that exited with a status."""

    status: Annotated[int, Meta(ge=0, le=255)]


class BySignalPart(EndPart, frozen=True, kw_only=True, tag="signal"):
    """A command or a series that a signal ended."""

    number: _FromOne
    name: str


class ReasonPart(DocumentPart, frozen=True, kw_only=True):
    """A disturbance of a repetition.

    kind: For example foreign, sibling, interruptions, steal, throttled or left-target; more may be added.
    noise: The kind of the source of noise, such as irq or thread; null if there is none.
    ns: The time taken; for left-target, the CPU time that the command used on CPUs that are not target CPUs.
    share: `ns` as a share of the repetition's length; for left-target, of the command's CPU time.
    begin_ns: The start of the disturbance, counted from the start of the repetition.
    end_ns: The end of the disturbance, counted from the start of the repetition.
    cpus: For left-target, the CPUs on which the command ran, as far as they are known.
    process: Missing if the source is not a process, or if the process was not read, for example because it had ended.
    """

    kind: str
    name: str
    noise: str | None
    cpu: Count | None
    pid: Count | None
    irq: Count | None
    ns: Count | None
    share: Amount | None
    begin_ns: int | None
    end_ns: int | None
    is_estimate: bool
    cpus: Cpus | UnsetType = UNSET
    process: ProcessPart | UnsetType = UNSET


class AllowancePart(DocumentPart, frozen=True, kw_only=True):
    """The largest share of a repetition that noise may take.

    is_measured: Whether the opening calibration determined the share; otherwise it is the default.
    """

    share: Amount
    is_measured: bool


class UsagePart(DocumentPart, frozen=True, kw_only=True):
    """The kernel's resource counts for the command and its descendants that were waited for."""

    minor_faults: Count
    major_faults: Count
    blocks_in: Count
    blocks_out: Count
    voluntary_switches: Count
    involuntary_switches: Count
    max_resident_bytes: Count | None


class ClockPart(DocumentPart, frozen=True, kw_only=True):
    """The shifts between the kernel's clocks during a repetition.

    stepped_ns: How far the system time moved against CLOCK_MONOTONIC, also because the machine was suspended.
    suspended_ns: How far CLOCK_BOOTTIME moved against CLOCK_MONOTONIC, which stops while the machine is suspended.
    """

    stepped_ns: int
    suspended_ns: int


class BooksPart(DocumentPart, frozen=True, kw_only=True):
    """The CPU time of the command, and of other tasks on the target CPUs, in a repetition.

    own_ns: The CPU time of the command.
    tasks_ns: The CPU time of all tasks on all target CPUs together.
    foreign_ns: The CPU time of other tasks on all target CPUs together.
    doubt_ns: The largest possible error of `foreign_ns`.
    is_exact: Whether the kernel counts CPU time in ns; otherwise in ticks.
    reason: Why a value is null.
    """

    own_ns: Count
    tasks_ns: Count | None
    foreign_ns: Count | None
    doubt_ns: Count
    is_exact: bool
    reason: str | None


class RepetitionPart(DocumentPart, frozen=True, kw_only=True):
    """One repetition. Start and end are given in ns of CLOCK_MONOTONIC and in UTC.

    kind: "warm-up" for a repetition that the statistics and `counts` leave out.
    number: Warm-ups have numbers of their own.
    is_cut_short: Whether the series was asked to end during this repetition, which the statistics then leave out.
    reasons: The costliest first.
    own: Effects of the command itself, which do not affect the verdict.
    unknowns: What could not be observed, and why.
    not_watched: Further disturbances that the verdict does not cover, in addition to the header's `not_watched`.
    waited_ns: How long the command's first thread was ready and waited for a CPU.
    stopped_ns: How long a signal had stopped the command or its descendants.
    frozen_ns: How long the command's control groups were frozen: the kernel's count (Linux 6.18), otherwise the time
        between writes to a group's file, or an estimate from looks at the group.
    held_ns: How long a thread was ready to run while the CPU that it had left was idle, usually because of a quota.
        Only from a trace.
    blocked_ns: How long no thread ran or was ready, and at least one waited in the kernel (state D) or for a debugger.
        Only from a trace.
    attributed_by: The source that shows which other tasks used the target CPUs.
    no_trace_reason: Why the source is not a trace; "none" if it is one.
    no_counters_reason: Why hardware events were not counted, or counted for too little of the time; "none" if they were
        counted.
    energy: Only with --energy.
    layout: null without --vary layout.
    own_cpu_ns: CPU time of noisewatch itself between the counters before and after the repetition.
    left_processes: The pids of processes that the command started and left running.
    left_names: The names of `left_processes`, in the same order; null if not observed.
    """

    kind: Literal["repetition", "warm-up"]
    number: _FromOne
    command: CommandName
    began_ns: Count
    ended_ns: Count
    began_utc: _Utc
    ended_utc: _Utc
    wall_ns: Count
    user_ns: Count
    system_ns: Count
    ended: ByExitPart | BySignalPart
    is_cut_short: bool | UnsetType = UNSET
    verdict: RunOutcome
    reasons: list[ReasonPart]
    own: list[ReasonPart]
    unknowns: list[str]
    not_watched: list[str] | UnsetType = UNSET
    allowance: AllowancePart
    waited_ns: Count | None
    stopped_ns: Count
    frozen_ns: Count | None = None
    held_ns: Count | None = None
    blocked_ns: Count | None = None
    rusage: UsagePart
    clock: ClockPart
    books: BooksPart
    counters: CountersPart | UnsetType | None = UNSET
    no_counters_reason: str | UnsetType = UNSET
    energy: EnergyPart | UnsetType = UNSET
    layout: LayoutPart | UnsetType | None = UNSET
    placement: PlacementPart
    attributed_by: Literal["trace", "counters"]
    no_trace_reason: str
    own_cpu_ns: Count | UnsetType = UNSET
    left_processes: list[Count] | None
    left_names: list[str | None] | UnsetType = UNSET
