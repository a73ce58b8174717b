"""The report of `noisewatch calibrate`: the picture first, then the figures of each CPU and the culprits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.cause_words import shorten
from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH
from noisewatch.judgement.noise.comparison import Comparison, Difference, noisy_cpus
from noisewatch.judgement.noise.detection import on_cpus
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad
from noisewatch.surfaces.drawing.accents import accent
from noisewatch.surfaces.drawing.axis import rows_for
from noisewatch.surfaces.drawing.charts import work_chart
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row, cut
from noisewatch.surfaces.drawing.wraps import wrap, wrap_all
from noisewatch.surfaces.reports.calibration.detection import detect_lines, opening_sentence
from noisewatch.surfaces.reports.calibration.gaps import gaps_of
from noisewatch.surfaces.reports.calibration.picture import HEIGHT, CalibrationPicture, conclusion_rows, picture_rows
from noisewatch.surfaces.reports.calibration.side_by_side import HEIGHT as CONTRAST_HEIGHT
from noisewatch.surfaces.reports.calibration.side_by_side import Contrast, Side, contrast_rows
from noisewatch.surfaces.reports.calibration.text import (
    cause_lines,
    cpu_lines,
    doubt_lines,
    headline,
    method_lines,
    note_lines,
    settling_line,
)
from noisewatch.surfaces.reports.parts.culprits import culprit_accents
from noisewatch.surfaces.reports.parts.sections import Section, plain_chart
from noisewatch.units import describe_share

_LONGER_GAP = 4  # a ratio: the longest gaps of two equal calibrations may differ by this factor
_LEAST_BUSY = 0.8  # the share of its CPU that a busy process gets if hardly anything else runs there
_CHART_ROWS = 12
_LEAST_PICTURE = 8  # rows
_MOST_CONCLUSION_ROWS = 8
_GAPS_AND_PROMPT = 2  # rows: an empty one in the report, and one for the shell
_DETAILS = "each CPU and kind of work, method, longest gaps"
_LABEL = 11  # columns for labels such as `details`
WIDTH = 120  # columns of reports that are not shown in a terminal


def sections_of(result: CalibratedTarget, width: int, glyphs: Glyphs) -> list[Section]:
    """Return the whole report as two sections: the conclusion with the picture, and the details."""
    contrast = contrast_of(result)
    settling = [] if result.settling is None else fold_sentences([settling_line(result.settling), ""], width)
    details = detail_lines(result.calibrated, width) if contrast is None else contrast_detail_lines(contrast, width)
    first = _conclusion_section(result, contrast, width, glyphs)
    by_cpu = result.calibrated.attribution.culprits_by_cpu.values()
    accents = culprit_accents(culprit.disturbance for culprits in by_cpu for culprit in culprits)
    chart = accent([*settling, *details], accents)
    return [first, Section("details", title_style="title", is_folded=True, chart=chart)]


def brief_sections_of(result: CalibratedTarget, width: int, glyphs: Glyphs, rows: int | None = None) -> list[Section]:
    """Return the conclusion, all doubts, a picture and the culprits, and how to show the details.

    The report fits a terminal of `rows` rows, but has the conclusion and the doubts in any case. Without `rows`, the
    picture has its full height.
    """
    contrast = contrast_of(result)
    calibrations = [result.calibrated] if contrast is None else [contrast.first.calibrated, contrast.second.calibrated]
    doubts = [line for calibrated in calibrations for line in doubt_lines(calibrated)]
    doubts += [] if result.settling is None else [settling_line(result.settling)]
    remarks: list[Row] = [[(line, "notable")] for line in wrap_all(dict.fromkeys(doubts), width)]
    first_side = calibrations[0]
    detection = plain_chart(detect_lines(first_side, first_side.budget.detect, width))
    last = [
        *([*detection, []] if detection else []),
        *_who_lines(result.calibrated, width),
        *_more_lines(result.calibrated, width),
    ]
    taken = len(remarks) + len(last) + _GAPS_AND_PROMPT
    first = _conclusion_section(result, contrast, width, glyphs, remarks, None if rows is None else rows - taken)
    return [first, Section(chart=last)]


def _conclusion_section(
    result: CalibratedTarget,
    contrast: Contrast | None,
    width: int,
    glyphs: Glyphs,
    remarks: Sequence[Row] = (),
    height: int | None = None,
) -> Section:
    """Return the title, the conclusion, the remarks, and a picture that shrinks until all fit in `height` rows."""
    if contrast is not None:
        room = CONTRAST_HEIGHT if height is None else min(max(height, _LEAST_PICTURE), CONTRAST_HEIGHT)
        [(head, style)], *chart = contrast_rows(contrast, width, room, glyphs)
        return Section(head, title_style=style, level=2, chart=[*remarks, *chart])
    calibrated = result.calibrated
    picture = CalibrationPicture.of(calibrated)
    head = textwrap.shorten(headline(calibrated.calibration, result.target), max(width, 10), placeholder=" …")
    conclusion = conclusion_rows(picture.conclusion, width, glyphs, _MOST_CONCLUSION_ROWS)
    above = [*rows_for(conclusion, glyphs.has_braille), *opening_rows(calibrated, width, glyphs), *remarks]
    room = HEIGHT if height is None else min(max(height - 1 - len(above), _LEAST_PICTURE), HEIGHT)
    drawn = picture_rows(picture, width, room, glyphs, has_conclusion=False)
    return Section(head, title_style="title", level=2, chart=[*above, *drawn])


def _who_lines(calibrated: Calibrated, width: int) -> list[Row]:
    """Return a row with the culprits or suspects of the gaps, the costliest first, as far as they fit."""
    gaps = gaps_of(calibrated)
    if not gaps.names:
        return []
    label = "suspects" if gaps.are_suspects else "who"
    names = [name if share is None else f"{name} {describe_share(share)}" for name, share in gaps.names]
    text = f" {label:<{_LABEL}}{', '.join(names)}"
    return accent([shorten(text, max(width, 10))], {name: "culprit" for name, _ in gaps.names})


def _more_lines(calibrated: Calibrated, width: int) -> list[Row]:
    """Return how to show the details, and the command that names culprits and prints fixes."""
    attribution = calibrated.attribution
    row: Row = [(f" {'details':<{_LABEL}}", "faint"), ("-v", "command"), (f" ({_DETAILS})", "plain")]
    rows = [cut(row, width)]
    if attribution.is_live:
        cpus = cpu_list_argument(attribution.culprits_by_cpu)
        rows.append([(f" {'fixes':<{_LABEL}}", "faint"), (f"noisewatch trace --cpus {cpus}", "command")])
    return rows


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
    """Return the comparison of the target CPUs with --against, or with themselves under a load; None without both."""
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
        """Return remarks on isolation and load. A doubtful comparison cannot show isolation, but settings can."""
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
