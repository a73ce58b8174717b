"""The receipt of `noisewatch run`; with `jsonl`, a line for the header, one per repetition, and one for the footer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.calibration import Core, FloorPart, SpreadPart
from noisewatch.documents.counters import DecompositionPart, FactorRatioPart
from noisewatch.documents.document import Amount, Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.energy import EnergyStatisticsPart
from noisewatch.documents.layout import LayoutEffectPart
from noisewatch.documents.machine import FactsPart, MachinePart, ProcessPart
from noisewatch.documents.repetition import BySignalPart, CommandName, EndPart, ReasonPart, RepetitionPart
from noisewatch.judgement.run.placement import PlacementFault
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kinds import Tracer
from noisewatch.model.run.decomposition import Factor

Interval = tuple[float | None, float | None]
_FromOne = Annotated[int, Meta(ge=1)]


class DonePart(EndPart, frozen=True, kw_only=True, tag="done"):
    """A series that ran to its end."""


class ByFailurePart(EndPart, frozen=True, kw_only=True, tag="failure"):
    """A series that ended because a repetition failed.

    side_command: The option whose command failed, before or after the repetition.
    """

    repetition: _FromOne
    side_command: Literal["--prepare", "--conclude"] | UnsetType = UNSET


class RunCgroupPart(DocumentPart, frozen=True, kw_only=True):
    """The limits of the control group that noisewatch and its children run in.

    folder: Only with --identify.
    """

    version: Literal[1, 2] | None
    cpu_quota_share: Amount | Literal["none"] | None
    throttled_periods: Count | None
    folder: str | UnsetType | None = UNSET


class AttributionPart(DocumentPart, frozen=True, kw_only=True):
    """The sources that show which tasks used the target CPUs.

    counters: The kernel counters from which the CPU time of other tasks is calculated; ticks are the least exact.
    not_watched: Disturbances that cannot be observed on this machine while a command runs; no verdict covers them.
    trace: The kernel tracer in use; "none" if there is no trace.
    no_trace_reason: Why there is no trace; "none" if there is one.
    """

    counters: Literal["schedstat", "cpuacct", "ticks"]
    not_watched: list[str]
    trace: Tracer
    no_trace_reason: str
    is_root: bool


class OwnCostPart(DocumentPart, frozen=True, kw_only=True):
    """The cost of noisewatch's own process, without the processes of a calibration's loops.

    cpu_s: CPU time until the first repetition or warm-up.
    cpus: The CPUs of this process from the first repetition on: housekeeping CPUs, if there are any.
    """

    cpu_s: Amount
    cpus: Cpus


class CommandPart(DocumentPart, frozen=True, kw_only=True):
    """A measured command.

    program: The base name of the program.
    argv: Only with --identify.
    """

    command: CommandName
    program: str
    argv: list[str] | UnsetType = UNSET


class RunOptionsPart(DocumentPart, frozen=True, kw_only=True):
    """The options of the run.

    runs: The number of runs of each command, or of layouts with --vary layout.
    warmup: The number of warm-ups of each command, which the statistics leave out.
    prepare: The command before each run: its program and, with --identify, its arguments; null if there is none.
    conclude: The command after each run, in the same form.
    load: The number of busy processes that were requested for other CPUs.
    spread: Whether each busy thread was to get its own target CPU.
    tracer: The requested tracer; `attribution` contains the actual one.
    layout: The command's memory layouts: varied with --vary layout, fixed with --fixed layout, otherwise any.
    """

    runs: _FromOne
    retry: Count
    warmup: Count | UnsetType = UNSET
    prepare: list[str] | UnsetType | None = UNSET
    conclude: list[str] | UnsetType | None = UNSET
    load: Count | UnsetType = UNSET
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
    counters: Literal["auto", "none"] | UnsetType = UNSET
    energy: bool | UnsetType = UNSET
    layout: Literal["any", "varied", "fixed"] | UnsetType = UNSET


class LoadPart(DocumentPart, frozen=True, kw_only=True):
    """Busy processes on other CPUs during the series and its calibrations.

    cpus: The CPUs that the processes were pinned to, in turn.
    busy_share: The mean share that each process had of its CPU; only in the footer.
    trouble: Why the load may have been smaller than requested; "none" if it was not. Only in the footer.
    """

    processes: Count
    cpus: Cpus
    busy_share: Amount | UnsetType | None = UNSET
    trouble: str | UnsetType = UNSET


class SideCommandPart(DocumentPart, frozen=True, kw_only=True):
    """A --prepare or --conclude command that failed or left processes running.

    repetition: The number of the run or warm-up before or after which it ran.
    trouble: Why it failed; "none" if it succeeded.
    left_processes: The pids of the processes that it left running.
    left_names: The names of `left_processes`, in the same order; null if not observed.
    """

    option: Literal["--prepare", "--conclude"]
    repetition: _FromOne
    is_warm_up: bool
    trouble: str
    left_processes: list[Count]
    left_names: list[str | None]


class RunCpuPart(DocumentPart, frozen=True, kw_only=True):
    """The figures of one CPU from a calibration, as in the document of `calibrate`.

    trouble: Why its measurement is incomplete; "none" if it is complete.
    """

    cpu: Count
    trouble: str
    gaps_per_s: Amount | None = None
    gap_max_ns: Count | None = None
    stolen_share: Amount | None = None
    effective_khz: Amount | None = None
    latency_work: SpreadPart | None = None


class RunCalibrationPart(DocumentPart, frozen=True, kw_only=True):
    """The figures of a calibration that are used for verdicts: speed and noise floors.

    core: The implementation of the measuring loops, native (C) or python. Figures of the two cannot be compared.
    noise_floor_of_interruptions: The noise floor of interruptions alone.
    """

    seconds: Amount
    core: Core
    scheduler: Literal["other", "fifo"]
    cpus: list[RunCpuPart]
    noise_floor: list[FloorPart]
    noise_floor_of_interruptions: list[FloorPart] | None


class RunCountsPart(DocumentPart, frozen=True, kw_only=True):
    """Numbers of runs, each counted once.

    failed: Runs that ended with a status other than 0 or by a signal; the statistics leave them out.
    cut_short: Runs during which the series was asked to end; the statistics leave them out.
    """

    undisturbed: Count
    disturbed: Count
    unknown: Count
    failed: Count | UnsetType = UNSET
    cut_short: Count | UnsetType = UNSET


class StatisticsPart(DocumentPart, frozen=True, kw_only=True):
    """Statistics of wall times.

    mean_interval_s: The 95% confidence interval of the mean.
    doubt: How the run times depended on their order; null if no dependence was detected.
    later_share: How much longer the second half of the runs took than the first half, as a share.
    far_runs: The positions (from 0, among these runs) of runs whose time is far from the others.
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
    """The CV of the run times, and the parts of it that the machine and the program cause.

    explained: program, machine or order (the run times depend on their order), or why the CV is unexplained:
        undecided, unknown-machine or unknown-runs.
    """

    explained: str
    count: Count
    cv: float | None
    cv_interval: Interval | None
    of_machine: Interval | None
    of_program: Interval | None


