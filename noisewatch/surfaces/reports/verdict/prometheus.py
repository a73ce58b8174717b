"""The verdict as gauges in Prometheus' text format, fit for the textfile collector of node_exporter.

https://prometheus.io/docs/instrumenting/exposition_formats/ and https://prometheus.io/docs/practices/naming/
Unknown values have no sample. Times are in seconds, sizes in bytes, shares are ratios from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import chance_within_budget
from noisewatch.judgement.terms import Outcome, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.patterns import regex
from noisewatch.surfaces.reports.verdict.formats import RenderOptions, figure_of
from noisewatch.text import printable

_BASE_UNITS = {
    "share": ("ratio", 1.0),
    "ns": ("seconds", 1e-9),
    "us": ("seconds", 1e-6),
    "µs": ("seconds", 1e-6),
    "ms": ("seconds", 1e-3),
    "s": ("seconds", 1.0),
    "kHz": ("hertz", 1e3),
    "khz": ("hertz", 1e3),
    "MHz": ("hertz", 1e6),
    "kB": ("bytes", 1024.0),
    "MB": ("bytes", 1024.0**2),
    "°C": ("celsius", 1.0),
}
_NO_NAME = regex("[^a-z0-9]+")
# The attribute of a CPU's figures, the name of its gauge, the factor that converts the unit, and the help text.
_CPU_GAUGES = (
    ("gaps_per_s", "gaps_per_second", 1.0, "Gaps per second: how often a spinning loop was interrupted."),
    ("stolen_share", "stolen_ratio", 1.0, "Share of the time lost to gaps."),
    ("waited_share", "waited_ratio", 1.0, "Share of the time in which the loop waited for the CPU."),
    ("gap_p50_ns", "gap_p50_seconds", 1e-9, "Median length of the gaps."),
    ("gap_p99_ns", "gap_p99_seconds", 1e-9, "99th percentile of the lengths of the gaps."),
    ("gap_max_ns", "gap_max_seconds", 1e-9, "Length of the longest gap."),
    ("effective_khz", "effective_frequency_hertz", 1e3, "Measured clock frequency."),
    (
        "effective_khz_spread_share",
        "effective_frequency_spread_ratio",
        1.0,
        "Range of the frequency (5th to 95th percentile), relative to its median.",
    ),
    (
        "throughput_drift_share",
        "throughput_drift_ratio",
        1.0,
        "How much longer interpreted work took in the last third of the calibration than in the first.",
    ),
)
_CV = "Relative standard deviation that the machine alone adds to samples of this length"
_CHANCE = "Chance that samples of this length stay within the budget"
_BY_WORK = "for each kind of work on its worst CPU, and for interruptions alone."


class _Sample(NamedTuple):
    """A value of a gauge; an unknown value has no sample."""

    name: str
    help: str
    value: float | None
    labels: Mapping[str, str] = {}


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format prometheus`."""
    registry = CollectorRegistry()
    gauges: dict[str, Gauge] = {}
    for name, help_text, value, labels in _samples(verdict, options):
        if value is None or not math.isfinite(value):
            continue
        if name not in gauges:
            gauges[name] = Gauge(f"noisewatch_{name}", help_text, tuple(labels), registry=registry)
        gauge = gauges[name]
        (gauge.labels(*map(printable, labels.values())) if labels else gauge).set(value)
    return generate_latest(registry).decode()


def _samples(verdict: Verdict, options: RenderOptions) -> Iterator[_Sample]:
    yield from _run_samples(verdict, options)
    for finding in verdict.findings:
        yield from _finding_samples(finding)
    if verdict.case.calibrated is not None:
        yield from _calibration_samples(verdict.case.calibrated)


