"""A calibration for people: what was measured, the noise floor, and what may be trusted."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.dominance import dominating_cause
from noisewatch.judgement.noise_floor import TEST, NoiseFloor
from noisewatch.model.calibration.figures import Calibration, CpuFigures
from noisewatch.model.calibration.statistics import Histogram
from noisewatch.surfaces.reports.calibration.comparison import gap_lengths, summary, work_times
from noisewatch.surfaces.reports.parts.charts import comparison_chart, gap_chart
from noisewatch.surfaces.reports.parts.culprits import culprit_lines, gap_lines, root_lines, suspect_words
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.units import describe_ghz, describe_ns, describe_share

_CHART_HEIGHT = 14
_ABBREVIATIONS = "CV: relative standard deviation; MDE: minimum detectable effect"
_MOST_CULPRITS, _MOST_GAPS, _MOST_SUSPECTS = 8, 5, 8
REALTIME_REMARK = (
    "Real-time throttling (kernel.sched_rt_runtime_us) stops a real-time task for 50 ms in each second, unless it is "
    "switched off: such gaps are not the machine's."
)
_WIDEST_CHART = 100


def text_of_calibration(calibrated: Calibrated, target: CpuSet, width: int, in_unicode: bool) -> str:
    """The whole report of `noisewatch calibrate`."""
    calibration = calibrated.calibration
    lines = [headline(calibration, target), *how_measured(calibration), "", *cpu_lines(calibration), ""]
    lines = _folded(lines, width) + histogram_lines(calibration, width, in_unicode)
    lines += cause_lines(calibrated, width)
    lines += ["", *_folded(conclusion_lines(calibrated), width)]
    return "\n".join(lines) + "\n"


def _folded(lines: Iterable[str], width: int) -> list[str]:
    """Sentences folded at the width; rows of a table are as wide as they are."""
    return [
        part
        for line in lines
        for part in ([line] if "  " in line else textwrap.wrap(line, max(width, 40), subsequent_indent="  ") or [""])
    ]


def cause_lines(calibrated: Calibrated, width: int) -> list[str]:
    """Who made the gaps of each CPU, and how that is known."""
    attribution = calibrated.attribution
    reason = attribution.reason
    lines = [] if reason is None else textwrap.wrap(f"Inferred from the gaps alone, without a trace: {reason}.", width)
    cpus = format_cpu_list(attribution.culprits_by_cpu)
    lines += root_lines(reason, f"calibrate --cpus {cpus}", attribution.is_live)
    for cpu, culprits in attribution.culprits_by_cpu.items():
        if not culprits:
            continue
        lines += ["", f"culprits of the gaps on CPU {cpu}", *culprit_lines(culprits, _MOST_CULPRITS)]
        suspects = attribution.suspects_by_cpu.get(cpu, ())
        if suspects:
            said = f"Seen there meanwhile: {suspect_words(suspects, _MOST_SUSPECTS)}."
            lines += textwrap.wrap(said, width, initial_indent="  ", subsequent_indent="  ")
        lines += ["  longest gaps", *gap_lines(attribution.longest(cpu, _MOST_GAPS))]
    return ["", *lines] if len(lines) > 1 else []


def conclusion_lines(calibrated: Calibrated) -> list[str]:
    """The noise floor, and what it means."""
    if not calibrated.floors:
        return ["Too little was measured for a noise floor: calibrate longer."]
    missing = [f"{name_cpus(calibrated.unpredicted)}: too little was measured"] if calibrated.unpredicted else []
    missing += [f"CPU {cpu} left out: {trouble}" for cpu, trouble in calibrated.troubles.items()]
    return [*floor_lines(calibrated.floors), *missing, "", *_advice(calibrated)]


def headline(calibration: Calibration, target: CpuSet) -> str:
    samples = calibration.samples
    work = f" · workload: {' '.join(samples.command)}" if samples.command else ""
    return f"noisewatch calibrate · {name_cpus(target)} · {calibration.seconds:.1f} s · {samples.core} core{work}"


def how_measured(calibration: Calibration) -> list[str]:
    """What bounds the measurement itself."""
    samples = calibration.samples
    scheduler = "real-time (SCHED_FIFO)" if samples.is_realtime else "normal (SCHED_OTHER)"
    turns = [figures.clock_ns for figures in calibration.cpus if figures.clock_ns is not None]
    turn = f" (one turn of the loop takes {describe_ns(min(turns))})" if turns else ""
    lines = [
        f"gaps of {describe_ns(samples.threshold_ns)} and more{turn}, scheduling {scheduler}{_memory(calibration)}"
    ]
    if samples.core == "python":
        lines.append("The compiled core is not installed: no effective frequency, and nothing below 1 µs.")
    return [*lines, REALTIME_REMARK] if samples.is_realtime else lines


def _memory(calibration: Calibration) -> str:
    """How far the memory could be kept from being paged out: what the kernel counted, on the CPU with the least."""
    known = [
        (said.locked_kb, said.resident_kb)
        for said in calibration.samples.cpus
        if said.locked_kb is not None and said.resident_kb is not None and said.trouble is None
    ]
    if not known:
        return ""
    locked_kb, resident_kb = min(known)
    if locked_kb >= resident_kb:
        return ", memory locked"
    return f", {locked_kb / 1024:.1f} of {resident_kb / 1024:.1f} MB of memory locked (more needs CAP_IPC_LOCK)"


def cpu_lines(calibration: Calibration) -> list[str]:
    """A row for each CPU."""
    header = ["CPU", "gaps/s", "noise", "p50", "p99", "p99.9", "longest", "GHz", "±", "drift", "modes"]
    rows = [_cpu_row(figures) for figures in calibration.cpus if figures.trouble is None]
    lines = align([header, *rows]).splitlines() if rows else []
    lines += [f"CPU {figures.cpu}: {figures.trouble}" for figures in calibration.cpus if figures.trouble is not None]
    lost = {figures.cpu: figures.lost_gaps for figures in calibration.cpus if figures.lost_gaps}
    lines += [f"CPU {cpu}: buffer full: {count} gaps counted without details" for cpu, count in lost.items()]
    for name, said in (("work", "fixed work"), ("memory", "memory"), ("command", "workload")):
        lines += _spread_line(calibration, name, said)
    return lines


def _cpu_row(figures: CpuFigures) -> list[str]:
    return [
        str(figures.cpu),
        "?" if figures.gaps_per_s is None else f"{figures.gaps_per_s:.0f}",
        describe_share(figures.stolen_share),
        describe_ns(figures.gap_p50_ns),
        describe_ns(figures.gap_p99_ns),
        describe_ns(figures.gap_p999_ns),
        describe_ns(figures.gap_max_ns),
        describe_ghz(figures.effective_khz),
        describe_share(figures.effective_khz_spread_share),
        describe_share(figures.throughput_drift_share),
        "?" if figures.mvalue is None else f"{figures.mvalue / 2:.1f}",
    ]


def _spread_line(calibration: Calibration, name: str, said: str) -> list[str]:
    """The worst CPU's spread of one kind of work."""
    whole = [figures for figures in calibration.cpus if figures.trouble is None]
    known = [(figures.cpu, spread) for figures in whole if (spread := getattr(figures, name)) is not None]
    if not known:
        return []
    cpu, spread = max(known, key=lambda pair: pair[1].p99_share)
    return [
        f"{said}: median {describe_ns(spread.median_ns)}, median deviation {spread.mad_share:.2%}, "
        f"p99 {_times(spread.p99_share)}, longest {_times(spread.max_share)} (CPU {cpu})"
    ]