class PlacementAdvicePart(DocumentPart, frozen=True, kw_only=True):
    """A fault in the placement of threads, and how to avoid it.

    before: The words to put in front of the command, such as `taskset -c 2`.
    """

    fault: PlacementFault
    before: list[str]


class OutlierPart(DocumentPart, frozen=True, kw_only=True):
    """An undisturbed run whose time is far from the times of the others.

    repetition: The number of the run.
    ratio: Its time, divided by the geometric mean of the others' times. The others include no outlier.
    factors: The factors of its time, divided by the geometric means of the others; their product is the ratio.
    main: The factor that causes more than half of the ratio; null if there is none.
    no_counters_reason: Why hardware events are left out; "none" if they are not.
    """

    repetition: _FromOne
    ratio: Amount
    factors: list[FactorRatioPart]
    main: Factor | None
    no_counters_reason: str


class ConclusionPart(DocumentPart, frozen=True, kw_only=True):
    """The result of one command.

    all: Statistics of the runs that neither failed nor were cut short.
    is_refused: Whether too few runs were undisturbed to represent the command.
    decomposition: Why its runs take different times; null if they do not.
    energy: Only with --energy.
    layout_effect: How much the run times vary with the layout; null without --vary layout.
    placement_advice: How to place the threads better, as observed in the longest run.
    outliers: Runs that are far from the others, although no disturbance was seen.
    advises_warm_up: Whether the first run took far longer than the other undisturbed runs without a visible cause, and
        there was no warm-up.
    """

    command: CommandName
    all: StatisticsPart | None
    undisturbed: StatisticsPart | None
    counts: RunCountsPart
    is_refused: bool
    variances: VariancesPart
    decomposition: DecompositionPart | UnsetType | None = UNSET
    energy: EnergyStatisticsPart | UnsetType = UNSET
    layout_effect: LayoutEffectPart | UnsetType | None = UNSET
    placement_advice: list[PlacementAdvicePart]
    outliers: list[OutlierPart] | UnsetType = UNSET
    advises_warm_up: bool | UnsetType = UNSET


