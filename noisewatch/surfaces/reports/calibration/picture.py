"""A calibration as a picture, while it runs and when it has ended.

A finished calibration shows its gaps by length and cause, the noise floor as a ladder, and the conclusion. A running
one shows its progress and the gaps so far. Terminal, monitor and exported files show the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.noise.by_work import floors_by_work_of
from noisewatch.judgement.terms import Status
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.operations.calibrate import LiveCpu, LiveGaps
from noisewatch.surfaces.drawing.axis import labels_line, rows_for
from noisewatch.surfaces.drawing.charts import strip
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import inner_size, is_framed, panel, side_by_side
from noisewatch.surfaces.drawing.tables import right_align
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, cut, join_styles
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.reports.calibration.conclusion import Conclusion, conclusion_of
from noisewatch.surfaces.reports.calibration.gaps import (
    LEAST_ROWS,
    GapsShown,
    gaps_of,
    glyph_of,
    histogram_rows,
    live_gaps_of,
)
from noisewatch.surfaces.reports.calibration.text import FLOOR_CELLS, cpu_table
from noisewatch.units import describe_clock, describe_ns, describe_share, share_text

HEIGHT = 34  # rows if the height is not limited: in a terminal that scrolls, and in files
_SIDE_BY_SIDE_WIDTH = 100  # least columns with the causes next to the histogram
_LEAST_STRIP, _MOST_STRIP = 16, 60
_LEAST_SIDE, _MOST_SIDE = 32, 46
_MOST_CONCLUSION_ROWS = 5  # the most rows that the conclusion may take
_APART = 30  # least rows with a separate frame for the conclusion
_ROOMY = 26  # rows that the histogram needs before the table of CPUs gets any
_TITLE = "how long each gap lasted, by cause"
_LEAST_SHARE, _DECADES = 1e-4, 4  # the axis: a CV from 0.01% to 100%
_LEAST_WHISKERS = 16  # columns for an interval on the CV axis
_AFTER = ("worst sample", "MDE")  # headings of the columns to the right of the whiskers
_WITH_ALL = 100  # least columns with the interval, the worst sample and whiskers next to each other


class CalibrationPicture(Struct, frozen=True):
    """The parts of a finished calibration's picture; computed once, and drawn at any size."""

    calibrated: Calibrated
    gaps: GapsShown
    conclusion: Conclusion

    @classmethod
    def of(cls, calibrated: Calibrated, cpus: CpuSet | None = None) -> CalibrationPicture:
        """Return the picture of these CPUs, or of all calibrated CPUs."""
        gaps = gaps_of(calibrated, cpus)
        return cls(calibrated, gaps, conclusion_of(calibrated, gaps))


