"""A series as a picture: when each run was and how long it took, how many took how long, and who disturbed them.

It is drawn with the signs and colours of all other pictures, so that it also works without colour and in ASCII. plotext
supports neither these signs nor narrow terminals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from noisewatch.judgement.run.reasons import RunStanding
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.drawing.time_scale import TimeScale
from noisewatch.surfaces.reports.run.drawing.timeline import (
    STYLES,
    PlaceScale,
    RunShown,
    axis_rows,
    mark_of_run,
    plotted_rows,
    shown_runs,
)
from noisewatch.surfaces.reports.run.sentences import letter_of
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, cut, first_that_fits, fitted, in_ascii, length, text_width
from noisewatch.text import printable

_ROWS, _ROWS_OF_TWO = 8, 6
_LEAST_BESIDE = 60  # columns, with room for both beside each other
_HISTOGRAM_SHARE, _MOST_HISTOGRAM = 0.3, 40
_GAP = 2
_FEWEST = 2
_LEAST_COLUMNS = 4
_HOW_MANY = "how many"
_RUN, _AFTER = "run", "after"
_MOST_LANES = 4
_MOST_NAME = 30  # columns


def picture_rows(series: RunSeries, culprits: Sequence[RunCulprit], width: int, glyphs: Glyphs) -> list[Row]:
    """Draw all runs of the series in rows of at most `width` columns.

    The list is empty for a single run, or if the picture does not fit.
    """
    shown = shown_runs(series)
    if len(shown) < _FEWEST:
        return []
    commands = range(len(series.options.commands))
    panels = [[run for run in shown if run.command == command] for command in commands]
    panels = [panel for panel in panels if panel]
    scale = TimeScale.of([run.seconds for run in shown], _ROWS if len(panels) == 1 else _ROWS_OF_TWO)
    labels = [each if glyphs.has_braille else in_ascii(each) for each in reversed(scale.labels)]
    left = max(map(len, (*labels, _AFTER)))
    is_beside = width >= _LEAST_BESIDE
    beside = min(round(width * _HISTOGRAM_SHARE), _MOST_HISTOGRAM) if is_beside else 0
    columns = width - left - 2 - (beside + _GAP + 2 if is_beside else 0)
    if columns < _LEAST_COLUMNS:
        return []
    places = PlaceScale.of(len(shown), columns)
    histograms = [histogram_rows(each, scale, beside or width - left - 2, glyphs) for each in panels]
    rows: list[Row] = []
    for panel, bars in zip(panels, histograms, strict=True):
        title = _title(panel, letter_of(series, panel[0].command), width, glyphs)
        rows.append(_with_heading(title, left + 2 + places.columns, width))
        plotted = _with_labels(labels, plotted_rows(panel, scale, places, glyphs), left, glyphs)
        rows += _side_by_side(plotted, bars, left + 2 + places.columns, glyphs) if is_beside else plotted
    rows += _axis(shown, places, left, glyphs, lane_rows(culprits, shown, places, width - left - 2, glyphs))
    rows += [_shared_row(places, width)] if places.is_shared else []
    if not is_beside:
        for bars in histograms:
            rows += [[], *_with_labels(labels, bars, left, glyphs)]
    return rows


def _title(panel: Sequence[RunShown], letter: str, width: int, glyphs: Glyphs) -> Row:
    """Return the panel's title: each sign with its meaning and its number of runs."""
    counts = Counter(run.standing for run in panel)
    row: Row = [(f"{letter}time of each run", "strong")]
    for standing in STYLES:
        if counts[standing]:
            row += [("  ", "plain"), mark_of_run(standing, glyphs), (f" {standing} {counts[standing]}", "plain")]
    if length(row) > width:
        row = [(letter, "strong")]
        for standing in STYLES:
            row += [mark_of_run(standing, glyphs), (f" {counts[standing]}  ", "plain")] if counts[standing] else []
    return cut(row, width)


def _with_heading(title: Row, begin: int, width: int) -> Row:
    """Append the histogram's heading to the title, if it fits."""
    gap = begin + _GAP + 1 - length(title)
    fits = gap >= _GAP and begin + len(_HOW_MANY) + _GAP < width and width >= _LEAST_BESIDE
    return [*title, (" " * gap, "plain"), (_HOW_MANY, "faint")] if fits else title


def _with_labels(labels: Sequence[str], rows: Sequence[Row], left: int, glyphs: Glyphs) -> list[Row]:
    edge = "│" if glyphs.has_braille else "|"
    return [[(f"{label:>{left}} {edge}", "faint"), *row] for label, row in zip(labels, rows, strict=True)]


