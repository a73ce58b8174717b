"""The report of `noisewatch calibrate`: the picture first, then the figures of each CPU and the culprits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH
from noisewatch.judgement.noise.comparison import Comparison, Difference, noisy_cpus
from noisewatch.judgement.noise.detection import on_cpus
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad
from noisewatch.surfaces.drawing.axis import rows_for
from noisewatch.surfaces.drawing.charts import work_chart
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row, Style
from noisewatch.surfaces.drawing.wraps import wrap, wrap_all
from noisewatch.surfaces.reports.calibration.detection import detect_lines, opening_sentence
from noisewatch.surfaces.reports.calibration.picture import HEIGHT, CalibrationPicture, picture_rows
from noisewatch.surfaces.reports.calibration.side_by_side import HEIGHT as CONTRAST_HEIGHT
from noisewatch.surfaces.reports.calibration.side_by_side import Contrast, Side, contrast_rows
from noisewatch.surfaces.reports.calibration.text import (
    cause_lines,
    cpu_lines,
    headline,
    method_lines,
    note_lines,
    settling_line,
)
from noisewatch.surfaces.reports.parts.sections import Section, plain_chart
from noisewatch.units import describe_share

_LONGER_GAP = 4  # a ratio: the longest gaps of two equal calibrations may differ by this factor
_LEAST_BUSY = 0.8  # the share of its CPU that a busy process gets if hardly anything else runs there
_CHART_ROWS = 12
WIDTH = 120  # columns of reports that are not shown in a terminal


def sections_of(result: CalibratedTarget, width: int, glyphs: Glyphs) -> list[Section]:
    """Return the report as two sections: a headline with the picture, and the details."""
    settling = [] if result.settling is None else fold_sentences([settling_line(result.settling), ""], width)
    contrast = contrast_of(result)
    if contrast is None:
        calibrated = result.calibrated
        head = textwrap.shorten(headline(calibrated.calibration, result.target), max(width, 10), placeholder=" …")
        picture = picture_rows(CalibrationPicture.of(calibrated), width, HEIGHT, glyphs)
        chart, details = [*opening_rows(calibrated, width, glyphs), *picture], detail_lines(calibrated, width)
        style: Style = "title"
    else:
        [(head, style)], *chart = contrast_rows(contrast, width, CONTRAST_HEIGHT, glyphs)
        details = contrast_detail_lines(contrast, width)
    return [Section(head, title_style=style, level=2, chart=chart), Section(chart=plain_chart([*settling, *details]))]


def opening_rows(calibrated: Calibrated, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the sentence on the smallest detectable change, in rows of at most `width` columns."""
    lines = wrap(opening_sentence(calibrated), width)
    return rows_for(([(line, "strong")] for line in lines), glyphs.has_braille)


def detail_lines(calibrated: Calibrated, width: int) -> list[str]:
    """Return the details: samples needed, each CPU, how it was measured, notes, and the culprits."""
    calibration = calibrated.calibration
    lines = fold_sentences(
        [*cpu_lines(calibration, width), "", *method_lines(calibration), *note_lines(calibrated)], width
    )
    detection = detect_lines(calibrated, calibrated.budget.detect, width)
    more = [*lines, *_work_lines(calibrated, width), *cause_lines(calibrated, width)]
    return [*detection, "", *more] if detection else more


def _work_lines(calibrated: Calibrated, width: int) -> list[str]:
    """Return a chart of the interpreted work over time, on the CPU whose work drifted the most."""
    drift_by_cpu = {figures.cpu: abs(figures.throughput_drift_share or 0.0) for figures in calibrated.complete}
    cpu_samples = [samples for samples in calibrated.calibration.samples.cpus if samples.cpu in drift_by_cpu]
    if not cpu_samples:
        return []
    worst = max(cpu_samples, key=lambda samples: drift_by_cpu[samples.cpu])
    work = worst.interpreted
    chart = work_chart(work.start_ns, work.length_ns, min(width, WIDTH), _CHART_ROWS)
    return (
        ["", *fold_sentences([f"how long each piece of interpreted work took on CPU {worst.cpu}"], width), *chart]
        if chart
        else []
    )