def _times(more: float) -> str:
    """A share above the median as a factor of it: `1.02×`, `23×`."""
    return f"{1 + more:.2f}×" if more < 9 else f"{1 + more:.0f}×"


def histogram_lines(
    calibration: Calibration, width: int, in_unicode: bool, most_rows: int = _CHART_HEIGHT + 1
) -> list[str]:
    """The gaps of all CPUs by length: a heading, and a chart with its axis, in at most so many rows."""
    together = Histogram()
    for figures in calibration.cpus:
        if figures.trouble is None:
            together = together.merged(figures.gap_histogram)
    chart = gap_chart(together, min(width, _WIDEST_CHART), min(_CHART_HEIGHT, most_rows - 1), in_unicode)
    return [f"{together.count} gaps by length, all CPUs", *chart] if chart else []


def floor_lines(floors: Sequence[NoiseFloor]) -> list[str]:
    """The noise floor: a row for each length of samples."""
    header = ["samples of", "CV", "90 % interval", "worst sample", "MDE", "CPU"]
    rows = [
        [
            describe_ns(floor.sample_ns) + (" *" if floor.extrapolated else ""),
            describe_share(floor.cv_expected, 1),
            f"{floor.cv_low:.1%} to {floor.cv_high:.1%}",
            f"×{floor.max_inflation:.2f}" if floor.bounded else f"×{floor.max_inflation:.2f} or more",
            describe_share(floor.smallest_change_share, 1) if math.isfinite(floor.smallest_change_share) else "none",
            str(floor.cpu),
        ]
        for floor in floors
    ]
    samples = floors[0].samples
    lines = [f"noise floor of {samples} samples on the worst CPU", *align([header, *rows]).splitlines(), _ABBREVIATIONS]
    if any(floor.extrapolated for floor in floors):
        lines.append("* extrapolated: the calibration was too short for samples of this length")
    return lines


