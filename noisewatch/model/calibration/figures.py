"""Computes the figures of a calibration from each CPU's gaps and work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.machine.spinning.calibration.buffer import (
    BANDWIDTH,
    CACHE,
    COMMAND,
    FETCH,
    GAPS,
    INTERPRETER,
    LATENCY,
    MEMORY,
    STARTED,
    THROUGHPUT,
)
from noisewatch.model.calibration.statistics import Histogram, mad, mvalue, quantile

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples, Samples

BLOCK_NS = 1_000_000  # work is judged in blocks of about a millisecond, the length of pyperf's shortest samples
_LEAST_BLOCKS = 20
_CYCLES_PER_ADD = 1  # for additions from register to register, on every known core (https://uops.info/)
_LEAST_CHAINS = 10
_THIRD = 3


class Spread(Struct, frozen=True):
    """Statistics of block times; a block is `pieces` consecutive pieces (measured units) of work."""

    count: int
    median_ns: float
    mad_share: float  # share of the median, like all shares here
    width_share: float  # distance from the 5th to the 95th percentile
    p01_share: float  # distance of the 1st percentile below the median
    p99_share: float  # distance of the 99th percentile above the median
    max_share: float  # distance of the maximum above the median
    cv: float
    pieces: int = 1  # per block

    @property
    def piece_ns(self) -> float:
        """The median time (ns) of one piece, comparable between calibrations whose blocks differ in size."""
        return self.median_ns / self.pieces

    @property
    def tail_share(self) -> float:
        """The distance of the 1st or the 99th percentile from the median, whichever is larger (share of the median)."""
        return max(self.p01_share, self.p99_share)


class CpuFigures(Struct, frozen=True):
    """The figures of one CPU. None means unknown: too little was measured, or the core does not support the figure."""

    cpu: int
    trouble: str | None
    clock_ns: float | None  # one iteration of the loop that detects gaps
    gaps_per_s: float | None
    stolen_share: float | None
    gap_p50_ns: float | None
    gap_p99_ns: float | None
    gap_p999_ns: float | None
    gap_max_ns: int | None
    gap_histogram: Histogram
    waited_share: float | None  # share of the time in which another thread ran
    effective_khz: float | None
    effective_khz_spread_share: float | None  # distance from the 5th to the 95th percentile, as a share of the median
    work: Spread | None
    native_work: Spread | None
    latency_work: Spread | None
    memory: Spread | None  # work on data in the last-level cache
    main_memory: Spread | None
    bandwidth: Spread | None  # copies that no cache can hold
    command: Spread | None
    throughput_drift_share: float | None  # drift of interpreter work, computed by `drift_of`
    mvalue: float | None
    lost_gaps: int
    measured_share: float | None  # measured part of the planned slot time, for the least measured series


class Calibration(Struct, frozen=True):
    """A calibration with its figures."""

    samples: CalibrationSamples
    cpus: tuple[CpuFigures, ...]

    @property
    def seconds(self) -> float:
        return self.samples.length_ns / 1e9


def calibration_of(samples: CalibrationSamples) -> Calibration:
    """Compute the figures of each CPU from the samples."""
    return Calibration(samples, tuple(_figures(cpu_samples) for cpu_samples in samples.cpus))


def _figures(samples: CpuSamples) -> CpuFigures:
    gaps = samples.gaps
    lengths = sorted(gaps.length_ns)
    spin_s = samples.spun_ns / 1e9
    has_spin_time = spin_s > 0
    stolen_ns = sum(lengths) + gaps.lost_ns
    waited_ns = sum(max(waited, 0) for waited in gaps.waited_ns)
    blocks = blocks_of(samples.samples_of(INTERPRETER))
    khz = _effective_khz(samples)
    middle_khz = statistics.median(khz) if len(khz) >= _LEAST_CHAINS else None
    return CpuFigures(
        cpu=samples.cpu,
        trouble=samples.trouble,
        clock_ns=(samples.spun_ns - stolen_ns) / samples.iterations if samples.iterations else None,
        gaps_per_s=(len(lengths) + gaps.lost_count) / spin_s if has_spin_time else None,
        stolen_share=stolen_ns / samples.spun_ns if has_spin_time else None,
        gap_p50_ns=quantile(lengths, 0.5),
        gap_p99_ns=quantile(lengths, 0.99),
        gap_p999_ns=quantile(lengths, 0.999),
        gap_max_ns=max([*lengths[-1:], gaps.lost_max_ns]) if has_spin_time else None,
        gap_histogram=Histogram.of(lengths),
        waited_share=waited_ns / samples.spun_ns if has_spin_time and -1 not in gaps.waited_ns else None,
        effective_khz=middle_khz,
        effective_khz_spread_share=_width_share(khz) if middle_khz else None,
        work=_spread_of_blocks(samples.samples_of(INTERPRETER)),
        native_work=_spread_of_blocks(samples.samples_of(THROUGHPUT)),
        latency_work=_spread_of_blocks(samples.samples_of(LATENCY)),
        memory=_spread_of_blocks(samples.samples_of(CACHE)),
        main_memory=_spread_of_blocks(samples.samples_of(MEMORY)),
        bandwidth=_spread_of_blocks(samples.samples_of(BANDWIDTH)),
        command=spread_of([float(length) for length in samples.samples_of(COMMAND).length_ns], least=2),
        throughput_drift_share=drift_of(blocks),
        mvalue=mvalue(blocks),
        lost_gaps=gaps.lost_count,
        measured_share=_measured_share(samples),
    )


def _measured_share(cpu_samples: CpuSamples) -> float | None:
    """Return the measured part of the planned slot time, for the least measured series, or None without slots.

    The result is below 1 if the CPU was stopped or its buffer was full.
    """
    planned_ns: dict[str, int] = {}
    for kind, begin_ns, end_ns in cpu_samples.slots:
        series = STARTED.get(kind, kind)
        if kind in FETCH:
            continue
        planned_ns[series] = planned_ns.get(series, 0) + end_ns - begin_ns
    measured_ns = {series: sum(samples.length_ns) for series, samples in cpu_samples.samples_by_series.items()}
    measured_ns[GAPS] = cpu_samples.spun_ns
    return min(
        (measured_ns.get(series, 0) / planned for series, planned in planned_ns.items() if planned), default=None
    )


def blocks_of(samples: Samples) -> list[float]:
    """Return the times (ns) of blocks of about a millisecond, all with the same number of consecutive samples.

    No block spans a pause between two samples.
    """
    if not samples.length_ns:
        return []
    per_block = _pieces_per_block(samples)
    blocks: list[float] = []
    run: list[int] = []
    expected_ns = samples.start_ns[0]
    for start_ns, length_ns in zip(samples.start_ns, samples.length_ns, strict=True):
        if start_ns != expected_ns:
            run = []
        run.append(length_ns)
        expected_ns = start_ns + length_ns
        if len(run) == per_block:
            blocks.append(float(sum(run)))
            run = []
    return blocks


def _pieces_per_block(samples: Samples) -> int:
    return max(round(BLOCK_NS / statistics.median(samples.length_ns)), 1)


def _spread_of_blocks(samples: Samples) -> Spread | None:
    return spread_of(blocks_of(samples), pieces=_pieces_per_block(samples)) if samples.length_ns else None


def spread_of(times_ns: Sequence[float], least: int = _LEAST_BLOCKS, pieces: int = 1) -> Spread | None:
    """Return the spread of block times, for blocks of `pieces` pieces, or None for fewer than `least` times."""
    if len(times_ns) < least:
        return None
    ordered = sorted(times_ns)
    middle = statistics.median(ordered)
    deviation, near, far = mad(ordered), quantile(ordered, 0.01), quantile(ordered, 0.99)
    if middle <= 0 or deviation is None or near is None or far is None:
        return None
    return Spread(
        count=len(ordered),
        median_ns=middle,
        mad_share=deviation / middle,
        width_share=_width_share(ordered),
        p01_share=1 - near / middle,
        p99_share=far / middle - 1,
        max_share=ordered[-1] / middle - 1,
        cv=statistics.stdev(ordered) / statistics.fmean(ordered),
        pieces=pieces,
    )


def drift_of(times_ns: Sequence[float]) -> float | None:
    """Return by what share the last third's median exceeds the first third's, or None for too few times.

    The result is negative if the last third's times are shorter.
    """
    if len(times_ns) < _LEAST_BLOCKS * _THIRD:
        return None
    third = len(times_ns) // _THIRD
    first = statistics.median(times_ns[:third])
    return statistics.median(times_ns[-third:]) / first - 1 if first > 0 else None


def _effective_khz(samples: CpuSamples) -> list[float]:
    """Return samples of the CPU clock (kHz) over the calibration: a multiplication chain's cycles divided by its time.

    The cycles per multiplication are measured too, by comparison with additions, which take one cycle each.
    """
    if not samples.multiply_ns or not samples.add_ns:
        return []
    cycles = round(samples.multiply_ns / samples.add_ns) * _CYCLES_PER_ADD * samples.chain_length
    return [cycles * 1e6 / ns for ns in samples.cycles.length_ns if ns > 0]


def _width_share(values: Sequence[float]) -> float:
    """Return the distance from the 5th to the 95th percentile, as a share of the median, for one or more values."""
    ordered = sorted(values)
    low, high = quantile(ordered, 0.05) or 0.0, quantile(ordered, 0.95) or 0.0
    return (high - low) / statistics.median(ordered)
