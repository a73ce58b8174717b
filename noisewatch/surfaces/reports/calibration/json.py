"""A calibration and its noise floor as JSON: noisewatch's own format, and pyperf's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from noisewatch import __version__
from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import chance_within_budget
from noisewatch.judgement.noise.comparison import compare, noise_share_of, part_of
from noisewatch.judgement.noise.detection import on_cpus
from noisewatch.judgement.noise.smallest_change import TEST
from noisewatch.kernel.calibration import CpuSamples
from noisewatch.model.calibration.attribution import Attribution
from noisewatch.model.calibration.figures import Calibration, CpuFigures, blocks_of
from noisewatch.model.calibration.settling import Settling
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad
from noisewatch.surfaces.reports.calibration.comparison import gap_lengths, summary, work_times
from noisewatch.surfaces.reports.calibration.detection import describe_detection
from noisewatch.surfaces.reports.machine.json import SCHEMA, describe_facts
from noisewatch.surfaces.reports.parts.culprits import describe_culprit, describe_gap, describe_source

_MOST_GAPS = 100


def describe_calibration(calibrated: Calibrated) -> dict[str, Any]:
    """Return `calibration` of the verdict. Durations are in ns, shares are fractions of 1, null is unknown."""
    calibration, attribution = calibrated.calibration, calibrated.attribution
    samples = calibration.samples
    clocks = [figures.clock_ns for figures in calibration.cpus if figures.clock_ns is not None]
    return {
        "seconds": calibration.seconds,
        "core": samples.core,
        "clock_ns": min(clocks, default=None),
        "scheduler": "fifo" if samples.is_realtime else "other",
        "workload": list(samples.command) or "none",
        "culprits_by": "trace" if attribution.reason is None else "gaps",
        "no_trace_reason": attribution.reason,
        "cpus": [
            _cpu(figures, said, samples.threshold_ns) | _who(attribution, said.cpu)
            for figures, said in zip(calibration.cpus, samples.cpus, strict=True)
        ],
    }


def _cpu(figures: CpuFigures, said: CpuSamples, threshold_ns: int) -> dict[str, Any]:
    edges, counts = figures.gap_histogram.edges_and_counts()
    return {
        "cpu": figures.cpu,
        "trouble": figures.trouble or "none",
        "gap_threshold_ns": threshold_ns,
        "gaps_per_s": figures.gaps_per_s,
        "stolen_share": figures.stolen_share,
        "waited_share": figures.waited_share,
        "gap_p50_ns": figures.gap_p50_ns,
        "gap_p99_ns": figures.gap_p99_ns,
        "gap_p999_ns": figures.gap_p999_ns,
        "gap_max_ns": figures.gap_max_ns,
        "gaps_without_room": figures.lost_gaps,
        "effective_khz": figures.effective_khz,
        "effective_khz_spread_share": figures.effective_khz_spread_share,
        "throughput_drift_share": figures.throughput_drift_share,
        "mvalue": figures.mvalue,
        "work": None if figures.work is None else asdict(figures.work),
        "native_work": None if figures.native_work is None else asdict(figures.native_work),
        "latency_work": None if figures.latency_work is None else asdict(figures.latency_work),
        "memory": None if figures.memory is None else asdict(figures.memory),
        "main_memory": None if figures.main_memory is None else asdict(figures.main_memory),
        "workload": None if figures.command is None else asdict(figures.command),
        "locked_kb": said.locked_kb,
        "resident_kb": said.resident_kb,
        "histogram": {"edges_ns": edges, "counts": counts},
    }


def _who(attribution: Attribution, cpu: int) -> dict[str, Any]:
    """Return the culprits of the CPU's gaps; without a trace, `suspects` are what ran there meanwhile."""
    return {
        "culprits": [describe_source(each) for each in attribution.culprits_by_cpu.get(cpu, ())],
        "suspects": [describe_culprit(each) for each in attribution.suspects_by_cpu.get(cpu, ())],
        "longest_gaps": [describe_gap(each) for each in attribution.longest(cpu, _MOST_GAPS)],
    }


def describe_floors(calibrated: Calibrated, floors: Sequence[NoiseFloor]) -> list[dict[str, Any]]:
    """Return `noise_floor` of the verdict: the worst CPU, for each length of samples."""
    return [{**_finite(asdict(floor)), "chance": calibrated.chance_of(floor), "test": TEST} for floor in floors]


