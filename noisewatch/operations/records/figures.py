"""Reads the figures of a calibration from a document, each with its random deviation.

Blocks of work within a calibration have influences in common. They are not independent, so their number does not reduce
the error. For work that a neighbour in the core or the cache can slow down (all but the chain of dependent steps), the
deviation follows from the range of the middle 90% of its one-millisecond blocks. `python -m tests.benchmark.compare`
prints how often two calibrations of one machine differ by these rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.documents.calibration import (
    KEYS_OF_WORK,
    CalibratedCpuPart,
    CalibrationDocument,
    CalibrationPart,
    DriftPart,
    FloorPart,
    SpreadPart,
    UnderLoadPart,
    work_of,
)
from noisewatch.documents.document import read_part, view_of
from noisewatch.judgement.noise.drift import ENDS, USUAL_DRIFT, WEIGHT
from noisewatch.judgement.record import Condition, MeasuredFigure
from noisewatch.kinds import Work
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.figures import GAPS_NS, NOISE_NS, TRAITS, Figure, gap_rates, mean_of
from noisewatch.operations.records.files import cpus_of, mappings_of, number_of, positive_number_of, text_of
from noisewatch.units import describe_busy_processes

_BY_SPREAD = "Welch's t-test, by the spread of blocks within each calibration"
_BY_DRIFT = "Welch's t-test, by the drift between calibrations"
_WORKS = {
    Figure.LATENCY: Work.LATENCY,
    Figure.THROUGHPUT: Work.THROUGHPUT,
    Figure.INTERPRETER: Work.INTERPRETER,
    Figure.CACHE: Work.CACHE,
    Figure.MEMORY: Work.MEMORY,
    Figure.BANDWIDTH: Work.BANDWIDTH,
}
OF_EACH_CPU = (Figure.LATENCY, Figure.CLOCK)  # figures that a neighbour in the core or the cache hardly affects
_OF_A_RECEIPT = (Figure.LATENCY, Figure.CLOCK, *NOISE_NS)
_WIDTH = 3.29  # distance from the 5th to the 95th percentile of a normal distribution, in standard deviations
_MAD = 1.4826  # standard deviation of a normal distribution, in MADs
# Standard deviation of a gap rate's logarithm, from 20 calibrations of a VM with changing neighbours.
_GAPS_DEVIATION = 0.55
_READING_DEVIATION = 0.03  # the same for a clock reading's time, from the same calibrations
SPEED_DEVIATION = 0.0033  # how much speed changes by itself in an hour: a third of the 1% that counts


class _Part(NamedTuple):
    """The part of a document measured under one condition."""

    condition: Condition
    cpus: Sequence[CalibratedCpuPart]
    clock_ns: float | None
    floors: Sequence[FloorPart]
    drift: DriftPart | None


_OF_CPUS = (
    *("cpu?", "trouble?", "gaps_per_s?", "gaps_without_room?", "effective_khz?", "effective_khz_spread_share?"),
    *(
        "histogram?.edges_ns?",
        "histogram?.counts?",
        *(f"{key}?" for key in KEYS_OF_WORK),
    ),
)
_OF_FLOORS = ("sample_ns?", "cv_expected?", "extrapolated?")
_OF_A_CONDITION = (
    *("calibration?.clock_ns?", *(f"calibration?.cpus?.{key}" for key in _OF_CPUS)),
    *(f"noise_floor?.{key}" for key in _OF_FLOORS),
    *("noise_floor_drift?.changes_seen?", "noise_floor_drift?.margin_by_sample_ns?"),
)
_MEASURED = view_of(  # verdicts have the same keys
    CalibrationDocument,
    (
        *("target?", "against?", *(f"comparison?.noise_floor?.{key}" for key in _OF_FLOORS)),
        *_OF_A_CONDITION,
        *("under_load?.processes?", "under_load?.cpus?", *(f"under_load?.{key}" for key in _OF_A_CONDITION)),
    ),
)


def figures_of_calibration(document: Mapping[str, Any]) -> dict[str, MeasuredFigure]:
    """Return all figures under each condition, from a verdict or a document of `calibrate`."""
    measured = read_part(_MEASURED, document)
    return {name: figure for part in _parts(measured) for name, figure in _figures_of(part).items()}


def load_of(document: Mapping[str, Any]) -> str | None:
    """Return the load of a calibration under load, such as `2 busy processes on CPUs 0-1`, or None if unknown."""
    under_load = read_part(_MEASURED, document).under_load
    if under_load is None:
        return None
    processes, cpus = number_of(under_load.processes), cpus_of(under_load.cpus)
    if processes is None or not cpus:
        return None
    return f"{describe_busy_processes(round(processes))} on {name_cpus(cpus)}"


def _parts(measured: CalibrationDocument) -> Iterator[_Part]:
    whole = _part(measured, Condition.ALONE)
    target, against = cpus_of(measured.target), cpus_of(measured.against)
    if target is None or against is None:
        yield whole
    else:
        floors = (None if measured.comparison is None else measured.comparison.noise_floor) or {}
        yield whole._replace(cpus=_selected_cpus(whole.cpus, target), floors=floors.get("target") or ())
        compared = _selected_cpus(whole.cpus, against)
        yield whole._replace(condition=Condition.AGAINST, cpus=compared, floors=floors.get("against") or ())
    if measured.under_load is not None:
        yield _part(measured.under_load, Condition.UNDER_LOAD)


def _part(measured: CalibrationDocument | UnderLoadPart, condition: Condition) -> _Part:
    calibration: CalibrationPart | None = measured.calibration
    return _Part(
        condition=condition,
        cpus=() if calibration is None else calibration.cpus or (),
        clock_ns=None if calibration is None else calibration.clock_ns,
        floors=measured.noise_floor or (),
        drift=measured.noise_floor_drift,
    )


def _selected_cpus(cpus: Sequence[CalibratedCpuPart], wanted: CpuSet) -> Sequence[CalibratedCpuPart]:
    return [cpu for cpu in cpus if cpu.cpu in wanted]


def _figures_of(part: _Part) -> dict[str, MeasuredFigure]:
    cpus = _complete(part.cpus)
    gaps = {figure: _estimate(figure, _mean(figure, cpus), _GAPS_DEVIATION, WEIGHT) for figure in GAPS_NS}
    estimates = _speeds(cpus) | gaps | _noise(part.floors, part.drift)
    if part.condition != Condition.AGAINST:  # the shortest clock reading of all CPUs, so it is listed once
        reading = number_of(part.clock_ns)
        estimates[Figure.CLOCK_READING] = _estimate(Figure.CLOCK_READING, reading, _READING_DEVIATION, WEIGHT)
    return _figures(estimates, cpus, part.condition)


def figures_of_opening(calibration: Mapping[str, Any]) -> dict[str, MeasuredFigure]:
    """Return the few figures that a receipt contains from the calibration before the series."""
    listed = [{"effective_khz_spread_share": 0.0, **cpu} for cpu in mappings_of(calibration.get("cpus"))]
    document = {"calibration": {"cpus": listed}, "noise_floor": calibration.get("noise_floor")}
    part = _part(read_part(_MEASURED, document), Condition.ALONE)
    cpus = _complete(part.cpus)
    estimates = _speeds(cpus) | _noise(part.floors, None)
    return _figures({figure: estimates[figure] for figure in _OF_A_RECEIPT}, cpus, Condition.ALONE)


def core_of(calibration: Mapping[str, Any]) -> str | None:
    """Return the name of the measuring loop's implementation, with its priority; None if unknown."""
    core = text_of(calibration.get("core"))
    return f"{core} at real-time priority" if core and calibration.get("scheduler") == "fifo" else core


