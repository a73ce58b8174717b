"""The part of a calibration that goes into the history of the machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.floor import floors_by_cpu, worst_floors
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Work
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.model.calibration.statistics import lower_edge
from noisewatch.model.history.entries import Cvs, Entry
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.figures import NOISE_NS, SLOWEST, Figure, gap_rates, mean_of, slowest_of


def entry_of(calibrated: Calibrated, snapshot: Snapshot, at_s: float, boot: str | None) -> Entry | None:
    """Return the history entry of a calibration, or None if it is in doubt, incomplete, or without predictions."""
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
    """Return the predicted CVs by kind of work, without kinds that have none."""
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
        return calibrated.floors  # computing the floors again is slow
    return worst_floors(floors_by_cpu([calibrated.calibration.samples], default, calibrated.drift))


def _figures_of(cpus: Sequence[CpuFigures], cv_by_length: Mapping[int, float]) -> dict[Figure, float]:
    """Return the figures of the calibration; a figure that is unknown on a CPU is left out."""
    values = {cpu.cpu: _values_of(cpu) for cpu in cpus}
    figures = {figure: mean_of(own[figure] for own in values.values()) for figure in _values_of(cpus[0])}
    for figure, slowest in SLOWEST.items():
        known = {cpu: value for cpu, own in values.items() if (value := own[figure]) is not None}
        median = statistics.median(known.values()) if len(known) == len(cpus) > 1 else 0.0
        figures[slowest] = slowest_of(figure, known)[1] / median if median > 0 else None
    figures |= {noise: cv_by_length.get(length_ns) for noise, length_ns in NOISE_NS.items()}
    return {figure: value for figure, value in figures.items() if value is not None}


def _values_of(cpu: CpuFigures) -> dict[Figure, float | None]:
    works = {
        Figure.LATENCY: cpu.latency_work,
        Figure.THROUGHPUT: cpu.native_work,
        Figure.INTERPRETER: cpu.work,
        Figure.CACHE: cpu.memory,
        Figure.MEMORY: cpu.main_memory,
        Figure.BANDWIDTH: cpu.bandwidth,
    }
    gaps: dict[float, float] = {lower_edge(bucket): count for bucket, count in cpu.gap_histogram.counts.items()}
    return {
        **{figure: None if spread is None else spread.piece_ns for figure, spread in works.items()},
        Figure.CLOCK: cpu.effective_khz,
        Figure.CLOCK_READING: cpu.clock_ns,
        **gap_rates(None if cpu.lost_gaps else cpu.gaps_per_s, gaps),
    }
