"""A series as a picture: start and duration of each run, a histogram of durations, and the culprits.

The axis of durations is logarithmic, in a few rows that timeline and histogram share. If there are more runs than
columns, several share a column. If several signs share a cell, the gravest is drawn, so other runs never hide a
disturbed run. While a series runs, one row shows its progress with the same signs.

Like all other pictures, this one also works without colour and in ASCII. plotext supports neither its signs nor narrow
terminals.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.judgement.run.reasons import RunOutcome, RunStanding, describe_reasons, mark_of
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.drawing.axis import put, rows_for
from noisewatch.surfaces.drawing.colours import Meaning
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import (
    Piece,
    Row,
    cut,
    first_that_fits,
    fit_text,
    join_styles,
    length,
    text_width,
)
from noisewatch.surfaces.reports.run.quantities import quantity_text
from noisewatch.surfaces.reports.run.sentences import letter_of
from noisewatch.text import printable
from noisewatch.units import NS_PER_S, describe_ns, short_duration

if TYPE_CHECKING:
    from noisewatch.operations.run.judging import JudgedRepetition

STYLES: dict[RunStanding, Meaning] = {
    RunStanding.UNDISTURBED: "calm",
    RunStanding.CUT_SHORT: "notable",
    RunStanding.FAILED: "notable",
    RunStanding.UNKNOWN: "unknown",
    RunStanding.DISTURBED: "grave",
}
_GRAVITY = list(RunStanding)  # the gravest last: disturbed outranks all others
_MOST_STRETCH = 4  # the most columns from one run to the next
_STEPS = (1, 2, 5)


class RunShown(Struct, frozen=True):
    """A run: its place in the series (from 0), its start in ns after the first run's start, and its standing."""

    place: int
    number: int
    command: int
    began_ns: int
    seconds: float
    standing: RunStanding


def shown_runs(series: RunSeries) -> list[RunShown]:
    """Return all runs of the series, in order."""
    begin_ns = series.repetitions[0].repetition.began_ns if series.repetitions else 0
    return [
        RunShown(
            place=place,
            number=judged.repetition.number,
            command=judged.repetition.command,
            began_ns=judged.repetition.began_ns - begin_ns,
            seconds=judged.repetition.seconds,
            standing=judged.standing,
        )
        for place, judged in enumerate(series.repetitions)
    ]