def _advice(calibrated: Calibrated) -> list[str]:
    """What may be trusted, what may not, what to do."""
    floor = calibrated.floor
    if floor is None:
        return []
    length = describe_ns(floor.sample_ns)
    change = describe_share(floor.smallest_change_share, 1)
    if floor.extrapolated:
        return [
            f"Of samples of {length} too little was measured to say what may be trusted: calibrate longer (--duration)."
        ]
    lines = [
        f"Trust: a difference of {change} or more between two means of {floor.samples} samples of {length} "
        f"each ({TEST}).",
        f"Do not trust: a smaller difference; a single sample, which may take {floor.max_inflation:.2f} times as "
        "long; or anything after the machine has changed.",
        f"The noise is mostly {dominating_cause(calibrated, floor).said}.",
    ]
    if not floor.bounded:
        lines.append(
            f"Upper bound unknown: {floor.samples} samples of {length} run longer than the calibration, so rarer "
            "events were not seen. Calibrate longer (--duration)."
        )
    lines.append("Fixes: `noisewatch trace` and `noisewatch preflight` print the commands.")
    return lines


def text_of_comparison(calibration: Calibration, first: CpuSet, second: CpuSet, width: int, in_unicode: bool) -> str:
    """Two sets of CPUs side by side."""
    names = {name_cpus(first): first, f"{name_cpus(second)} ": second}
    lines = [headline(calibration, first | second), *how_measured(calibration), "", *cpu_lines(calibration)]
    lines = _folded(lines, width)
    times = {name: work_times(calibration, cpus) for name, cpus in names.items()}
    gaps = {name: gap_lengths(calibration, cpus) for name, cpus in names.items()}
    lines += ["", *_side_by_side("fixed work", times), "", *_side_by_side("gaps", gaps)]
    chart = comparison_chart(times, min(width, _WIDEST_CHART), _CHART_HEIGHT, in_unicode)
    lines += ["", "fixed work by duration, % of the samples", *chart] if chart else []
    return "\n".join(lines) + "\n"


def _side_by_side(what: str, values: dict[str, list[float]]) -> list[str]:
    rows = [[what, "count", "median", "deviation", "longest"]]
    figures = {name: summary(times) for name, times in values.items()}
    for name, found in figures.items():
        rows.append([name, str(len(values[name])), *(describe_ns(each) for each in found or [None] * 3)])
    one, other = figures.values()
    if one is not None and other is not None:
        rows.append(["ratio", "", *(f"{b / a:.2f}" if a else "?" for a, b in zip(one, other, strict=True))])
    return align(rows).splitlines()
