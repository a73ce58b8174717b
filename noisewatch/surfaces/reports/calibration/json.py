"""A calibration and its noise floor as JSON: noisewatch's own format, and pyperf's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from noisewatch import __version__
from noisewatch.cpus import CpuSet
from noisewatch.documents.calibration import (
    CalibratedCpuPart,
    CalibrationComparisonPart,
    CalibrationDocument,
    CalibrationPart,
    DetectionPart,
    DriftPart,
    FloorPart,
    HistogramPart,
    NeededPart,
    SettledCpuPart,
    SettlingPart,
    SidesPart,
    SummaryPart,
    UnderLoadPart,
)
from noisewatch.documents.document import SCHEMA, fill_part
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import chance_within_budget
from noisewatch.judgement.noise.comparison import compare, noise_share_of, part_of
from noisewatch.judgement.noise.detection import needed_samples, on_cpus
from noisewatch.judgement.noise.smallest_change import TEST
from noisewatch.kernel.calibration import CpuSamples
from noisewatch.model.calibration.attribution import Attribution
from noisewatch.model.calibration.figures import Calibration, CpuFigures, blocks_of
from noisewatch.model.calibration.settling import Settling
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad
from noisewatch.surfaces.reports.calibration.comparison import gap_lengths, summary, work_times
from noisewatch.surfaces.reports.calibration.detection import NOT_CALIBRATED
from noisewatch.surfaces.reports.parts.json import describe_culprit, describe_facts, describe_gap, describe_source

_MOST_GAPS = 100
_SUMMARY = SummaryPart.__struct_fields__


def describe_calibration(calibrated: Calibrated) -> CalibrationPart:
    """Return the value of the key `calibration` in a document."""
    calibration, attribution = calibrated.calibration, calibrated.attribution
    samples = calibration.samples
    clocks = [figures.clock_ns for figures in calibration.cpus if figures.clock_ns is not None]
    return CalibrationPart(
        seconds=calibration.seconds,
        core=samples.core,
        clock_ns=min(clocks, default=None),
        scheduler="fifo" if samples.is_realtime else "other",
        workload=list(samples.command) or "none",
        culprits_by="trace" if attribution.reason is None else "gaps",
        no_trace_reason=attribution.reason,
        cpus=[
            _cpu(figures, cpu_samples, samples.threshold_ns, attribution)
            for figures, cpu_samples in zip(calibration.cpus, samples.cpus, strict=True)
        ],
    )


def _cpu(
    figures: CpuFigures, cpu_samples: CpuSamples, threshold_ns: int, attribution: Attribution
) -> CalibratedCpuPart:
    edges, counts = figures.gap_histogram.edges_and_counts()
    return fill_part(
        CalibratedCpuPart,
        figures,
        trouble=figures.trouble or "none",
        gap_threshold_ns=threshold_ns,
        gaps_without_room=figures.lost_gaps,
        interpreter=figures.work,
        throughput=figures.native_work,
        cache=figures.memory,
        memory=figures.main_memory,
        work=UNSET,
        native_work=UNSET,
        main_memory=UNSET,
        workload=figures.command,
        locked_kb=cpu_samples.locked_kb,
        resident_kb=cpu_samples.resident_kb,
        histogram=HistogramPart(edges_ns=edges, counts=counts),
        culprits=[describe_source(source) for source in attribution.culprits_by_cpu.get(cpu_samples.cpu, ())],
        suspects=[describe_culprit(suspect) for suspect in attribution.suspects_by_cpu.get(cpu_samples.cpu, ())],
        longest_gaps=[describe_gap(gap) for gap in attribution.longest(cpu_samples.cpu, _MOST_GAPS)],
    )


def describe_floors(calibrated: Calibrated, floors: Sequence[NoiseFloor]) -> list[FloorPart]:
    """Return noise floors for JSON, one for each length of samples."""
    return [fill_part(FloorPart, floor, chance=calibrated.chance_of(floor), test=TEST) for floor in floors]


def describe_noise(calibrated: Calibrated | None) -> dict[str, Any]:
    """Return all keys on the noise floor; all are null without a calibration.

    The keys are: the noise floor by sample length (also for each kind of work on its worst CPU, and for interruptions
    alone), the chance of staying within the budget, and the widening of the intervals for drift.
    """
    if calibrated is None:
        return dict.fromkeys(_OF_NOISE)
    drift = calibrated.drift
    margins = {str(floor.sample_ns): drift.margin_at(floor.sample_ns) for floor in calibrated.floors}
    return {
        "noise_floor": describe_floors(calibrated, calibrated.floors),
        "noise_floor_of": calibrated.floors_of,
        "noise_floor_chance": chance_within_budget(calibrated).value,
        "noise_floor_by_work": {
            name: describe_floors(calibrated, work.floors) for name, work in calibrated.floors_by_work.items()
        },
        "noise_floor_drift": DriftPart(changes_seen=drift.changes, margin_by_sample_ns=margins),
    }


_OF_NOISE = ("noise_floor", "noise_floor_of", "noise_floor_chance", "noise_floor_by_work", "noise_floor_drift")


def describe_detection(calibrated: Calibrated | None, share: float | None) -> DetectionPart | None:
    """Return the value of the key `detect` in a document; None if no share was requested."""
    if share is None:
        return None
    if calibrated is None:
        return DetectionPart(share=share, rows=[], reason=NOT_CALIBRATED)
    rows = [fill_part(NeededPart, needed) for needed in needed_samples(calibrated, share)]
    return DetectionPart(share=share, rows=rows, reason=None)


def describe_calibrated(result: CalibratedTarget) -> CalibrationDocument:
    """Return the document of `noisewatch calibrate --format json`."""
    target, against = result.target, result.against
    of_target, comparison = result.calibrated, None
    if against is not None:
        of_target = on_cpus(result.calibrated, target)
        sides = [part_of(result.calibrated, cpus) for cpus in (target, against)]
        measured = [(result.calibrated.calibration, cpus) for cpus in (target, against)]
        comparison = _comparison(("target", "against"), sides, measured)
    return CalibrationDocument(
        schema=SCHEMA,
        target=sorted(target),
        against=None if against is None else sorted(against),
        facts=None if result.machine is None else describe_facts(result.machine),
        comparison=comparison,
        calibration=describe_calibration(result.calibrated),
        **describe_noise(result.calibrated),
        detect=describe_detection(of_target, result.calibrated.budget.detect),
        settling=describe_settling(result.settling),
        under_load=None if result.under_load is None else _under_load(result, result.under_load),
    )


def _under_load(result: CalibratedTarget, loaded: CalibratedUnderLoad) -> UnderLoadPart:
    """Return the load, the calibration under load, and its comparison with the idle one."""
    sides = [result.calibrated, loaded.calibrated]
    return UnderLoadPart(
        processes=loaded.load.processes,
        cpus=sorted(loaded.load.cpus),
        busy_share=loaded.load.busy_share,
        target_cpus_not_isolated=sorted(loaded.not_isolated),
        calibration=describe_calibration(loaded.calibrated),
        **describe_noise(loaded.calibrated),
        comparison=_comparison(("idle", "under_load"), sides, [(side.calibration, result.target) for side in sides]),
    )


def _comparison(
    names: tuple[str, str], sides: Sequence[Calibrated], measured: Sequence[tuple[Calibration, CpuSet]]
) -> CalibrationComparisonPart:
    """Return the comparison of two sides, with the times and gaps measured on each side's CPUs."""
    compared = compare(*sides)
    return CalibrationComparisonPart(
        work=_side_by_side(names, [work_times(*side) for side in measured]),
        gaps=_side_by_side(names, [gap_lengths(*side) for side in measured]),
        difference=compared.difference,
        noise_ratio=compared.ratio,
        noise_floors_apart=compared.are_floors_apart,
        noise_share=dict(zip(names, map(noise_share_of, sides), strict=True)),
        noise_floor={name: describe_floors(side, side.floors) for name, side in zip(names, sides, strict=True)},
    )