def _run_samples(verdict: Verdict, options: RenderOptions) -> Iterator[_Sample]:
    for word in (Outcome.STABLE, Outcome.UNSTABLE, Outcome.UNKNOWN):
        yield _Sample(
            "verdict", "1 for the verdict, 0 for the other verdicts.", float(verdict.verdict == word), {"verdict": word}
        )
    yield _Sample("exit_status", "Exit status of preflight.", options.exit_status)
    yield _Sample("last_run_timestamp_seconds", "When the verdict was reached.", options.at_s)
    interval = verdict.case.interval
    sampled_s = 0.0 if interval is None else interval.seconds
    yield _Sample("sample_duration_seconds", "Length of the sample of counters; 0: no sample.", sampled_s)
    yield _Sample("own_cpu_ratio", "CPU time that noisewatch used, as a share of one CPU.", options.own_cpu_share)
    yield _Sample("target_cpus", "Number of CPUs that were judged.", len(verdict.case.target))
    platform = verdict.case.snapshot.platform
    labels = {
        "version": __version__,
        "profile": verdict.profile,
        "target": format_cpu_list(verdict.case.target),
        "kernel": platform.kernel or "",
        "cpu_model": platform.cpu_model or "",
        "virtual": platform.virtual or "",
        "container": platform.container or "",
    }
    yield _Sample("run_info", "1; its labels describe the machine, its target CPUs and noisewatch.", 1.0, labels)


def _finding_samples(finding: Finding) -> Iterator[_Sample]:
    check, answer = finding.check, finding.answer
    labels = {"check": check.id, "area": check.area, "severity": finding.severity, "status": finding.status}
    yield _Sample("finding_status", "1 for the status of the check.", 1.0, labels)
    name, factor = _BASE_UNITS.get(answer.unit or "", (_NO_NAME.sub("_", (answer.unit or "").lower()).strip("_"), 1.0))
    suffix = f"_{name}" if name else ""
    for what, help_text, value in (
        ("measured", "What the check measured.", figure_of(answer.measured)),
        ("limit", "Limit of the check.", figure_of(answer.limit)),
    ):
        scaled = None if value is None else value * factor
        yield _Sample(f"finding_{what}{suffix}", help_text, scaled, {"check": check.id})
    costliest = next((culprit for culprit in answer.culprits if culprit.share is not None), None)
    if finding.status in (Status.FAIL, Status.WARN) and costliest is not None:
        # without its PID, which would make a new series for each process
        who = {"cpu": str(costliest.cpu), "culprit": costliest.kind.with_name(costliest.name)}
        help_text = "Share of a CPU's time that the costliest culprit of a failure or warning took."
        yield _Sample("finding_culprit_ratio", help_text, costliest.share, {"check": check.id, **who})


def _calibration_samples(calibrated: Calibrated) -> Iterator[_Sample]:
    seconds = calibrated.calibration.seconds
    yield _Sample("calibration_duration_seconds", "Duration of the microbenchmark.", seconds)
    for figures in calibrated.complete:
        for attribute, name, factor, help_text in _CPU_GAUGES:
            value = getattr(figures, attribute)
            scaled = None if value is None else value * factor
            yield _Sample(f"calibration_{name}", help_text, scaled, {"cpu": str(figures.cpu)})
    for floor in calibrated.floors:
        length = {"sample_seconds": f"{floor.sample_ns / 1e9:g}"}
        for bound, share in _bounds(floor).items():
            yield _Sample("noise_floor_cv_ratio", f"{_CV}.", share, {**length, "bound": bound})
        yield _Sample("noise_floor_length_chance_ratio", f"{_CHANCE}.", calibrated.chance_of(floor), length)
        help_text = "Longest sample of this length, as a multiple of the median."
        yield _Sample("noise_floor_max_inflation_ratio", help_text, floor.max_inflation, length)
        help_text = "Minimum detectable effect: the smallest change that samples of this length can show."
        yield _Sample("noise_floor_smallest_change_ratio", help_text, floor.smallest_change_share, length)
    help_text = (
        "Chance that the benchmark's samples stay within the budget: for its kind of work, else the lowest of all."
    )
    yield _Sample("noise_floor_chance_ratio", help_text, chance_within_budget(calibrated).value)
    for work, work_floors in calibrated.floors_by_work.items():
        for floor in work_floors.floors:
            labels = {"work": work, "sample_seconds": f"{floor.sample_ns / 1e9:g}"}
            chance = calibrated.chance_of(floor)
            yield _Sample("noise_floor_by_work_chance_ratio", f"{_CHANCE}, {_BY_WORK}", chance, labels)
            for bound, share in _bounds(floor).items():
                bounded = {**labels, "bound": bound}
                yield _Sample("noise_floor_by_work_cv_ratio", f"{_CV}, {_BY_WORK}", share, bounded)


def _bounds(floor: NoiseFloor) -> dict[str, float]:
    return {"low": floor.cv_low, "expected": floor.cv_expected, "high": floor.cv_high}
