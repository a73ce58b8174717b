"""The figures of a calibration in a document, each with its deviation by chance.

Influences on the pieces of work within a calibration also affect whole calibrations. The pieces are not independent,
and their number does not reduce the error. Work that shares a core or its caches with others (all but the chain of
dependent steps) is assumed to vary as far as nine of ten blocks of a millisecond do. `python -m
tests.benchmark.compare` prints how often two calibrations of one machine differ by these rules.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.comparison import Condition, MeasuredFigure
from noisewatch.judgement.noise.drift import ENDS, USUAL_DRIFT, WEIGHT
from noisewatch.model.estimate import Estimate
from noisewatch.model.history.figures import GAPS_NS, NOISE_NS, TRAITS, Figure
from noisewatch.operations.compare.documents import cpus_of, mapping_of, mappings_of, number_of, positive, word_of

_BY_SPREAD = "Welch's t-test, by the spread of blocks within each calibration"
_BY_DRIFT = "Welch's t-test, by the drift between calibrations"
_WORK = {
    Figure.LATENCY: "latency_work",
    Figure.THROUGHPUT: "native_work",
    Figure.INTERPRETER: "work",
    Figure.CACHE: "memory",
    Figure.MEMORY: "main_memory",
}
_OF_EACH_CPU = (Figure.LATENCY, Figure.CLOCK)  # what a neighbour in a core or a cache slows hardly or not at all
_OF_A_RECEIPT = (Figure.LATENCY, Figure.CLOCK, *NOISE_NS)
_WIDTH = 3.29  # standard deviations from the 5th to the 95th percentile
_MAD = 1.4826  # of a normal distribution, in standard deviations
_GAPS_DEVIATION = 0.55  # of the logarithm of a rate: twenty calibrations of a virtual machine with changing neighbours
_READING_DEVIATION = 0.03  # of the same
SPEED_DEVIATION = 0.0033  # a third of the 1% that counts: the change of speed by itself from hour to hour


class _Part(NamedTuple):
    """The part of a document that was measured under one condition."""

    condition: Condition
    cpus: Sequence[Mapping[str, Any]]
    clock_ns: object
    floors: object
    drift: Mapping[str, Any]


def figures_of_calibration(document: Mapping[str, Any]) -> dict[str, MeasuredFigure]:
    """Return all figures of a calibration, of a verdict or of `calibrate`, under each condition."""
    return {name: figure for part in _parts(document) for name, figure in _figures_of(part).items()}


def load_of(document: Mapping[str, Any]) -> str | None:
    """Return the load of the calibration under load: `2 busy processes on CPUs 0-1`."""
    under_load = mapping_of(document.get("under_load"))
    processes, cpus = number_of(under_load.get("processes")), cpus_of(under_load.get("cpus"))
    if processes is None or not cpus:
        return None
    return f"{processes:.0f} busy process{'' if processes == 1 else 'es'} on {name_cpus(cpus)}"


def _parts(document: Mapping[str, Any]) -> Iterator[_Part]:
    whole = _part(document, Condition.ALONE)
    target, against = cpus_of(document.get("target")), cpus_of(document.get("against"))
    if target is None or against is None:
        yield whole
    else:
        floors = mapping_of(mapping_of(document.get("comparison")).get("noise_floor"))
        yield whole._replace(cpus=_those_of(whole.cpus, target), floors=floors.get("target"))
        compared = _those_of(whole.cpus, against)
        yield whole._replace(condition=Condition.AGAINST, cpus=compared, floors=floors.get("against"))
    if isinstance(document.get("under_load"), dict):
        yield _part(document["under_load"], Condition.UNDER_LOAD)


def _part(document: Mapping[str, Any], condition: Condition) -> _Part:
    calibration = mapping_of(document.get("calibration"))
    return _Part(
        condition=condition,
        cpus=mappings_of(calibration.get("cpus")),
        clock_ns=calibration.get("clock_ns"),
        floors=document.get("noise_floor"),
        drift=mapping_of(document.get("noise_floor_drift")),
    )


def _those_of(cpus: Sequence[Mapping[str, Any]], wanted: CpuSet) -> Sequence[Mapping[str, Any]]:
    return [cpu for cpu in cpus if (cpus_of([cpu.get("cpu")]) or frozenset()) & wanted]


def _figures_of(part: _Part) -> dict[str, MeasuredFigure]:
    cpus = _complete(part.cpus)
    found = _speeds(cpus) | {figure: _gaps(figure, cpus) for figure in GAPS_NS}
    found |= _noise(mappings_of(part.floors), part.drift)
    if part.condition != Condition.AGAINST:  # it is the shortest of all CPUs, and listed once
        reading = number_of(part.clock_ns)
        found[Figure.CLOCK_READING] = _estimate(Figure.CLOCK_READING, reading, _READING_DEVIATION, WEIGHT)
    return _told(found, cpus, part.condition)


def figures_of_opening(calibration: Mapping[str, Any]) -> dict[str, MeasuredFigure]:
    """Return the few figures that a receipt contains of the calibration before its series."""
    cpus = _complete(mappings_of(calibration.get("cpus")))
    found = _speeds(cpus) | _noise(mappings_of(calibration.get("noise_floor")), {})
    return _told({figure: found[figure] for figure in _OF_A_RECEIPT}, cpus, Condition.ALONE)


def core_of(calibration: Mapping[str, Any]) -> str | None:
    """Return the loops that measured, and their priority."""
    core = word_of(calibration.get("core"))
    return f"{core} at real-time priority" if core and calibration.get("scheduler") == "fifo" else core


def _complete(cpus: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the CPUs, or none if any CPU was not measured to the end."""
    return cpus if all(cpu.get("trouble") == "none" for cpu in cpus) else []


