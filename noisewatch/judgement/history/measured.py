"""The part of a calibration that goes into the history of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.floor import floors_by_cpu, worst_floors
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Work
from noisewatch.model.calibration.figures import CpuFigures, Spread
from noisewatch.model.calibration.statistics import Histogram, lower_edge
from noisewatch.model.history.entries import Cvs, Entry
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.figures import TRAITS, Figure, Nature

_GAPS = (  # from, and to below, in ns
    (Figure.SHORT_GAPS, 0, 10_000),
    (Figure.MIDDLE_GAPS, 10_000, 100_000),
    (Figure.LONG_GAPS, 100_000, 1 << 62),
)
_SLOWEST = {
    Figure.LATENCY: Figure.SLOWEST_LATENCY,
    Figure.THROUGHPUT: Figure.SLOWEST_THROUGHPUT,
    Figure.INTERPRETER: Figure.SLOWEST_INTERPRETER,
    Figure.CACHE: Figure.SLOWEST_CACHE,
    Figure.MEMORY: Figure.SLOWEST_MEMORY,
    Figure.CLOCK: Figure.SLOWEST_CLOCK,
}
_NOISE = ((Figure.NOISE_1MS, 1_000_000), (Figure.NOISE_10MS, 10_000_000), (Figure.NOISE_100MS, 100_000_000))


def entry_of(calibrated: Calibrated, snapshot: Snapshot, at_s: float, boot: str | None) -> Entry | None:
    """Return the history entry of a calibration, or None if it is in doubt or predicts nothing."""
    cvs = _cvs_of(calibrated)
    if not cvs or calibrated.doubt or calibrated.troubles:
        return None
    return Entry(
        at_s=at_s,
        core=calibrated.calibration.samples.core,
        cpus=frozenset(figures.cpu for figures in calibrated.calibration.cpus),
        cvs=cvs,
        figures=_figures_of(calibrated.calibration.cpus, _cv_by_length(_default_floors(calibrated))),
        facts=facts_of(snapshot),
        boot=boot,
    )


def _cvs_of(calibrated: Calibrated) -> Cvs:
    """Return the predicted CVs by kind of work, without empty ones."""
    by_work = calibrated.floors_by_work
    cvs_by_work = {work: _cv_by_length(by_work[work].floors) for work in Work if work in by_work}
    return {work: cvs for work, cvs in cvs_by_work.items() if cvs}


def _cv_by_length(floors: Iterable[NoiseFloor]) -> dict[int, float]:
    """Return the expected CV by sample length (ns), without extrapolated floors."""
    return {floor.sample_ns: floor.cv_expected for floor in floors if not floor.extrapolated}


def _default_floors(calibrated: Calibrated) -> Sequence[NoiseFloor]:
    """Return the floors under the default budget, whatever the user's is, so that entries are comparable."""
    own, default = calibrated.budget, Budget()
    if (own.work, own.at_ns, own.samples) == (default.work, default.at_ns, default.samples):
        return calibrated.floors  # drawing them anew takes long
    return worst_floors(floors_by_cpu([calibrated.calibration.samples], default, calibrated.drift))


def _figures_of(cpus: tuple[CpuFigures, ...], cv_by_length: Mapping[int, float]) -> dict[Figure, float]:
    """Return the figures of the calibration; a figure that is unknown on a CPU is left out."""
    speeds: dict[Figure, list[float | None]] = {
        Figure.LATENCY: [_time(cpu.latency_work) for cpu in cpus],
        Figure.THROUGHPUT: [_time(cpu.native_work) for cpu in cpus],
        Figure.INTERPRETER: [_time(cpu.work) for cpu in cpus],
        Figure.CACHE: [_time(cpu.memory) for cpu in cpus],
        Figure.MEMORY: [_time(cpu.main_memory) for cpu in cpus],
        Figure.CLOCK: [cpu.effective_khz for cpu in cpus],
        Figure.CLOCK_READING: [cpu.clock_ns for cpu in cpus],
    }
    figures = {figure: _mean(values) for figure, values in speeds.items()}
    figures |= {slowest: _slowest(figure, speeds[figure]) for figure, slowest in _SLOWEST.items()}
    figures |= {gaps: _mean(_gaps_per_s(cpu, begin, end) for cpu in cpus) for gaps, begin, end in _GAPS}
    figures |= {noise: cv_by_length.get(length_ns) for noise, length_ns in _NOISE}
    return {figure: value for figure, value in figures.items() if value is not None}


def _time(spread: Spread | None) -> float | None:
    return spread.piece_ns if spread is not None else None


def _mean(values: Iterable[float | None]) -> float | None:
    measured = list(values)
    return (
        None if None in measured or not measured else statistics.fmean(value for value in measured if value is not None)
    )


def _slowest(figure: Figure, values: Sequence[float | None]) -> float | None:
    """Return the slowest value in multiples of the median, or None with fewer than two CPUs or an unknown value."""
    measured = [value for value in values if value is not None]
    if len(measured) < max(len(values), 2):
        return None
    slowest = max(measured) if TRAITS[figure].nature == Nature.TIME else min(measured)
    return slowest / statistics.median(measured) if statistics.median(measured) > 0 else None


def _gaps_per_s(cpu: CpuFigures, begin_ns: int, end_ns: int) -> float | None:
    """Return the rate of gaps of these lengths by the histogram, whose buckets are a sixteenth of their values wide."""
    if cpu.gaps_per_s is None or cpu.lost_gaps:
        return None
    total = cpu.gap_histogram.count
    return cpu.gaps_per_s * _count(cpu.gap_histogram, begin_ns, end_ns) / total if total else 0.0


def _count(histogram: Histogram, begin_ns: int, end_ns: int) -> int:
    return sum(count for bucket, count in histogram.counts.items() if begin_ns <= lower_edge(bucket) < end_ns)
