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
from noisewatch.model.calibration.statistics import lower_edge
from noisewatch.model.history.entries import Cvs, Entry
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.figures import GAPS_NS, NOISE_NS, SLOWEST, TRAITS, Figure, Nature


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
    figures |= {slowest: _slowest(figure, speeds[figure]) for figure, slowest in SLOWEST.items()}
    figures |= {gaps: _mean(_gaps_per_s(cpu, *ends_ns) for cpu in cpus) for gaps, ends_ns in GAPS_NS.items()}
    figures |= {noise: cv_by_length.get(length_ns) for noise, length_ns in NOISE_NS.items()}
    return {figure: value for figure, value in figures.items() if value is not None}


def _time(spread: Spread | None) -> float | None:
    return spread.piece_ns if spread is not None else None


def _mean(values: Iterable[float | None]) -> float | None:
    every = list(values)
    measured = [value for value in every if value is not None]
    return statistics.fmean(measured) if measured and len(measured) == len(every) else None


def _slowest(figure: Figure, values: Sequence[float | None]) -> float | None:
    """Return the slowest value in multiples of the median, or None with fewer than two CPUs or an unknown value."""
    measured = [value for value in values if value is not None]
    if len(measured) < max(len(values), 2):
        return None
    slowest = max(measured) if TRAITS[figure].nature == Nature.TIME else min(measured)
    return slowest / statistics.median(measured) if statistics.median(measured) > 0 else None


def _gaps_per_s(cpu: CpuFigures, begin_ns: float, end_ns: float) -> float | None:
    """Return the rate of gaps of these lengths by the histogram, whose buckets are a sixteenth of their values wide."""
    if cpu.gaps_per_s is None or cpu.lost_gaps:
        return None
    total, counts = cpu.gap_histogram.count, cpu.gap_histogram.counts
    matching = sum(count for bucket, count in counts.items() if begin_ns <= lower_edge(bucket) < end_ns)
    return cpu.gaps_per_s * matching / total if total else 0.0
