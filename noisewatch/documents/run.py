"""The receipt of `noisewatch run`: with `jsonl` its header, each repetition and its footer are a line."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.calibration import Core, FloorPart, SpreadPart
from noisewatch.documents.document import Amount, Chance, Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import FactsPart, MachinePart
from noisewatch.judgement.run.placement import PlacementFault
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kinds import Tracer

CommandName = Literal["a", "b"]
Interval = tuple[float | None, float | None]
Residency = list[tuple[int | str | None, Chance]]
_FromOne = Annotated[int, Meta(ge=1)]
_Utc = Annotated[str, Meta(extra_json_schema={"pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z$"})]


class _EndPart(DocumentPart, frozen=True, kw_only=True, tag_field="by"):
    """How a command or a series ended."""


class ByExitPart(_EndPart, frozen=True, kw_only=True, tag="exit"):
    """A command that ended with a status."""

    status: Annotated[int, Meta(ge=0, le=255)]


class BySignalPart(_EndPart, frozen=True, kw_only=True, tag="signal"):
    """A command or a series that a signal ended."""

    number: _FromOne
    name: str


class DonePart(_EndPart, frozen=True, kw_only=True, tag="done"):
    """A series that ran to its end."""


class ByFailurePart(_EndPart, frozen=True, kw_only=True, tag="failure"):
    """A series that ended with a repetition that failed."""

    repetition: _FromOne


class RunCgroupPart(DocumentPart, frozen=True, kw_only=True):
    """The limits of the control group that noisewatch and its children run in.

    folder: With --identify only.
    """

    version: Literal[1, 2] | None
    cpu_quota_share: Amount | Literal["none"] | None
    throttled_periods: Count | None
    folder: str | UnsetType | None = UNSET


class AttributionPart(DocumentPart, frozen=True, kw_only=True):
    """The sources that show who had the target CPUs.

    counters: By which counters of the target CPUs the books are kept; ticks are the least exact.
    not_watched: What nothing on this machine shows while a command runs; no verdict covers it.
    trace: The kernel's trace, as it began.
    no_trace_reason: Why there is none; "none" where there is one.
    """

    counters: Literal["schedstat", "cpuacct", "ticks"]
    not_watched: list[str]
    trace: Tracer
    no_trace_reason: str
    is_root: bool


class OwnCostPart(DocumentPart, frozen=True, kw_only=True):
    """The cost of noisewatch's own process; the loops of a calibration run in others.

    cpu_s: CPU time until the first repetition.
    cpus: Where it stays from then on: housekeeping CPUs, if there are any.
    """

    cpu_s: Amount
    cpus: Cpus


class CommandPart(DocumentPart, frozen=True, kw_only=True):
    """A command.

    program: Its base name.
    argv: With --identify only.
    """

    command: CommandName
    program: str
    argv: list[str] | UnsetType = UNSET


class RunOptionsPart(DocumentPart, frozen=True, kw_only=True):
    """The options of the run.

    runs: Of each command.
    spread: Busy threads were to get a target CPU each.
    tracer: `attribution` has the one that there was.
    """

    runs: _FromOne
    retry: Count
    against: bool
    aa: bool
    wait_s: Amount
    membind: str
    spread: bool | UnsetType = UNSET
    as_user: bool | UnsetType = UNSET
    min_undisturbed: Amount
    show_output: bool | UnsetType = UNSET
    ignore_failure: bool | UnsetType = UNSET
    calibration_s: Amount
    tracer: Tracer | UnsetType = UNSET


class RunCpuPart(DocumentPart, frozen=True, kw_only=True):
    """The figures of one CPU, as in the document of `calibrate`.

    trouble: Why it was not measured to the end; "none" where it was.
    """

    cpu: Count
    trouble: str
    gaps_per_s: Amount | None = None
    gap_max_ns: Count | None = None
    stolen_share: Amount | None = None
    effective_khz: Amount | None = None
    latency_work: SpreadPart | None = None


class RunCalibrationPart(DocumentPart, frozen=True, kw_only=True):
    """The figures of a calibration that verdicts rest on: speed, and noise floors.

    core: What measured: figures of different cores cannot be compared.
    noise_floor_of_interruptions: Of interruptions alone.
    """

    seconds: Amount
    core: Core
    scheduler: Literal["other", "fifo"]
    cpus: list[RunCpuPart]
    noise_floor: list[FloorPart]
    noise_floor_of_interruptions: list[FloorPart] | None


class ReasonPart(DocumentPart, frozen=True, kw_only=True):
    """What disturbed a repetition.

    kind: Such as foreign, sibling, interruptions, steal, throttled, swapped; more may be added.
    noise: What kind of thing made it.
    share: Of the repetition's length.
    begin_ns: Since the repetition began.
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