def describe_noise(calibrated: Calibrated | None) -> dict[str, Any]:
    """Return all keys on the noise floor; all are null without a calibration.

    They are the noise floor by length of samples, the same for each kind of work on its worst CPU and for interruptions
    alone, the chance of staying within the budget, and by how much drift widens the intervals.
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
            name: describe_floors(calibrated, each.floors) for name, each in calibrated.floors_by_work.items()
        },
        "noise_floor_drift": {"changes_seen": drift.changes, "margin_by_sample_ns": margins},
    }


_OF_NOISE = ("noise_floor", "noise_floor_of", "noise_floor_chance", "noise_floor_by_work", "noise_floor_drift")


def describe_calibrated(result: CalibratedTarget) -> dict[str, Any]:
    """Return the document of `noisewatch calibrate --format json`. What was not requested is null."""
    target, against = result.target, result.against
    of_target = result.calibrated if against is None else on_cpus(result.calibrated, target)
    return {
        "schema": SCHEMA,
        "target": sorted(target),
        "against": None if against is None else sorted(against),
        "facts": None if result.machine is None else describe_facts(result.machine),
        "comparison": None if against is None else _comparison_against(result, against),
        "calibration": describe_calibration(result.calibrated),
        **describe_noise(result.calibrated),
        "detect": describe_detection(of_target, result.calibrated.budget.detect),
        "settling": describe_settling(result.settling),
        "under_load": None if result.under_load is None else _under_load(result, result.under_load),
    }


def _comparison_against(result: CalibratedTarget, against: CpuSet) -> dict[str, Any]:
    one, other = (part_of(result.calibrated, cpus) for cpus in (result.target, against))
    compared = describe_comparison(result.calibrated.calibration, result.target, against)
    return compared | _difference(one, other, ("target", "against"))


def _under_load(result: CalibratedTarget, loaded: CalibratedUnderLoad) -> dict[str, Any]:
    """Return the load, the calibration under load, and its comparison with the idle one."""
    names = ("idle", "under_load")
    sides = result.calibrated.calibration, loaded.calibrated.calibration
    compared = {
        what: _side_by_side([values_of(calibration, result.target) for calibration in sides], names)
        for what, values_of in _COMPARED_VALUES
    }
    return {
        "processes": loaded.load.processes,
        "cpus": sorted(loaded.load.cpus),
        "busy_share": loaded.load.busy_share,
        "target_cpus_not_isolated": sorted(loaded.not_isolated),
        "calibration": describe_calibration(loaded.calibrated),
        **describe_noise(loaded.calibrated),
        "comparison": compared | _difference(result.calibrated, loaded.calibrated, names),
    }


def _difference(first: Calibrated, second: Calibrated, names: tuple[str, str]) -> dict[str, Any]:
    """Return the comparison; `difference` is that of the second side: noisier, quieter, same or unknown."""
    found = compare(first, second)
    return {
        "difference": found.difference,
        "noise_ratio": found.ratio,
        "noise_floors_apart": found.are_floors_apart,
        "noise_share": dict(zip(names, map(noise_share_of, (first, second)), strict=True)),
        "noise_floor": {
            name: describe_floors(side, side.floors) for name, side in zip(names, (first, second), strict=True)
        },
    }


def describe_comparison(calibration: Calibration, target: CpuSet, against: CpuSet) -> dict[str, Any]:
    """Return work and gaps of two sets of CPUs in ns, with the ratios of the second to the first."""
    return {
        what: _side_by_side([values_of(calibration, cpus) for cpus in (target, against)], ("target", "against"))
        for what, values_of in _COMPARED_VALUES
    }


def _side_by_side(values: Sequence[Sequence[float]], names: tuple[str, str]) -> dict[str, Any]:
    sides = [summary(each) for each in values]
    one, other = ({} if side is None else dict(zip(_COMPARED, side, strict=True)) for side in sides)
    ratios = {name: other[name] / one[name] if name in other and one.get(name) else None for name in _COMPARED}
    return {names[0]: one or None, names[1]: other or None, "ratio": ratios}


_COMPARED_VALUES = (("work", work_times), ("gaps", gap_lengths))
_COMPARED = ("median_ns", "deviation_ns", "max_ns")


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace infinite values, which JSON does not have, by None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }


FORMAT_VERSION = "1.0"


def _round_number_of(times_ns: Sequence[float]) -> list[float]:
    """Return 1, 2 or 5 times a power of ten of these times, evenly spread.

    pyperf compares only benchmarks with equally many values.
    """
    wanted = max(digit * 10**power for digit in (1, 2, 5) for power in range(8) if digit * 10**power <= len(times_ns))
    return [times_ns[number * len(times_ns) // wanted] for number in range(wanted)]


def describe_for_pyperf(calibration: Calibration) -> dict[str, Any]:
    """Return a pyperf benchmark for each CPU, in seconds: interpreted work in blocks of about 1 ms, or the workload."""
    has_command = bool(calibration.samples.command)
    benchmarks = []
    for said in calibration.samples.cpus:
        times_ns = [float(each) for each in said.commands.length_ns] if has_command else blocks_of(said.interpreted)
        if times_ns and said.trouble is None:
            name = f"{'workload' if has_command else 'fixed-work'}-cpu{said.cpu}"
            values = [time_ns / 1e9 for time_ns in _round_number_of(times_ns)]
            run = {"values": values, "metadata": {"cpu_affinity": str(said.cpu)}}
            benchmarks.append({"metadata": {"name": name}, "runs": [run]})
    metadata = {"unit": "second", "loops": 1, "noisewatch_version": __version__, "core": calibration.samples.core}
    return {"version": FORMAT_VERSION, "metadata": metadata, "benchmarks": benchmarks}


def describe_settling(settling: Settling | None) -> dict[str, Any] | None:
    """Return `settling` of the JSON document, or None if it was not requested. `speed_ratio` is last by first speed."""
    if settling is None:
        return None
    return {
        "is_level": settling.is_level,
        "settled_after_s": settling.after_s,
        "worked_s": settling.seconds,
        "cpus": [
            {
                "cpu": each.cpu,
                "settled_after_s": each.after_s,
                "first_khz": each.first if each.is_khz else None,
                "last_khz": each.last if each.is_khz else None,
                "speed_ratio": each.last / each.first,
            }
            for each in settling.cpus
        ],
    }
