"""A calibration in lines of text: figures and method, the noise floor, and the culprits of the gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from noisewatch.cpus import CpuSet, cpu_list_argument, name_cpus
from noisewatch.judgement.case import Calibrated, full_buffer_words
from noisewatch.judgement.grading import incomplete_reason
from noisewatch.judgement.noise.budget import ALONE, NoiseFloor
from noisewatch.judgement.noise.by_work import KINDS, FloorsByWork, floors_by_work_of
from noisewatch.judgement.noise.smallest_change import TEST
from noisewatch.model.calibration.figures import Calibration, CpuFigures
from noisewatch.model.calibration.settling import SettledCpu, Settling
from noisewatch.surfaces.drawing.tables import align, right_align
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.reports.parts.culprits import culprit_lines, gap_lines, root_lines, suspect_words
from noisewatch.turbo import LEAST_S
from noisewatch.units import (
    describe_chance,
    describe_count,
    describe_ghz,
    describe_ns,
    describe_share,
    format_in_one_unit,
    share_text,
)

EXTRAPOLATED = "* extrapolated: the calibration was too short for samples of this length"
_ABBREVIATIONS = "CV: relative standard deviation; chance: of staying within the budget; MDE: minimum detectable effect"
_MOST_CULPRITS, _MOST_GAPS, _MOST_SUSPECTS = 8, 5, 8
_SPARE = ("p99.9 ", "modes", "±", "p50 ", "drift", "p99 ", "GHz")  # columns in the order in which they are dropped
_SAME = 0.005  # relative difference below which two clocks look equal in three digits
REALTIME_REMARK = (
    "Unless kernel.sched_rt_runtime_us is -1, the kernel stops real-time tasks for part of each second (50 ms by "
    "default). The resulting gaps are counted, but are not noise of the machine."
)


def cause_lines(calibrated: Calibrated, width: int) -> list[str]:
    """Return the culprits of the gaps on each CPU, and how they were determined."""
    attribution = calibrated.attribution
    reason = attribution.reason
    lines = [] if reason is None else wrap(f"Inferred from the gaps, without a trace: {reason}.", width)
    if attribution.culprits_by_cpu:
        cpus = cpu_list_argument(attribution.culprits_by_cpu)
        lines += root_lines(reason, f"calibrate --cpus {cpus}", attribution.is_live)
    for cpu, culprits in attribution.culprits_by_cpu.items():
        if not culprits:
            continue
        lines += ["", f"culprits of the gaps on CPU {cpu}", *culprit_lines(culprits, _MOST_CULPRITS, width)]
        suspects = attribution.suspects_by_cpu.get(cpu, ())
        if suspects:
            sentence = f"Suspects (ran there during the calibration): {suspect_words(suspects, _MOST_SUSPECTS)}."
            lines += wrap(sentence, width, "  ")
        lines += ["  longest gaps", *gap_lines(attribution.longest(cpu, _MOST_GAPS), width)]
    return ["", *lines] if len(lines) > 1 else []


def note_lines(calibrated: Calibrated) -> list[str]:
    """Return notes on the noise floor, including the CPUs that are left out of it."""
    missing = [f"{name_cpus(calibrated.unpredicted)}: too little was measured"] if calibrated.unpredicted else []
    missing += [f"CPU {cpu} left out: {trouble}" for cpu, trouble in calibrated.troubles.items()]
    if not calibrated.floors:
        return ["Too little was measured for a noise floor: calibrate longer.", *missing]
    lines = [f"{_ABBREVIATIONS} between two means of {calibrated.floors[0].samples} samples ({TEST})."]
    if any(floor.extrapolated for floor in calibrated.floors):
        lines.append(EXTRAPOLATED)
    lines += _bound_lines(calibrated)
    drift, at_ns = calibrated.drift, calibrated.budget.at_ns
    changes = drift.changes_at(at_ns)
    learned = f"learned from {describe_count(changes, 'change')} between calibrations here"
    source = learned if changes else "default; --history learns it here"
    lines.append(f"Intervals widened ×{drift.margin_at(at_ns):.2f} for drift ({source}).")
    return [*lines, *missing, "Fixes: `noisewatch trace` and `noisewatch preflight` print the commands."]


def _bound_lines(calibrated: Calibrated) -> list[str]:
    """Return a remark if the calibration is too short to bound the worst sample."""
    floor = calibrated.floor
    if floor is None or floor.bounded:
        return []
    return [
        f"Upper bound unknown: {floor.samples} samples of {describe_ns(floor.sample_ns)} take longer than the "
        "calibration did, so rare events may have been missed. Calibrate longer (--duration)."
    ]


def doubt_lines(calibrated: Calibrated) -> list[str]:
    """Return what the calibration leaves unknown: CPUs that are left out, lost gaps, and the bound of the worst sample.

    A brief report has these lines too, because its conclusion need not contain them.
    """
    missing, count = incomplete_reason(calibrated), len(calibrated.calibration.cpus)
    lines = (
        [] if missing is None else [f"{len(calibrated.troubles)} of {describe_count(count, 'CPU')} left out: {missing}"]
    )
    if calibrated.unpredicted:
        cpus = f"{len(calibrated.unpredicted)} of {describe_count(count, 'CPU')}"
        lines.append(
            f"{cpus} without a noise floor, because too little was measured: {name_cpus(calibrated.unpredicted)}"
        )
    lines += [] if calibrated.doubt is None else [calibrated.doubt]
    return [f"Unknown: {line}." for line in lines] + _bound_lines(calibrated)


def headline(calibration: Calibration, target: CpuSet) -> str:
    samples = calibration.samples
    work = f" · workload: {' '.join(samples.command)}" if samples.command else ""
    return f"noisewatch calibrate · {name_cpus(target)} · {calibration.seconds:.1f} s · {samples.core} core{work}"


def method_lines(calibration: Calibration) -> list[str]:
    """Return lines on the limits of the measurement: shortest gap, scheduling, memory locking, compiled core."""
    samples = calibration.samples
    scheduler = "real-time (SCHED_FIFO)" if samples.is_realtime else "normal (SCHED_OTHER)"
    turns = [figures.clock_ns for figures in calibration.cpus if figures.clock_ns is not None]
    turn = f" (one turn of the loop takes {describe_ns(min(turns))})" if turns else ""
    lines = [
        f"gaps of {describe_ns(samples.threshold_ns)} and more{turn}, scheduling {scheduler}{_memory(calibration)}"
    ]
    if samples.core == "python":
        lines.append("The compiled core is not installed, so effective frequencies are not measured.")
    return [*lines, REALTIME_REMARK] if samples.is_realtime else lines


def _memory(calibration: Calibration) -> str:
    """Return how much memory of the microbenchmark was locked, on the CPU where the least was locked."""
    locked_and_resident = [
        (samples.locked_kb, samples.resident_kb)
        for samples in calibration.samples.cpus
        if samples.locked_kb is not None and samples.resident_kb is not None and samples.trouble is None
    ]
    if not locked_and_resident:
        return ""
    locked_kb, resident_kb = min(locked_and_resident)
    if locked_kb >= resident_kb:
        return ", memory locked"
    return f", {locked_kb / 1024:.1f} of {resident_kb / 1024:.1f} MB of memory locked (more needs CAP_IPC_LOCK)"


def cpu_lines(calibration: Calibration, width: int) -> list[str]:
    """Return the table of CPUs, then trouble, lost gaps, and the spread of each kind of work on its worst CPU."""
    whole = [figures for figures in calibration.cpus if figures.trouble is None]
    lines = [*(cpu_table(whole, width) if whole else ()), *trouble_lines(calibration)]
    for name, what in _WORKS.items():
        spreads = [(figures.cpu, spread) for figures in whole if (spread := getattr(figures, name)) is not None]
        if spreads:
            cpu, spread = max(spreads, key=lambda pair: pair[1].p99_share)
            lines.append(
                f"{what}: median {describe_ns(spread.median_ns)}, median deviation {spread.mad_share:.2%}, "
                f"p99 {_times(spread.p99_share)}, longest {_times(spread.max_share)} (CPU {cpu})"
            )
    return lines


def trouble_lines(calibration: Calibration) -> list[str]:
    """Return a line for each CPU that could not be measured to the end, or whose gaps are not all known."""
    lines = [f"CPU {figures.cpu}: {figures.trouble}" for figures in calibration.cpus if figures.trouble is not None]
    return lines + [
        f"CPU {figures.cpu}: {figures.lost_gaps} gaps counted without details, so the noise floor is unknown "
        f"({full_buffer_words(figures)})"
        for figures in calibration.cpus
        if figures.lost_gaps
    ]


_WORKS = {
    "latency_work": "latency work in blocks of about 1 ms",
    "native_work": "throughput work in blocks of about 1 ms",
    "work": "interpreted work in blocks of about 1 ms",
    "memory": "cache work in blocks of about 1 ms",
    "main_memory": "memory work in blocks of about 1 ms",
    "bandwidth": "bandwidth work in blocks of about 1 ms",
    "command": "workload",
}


def cpu_table(cpus: Sequence[CpuFigures], width: int) -> list[str]:
    """Return a heading and a row for each CPU, with one unit per column; columns that do not fit are left out."""
    columns = [
        ["CPU", *(str(figures.cpu) for figures in cpus)],
        ["gaps/s", *("?" if figures.gaps_per_s is None else f"{figures.gaps_per_s:.0f}" for figures in cpus)],
        ["noise", *(describe_share(figures.stolen_share) for figures in cpus)],
        _durations("p50", [figures.gap_p50_ns for figures in cpus]),
        _durations("p99", [figures.gap_p99_ns for figures in cpus]),
        _durations("p99.9", [figures.gap_p999_ns for figures in cpus]),
        _durations("longest", [figures.gap_max_ns for figures in cpus]),
        ["GHz", *(describe_ghz(figures.effective_khz) for figures in cpus)],
        ["±", *(describe_share(figures.effective_khz_spread_share) for figures in cpus)],
        ["drift", *(describe_share(figures.throughput_drift_share) for figures in cpus)],
        ["modes", *("?" if figures.mvalue is None else f"{figures.mvalue / 2:.1f}" for figures in cpus)],
    ]
    for spare in _SPARE:
        if len(right_align(columns)[0]) <= width:
            break
        columns = [column for column in columns if not column[0].startswith(spare)]
    return right_align(columns)


def _durations(name: str, values_ns: Sequence[float | None]) -> list[str]:
    unit, figures = format_in_one_unit(values_ns)
    return [f"{name} {unit}", *figures]


def _times(more: float) -> str:
    """Format a share above the median as a factor: `1.02×`, `23×`."""
    return f"{1 + more:.2f}×" if more < 9 else f"{1 + more:.0f}×"


def floor_lines(calibrated: Calibrated, width: int) -> list[str]:
    """Return the noise floor of the given kind of work, or of every kind if none was given."""
    by_work = floors_by_work_of(calibrated) if calibrated.budget.work is None else None
    if by_work is None:
        lines, shown = _lines_by_length(calibrated), calibrated.floors
    else:
        lines = _lines_by_work(calibrated, by_work, width)
        shown = tuple(floor for work_floors in calibrated.floors_by_work.values() for floor in work_floors.floors)
    return [*lines, EXTRAPOLATED] if any(floor.extrapolated for floor in shown) else lines


def _lines_by_work(calibrated: Calibrated, by_work: FloorsByWork, width: int) -> list[str]:
    """Return a table with a row for each kind of work, and a column for each length of samples.

    If the width allows, further columns describe the requested length.
    """
    budget, names = by_work.budget, dict.fromkeys((ALONE, *KINDS, *by_work.floor_by_work))
    floors_by_name = {
        name: {floor.sample_ns: floor for floor in calibrated.floors_by_work[name].floors} for name in names
    }
    lengths = sorted({length for floors in floors_by_name.values() for length in floors})
    columns = [["CV of samples", *names]]
    columns += [
        [describe_ns(length), *(_cv_text(floors_by_name[name].get(length)) for name in names)] for length in lengths
    ]
    floors = [floors_by_name[name].get(budget.at_ns) for name in names]
    for title in ("chance", "MDE", "90% interval", "worst sample"):  # the most important first
        columns.append([title, *("unknown" if floor is None else FLOOR_CELLS[title](floor) for floor in floors)])
    while len(columns) > 2 and sum(max(map(len, column)) + 2 for column in columns) > width + 2:
        columns.pop()
    heading = (
        f"noise floor of {budget.samples} samples by kind of work, each on its worst CPU (columns without a "
        f"length: samples of {describe_ns(budget.at_ns)})"
    )
    return [
        *wrap(heading, width),
        *align(list(map(list, zip(*columns, strict=True)))).splitlines(),
        _ABBREVIATIONS,
    ]


def _cv_text(floor: NoiseFloor | None) -> str:
    return "unknown" if floor is None else share_text(floor.cv_expected) + (" *" if floor.extrapolated else "")


FLOOR_CELLS: Mapping[str, Callable[[NoiseFloor], str]] = {
    "CV": lambda floor: share_text(floor.cv_expected),
    "90% interval": lambda floor: f"{share_text(floor.cv_low)} to {share_text(floor.cv_high)}",
    "chance": lambda floor: describe_chance(floor.chance),
    "worst sample": lambda floor: f"×{floor.max_inflation:.2f}{'' if floor.bounded else ' or more'}",
    "MDE": lambda floor: "?" if floor.detectable_share is None else share_text(floor.detectable_share),
}  # functions that format the figures of a noise floor, for all tables


def _lines_by_length(calibrated: Calibrated) -> list[str]:
    """Return a table with a heading and a row for each length of samples."""
    floors = calibrated.floors
    names = [describe_ns(floor.sample_ns) + (" *" if floor.extrapolated else "") for floor in floors]
    rows = [
        [name, *(cell(floor) for cell in FLOOR_CELLS.values()), str(floor.cpu)]
        for name, floor in zip(names, floors, strict=True)
    ]
    heading = f"noise floor of {floors[0].samples} samples of {calibrated.floors_of} on the worst CPU"
    return [heading, *align([["samples of", *FLOOR_CELLS, "CPU"], *rows]).splitlines(), _ABBREVIATIONS]


def settling_line(settling: Settling) -> str:
    """Return a line such as `settled after 27 s: 4.40 → 2.10 GHz on CPU 3 (worked for 53 s)`."""
    slowest, worked = settling.slowest, f"worked for {settling.seconds} s"
    if slowest is None:
        return "not settled: not all CPUs could be measured"
    moved = _clock_change(slowest)
    if settling.after_s is not None:
        after = f"after {settling.after_s} s" if settling.after_s else "at once"
        return f"settled {after}: {moved} ({worked})"
    if settling.seconds < LEAST_S:
        return f"not settled: {moved} ({worked}, and a turbo budget may last for {LEAST_S} s)"
    return f"not settled in time: {moved}, and the clock may still move ({worked})"


def _clock_change(cpu: SettledCpu) -> str:
    """Return the first and last clock of the CPU, or their ratio if the frequency is unknown."""
    is_same = abs(cpu.last / cpu.first - 1) < _SAME
    if cpu.is_khz:
        last = f"{cpu.last / 1e6:.2f} GHz on CPU {cpu.cpu}"
        return last if is_same else f"{cpu.first / 1e6:.2f} → {last}"
    return (
        f"the same speed on CPU {cpu.cpu}"
        if is_same
        else f"{cpu.last / cpu.first:.0%} of the first speed on CPU {cpu.cpu}"
    )
