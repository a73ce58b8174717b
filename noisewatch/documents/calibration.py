"""Calibrations and noise floors in documents. Shares are fractions of 1, null means unknown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.document import Amount, Chance, Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import CulpritPart, FactsPart
from noisewatch.kinds import Work

Length = Annotated[int, Meta(ge=1)]
Core = Annotated[str, Meta(extra_json_schema={"enum": ["native", "python"]})]


class HistogramPart(DocumentPart, frozen=True, kw_only=True):
    """The numbers of gaps by length. Bucket i is from edge i to edge i + 1. Without gaps both lists are empty."""

    edges_ns: list[Count]
    counts: list[Count]


class SpreadPart(DocumentPart, frozen=True, kw_only=True):
    """Statistics of the times of blocks of work, or of the workload's runs. Shares are relative to the median time.

    width_share: The distance from the 5th to the 95th percentile.
    pieces: The number of pieces of work in a block, smaller on a slower CPU; 1 for the workload.
    """

    count: Count | None = None
    median_ns: Amount | None = None
    mad_share: Amount | None = None
    width_share: Amount | None = None
    p01_share: float | None = None
    p99_share: float | None = None
    max_share: float | None = None
    cv: Amount | None = None
    pieces: Count | None = None

    @property
    def piece_ns(self) -> float | None:
        """The median time (ns) of a piece; None if unknown."""
        return None if self.median_ns is None or not self.pieces else self.median_ns / self.pieces


class SourcePart(CulpritPart, frozen=True, kw_only=True):
    """A source of gaps, with a histogram of the lengths of its interruptions.

    lengths_ns: The lengths that occurred, in ascending order.
    counts: The number of interruptions of each length in `lengths_ns`.
    """

    count: Count | None = None
    p50_ns: Amount | None = None
    p99_ns: Amount | None = None
    max_ns: Amount | None = None
    lengths_ns: list[Count] | UnsetType = UNSET
    counts: list[Count] | UnsetType = UNSET


class ShareOfGapPart(DocumentPart, frozen=True, kw_only=True):
    """A source that ran during a gap, and for how long."""

    kind: str
    name: str
    tid: int | None
    irq: int | None
    ns: Count


class GapPart(DocumentPart, frozen=True, kw_only=True):
    """One gap.

    at_ns: The time since the calibration began.
    traced_ns: The time that the trace explains; null without a trace.
    """

    at_ns: int
    length_ns: Count
    kind: str
    name: str
    traced_ns: Count | None
    parts: list[ShareOfGapPart]


class CalibratedCpuPart(DocumentPart, frozen=True, kw_only=True):
    """The figures of one CPU from the microbenchmark.

    trouble: Why its measurement is incomplete; "none" if it is complete.
    waited_share: The share of time in which the loop was ready to run but waited for the CPU.
    gaps_without_room: The number of gaps that were counted but not kept, because the buffer was full.
    effective_khz_spread_share: The distance from the 5th to the 95th percentile, as a share of the median.
    throughput_drift_share: How much longer the median block of interpreter work took in the last third than in the
        first third, as a share.
    interpreter: Work of an interpreter.
    throughput: Work with as many instructions per cycle as the core can execute.
    latency_work: Work of dependent steps.
    cache: Work on data in the last-level cache.
    memory: Work on data that no cache can hold. Up to version 0.2.0 this key contained the times of `cache`.
    bandwidth: Copies of data that no cache can hold.
    work: The name of `interpreter` up to version 0.2.0.
    native_work: The name of `throughput` up to version 0.2.0.
    main_memory: The name of `memory` up to version 0.2.0.
    culprits: The sources of the gaps.
    suspects: What ran on the CPU during the calibration, if no trace shows the sources of the gaps.
    """

    cpu: Count
    trouble: str | UnsetType = UNSET
    gap_threshold_ns: Count
    gaps_per_s: Amount | None
    stolen_share: Amount | None
    waited_share: Amount | None = None
    gap_p50_ns: Amount | None
    gap_p99_ns: Amount | None
    gap_p999_ns: Amount | None = None
    gap_max_ns: Amount | None
    gaps_without_room: Count | UnsetType = UNSET
    effective_khz: Amount | None
    effective_khz_spread_share: Amount | None
    throughput_drift_share: float | None
    mvalue: float | None = None
    interpreter: SpreadPart | None = None
    throughput: SpreadPart | None = None
    latency_work: SpreadPart | None = None
    cache: SpreadPart | None = None
    memory: SpreadPart | None = None
    bandwidth: SpreadPart | None = None
    workload: SpreadPart | None = None
    locked_kb: Count | None = None
    resident_kb: Count | None = None
    histogram: HistogramPart
    culprits: list[SourcePart] | UnsetType = UNSET
    suspects: list[CulpritPart] | UnsetType = UNSET
    longest_gaps: list[GapPart] | UnsetType = UNSET
    work: SpreadPart | UnsetType | None = UNSET
    native_work: SpreadPart | UnsetType | None = UNSET
    main_memory: SpreadPart | UnsetType | None = UNSET


_KEY_BY_WORK = {
    Work.LATENCY: "latency_work",
    Work.THROUGHPUT: "throughput",
    Work.INTERPRETER: "interpreter",
    Work.CACHE: "cache",
    Work.MEMORY: "memory",
    Work.BANDWIDTH: "bandwidth",
}
_OLD_KEY_BY_WORK = {  # up to version 0.2.0
    Work.LATENCY: "latency_work",
    Work.THROUGHPUT: "native_work",
    Work.INTERPRETER: "work",
    Work.CACHE: "memory",
    Work.MEMORY: "main_memory",
    Work.BANDWIDTH: "bandwidth",  # not measured
}
_NEW_KEYS, _OLD_KEYS = ("throughput", "interpreter", "cache"), ("native_work", "work", "main_memory")
KEYS_OF_WORK = ("latency_work", "memory", "bandwidth", *_NEW_KEYS, *_OLD_KEYS)


def work_of(cpu: CalibratedCpuPart) -> dict[Work, SpreadPart | None]:
    """Return the times by kind of work, from the current keys or from the keys of 0.2.0.

    If the version is unclear (keys of both versions, or only common ones), `memory` is ambiguous: all values except
    latency are None.
    """
    is_new, is_old = (any(getattr(cpu, key) for key in keys) for keys in (_NEW_KEYS, _OLD_KEYS))
    if is_new == is_old:
        return {**dict.fromkeys(_KEY_BY_WORK), Work.LATENCY: cpu.latency_work}
    return {work: getattr(cpu, key) for work, key in (_KEY_BY_WORK if is_new else _OLD_KEY_BY_WORK).items()}


class CalibrationPart(DocumentPart, frozen=True, kw_only=True):
    """A run of the microbenchmark.

    core: The implementation of the measuring loops, native (C) or python. Figures of the two cannot be compared.
    clock_ns: The time of one iteration of the loop that detects gaps, on the CPU where it is shortest.
    culprits_by: How the culprits of gaps were identified: by a trace, or by the gaps alone.
    """

    seconds: Amount
    core: Core
    clock_ns: Amount | None
    scheduler: Literal["other", "fifo"] | UnsetType = UNSET
    workload: list[str] | Literal["none"] | UnsetType = UNSET
    culprits_by: Literal["trace", "gaps"] | UnsetType = UNSET
    no_trace_reason: str | None = None
    cpus: list[CalibratedCpuPart]


class FloorPart(DocumentPart, frozen=True, kw_only=True):
    """A noise floor for samples of one length: relative standard deviations (CV) and shares of the mean.

    max_expected: The median of predictions of the worst sample, relative to the median sample.
    max_inflation: The 95th percentile of predictions of the worst sample, relative to the median sample.
    smallest_change_share: null if no change could be detected.
    chance: The probability that such samples stay within the budget; null if the floor is extrapolated, or if the
        calibration is incomplete or does not represent a benchmark.
    """

    sample_ns: Length
    cpu: Count | UnsetType = UNSET
    cv_low: Amount
    cv_expected: Amount
    cv_high: Amount
    max_expected: Amount | UnsetType = UNSET
    max_inflation: Amount | None
    smallest_change_share: Amount | None
    samples: Annotated[int, Meta(ge=2)]
    bounded: bool
    extrapolated: bool | UnsetType = UNSET
    chance: Chance | None = None
    test: str | UnsetType = UNSET


class DriftPart(DocumentPart, frozen=True, kw_only=True):
    """The factors by which intervals were widened to allow for changes between calibrations.

    changes_seen: The number of observed changes that the factors are based on, at the sample length with the most.
    """

    changes_seen: Count
    margin_by_sample_ns: dict[
        Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]+$"})], Annotated[float, Meta(ge=1)]
    ]


class NeededPart(DocumentPart, frozen=True, kw_only=True):
    """The number of samples per program version needed to detect a change, for one kind of work and sample length.

    reason: Why the number is null.
    """

    work: str
    sample_ns: Length
    samples: Annotated[int, Meta(ge=2, le=10_000)] | None
    reason: str | None


class DetectionPart(DocumentPart, frozen=True, kw_only=True):
    """The number of samples needed to detect a change of `share`, by kind of work and sample length (--detect).

    reason: Why there are no rows.
    """

    share: Annotated[float, Meta(gt=0)]
    rows: list[NeededPart]
    reason: str | None


FloorsByWork = dict[Annotated[str, Meta(extra_json_schema={"pattern": "^[a-z]+$"})], list[FloorPart]]


class SummaryPart(DocumentPart, frozen=True, kw_only=True):
    """A summary of the work times or gaps of a group of CPUs."""

    median_ns: Amount
    deviation_ns: Amount
    max_ns: Amount


class SidesPart(DocumentPart, frozen=True, kw_only=True):
    """The two sides of a comparison. `ratio` is the second side divided by the first."""

    target: SummaryPart | UnsetType | None = UNSET
    against: SummaryPart | UnsetType | None = UNSET
    idle: SummaryPart | UnsetType | None = UNSET
    under_load: SummaryPart | UnsetType | None = UNSET
    ratio: dict[str, Amount | None]


class CalibrationComparisonPart(DocumentPart, frozen=True, kw_only=True):
    """The comparison of two groups of CPUs, or of the target CPUs idle and under load.

    difference: How the second side differs: noisier, quieter, same or unknown.
    """

    work: SidesPart
    gaps: SidesPart
    difference: str
    noise_ratio: Amount | None
    noise_floors_apart: bool | None
    noise_share: dict[str, Amount | None]
    noise_floor: dict[str, list[FloorPart]]


class UnderLoadPart(DocumentPart, frozen=True, kw_only=True):
    """A calibration of the same CPUs while other processes were busy."""

    processes: Count
    cpus: Cpus
    busy_share: Amount | None
    target_cpus_not_isolated: Cpus
    calibration: CalibrationPart
    noise_floor: list[FloorPart] | None
    noise_floor_of: str | None = None
    noise_floor_chance: Chance | None = None
    noise_floor_by_work: FloorsByWork | None = None
    noise_floor_drift: DriftPart | None = None
    comparison: CalibrationComparisonPart


class SettledCpuPart(DocumentPart, frozen=True, kw_only=True):
    """How the speed of a CPU changed during the warm-up.

    speed_ratio: The last speed divided by the first.
    """

    cpu: Count
    settled_after_s: Amount | None
    first_khz: Amount | None
    last_khz: Amount | None
    speed_ratio: Amount


class SettlingPart(DocumentPart, frozen=True, kw_only=True):
    """The warm-up before the calibration, until the clocks were stable or the time limit was reached."""

    is_level: bool
    settled_after_s: Amount | None
    worked_s: Amount
    cpus: list[SettledCpuPart]


class CalibrationDocument(DocumentPart, frozen=True, kw_only=True):
    """The document of `noisewatch calibrate --format json`. Keys of unrequested parts are null."""

    schema: SchemaNumber
    target: Cpus
    against: Cpus | None
    facts: FactsPart | None = None
    comparison: CalibrationComparisonPart | None = None
    calibration: CalibrationPart
    noise_floor: list[FloorPart] | None
    noise_floor_of: str | None = None
    noise_floor_chance: Chance | None = None
    noise_floor_by_work: FloorsByWork | None = None
    noise_floor_drift: DriftPart | None = None
    detect: DetectionPart | None = None
    settling: SettlingPart | None = None
    under_load: UnderLoadPart | None = None