def _side_by_side(plotted: Sequence[Row], bars: Sequence[Row], width: int, glyphs: Glyphs) -> list[Row]:
    edge = "│" if glyphs.has_braille else "|"
    return [
        [*row, (" " * (width - length(row) + _GAP), "plain"), (edge, "faint"), *bar]
        for row, bar in zip(plotted, bars, strict=True)
    ]


def _axis(shown: Sequence[RunShown], places: PlaceScale, left: int, glyphs: Glyphs, lanes: Sequence[Row]) -> list[Row]:
    """Return the rows below the timeline: the axis, the culprits' lanes, the run numbers and the start times."""
    line, numbers, times = axis_rows(shown, places, glyphs)
    corner = "└" if glyphs.has_braille else "+"
    before = " " * (left + 2)
    return [
        [(f"{'':>{left}} {corner}{line}", "faint")],
        *([(before, "plain"), *row] for row in lanes),
        [(f"{_RUN:>{left}}  {numbers}", "faint")],
        [(f"{_AFTER:>{left}}  {times}", "faint")],
    ]


def _shared_row(places: PlaceScale, width: int) -> Row:
    most = -(-places.count // places.columns)
    short = f"{most} runs a column"
    return [(first_that_fits([f"up to {short}: of signs in one place the gravest shows", short], width), "faint")]


def histogram_rows(shown: Iterable[RunShown], scale: TimeScale, width: int, glyphs: Glyphs) -> list[Row]:
    """Draw the number of runs for each row of the time scale, longest times first, in at most `width` columns.

    A bar has a cell for each run, and the number of runs behind it. If bars do not fit, they are scaled down, but keep
    at least one cell for each standing that occurs.
    """
    counts: list[Counter[RunStanding]] = [Counter() for _ in range(scale.rows)]
    for run in shown:
        counts[scale.row_of(run.seconds)][run.standing] += 1
    most = max((each.total() for each in counts), default=0)
    room = max(width - len(f" {most}"), len(STYLES))
    return [_bar(each, most, room, glyphs) for each in reversed(counts)]


def _bar(counts: Counter[RunStanding], most: int, room: int, glyphs: Glyphs) -> Row:
    row: Row = []
    for standing in STYLES:
        if counts[standing]:
            cells = (
                max(round(counts[standing] * (room - len(STYLES) + 1) / most), 1) if most > room else counts[standing]
            )
            row.append(_piece(standing, cells, glyphs))
    return [*row, (f" {counts.total()}", "faint")] if row else []


def _piece(standing: RunStanding, cells: int, glyphs: Glyphs) -> Piece:
    """Return `cells` signs of the standing; for undisturbed runs, which should be the most, a solid bar."""
    sign, style = mark_of_run(standing, glyphs)
    return (glyphs.bar if standing == RunStanding.UNDISTURBED else sign) * cells, style


def lane_rows(
    culprits: Iterable[RunCulprit], shown: Sequence[RunShown], places: PlaceScale, width: int, glyphs: Glyphs
) -> list[Row]:
    """Draw a lane of at most `width` columns for each of the first culprits: a sign below each run that it disturbed.

    The culprit's name is behind the last sign or before the first one; if neither fits, it has a row of its own.
    """
    column_by_number = {run.number: places.column_of(run.place) for run in shown}
    rows: list[Row] = []
    for culprit in list(culprits)[:_MOST_LANES]:
        columns = {column_by_number[number] for number in culprit.numbers if number in column_by_number}
        if columns:
            rows += _lane(columns, _named(culprit, min(_MOST_NAME, width), glyphs), width, glyphs)
    return rows


def _lane(columns: Collection[int], name: str, width: int, glyphs: Glyphs) -> list[Row]:
    first, last = min(columns), max(columns)
    signs = "".join(glyphs.cursor if column in columns else " " for column in range(first, last + 1))
    taken = text_width(name)
    if last + 1 + _GAP + taken <= width:
        return [[(" " * first, "plain"), (signs, "grave"), (" " * _GAP + name, "strong")]]
    if taken + _GAP <= first:
        begin = first - taken - _GAP
        return [[(" " * begin + name + " " * _GAP, "strong"), (signs, "grave")]]
    return [[(" " * first, "plain"), (signs, "grave")], [(name, "strong")]]


def _named(culprit: RunCulprit, most: int, glyphs: Glyphs) -> str:
    name = printable(culprit.name)
    name = name if text_width(name) <= most else fitted(name, most - 1).rstrip() + "…"
    return name if glyphs.has_braille else in_ascii(name)
