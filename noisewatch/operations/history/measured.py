"""What of a calibration goes into the history of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from noisewatch.judgement.case import Calibrated
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Work
from noisewatch.model.calibration.figures import CpuFigures, Spread
from noisewatch.model.calibration.statistics import Histogram, lower_edge
from noisewatch.model.history.entries import Cvs, Entry
from noisewatch.model.history.facts import facts_of
from noisewatch.model.history.figures import Figure

_GAPS = (  # from, and to below, in ns
    (Figure.SHORT_GAPS, 0, 10_000),
    (Figure.MIDDLE_GAPS, 10_000, 100_000),
    (Figure.LONG_GAPS, 100_000, 1 << 62),
)
_NOISE = ((Figure.NOISE_1MS, 1_000_000), (Figure.NOISE_10MS, 10_000_000), (Figure.NOISE_100MS, 100_000_000))


def entry_of(calibrated: Calibrated, snapshot: Snapshot, at_s: float, boot: str | None) -> Entry | None:
    """The entry; None of a calibration that is in doubt, or that predicts nothing."""
    cvs = _cvs_of(calibrated)
    if not cvs or calibrated.doubt or calibrated.troubles:
        return None
    return Entry(
        at_s=at_s,
        core=calibrated.calibration.samples.core,
        cpus=frozenset(figures.cpu for figures in calibrated.calibration.cpus),
        cvs=cvs,
        figures=_figures_of(calibrated.calibration.cpus, cvs),
        facts=facts_of(snapshot),
        boot=boot,
    )


def _cvs_of(calibrated: Calibrated) -> Cvs:
    """What was predicted, and not extrapolated."""
    known = {
        work: {
            floor.sample_ns: floor.cv_expected
            for floor in calibrated.floors_by_work[work].floors
            if not floor.extrapolated
        }
        for work in Work
        if work in calibrated.floors_by_work
    }
    return {work: cvs for work, cvs in known.items() if cvs}


def _figures_of(cpus: tuple[CpuFigures, ...], cvs: Cvs) -> dict[Figure, float]:
    """One that a CPU does not know is left out."""
    figures = {
        Figure.LATENCY: _mean(_time(cpu.latency_work) for cpu in cpus),
        Figure.THROUGHPUT: _mean(_time(cpu.native_work) for cpu in cpus),
        Figure.INTERPRETER: _mean(_time(cpu.work) for cpu in cpus),
        Figure.CACHE: _mean(_time(cpu.memory) for cpu in cpus),
        Figure.MEMORY: _mean(_time(cpu.main_memory) for cpu in cpus),
        Figure.CLOCK: _mean(cpu.effective_khz for cpu in cpus),
        Figure.CLOCK_READING: _mean(cpu.clock_ns for cpu in cpus),
    }
    figures |= {gaps: _mean(_gaps_per_s(cpu, begin, end) for cpu in cpus) for gaps, begin, end in _GAPS}
    figures |= {noise: cvs.get(Work.MIXED, {}).get(length_ns) for noise, length_ns in _NOISE}
    return {figure: value for figure, value in figures.items() if value is not None}


def _time(spread: Spread | None) -> float | None:
    return spread.median_ns if spread is not None else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known or not known else statistics.fmean(value for value in known if value is not None)


def _gaps_per_s(cpu: CpuFigures, begin_ns: int, end_ns: int) -> float | None:
    """By the histogram, whose buckets are a sixteenth of their values wide."""
    if cpu.gaps_per_s is None or cpu.lost_gaps:
        return None
    total = cpu.gap_histogram.count
    return cpu.gaps_per_s * _count(cpu.gap_histogram, begin_ns, end_ns) / total if total else 0.0


def _count(histogram: Histogram, begin_ns: int, end_ns: int) -> int:
    return sum(count for bucket, count in histogram.counts.items() if begin_ns <= lower_edge(bucket) < end_ns)