class PlaceScale(Struct, frozen=True):
    """A scale that maps the places of `count` runs to `columns` columns."""

    count: int
    columns: int

    @classmethod
    def of(cls, count: int, most_columns: int, most_stretch: int = _MOST_STRETCH) -> PlaceScale:
        """Return a scale with at most `most_stretch` columns per run, and at most `most_columns` in all."""
        stretch = min(max(most_columns // count, 1), most_stretch)
        return cls(count, min(count * stretch, most_columns))

    @property
    def is_shared(self) -> bool:
        """Whether several runs share a column."""
        return self.columns < self.count

    def column_of(self, place: int) -> int:
        return place * self.columns // self.count


def mark_of_run(standing: RunStanding, glyphs: Glyphs) -> Piece:
    """Return the standing's sign and its colour."""
    return mark_of(standing, glyphs.has_braille), STYLES[standing]


def plot_rows(shown: Sequence[RunShown], scale: TimeScale, places: PlaceScale, glyphs: Glyphs) -> list[Row]:
    """Draw the runs in a row for each row of the time scale, longest times first; each row spans all columns."""
    cells: dict[tuple[int, int], RunStanding] = {}
    for run in shown:
        cell = scale.row_of(run.seconds), places.column_of(run.place)
        cells[cell] = max(cells.get(cell, run.standing), run.standing, key=_GRAVITY.index)
    return [
        join_styles(
            mark_of_run(cells[row, column], glyphs) if (row, column) in cells else (" ", "plain")
            for column in range(places.columns)
        )
        for row in range(scale.rows - 1, -1, -1)
    ]


def _ticks(places: PlaceScale) -> list[int]:
    """Return the places of the first run and of runs with round numbers, far enough apart for their labels."""
    room = max(len(str(places.count)), 6) + 2
    steps = (size * 10**power for power in range(len(str(places.count)) + 1) for size in _STEPS)
    step = next((candidate for candidate in steps if candidate * places.columns >= room * places.count), places.count)
    return list(dict.fromkeys([0, *range(step - 1, places.count, step)]))


_DISTINCT_RATIO = 1.02  # least ratio of neighbouring rows; with a smaller one, their three-digit labels could be equal


class TimeScale(Struct, frozen=True):
    """A logarithmic scale from the shortest to the longest time in `rows` rows; row 0 is the shortest time."""

    least_s: float
    most_s: float
    rows: int

    @classmethod
    def of(cls, times_s: Sequence[float], rows: int) -> TimeScale:
        """Return the scale of these times; a single row if all are equal. Raise ValueError if there are none."""
        least_s, most_s = min(times_s), max(times_s)
        return cls(least_s, most_s, rows if 0 < least_s < most_s else 1)

    def row_of(self, time_s: float) -> int:
        """Return the row whose time is nearest to `time_s`."""
        if self.rows == 1:
            return 0
        share = math.log(time_s / self.least_s) / math.log(self.most_s / self.least_s)
        return min(max(round(share * (self.rows - 1)), 0), self.rows - 1)

    @property
    def labels(self) -> list[str]:
        """The time of each row, with enough digits to differ; the first and the last are measured times."""
        if self.rows == 1:
            return [describe_ns(self.least_s * NS_PER_S)]
        ratio = (self.most_s / self.least_s) ** (1 / (self.rows - 1))
        times_s = [self.least_s * ratio**row for row in range(self.rows)]
        if ratio > _DISTINCT_RATIO:
            return [describe_ns(time_s * NS_PER_S) for time_s in times_s]
        return [quantity_text([time_s], (times_s[1] - times_s[0]) * 10, self.least_s) for time_s in times_s]


_ROWS, _ROWS_OF_TWO = 8, 6
_LEAST_SIDE_BY_SIDE = 60  # columns, with room for both pictures next to each other
_HISTOGRAM_SHARE, _MOST_HISTOGRAM = 0.3, 40
_GAP = 2
_FEWEST = 2
_LEAST_COLUMNS = 4
_HOW_MANY = "how many"
_RUN, _AFTER = "run", "after"
_MOST_LANES = 4
_MOST_NAME = 30  # columns


def picture_rows(series: RunSeries, culprits: Sequence[RunCulprit], width: int, glyphs: Glyphs) -> list[Row]:
    """Draw all runs of the series in rows of at most `width` columns, as `runs_rows` does."""
    letters = [letter_of(series, command) for command in range(len(series.options.commands))]
    return runs_rows(shown_runs(series), letters, culprits, width, glyphs)


def runs_rows(
    shown: Sequence[RunShown],
    letters: Sequence[str],
    culprits: Sequence[RunCulprit],
    width: int,
    glyphs: Glyphs,
    most_stretch: int = _MOST_STRETCH,
) -> list[Row]:
    """Draw the runs in rows of at most `width` columns, in a panel for each command, which begins with its letter.

    The list is empty for a single run, or if the picture does not fit.
    """
    if len(shown) < _FEWEST:
        return []
    commands = range(len(letters))
    panels = [[run for run in shown if run.command == command] for command in commands]
    panels = [panel for panel in panels if panel]
    scale = TimeScale.of([run.seconds for run in shown], _ROWS if len(panels) == 1 else _ROWS_OF_TWO)
    labels = scale.labels[::-1]
    left = max(map(len, (*labels, _AFTER)))
    is_side_by_side = width >= _LEAST_SIDE_BY_SIDE
    histogram_width = min(round(width * _HISTOGRAM_SHARE), _MOST_HISTOGRAM) if is_side_by_side else 0
    columns = width - left - 2 - (histogram_width + _GAP + 2 if is_side_by_side else 0)
    if columns < _LEAST_COLUMNS:
        return []
    places = PlaceScale.of(len(shown), columns, most_stretch)
    histograms = [
        histogram_rows(panel_runs, scale, histogram_width or width - left - 2, glyphs) for panel_runs in panels
    ]
    rows: list[Row] = []
    for panel, bars in zip(panels, histograms, strict=True):
        title = _title(panel, letters[panel[0].command], width, glyphs)
        rows.append(_add_heading(title, left + 2 + places.columns, width))
        plotted = _add_labels(labels, plot_rows(panel, scale, places, glyphs), left)
        rows += _side_by_side(plotted, bars, left + 2 + places.columns) if is_side_by_side else plotted
    rows += _axis(shown, places, left, lane_rows(culprits, shown, places, width - left - 2, glyphs))
    if places.is_shared:
        short = f"{-(-places.count // places.columns)} runs per column"
        note = first_that_fits([f"up to {short}; the gravest sign is shown", short], width)
        rows.append([(note, "faint")])
    if not is_side_by_side:
        for bars in histograms:
            rows += [[], *_add_labels(labels, bars, left)]
    return rows_for(rows, glyphs.has_braille)


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


def _add_heading(title: Row, begin: int, width: int) -> Row:
    """Append the histogram's heading to the title, if it fits."""
    gap = begin + _GAP + 1 - length(title)
    fits = gap >= _GAP and begin + len(_HOW_MANY) + _GAP < width and width >= _LEAST_SIDE_BY_SIDE
    return [*title, (" " * gap, "plain"), (_HOW_MANY, "faint")] if fits else title


def _add_labels(labels: Sequence[str], rows: Sequence[Row], left: int) -> list[Row]:
    return [[(f"{label:>{left}} │", "faint"), *row] for label, row in zip(labels, rows, strict=True)]


def _side_by_side(plotted: Sequence[Row], bars: Sequence[Row], width: int) -> list[Row]:
    return [
        [*row, (" " * (width - length(row) + _GAP), "plain"), ("│", "faint"), *bar]
        for row, bar in zip(plotted, bars, strict=True)
    ]


def _axis(shown: Sequence[RunShown], places: PlaceScale, left: int, lanes: Sequence[Row]) -> list[Row]:
    """Return the rows below the timeline: axis, lanes of culprits, and run numbers and start times at the ticks."""
    line, numbers, times = ([sign] * places.columns for sign in "─  ")
    for place in _ticks(places):
        column = places.column_of(place)
        if put(numbers, column, str(place + 1)):
            line[column] = "┬"
            put(times, column, short_duration(shown[place].began_ns))
    return [
        [(f"{'':>{left}} └{''.join(line)}", "faint")],
        *([(" " * (left + 2), "plain"), *row] for row in lanes),
        [(f"{_RUN:>{left}}  {''.join(numbers)}", "faint")],
        [(f"{_AFTER:>{left}}  {''.join(times)}", "faint")],
    ]


def histogram_rows(shown: Iterable[RunShown], scale: TimeScale, width: int, glyphs: Glyphs) -> list[Row]:
    """Draw the number of runs for each row of the time scale, longest times first, in at most `width` columns.

    A bar has a cell for each run, followed by the number of runs. If the longest bar does not fit, all bars are scaled
    down, with at least one cell for each standing that occurs.
    """
    counts: list[Counter[RunStanding]] = [Counter() for _ in range(scale.rows)]
    for run in shown:
        counts[scale.row_of(run.seconds)][run.standing] += 1
    highest = max((row_counts.total() for row_counts in counts), default=0)
    room = max(width - len(f" {highest}"), len(STYLES))
    return [_bar(row_counts, highest, room, glyphs) for row_counts in reversed(counts)]


def _bar(counts: Counter[RunStanding], highest: int, room: int, glyphs: Glyphs) -> Row:
    row: Row = []
    for standing in STYLES:
        if counts[standing]:
            cells = (
                max(round(counts[standing] * (room - len(STYLES) + 1) / highest), 1)
                if highest > room
                else counts[standing]
            )
            sign, style = mark_of_run(standing, glyphs)
            row.append(((glyphs.bar if standing == RunStanding.UNDISTURBED else sign) * cells, style))
    return [*row, (f" {counts.total()}", "faint")] if row else []


def lane_rows(
    culprits: Iterable[RunCulprit], shown: Sequence[RunShown], places: PlaceScale, width: int, glyphs: Glyphs
) -> list[Row]:
    """Draw a lane of at most `width` columns for each of the first culprits: a sign below each run that it disturbed.

    The culprit's name is behind the last sign or before the first; if neither fits, it has its own row.
    """
    column_by_number = {run.number: places.column_of(run.place) for run in shown}
    rows: list[Row] = []
    for culprit in list(culprits)[:_MOST_LANES]:
        columns = {column_by_number[number] for number in culprit.numbers if number in column_by_number}
        if columns:
            rows += _lane(columns, _fit_name(culprit, min(_MOST_NAME, width)), width, glyphs)
    return rows


def _lane(columns: Collection[int], name: str, width: int, glyphs: Glyphs) -> list[Row]:
    first, last = min(columns), max(columns)
    signs = "".join(glyphs.cursor if column in columns else " " for column in range(first, last + 1))
    name_width = text_width(name)
    if last + 1 + _GAP + name_width <= width:
        return [[(" " * first, "plain"), (signs, "grave"), (" " * _GAP + name, "strong")]]
    if name_width + _GAP <= first:
        begin = first - name_width - _GAP
        return [[(" " * begin + name + " " * _GAP, "strong"), (signs, "grave")]]
    return [[(" " * first, "plain"), (signs, "grave")], [(name, "strong")]]


def _fit_name(culprit: RunCulprit, max_width: int) -> str:
    name = printable(culprit.name)
    return name if text_width(name) <= max_width else fit_text(name, max_width - 1).rstrip() + "…"


_MOST_MARKS = 20
_SHAPES = ((_MOST_MARKS, 3), (10, 3), (10, 2), (5, 1))  # number of signs, and of times behind them
_LEAST_WHO = 24  # columns for a culprit
_MINUTE_S = 60
_BETWEEN = "  "


class SeriesProgress:
    """The progress of a series; `expected` is its number of runs, not counting repeated runs."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._last: deque[tuple[RunStanding, int]] = deque(maxlen=_MOST_MARKS)  # standing and time (ns)
        self._counts: Counter[RunStanding] = Counter()
        self._last_reason = ""
        self._began_ns: int | None = None
        self._ended_ns = 0

    def add(self, judged: JudgedRepetition) -> None:
        """Add a run that has ended."""
        repetition, standing = judged.repetition, judged.standing
        self._began_ns = repetition.began_ns if self._began_ns is None else self._began_ns
        self._ended_ns = repetition.ended_ns
        self._counts[standing] += 1
        self._last.append((standing, repetition.length_ns))
        if judged.verdict.outcome != RunOutcome.UNDISTURBED:
            self._last_reason = printable(f"run {repetition.number}: {describe_reasons(judged.verdict, most=1)}")

    @property
    def left_ns(self) -> int | None:
        """The estimated time left (ns) at the pace so far; None until a run has ended, and while runs are repeated."""
        done = self._counts.total()
        if self._began_ns is None or done > self._expected:
            return None
        return (self._ended_ns - self._began_ns) * (self._expected - done) // done

    def row(self, width: int, in_unicode: bool = True, doing: str = "") -> Row:
        """Return the row, at most `width` columns wide; the least important parts are left out first.

        It shows what the series is `doing` between runs, or else the reason for the last disturbed or unknown verdict.
        """
        count: Row = [(f"{self._counts.total()}/{self._expected}", "strong")]
        left = self.left_ns
        rest: Row = [] if left is None else [(f"{_left_words(left)} left", "plain")]
        who: Row = (
            [(printable(doing), "notable")] if doing else [(self._last_reason, "plain")] * bool(self._last_reason)
        )
        whole = [[count, self._marks(marks, times, in_unicode), rest, self._count_pieces()] for marks, times in _SHAPES]
        short = [[count, self._marks(marks, 0, in_unicode), rest] for marks in (5, 1)]
        room = width - (_LEAST_WHO if who else 0)
        row = next((row for row in map(_join_rows, whole) if length(row) <= room), None)
        if row is not None:
            row = cut(_join_rows([row, who]), width)
        else:
            row = next((row for row in map(_join_rows, short) if length(row) <= width), cut(count, width))
        return rows_for([row], in_unicode)[0]

    def _marks(self, max_marks: int, times: int, in_unicode: bool) -> Row:
        """Return the signs of the last `max_marks` runs, with the times of the newest `times`."""
        last = list(self._last)[-max_marks:]
        timed = last[len(last) - min(times, len(last)) :]
        row: Row = [(mark_of(standing, in_unicode), STYLES[standing]) for standing, _ in last[: len(last) - len(timed)]]
        for standing, ns in timed:
            row += [(" " * bool(row), "plain"), (mark_of(standing, in_unicode) + short_duration(ns), STYLES[standing])]
        return row

    def _count_pieces(self) -> Row:
        gravest_first = [standing for standing in reversed(RunStanding) if standing != RunStanding.UNDISTURBED]
        pieces: list[Piece] = [
            (f"{self._counts[standing]} {standing}", STYLES[standing])
            for standing in gravest_first
            if self._counts[standing]
        ]
        return _join_rows([[piece] for piece in pieces])


def _join_rows(parts: Sequence[Row]) -> Row:
    row: Row = []
    for part in parts:
        if part:
            row += [(_BETWEEN, "plain"), *part] if row else part
    return row


def _left_words(ns: int) -> str:
    """Return the time left as `~12 s`, `~3 min` or `~2 h`."""
    seconds = ns / NS_PER_S
    if seconds < _MINUTE_S:
        return f"~{seconds:.0f} s"
    minutes = seconds / _MINUTE_S
    return f"~{minutes:.0f} min" if minutes < 99.5 else f"~{minutes / 60:.0f} h"