def _complete(cpus: Sequence[CalibratedCpuPart]) -> Sequence[CalibratedCpuPart]:
    """Return the CPUs, or no CPU if the measurement of any is incomplete."""
    return cpus if all(cpu.trouble == "none" for cpu in cpus) else []


def _figures(
    estimates: Mapping[Figure, Estimate | None], cpus: Sequence[CalibratedCpuPart], condition: Condition
) -> dict[str, MeasuredFigure]:
    by_drift = {*GAPS_NS, *NOISE_NS, Figure.CLOCK_READING}
    by_cpu = _estimates_by_cpu(cpus)
    return {
        f"{figure}{condition}": MeasuredFigure(
            estimates[figure],
            TRAITS[figure],
            _BY_DRIFT if figure in by_drift else _BY_SPREAD,
            by_cpu.get(figure, {}),
            condition,
        )
        for figure in Figure
        if figure in estimates
    }


def _estimates_by_cpu(cpus: Sequence[CalibratedCpuPart]) -> dict[Figure, dict[int, Estimate]]:
    """Return the figures OF_EACH_CPU by CPU, without those unknown for any CPU; empty if there is only one CPU.

    The speed of other work varies more from one calibration to the next than from block to block.
    """
    numbers = [cpu.cpu for cpu in cpus]
    if len(cpus) < 2 or len(cpus_of(numbers) or ()) < len(cpus):
        return {}
    speeds = {cpu.cpu: _speeds([cpu]) for cpu in cpus}
    estimates = {figure: {cpu: own[figure] for cpu, own in speeds.items()} for figure in OF_EACH_CPU}
    return {
        figure: {cpu: estimate for cpu, estimate in own.items() if estimate is not None}
        for figure, own in estimates.items()
        if None not in own.values()
    }