class RunCulpritPart(DocumentPart, frozen=True, kw_only=True):
    """One culprit over the whole series.

    kind: The kind of disturbance, as in the reasons of a repetition.
    pids: The pids that took the most time; only a few are listed.
    ns: The total known stolen time.
    repetitions: The number of repetitions that the culprit disturbed.
    process: The first process of `pids`; missing if `pids` is empty, or if the process was not read.
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
    process: ProcessPart | UnsetType = UNSET


class DifferencePart(DocumentPart, frozen=True, kw_only=True):
    """How much longer command b takes than command a, or how much more energy it uses, as a share of the mean of a.

    pairs: With --vary layout, the number of layouts, each of which is one pair of means.
    second_share: How much longer the second run of a pair takes than the first, as a share; null with --vary layout.
    smallest_shown: The smallest difference that this number of pairs detects with 80% power, at the one-sided 90% upper
        bound of the noise.
    """

    pairs: _FromOne
    share: float
    interval: Interval | None
    smallest_shown: float | None
    second_share: float | None
    is_shown: bool | None


class SpeedChangePart(DocumentPart, frozen=True, kw_only=True):
    """How much longer the same work took after the series than before, on the CPU that changed most."""

    cpu: Count
    share: float
    is_too_much: bool


class BandwidthChangePart(DocumentPart, frozen=True, kw_only=True):
    """How much longer copies of large blocks took after the series than before, on the CPU that changed most.

    interval: The 99% interval of the share.
    is_too_much: Whether the copies became slower or faster by more than 5%, and chance does not explain it.
    """

    cpu: Count
    share: float
    interval: Interval
    is_too_much: bool


class TrafficPart(DocumentPart, frozen=True, kw_only=True):
    """The traffic between the last-level caches and memory of a resctrl group; `/` is the default group.

    unknown: Why the traffic is unknown; "none" if it is known.
    """

    group: str
    bytes_per_s: Amount | None
    unknown: str


class MarkedRunPart(DocumentPart, frozen=True, kw_only=True):
    """A run with values in the --results file; `benchmark` and `run` are its indices there, from 0.

    began_ns: The start of the run on CLOCK_MONOTONIC.
    ended_ns: The end of the run on CLOCK_MONOTONIC.
    """

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
    """The runs in the --results file.

    file: The file's name; with --identify its path.
    """

    file: str
    counts: RunCountsPart
    runs: list[MarkedRunPart]


class RunWordsPart(DocumentPart, frozen=True, kw_only=True):
    """The result of a series in sentences, as in the text report.

    headline: The number of undisturbed runs, and the culprit that took the most time.
    doubts: Changes of the machine during the series, an early end, and a load that was too small.
    difference: How the two commands differ; empty for a single command.
    culprits: The table of the first culprits: name, time, number of disturbed runs, and place.
    """

    headline: str
    doubts: list[str]
    difference: list[str]
    culprits: list[tuple[str, str, str, str]]


class FooterPart(DocumentPart, frozen=True, kw_only=True):
    """The result of a series. A receipt without this part was cut short.

    difference_parts: Why the commands take different times; null if no difference is shown.
    energy_difference: The difference in the packages' energy in undisturbed pairs of runs whose energy is known, or in
        all pairs if none was undisturbed. Only with --energy.
    culprits: The culprits of all repetitions; those that took the most time come first.
    difference: The difference in undisturbed pairs of runs.
    is_difference_refused: Whether too few pairs, or too few runs of one command, were undisturbed. Neither difference
        is then a result. null for a single command.
    no_speed_change_reason: Why the speed change of a CPU is unknown; "none" if all are known, if no calibration was
        requested, or if the series ended early.
    bandwidth_change: null if no CPU's memory bandwidth was measured both times.
    traffic: By group of resctrl, between the calibrations; null if it is not mounted, or does not count traffic.
    own_cpu_s: CPU time of noisewatch itself between the calibrations.
    load: null if no load was requested.
    results: null if no file was given, or if it could not be read.
    """

    kind: Literal["footer"]
    words: RunWordsPart | UnsetType = UNSET
    ended: DonePart | ByFailurePart | BySignalPart
    counts: RunCountsPart
    commands: Annotated[list[ConclusionPart], Meta(max_length=2)]
    culprits: list[RunCulpritPart]
    culprits_left_out: Count
    difference: DifferencePart | None
    difference_of_all_pairs: DifferencePart | None
    difference_parts: DecompositionPart | UnsetType | None = UNSET
    energy_difference: DifferencePart | UnsetType | None = UNSET
    is_difference_refused: bool | None
    closing: RunCalibrationPart | None
    speed_change: SpeedChangePart | None
    no_speed_change_reason: str | UnsetType = UNSET
    bandwidth_change: BandwidthChangePart | UnsetType | None = UNSET
    traffic: list[TrafficPart] | UnsetType | None = UNSET
    own_cpu_s: Amount
    load: LoadPart | UnsetType | None = UNSET
    side_commands: list[SideCommandPart] | UnsetType = UNSET
    results: ResultsPart | None


class RunDocument(DocumentPart, frozen=True, kw_only=True):
    """The first line of a receipt (`header`), or a whole receipt in one document (`series`).

    null means unknown; "none" or an empty list means known to be absent. Keys contain their units (ns, s; a share is
    a fraction of 1). Keys, and values of a reason's `kind`, may be added, but are not removed.

    noisewatch: The version of noisewatch that measured.
    pinned_by: How the command was put on the target CPUs.
    memory_nodes: The only nodes that the command's memory could come from.
    seed: The random seed for the order in which two commands alternate.
    opening: The calibration before the first repetition.
    load: null if no load was requested.
    warm_ups: Runs before the repetitions, which the statistics leave out; in JSON Lines, lines of the kind "warm-up".
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
    load: LoadPart | UnsetType | None = UNSET
    warm_ups: list[RepetitionPart] | UnsetType = UNSET
    repetitions: list[RepetitionPart] | UnsetType = UNSET
    footer: FooterPart | UnsetType = UNSET