def picture_rows(
    picture: CalibrationPicture, width: int, height: int, glyphs: Glyphs, *, has_conclusion: bool = True
) -> list[Row]:
    """Draw the picture in at most `height` rows of at most `width` columns.

    If there is little room, the conclusion has precedence; if there is much, a table of the CPUs is added. Without
    `has_conclusion`, the conclusion is left out because it is above the picture.
    """
    calibrated = picture.calibrated
    framed = is_framed(width, height + 2)
    room, frame = (inner_size(width, 0)[0], 2) if framed else (width, 1)
    least = LEAST_ROWS + frame + 1
    max_rows = max(min(_MOST_CONCLUSION_ROWS, height // 6), 1)
    conclusion = conclusion_rows(picture.conclusion, room, glyphs, max_rows) if has_conclusion else []
    title, ladder, further = _ladders(calibrated, room, glyphs)
    if len(ladder) + len(conclusion) + frame + least > height:
        ladder = []
    texts = [*ladder, *conclusion]
    below = section(title if ladder else "so", texts, width, glyphs, framed) if texts else []
    if ladder and conclusion and height >= _APART:
        below = [*section(title, ladder, width, glyphs, framed), *section("so", conclusion, width, glyphs, framed)]
    if further and ladder and height - len(below) - len(further) - frame >= least:
        below = [*section(_lengths_title(calibrated), further, width, glyphs, framed), *below]
    table = _cpu_rows(calibrated, room, (height - len(below) - _ROOMY) // 2, glyphs)
    if table:
        below = [*section("each CPU", table, width, glyphs, framed), *below]
    above = gap_section(picture.gaps, width, height - len(below), glyphs, framed, _worst_rows(calibrated))
    return [*above, *below][: max(height, 0)]


def _ladders(calibrated: Calibrated, width: int, glyphs: Glyphs) -> tuple[str, list[Row], list[Row]]:
    """Return a title and two ladders (tables of noise floors); the conclusion is based on the first.

    If the benchmark's kind of work is not given, the first ladder is by kind of work, beginning with interruptions
    alone, and the second is by sample length. Otherwise the first is by sample length, and the second is empty.
    """
    budget = calibrated.budget
    by_length = ladder_rows(calibrated.floors, budget, width, glyphs)
    by_work = floors_by_work_of(calibrated) if budget.work is None else None
    if by_work is None:
        return _lengths_title(calibrated), by_length, []
    named = [("interruptions alone", by_work.alone), *by_work.floor_by_work.items()]
    names, floors = zip(*((name, floor) for name, floor in named if floor is not None), strict=True)
    title = f"the noise floor of {budget.samples} samples of {describe_ns(budget.at_ns)}, by kind of work"
    return title, ladder_rows(floors, budget, width, glyphs, names), by_length


def _lengths_title(calibrated: Calibrated) -> str:
    return (
        f"the noise floor of {calibrated.budget.samples} samples of {calibrated.floors_of} on the worst CPU, by length"
    )


def live_picture_rows(live: LiveGaps, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the histogram of a running calibration."""
    return gap_section(live_gaps_of(live), width, height, glyphs, is_framed(width, height + 2), [])


def section(
    title: str, rows: Sequence[Row], width: int, glyphs: Glyphs, framed: bool, height: int | None = None
) -> list[Row]:
    """Draw the rows in a frame, or below a heading if frames do not fit: exactly `height` rows, unless that is None."""
    height = len(rows) + (2 if framed else 1) if height is None else height
    if framed:
        drawn = panel(title, rows, width, height, glyphs)
    else:
        heading: Row = [(title, "heading")]
        drawn = [cut(row, width) for row in (heading, *rows)][:height]
        drawn += [[] for _ in range(height - len(drawn))]
    return rows_for(drawn, glyphs.has_braille)


def gap_section(
    gaps: GapsShown, width: int, height: int, glyphs: Glyphs, framed: bool, worst: Sequence[Row]
) -> list[Row]:
    """Draw the gap histogram and the causes of gaps; return no rows if the histogram does not fit.

    The causes have a frame at the right, or a legend below if there is too little room or the calibration is running.
    """
    frame = 2 if framed else 1
    if framed and width >= _SIDE_BY_SIDE_WIDTH and not gaps.is_live:
        side = min(max(width // 4, _LEAST_SIDE), _MOST_SIDE)
        room, rows = inner_size(width - side, height)
        chart = histogram_rows(gaps, room, rows, glyphs)
        causes = [*cause_rows(gaps, side - 4, glyphs), *worst]
        if not chart:
            return []
        drawn = section(_TITLE, chart, width - side, glyphs, framed, height)
        return side_by_side(drawn, section("causes", causes, side, glyphs, framed, height))
    room = inner_size(width, height)[0] if framed else width
    legend = legend_rows(gaps, room, glyphs)
    rows = height - frame - len(legend)
    if rows < LEAST_ROWS:
        legend, rows = [], height - frame
    chart = histogram_rows(gaps, room, rows, glyphs)
    return section(_TITLE, [*chart, *legend], width, glyphs, framed, height) if chart else []


def cause_rows(gaps: GapsShown, width: int, glyphs: Glyphs) -> list[Row]:
    """Return a row for each cause and one for all gaps, whether causes are inferred, and the culprits' names."""
    rows: list[Row] = [
        _figures_row(
            f"{glyph_of(total.cause, glyphs)} {total.cause.name}", total.count, total.share, width, total.cause.style
        )
        for total in gaps.totals
    ]
    if gaps.unplaced:
        rows.append(_figures_row("  not kept (full)", gaps.unplaced, None, width, "unknown"))
    rows.append(_figures_row("  all gaps", gaps.count, gaps.share, width, "strong"))
    rows += [[(line, "faint")] for line in wrap(inference_reason(gaps), width)]
    if gaps.names:
        rows += [[], [("suspects" if gaps.are_suspects else "who", "faint")]]
        rows += [_name_row(name, share, width) for name, share in gaps.names]
    return rows


def inference_reason(gaps: GapsShown) -> str:
    """Return why the causes are only inferred; an empty text if they are from a trace."""
    if gaps.unknown_because is None:
        return ""
    return f"Inferred from the gaps, without a trace: {gaps.unknown_because}."


def _figures_row(name: str, count: int, share: float | None, width: int, style: Style) -> Row:
    figures = f"{count:>7,} {describe_share(share):>7}".replace(",", " ")
    room = width - len(figures)
    return [(f"{name[:room]:<{room}}", style), (figures, "plain")]


def _name_row(name: str, share: float | None, width: int) -> Row:
    figure = "" if share is None else f" {describe_share(share):>7}"
    room = max(width - len(figure), 1)
    kept = cut([(name, "plain")], room)
    used = sum(len(text) for text, _ in kept)
    return [*kept, (" " * (room - used) + figure, "plain")]


def legend_rows(gaps: GapsShown, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the causes in as few rows as possible, and whether they are inferred or still to be attributed."""
    rows: list[Row] = [[]]
    used = 0
    pieces = [
        (
            f"{glyph_of(total.cause, glyphs)} {total.cause.name} {total.count} {describe_share(total.share)}",
            total.cause.style,
        )
        for total in gaps.totals
    ]
    pieces += [(f"not kept {gaps.unplaced}", "unknown")] if gaps.unplaced else []
    pieces.append((f"all {gaps.count} {describe_share(gaps.share)}", "strong"))
    if gaps.is_live or gaps.unknown_because is not None:
        pieces.append(("attributed at the end" if gaps.is_live else "inferred, no trace", "faint"))
    for text, style in pieces:
        if used and used + len(text) + 3 > width:
            rows.append([])
            used = 0
        rows[-1] += [("   " if used else "", "plain"), (text, style)]
        used += len(text) + (3 if used else 0)
    return [cut(row, width) for row in rows]


def _worst_rows(calibrated: Calibrated) -> list[Row]:
    """Return rows on noise, speed and steadiness of the CPU that lost the most time; unknown speeds have no row."""
    measured = [figures for figures in calibrated.complete if figures.stolen_share is not None]
    worst = max(measured, key=lambda figures: figures.stolen_share or 0.0, default=None)
    if worst is None:
        return []
    count = len(measured)
    title = f"CPU {worst.cpu}, the worst of {count}" if count > 1 else f"CPU {worst.cpu}"
    facts = [
        ("noise", describe_share(worst.stolen_share), ""),
        ("p99", describe_ns(worst.gap_p99_ns), ""),
        *_speed_facts(worst),
    ]
    rows: list[Row] = [[(f"{name:<7}{value:>9}  {more}".rstrip(), "plain")] for name, value, more in facts]
    return [[], [(title, "strong")], *rows]


def _speed_facts(worst: CpuFigures) -> list[tuple[str, str, str]]:
    rows = []
    if worst.effective_khz is not None:
        spread = describe_share(worst.effective_khz_spread_share)
        rows.append(("clock", describe_clock(worst.effective_khz), f"± {spread}"))
    for name, work in (("work", worst.work), ("memory", worst.memory), ("yours", worst.command)):
        if work is not None:
            rows.append((name, describe_ns(work.median_ns), f"± {describe_share(work.mad_share)}"))
    if worst.throughput_drift_share is not None:
        rows.append(("drift", f"{worst.throughput_drift_share:+.2%}", ""))
    if worst.mvalue is not None:
        rows.append(("modes", f"{worst.mvalue / 2:.0f}", ""))
    return rows


def _cpu_rows(calibrated: Calibrated, width: int, max_rows: int, glyphs: Glyphs) -> list[Row]:
    """Return a row for each CPU that fits, the CPUs that lost the most time first; no row for a single CPU."""
    ordered = sorted(calibrated.complete, key=lambda figures: -(figures.stolen_share or 0.0))
    if len(ordered) < 2 or max_rows < 3:
        return []
    lines = cpu_table(ordered[: max_rows - 2], width)
    rows: list[Row] = [[(line, "plain" if number else "faint")] for number, line in enumerate(lines)]
    room = width - max(map(len, lines)) - 2
    if room >= _LEAST_STRIP:
        strips = [strip(figures.gap_histogram, min(room, _MOST_STRIP), glyphs.ramp) for figures in ordered]
        rows = [row if not index else [*row, ("  " + strips[index - 1], "notable")] for index, row in enumerate(rows)]
    hidden = len(ordered) - (max_rows - 2)
    if hidden > 0:
        rows.append([(f"and {hidden} more CPUs, which lost less", "faint")])
    return rows


_STYLES: Mapping[Status, Style] = {Status.PASS: "calm", Status.FAIL: "grave", Status.UNKNOWN: "unknown"}


def conclusion_rows(conclusion: Conclusion, width: int, glyphs: Glyphs, max_rows: int) -> list[Row]:
    """Return the conclusion after its mark in at most `max_rows` rows; if the whole does not fit, a shorter text."""
    marks = {Status.PASS: glyphs.passing, Status.FAIL: glyphs.failing, Status.UNKNOWN: glyphs.unknown}
    folded = [wrap(text, width - 2) for text in conclusion.texts]
    lines = next((wrapped for wrapped in folded if len(wrapped) <= max_rows), folded[-1])
    rows: list[Row] = [[(f"{marks[conclusion.status]} ", _STYLES[conclusion.status]), (lines[0], "strong")]]
    rows += [[("  " + line, "plain")] for line in lines[1:]]
    return rows[:max_rows]


def ladder_rows(
    floors: Sequence[NoiseFloor], budget: Budget, width: int, glyphs: Glyphs, names: Sequence[str] = ()
) -> list[Row]:
    """Return a heading row and one row per sample length, or per name, of at most `width` columns.

    Without floors, or without any column, there are no rows.
    """
    if not floors or width < 1:
        return []
    texts = right_align(_columns(floors, width, names))
    after = right_align([_cells(title, floors) for title in _AFTER]) if width >= _WITH_ALL else [""] * len(texts)
    behind = [f"  {text}" if text else "" for text in after]
    room = width - len(texts[0]) - 2 - len(behind[0])
    if room < _LEAST_WHISKERS:
        room, behind = 0, [""] * len(texts)
    rows: list[Row] = [[(f"{texts[0]}  {_scale(budget, room)}{behind[0]}", "faint")]]
    for floor, text, text_behind in zip(floors, texts[1:], behind[1:], strict=True):
        style: Style = "strong" if floor.sample_ns == budget.at_ns and not names else "plain"
        whiskers = _whiskers(floor, budget, room, glyphs) if room else []
        rows.append([(f"{text}  ", style), *whiskers, (text_behind, style)])
    return rows_for((cut(row, width) for row in rows), glyphs.has_braille)


def _columns(floors: Sequence[NoiseFloor], width: int, names: Sequence[str]) -> list[list[str]]:
    """Return the columns before the whiskers, with their headings."""
    row_names = names or [describe_ns(floor.sample_ns) for floor in floors]
    marked = [text + ("*" if floor.extrapolated else " ") for text, floor in zip(row_names, floors, strict=True)]
    titles = ("CV", "90% interval", "chance") if width >= _WITH_ALL else ("CV", "chance", "MDE")
    first = ["kind of work" if names else "samples of", *marked]
    return [first, *(_cells(title, floors) for title in titles)]


def _cells(title: str, floors: Sequence[NoiseFloor]) -> list[str]:
    return [title, *map(FLOOR_CELLS[title], floors)]


def _place(share: float, room: int) -> int:
    """Return the column of a CV; a CV outside of the axis is in the first or last column."""
    at = math.log10(max(share, _LEAST_SHARE) / _LEAST_SHARE) / _DECADES
    return min(max(int(at * room), 0), room - 1)


def _scale(budget: Budget, room: int) -> str:
    """Return the axis above the whiskers: the budget, and the powers of ten that fit next to it."""
    labels = [(budget.max_cv, f"┊budget {share_text(budget.max_cv)}")]
    labels += [(10.0**power, share_text(10.0**power)) for power in (-4, 0, -2, -3, -1)]
    return labels_line(room, ((_place(share, room), label) for share, label in labels))


def _whiskers(floor: NoiseFloor, budget: Budget, room: int, glyphs: Glyphs) -> Row:
    """Draw `··┣━●━┫··┊··`: the interval, the expected CV in it, and the budget."""
    cells: list[Piece] = [("·" if glyphs.has_braille else ".", "faint")] * room
    cells[_place(budget.max_cv, room)] = ("┊", "strong")
    style = _style(floor, budget)
    low, high = _place(floor.cv_low, room), _place(floor.cv_high, room)
    for column in range(low, high + 1):
        cells[column] = ("━", style)
    cells[low], cells[high] = ("┣", style), ("┫", style)
    cells[_place(floor.cv_expected, room)] = ("●", style)
    return join_styles(cells)


def _style(floor: NoiseFloor, budget: Budget) -> Style:
    """Return the style for a CV within the budget, above it, or undecided."""
    if floor.extrapolated:
        return "unknown"
    return "calm" if budget.is_met_by(floor) else "grave" if budget.is_exceeded_by(floor) else "notable"


_LEAST_LIVE_STRIP, _MOST_LIVE_STRIP = 8, 66
_MOST_BAR = 40


def progress_line(live: LiveGaps, width: int) -> str:
    """Return the calibration's progress, with a bar, in at most `width` columns."""
    done = min(live.done_s / live.total_s, 1.0) if live.total_s else 0.0
    text = f"calibrating {live.done_s:.1f} of {live.total_s:.1f} s"
    room = max(min(width - len(text) - 4, _MOST_BAR), 0)
    filled = round(done * room)
    return f"{text}  {'#' * filled}{'.' * (room - filled)}"[: max(width, 0)]


def live_rows(live: LiveGaps, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Draw the progress, the gaps of all CPUs by length, and a row for each CPU, the worst first, cut to the size."""
    shown = max(min(len(live.by_cpu), height // 4), 1)
    hidden = len(live.by_cpu) - shown
    room = height - 1 - shown - (hidden > 0)
    rows: list[Row] = [[(progress_line(live, width), "strong")]]
    if room > LEAST_ROWS:
        rows += live_picture_rows(live, width, room, glyphs)
    rows += [_cpu_row(live_cpu, width, glyphs) for live_cpu in live.worst(shown)]
    if hidden > 0:
        rows.append(cut([(f"and {hidden} more CPUs", "faint")], width))
    return rows_for(rows[: max(height, 1)], glyphs.has_braille)


def _cpu_row(live_cpu: LiveCpu, width: int, glyphs: Glyphs) -> Row:
    text = (
        f"CPU {live_cpu.cpu:<4} {live_cpu.gap_count:>6} gaps  {describe_share(live_cpu.stolen_share):>7} noise  "
        f"longest {describe_ns(live_cpu.longest_ns):>8}"
    )
    room = min(width - len(text) - 2, _MOST_LIVE_STRIP)
    if room < _LEAST_LIVE_STRIP:
        return [(text[: max(width, 0)], "plain")]
    return [(f"{text}  ", "plain"), (strip(live_cpu.histogram, room, glyphs.ramp), "notable")]