class AllowancePart(DocumentPart, frozen=True, kw_only=True):
    """What share of a repetition noise may have had.

    is_measured: By the opening calibration.
    """

    share: Amount
    is_measured: bool


class UsagePart(DocumentPart, frozen=True, kw_only=True):
    """What the kernel counted for the command and its descendants."""

    minor_faults: Count
    major_faults: Count
    blocks_in: Count
    blocks_out: Count
    voluntary_switches: Count
    involuntary_switches: Count
    max_resident_bytes: Count | None


class ClockPart(DocumentPart, frozen=True, kw_only=True):
    """The shifts between the kernel's clocks during a repetition."""

    stepped_ns: int
    suspended_ns: int


class BooksPart(DocumentPart, frozen=True, kw_only=True):
    """The time that the command, all tasks and others had of all target CPUs together.

    reason: Why something is unknown.
    """

    own_ns: Count
    tasks_ns: Count | None
    foreign_ns: Count | None
    doubt_ns: Count
    is_exact: bool
    reason: str | None


class ThreadPart(DocumentPart, frozen=True, kw_only=True):
    """The placement of one thread.

    migrations: By the kernel's count; null where a trace has its moves.
    moves: From CPU to CPU: all that a trace saw, or at least those that two looks saw.
    """

    tid: Count
    name: str
    ran_ns: Count
    waited_ns: Count | None
    cpus: Residency | None
    cores: Residency | None
    nodes: Residency | None
    kinds: Residency | UnsetType | None = UNSET
    migrations: Count | None
    moves: Count
    node_moves: Count
    kind_moves: Count


class StackingPart(DocumentPart, frozen=True, kw_only=True):
    """Threads that shared a target CPU while another one had none of them.

    share: Of the looks.
    most_threads: That shared one CPU.
    """

    share: Chance
    most_threads: Count
    cpus: Cpus
    free_cpus: Cpus


class LeftThreadsPart(DocumentPart, frozen=True, kw_only=True):
    """Threads that were left where they were, and why."""

    reason: str
    threads: Count


class SpreadThreadsPart(DocumentPart, frozen=True, kw_only=True):
    """What --spread did.

    pinned: How often a thread was pinned to a CPU of its own.
    """

    pinned: Count
    left: list[LeftThreadsPart]


class MemoryElsewherePart(DocumentPart, frozen=True, kw_only=True):
    """The command's memory that came from other nodes than those of the target CPUs.

    reason: Why it is unknown.
    is_bound: It may be less, as others got memory meanwhile.
    """

    share: Chance | None
    bytes: Count | None
    reason: str | UnsetType = UNSET
    is_bound: bool | UnsetType = UNSET


class PlacementPart(DocumentPart, frozen=True, kw_only=True):
    """The placement of the command's threads, by the trace of all switches between threads, or by looks at them some
    ten times a second.

    Shares are of the run time that was seen, in pairs of a place and its share, the largest first; a place that is null
    is not known which. null was not seen, and reason says why.

    source: A trace is exact.
    seen_share: Of its CPU time, what was seen.
    cores: By the first CPU of each.
    kinds: Only where cores are of several kinds.
    threads: Those that ran most, as far as they matter.
    threads_left_out: How many others were seen.
    spread: "none" where it was not asked for.
    reason: Why something is unknown.
    """

    source: Literal["trace", "looks"] | UnsetType = UNSET
    looks: Count
    seen_share: Chance | None
    cpus: Residency | None
    cores: Residency | None
    nodes: Residency | None
    kinds: Residency | UnsetType | None = UNSET
    threads: list[ThreadPart] | None
    threads_left_out: Count | UnsetType = UNSET
    stacking: StackingPart | Literal["none"] | None
    spread: SpreadThreadsPart | UnsetType | Literal["none"] = UNSET
    memory_elsewhere: MemoryElsewherePart
    reason: str | None