def _speeds(cpus: Sequence[CalibratedCpuPart]) -> dict[Figure, Estimate | None]:
    """Return each speed's mean over all CPUs. CPUs vary together, so their number does not reduce the error."""
    return {figure: _speed(figure, cpus) for figure in (*_WORKS, Figure.CLOCK)}


def _speed(figure: Figure, cpus: Sequence[CalibratedCpuPart]) -> Estimate | None:
    deviation = mean_of(_deviation(figure, cpu) for cpu in cpus)
    counts = [positive_number_of(_spread(figure, cpu).count) for cpu in cpus if figure != Figure.CLOCK]
    if deviation is None or None in counts:
        return None
    freedom = min((int(count) - 1 for count in counts if count is not None), default=WEIGHT)
    return _estimate(figure, _mean(figure, cpus), math.hypot(deviation, SPEED_DEVIATION), freedom)


def _spread(figure: Figure, cpu: CalibratedCpuPart) -> SpreadPart:
    return (work_of(cpu)[_WORKS[figure]] if figure in _WORKS else None) or SpreadPart()


def _deviation(figure: Figure, cpu: CalibratedCpuPart) -> float | None:
    if figure == Figure.LATENCY:
        share = number_of(_spread(figure, cpu).mad_share)
        return None if share is None else share * _MAD
    width = cpu.effective_khz_spread_share if figure == Figure.CLOCK else _spread(figure, cpu).width_share
    share = number_of(width)
    return None if share is None else share / _WIDTH


def _mean(figure: Figure, cpus: Sequence[CalibratedCpuPart]) -> float | None:
    return mean_of(value_of(figure, cpu) for cpu in cpus)


def value_of(figure: Figure, cpu: CalibratedCpuPart) -> float | None:
    """Return one CPU's speed (ns per unit of work, or kHz) or rate of gaps; None means unknown."""
    if figure == Figure.CLOCK:
        return positive_number_of(cpu.effective_khz)
    if figure in GAPS_NS:
        return gap_rates(number_of(cpu.gaps_per_s), _gap_counts(cpu))[figure]
    spread = _spread(figure, cpu)
    median_ns, pieces = positive_number_of(spread.median_ns), positive_number_of(spread.pieces)
    return None if median_ns is None or pieces is None else median_ns / pieces


def _gap_counts(cpu: CalibratedCpuPart) -> dict[float, float] | None:
    """Return the number of gaps in each bucket, by its lower edge (ns), in rising order.

    Return None if the CPU's buffer was too small for all gaps, or if the histogram is malformed.
    """
    histogram = cpu.histogram
    if cpu.gaps_without_room != 0 or histogram is None or None in (histogram.edges_ns, histogram.counts):
        return None
    pairs = list(zip(histogram.edges_ns, histogram.counts, strict=False))
    if any(number_of(number) is None for pair in pairs for number in pair):
        return None
    if any(edge >= above for (edge, _), (above, _) in pairwise(pairs)):
        return None
    return dict(pairs)


def _noise(floors: Sequence[FloorPart], drift: DriftPart | None) -> dict[Figure, Estimate | None]:
    by_length = {floor.sample_ns: floor for floor in floors if floor.extrapolated is False}
    return {
        figure: _noise_floor(figure, by_length.get(length_ns), length_ns, drift)
        for figure, length_ns in NOISE_NS.items()
    }


def _noise_floor(figure: Figure, floor: FloorPart | None, length_ns: int, drift: DriftPart | None) -> Estimate | None:
    """Return the noise floor. Its deviation is one calibration's share of the drift between two calibrations."""
    margins = (None if drift is None else drift.margin_by_sample_ns) or {}
    margin = positive_number_of(margins.get(str(length_ns)))
    if margin is None or margin < 1:
        margin = USUAL_DRIFT.margin_at(length_ns)
    freedom = WEIGHT + int(number_of(None if drift is None else drift.changes_seen) or 0)
    deviation = math.log(margin) / ENDS / math.sqrt(2)
    return _estimate(figure, None if floor is None else number_of(floor.cv_expected), deviation, freedom)


def _estimate(figure: Figure, value: float | None, deviation: float, freedom: int) -> Estimate | None:
    known = number_of(value)
    if known is None or not math.isfinite(deviation):
        return None
    return Estimate(max(known, TRAITS[figure].floor), deviation, max(freedom, 1))