def fold_sentences(lines: Iterable[str], width: int) -> list[str]:
    """Fold sentences at the width; table rows, recognized by their double blanks, stay whole."""
    return [part for line in lines for part in ([line] if "  " in line else wrap_all([line], width, min_width=40))]


def contrast_of(result: CalibratedTarget) -> Contrast | None:
    """Return the comparison of target CPUs with --against, or without and with a load; None if there is none."""
    target = name_cpus(result.target)
    if result.against is not None:
        first, second = (on_cpus(result.calibrated, cpus) for cpus in (result.target, result.against))
        return Contrast.of(Side.of(target, first), Side.of(name_cpus(result.against), second))
    if result.under_load is None:
        return None
    loaded = result.under_load
    doubt = _unquiet_remark(result.calibrated)
    before = "before the load" if doubt else "idle"
    idle = Side.of(f"{target} {before}", result.calibrated, before)
    busy = Side.of(f"{target} under load", loaded.calibrated, "under load")

    def remarks_on(comparison: Comparison) -> list[str]:
        """Return remarks on isolation and load. If the comparison is in doubt, only settings show missing isolation."""
        isolation = isolation_remark(loaded, comparison) if loaded.not_isolated or not doubt else ""
        return [isolation, load_remark(loaded)]

    return Contrast.of(idle, busy, remarks_on, doubt)


def _unquiet_remark(calibrated: Calibrated) -> str:
    """Return why the comparison with a load proves nothing; an empty text if the CPUs were quiet before the load."""
    noisy = noisy_cpus(calibrated)
    if not noisy:
        return ""
    lost, cpu = max(
        ((figures.stolen_share or 0.0, figures.cpu) for figures in calibrated.complete if figures.cpu in noisy),
        default=(0.0, 0),
    )
    why = f"samples on {name_cpus(noisy)} vary too much"
    why = f"CPU {cpu} lost {describe_share(lost)} to gaps" if lost > LOSES_TOO_MUCH else why
    return f"not quiet before the load: {why}; this comparison proves nothing"


def load_remark(loaded: CalibratedUnderLoad) -> str:
    """Return a sentence on the load: its processes, their CPUs, and the share of a CPU that each process got."""
    load = loaded.load
    if load.processes == 1:
        return f"The load: 1 busy process on {name_cpus(load.cpus)}, which got {load.busy_share:.0%} of its CPU."
    cpus = name_cpus(load.cpus)
    return f"The load: {load.processes} busy processes on {cpus}, each with {load.busy_share:.0%} of its CPU."


def isolation_remark(loaded: CalibratedUnderLoad, comparison: Comparison) -> str:
    """Return whether isolation keeps the load away from the target CPUs, or why that is unknown."""
    if loaded.not_isolated:
        shared = loaded.not_isolated & loaded.load.cpus
        remark = f"{name_cpus(loaded.not_isolated)}: not isolated."
        return f"{remark} The load ran on {name_cpus(shared)} as well." if shared else remark
    if comparison.difference is Difference.NOISIER:
        return "Isolation does not hold against this load."
    unproven = "Cannot tell whether isolation holds: "
    if loaded.load.busy_share < _LEAST_BUSY:
        return f"{unproven}the load got only {loaded.load.busy_share:.0%} of the time of its CPUs."
    if comparison.difference is Difference.UNKNOWN or comparison.are_floors_apart is None:
        return f"{unproven}too little was measured."
    if comparison.are_floors_apart or (comparison.longest_ratio or 0.0) > _LONGER_GAP:
        return (
            f"{unproven}the total noise is the same as without the load, but the noise floor or the longest gap is not."
        )
    return "Isolation holds against this load."


def contrast_detail_lines(contrast: Contrast, width: int) -> list[str]:
    """Return the table of CPUs of both sides, and how they were measured."""
    first = contrast.first.calibrated
    detection = detect_lines(first, first.budget.detect, width)
    lines = [contrast.first.name, *detection, ""] if detection else []
    for side in (contrast.first, contrast.second):
        lines += [side.name, *cpu_lines(side.calibrated.calibration, width), ""]
    return fold_sentences([*lines, *method_lines(contrast.first.calibrated.calibration)], width)