def _side_by_side(names: tuple[str, str], values: Sequence[Sequence[float]]) -> SidesPart:
    first, second = (summary(side) for side in values)
    ratio = {
        name: None if first is None or second is None or not first[index] else second[index] / first[index]
        for index, name in enumerate(_SUMMARY)
    }
    return SidesPart(ratio=ratio, **dict(zip(names, (_summary(first), _summary(second)), strict=True)))


def _summary(figures: Sequence[float] | None) -> SummaryPart | None:
    return None if figures is None else SummaryPart(**dict(zip(_SUMMARY, figures, strict=True)))


FORMAT_VERSION = "1.0"


def _round_number_of(times_ns: Sequence[float]) -> list[float]:
    """Return an evenly spread selection of the times; their number is 1, 2 or 5 times a power of ten.

    pyperf compares only benchmarks with the same number of values.
    """
    size = max(digit * 10**power for digit in (1, 2, 5) for power in range(8) if digit * 10**power <= len(times_ns))
    return [times_ns[number * len(times_ns) // size] for number in range(size)]


def describe_for_pyperf(calibration: Calibration) -> dict[str, Any]:
    """Return a pyperf benchmark for each CPU, in seconds: interpreted work in blocks of about 1 ms, or the workload."""
    has_command = bool(calibration.samples.command)
    benchmarks = []
    for cpu_samples in calibration.samples.cpus:
        times_ns = (
            [float(ns) for ns in cpu_samples.commands.length_ns] if has_command else blocks_of(cpu_samples.interpreted)
        )
        if times_ns and cpu_samples.trouble is None:
            name = f"{'workload' if has_command else 'fixed-work'}-cpu{cpu_samples.cpu}"
            values = [time_ns / 1e9 for time_ns in _round_number_of(times_ns)]
            run = {"values": values, "metadata": {"cpu_affinity": str(cpu_samples.cpu)}}
            benchmarks.append({"metadata": {"name": name}, "runs": [run]})
    metadata = {"unit": "second", "loops": 1, "noisewatch_version": __version__, "core": calibration.samples.core}
    return {"version": FORMAT_VERSION, "metadata": metadata, "benchmarks": benchmarks}


def describe_settling(settling: Settling | None) -> SettlingPart | None:
    """Return the value of the key `settling` in a document; None if settling was not requested."""
    if settling is None:
        return None
    return SettlingPart(
        is_level=settling.is_level,
        settled_after_s=settling.after_s,
        worked_s=settling.seconds,
        cpus=[
            SettledCpuPart(
                cpu=clock.cpu,
                settled_after_s=clock.after_s,
                first_khz=clock.first if clock.is_khz else None,
                last_khz=clock.last if clock.is_khz else None,
                speed_ratio=clock.last / clock.first,
            )
            for clock in settling.cpus
        ],
    )