def _told(
    found: Mapping[Figure, Estimate | None], cpus: Sequence[Mapping[str, Any]], condition: Condition
) -> dict[str, MeasuredFigure]:
    by_drift = {*GAPS_NS, *NOISE_NS, Figure.CLOCK_READING}
    tests = {figure: _BY_DRIFT if figure in by_drift else _BY_SPREAD for figure in Figure}
    each_cpu = _speeds_by_cpu(cpus)
    return {
        f"{figure}{condition}": MeasuredFigure(
            found[figure], TRAITS[figure], tests[figure], each_cpu.get(figure, {}), condition
        )
        for figure in Figure
        if figure in found
    }


def _speeds_by_cpu(cpus: Sequence[Mapping[str, Any]]) -> dict[Figure, dict[int, Estimate]]:
    """Return the speeds that are a CPU's own, by figure and CPU, if there are several and all are known.

    In all other work, a CPU varies between calibrations by more than its blocks within one calibration show.
    """
    numbers = [cpu.get("cpu") for cpu in cpus]
    if len(cpus) < 2 or len(cpus_of(numbers) or ()) < len(cpus):
        return {}
    speeds = {int(cpu["cpu"]): _speeds([cpu]) for cpu in cpus}
    known = {figure: {cpu: each[figure] for cpu, each in speeds.items()} for figure in _OF_EACH_CPU}
    return {
        figure: {cpu: estimate for cpu, estimate in each.items() if estimate is not None}
        for figure, each in known.items()
        if None not in each.values()
    }


def _speeds(cpus: Sequence[Mapping[str, Any]]) -> dict[Figure, Estimate | None]:
    found = {figure: _work(figure, [mapping_of(cpu.get(key)) for cpu in cpus]) for figure, key in _WORK.items()}
    return found | {Figure.CLOCK: _clock(cpus)}