class RepetitionPart(DocumentPart, frozen=True, kw_only=True):
    """One repetition. Beginnings and ends are ns of CLOCK_MONOTONIC, and UTC.

    is_cut_short: The series was asked to end meanwhile: it counts in no statistics.
    reasons: The costliest first.
    own: What the command brought about itself; it decides nothing.
    unknowns: What could not be watched, and why.
    not_watched: What the verdict does not cover, beside what nothing on this machine shows.
    waited_ns: Its first thread was ready, and waited for a CPU.
    stopped_ns: By a signal.
    frozen_ns: With its control group: as the kernel counts it (Linux 6.18), else from one write to the group's file to
        the next.
    held_ns: A thread was ready to run, and the CPU that it had left was idle: a quota held it back, as a rule. By the
        trace.
    blocked_ns: No thread ran or was ready, and one waited in the kernel (state D) or for a debugger. By the trace.
    attributed_by: The source that shows who had the target CPUs beside the command.
    no_trace_reason: Why not by the trace; "none" where it is.
    own_cpu_ns: CPU time that noisewatch itself used, from the counters before the repetition to those after it.
    left_processes: The pids of those that it started and that live on.
    left_names: Their names, in the same order; null where a name was not seen.
    """

    kind: Literal["repetition"]
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
    placement: PlacementPart
    attributed_by: Literal["trace", "counters"]
    no_trace_reason: str
    own_cpu_ns: Count | UnsetType = UNSET
    left_processes: list[Count] | None
    left_names: list[str | None] | UnsetType = UNSET


class RunCountsPart(DocumentPart, frozen=True, kw_only=True):
    """Numbers of runs, each counted once.

    failed: Ended with a status other than 0, or by a signal: in no statistics.
    cut_short: The series was asked to end meanwhile: in no statistics.
    """

    undisturbed: Count
    disturbed: Count
    unknown: Count
    failed: Count | UnsetType = UNSET
    cut_short: Count | UnsetType = UNSET


class StatisticsPart(DocumentPart, frozen=True, kw_only=True):
    """Statistics of wall times.

    mean_interval_s: At 95%.
    doubt: Why the order of the runs mattered.
    far_runs: Positions, from 0.
    """

    count: _FromOne
    mean_s: Amount
    mean_interval_s: Interval | None
    sd_s: Amount | None
    cv: Amount | None
    cv_interval: Interval | None
    median_s: Amount
    min_s: Amount
    max_s: Amount
    is_order_tested: bool | UnsetType = UNSET
    doubt: str | None = None
    later_share: float | None = None
    far_runs: list[Count] | UnsetType = UNSET


class VariancesPart(DocumentPart, frozen=True, kw_only=True):
    """The CV between processes, and its parts."""

    explained: str
    count: Count
    cv: float | None
    cv_interval: Interval | None
    of_machine: Interval | None
    of_program: Interval | None


class PlacementAdvicePart(DocumentPart, frozen=True, kw_only=True):
    """A fault in a placement, and what would have been better.

    before: Words to put before the command.
    """

    fault: PlacementFault
    before: list[str]


class ConclusionPart(DocumentPart, frozen=True, kw_only=True):
    """The result of one command.

    all: Of the runs that neither failed nor were cut short.
    is_refused: Too few were undisturbed to speak for the command.
    placement_advice: What would have placed the threads of its longest run better.
    """

    command: CommandName
    all: StatisticsPart | None
    undisturbed: StatisticsPart | None
    counts: RunCountsPart
    is_refused: bool
    variances: VariancesPart
    placement_advice: list[PlacementAdvicePart]