def _work(figure: Figure, spreads: Sequence[Mapping[str, Any]]) -> Estimate | None:
    """Return the mean of all CPUs, which vary together."""
    counts = [positive(spread.get("count")) for spread in spreads]
    pieces = [_ratio(positive(spread.get("median_ns")), positive(spread.get("pieces"))) for spread in spreads]
    deviations = [_deviation(figure, spread) for spread in spreads]
    value, deviation = _mean(pieces), _mean(deviations)
    if value is None or deviation is None or None in counts:
        return None
    return _estimate(figure, value, math.hypot(deviation, SPEED_DEVIATION), min(map(int, filter(None, counts))) - 1)


def _deviation(figure: Figure, spread: Mapping[str, Any]) -> float | None:
    if figure == Figure.LATENCY:
        share = number_of(spread.get("mad_share"))
        return None if share is None else share * _MAD
    share = number_of(spread.get("width_share"))
    return None if share is None else share / _WIDTH


def _clock(cpus: Sequence[Mapping[str, Any]]) -> Estimate | None:
    value = _mean([positive(cpu.get("effective_khz")) for cpu in cpus])
    widths = _mean([number_of(cpu.get("effective_khz_spread_share", 0.0)) for cpu in cpus])
    if widths is None:
        return None
    return _estimate(Figure.CLOCK, value, math.hypot(widths / _WIDTH, SPEED_DEVIATION), WEIGHT)


def _gaps(figure: Figure, cpus: Sequence[Mapping[str, Any]]) -> Estimate | None:
    """Return the rate of gaps, or None if the buffer of a CPU was too small for all of them."""
    rates = [_gaps_per_s(mapping_of(cpu.get("histogram")), cpu, *GAPS_NS[figure]) for cpu in cpus]
    return _estimate(figure, _mean(rates), _GAPS_DEVIATION, WEIGHT)


def _gaps_per_s(histogram: Mapping[str, Any], cpu: Mapping[str, Any], begin_ns: float, end_ns: float) -> float | None:
    rate, edges, counts = number_of(cpu.get("gaps_per_s")), histogram.get("edges_ns"), histogram.get("counts")
    if rate is None or cpu.get("gaps_without_room") != 0 or not isinstance(edges, list) or not isinstance(counts, list):
        return None
    buckets = [(number_of(edge), number_of(count)) for edge, count in zip(edges, counts, strict=False)]
    known = [(edge, count) for edge, count in buckets if edge is not None and count is not None]
    total = sum(count for _, count in known)
    if len(known) < len(buckets) or (rate > 0 and total <= 0):
        return None
    return rate * sum(count for edge, count in known if begin_ns <= edge < end_ns) / total if total else 0.0


def _noise(floors: Sequence[Mapping[str, Any]], drift: Mapping[str, Any]) -> dict[Figure, Estimate | None]:
    by_length = {number_of(each.get("sample_ns")): each for each in floors if each.get("extrapolated") is False}
    return {
        figure: _noise_floor(figure, by_length.get(length_ns, {}), length_ns, drift)
        for figure, length_ns in NOISE_NS.items()
    }


def _noise_floor(figure: Figure, floor: Mapping[str, Any], length_ns: int, drift: Mapping[str, Any]) -> Estimate | None:
    """Return the noise floor, with its share of the drift, which is the deviation between two calibrations."""
    margin = positive(mapping_of(drift.get("margin_by_sample_ns")).get(str(length_ns)))
    if margin is None or margin < 1:
        margin = USUAL_DRIFT.margin_at(length_ns)
    freedom = WEIGHT + int(number_of(drift.get("changes_seen")) or 0)
    deviation = math.log(margin) / ENDS / math.sqrt(2)
    return _estimate(figure, number_of(floor.get("cv_expected")), deviation, freedom)


def _estimate(figure: Figure, value: float | None, deviation: float, freedom: int) -> Estimate | None:
    known = number_of(value)
    if known is None or not math.isfinite(deviation):
        return None
    return Estimate(max(known, TRAITS[figure].floor), deviation, max(freedom, 1))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def _ratio(value: float | None, parts: float | None) -> float | None:
    return None if value is None or parts is None else value / parts