class RunCulpritPart(DocumentPart, frozen=True, kw_only=True):
    """One name over the whole series.

    kind: As of a reason.
    pids: The first of them.
    ns: All that is known to be taken.
    repetitions: How many it disturbed.
    """

    kind: str
    noise: str | None
    name: str
    irq: Count | None
    pids: list[Count]
    cpus: Cpus
    ns: Count | None
    is_estimate: bool
    repetitions: _FromOne


class DifferencePart(DocumentPart, frozen=True, kw_only=True):
    """How much longer command b takes, as a share of the mean of a.

    smallest_shown: What as many pairs show in 4 of 5 cases, for the most noise that is likely (one-sided 90%).
    """

    pairs: _FromOne
    share: float
    interval: Interval | None
    smallest_shown: float | None
    second_share: float | None
    is_shown: bool | None


class SpeedChangePart(DocumentPart, frozen=True, kw_only=True):
    """How much longer the same work took at the end, on the CPU that changed most."""

    cpu: Count
    share: float
    is_too_much: bool


class MarkedRunPart(DocumentPart, frozen=True, kw_only=True):
    """A run that has values; its place in the file is as there, from 0 on. Times are those of CLOCK_MONOTONIC."""

    benchmark: Count
    run: Count
    name: str
    began_ns: Count | None
    ended_ns: Count | None
    wall_ns: Count | None
    verdict: RunOutcome
    reasons: list[ReasonPart]
    own: list[ReasonPart]
    unknowns: list[str]
    not_watched: list[str] | UnsetType = UNSET


class ResultsPart(DocumentPart, frozen=True, kw_only=True):
    """The runs in the file of --results.

    file: Its name; with --identify its path.
    """

    file: str
    counts: RunCountsPart
    runs: list[MarkedRunPart]


class FooterPart(DocumentPart, frozen=True, kw_only=True):
    """The result of a series. A receipt without it was cut short.

    culprits: Who disturbed it, by what they took from all repetitions, the costliest first.
    difference: Of the undisturbed pairs.
    is_difference_refused: Too few pairs, or runs of one of the two, were undisturbed: neither is a result. null: of one
        command.
    no_speed_change_reason: Why that of some CPU is unknown; "none" where none is, or where nothing was to be
        calibrated.
    own_cpu_s: CPU time that noisewatch itself used between the calibrations.
    results: null where no file was wanted, or it could not be read.
    """

    kind: Literal["footer"]
    ended: DonePart | ByFailurePart | BySignalPart
    counts: RunCountsPart
    commands: Annotated[list[ConclusionPart], Meta(max_length=2)]
    culprits: list[RunCulpritPart]
    culprits_left_out: Count
    difference: DifferencePart | None
    difference_of_all_pairs: DifferencePart | None
    is_difference_refused: bool | None
    closing: RunCalibrationPart | None
    speed_change: SpeedChangePart | None
    no_speed_change_reason: str | UnsetType = UNSET
    own_cpu_s: Amount
    results: ResultsPart | None


class RunDocument(DocumentPart, frozen=True, kw_only=True):
    """The first line of a receipt (`header`), or all of it in one document (`series`).

    null could not be known; what is known not to be there is "none" or an empty list. Keys carry units (ns, s, share of
    1). Keys, and values of `kind` of a reason, are only ever added.

    noisewatch: The version that measured.
    pinned_by: How the command was put on the target CPUs.
    memory_nodes: The only nodes that the command got memory of.
    seed: Of the order in which two commands take turns.
    opening: The calibration before the first repetition.
    """

    schema: SchemaNumber
    kind: Literal["header", "series"]
    noisewatch: str
    machine: MachinePart
    facts: FactsPart | None = None
    target: Cpus
    target_chosen_by: str
    pinned_by: str
    memory_nodes: list[Count] | Literal["any"]
    cgroup: RunCgroupPart
    attribution: AttributionPart
    own_cost: OwnCostPart | UnsetType = UNSET
    commands: Annotated[list[CommandPart], Meta(min_length=1, max_length=2)]
    options: RunOptionsPart
    seed: Count
    opening: RunCalibrationPart | None
    repetitions: list[RepetitionPart] | UnsetType = UNSET
    footer: FooterPart | UnsetType = UNSET
