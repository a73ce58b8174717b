"""All runs of a series in order: a sign for each run at its time, and the axis below the signs.

If there are more runs than columns, several share a column. Where several signs share a cell, the gravest is drawn, so
that other runs never hide a disturbed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.judgement.run.reason_words import mark_of
from noisewatch.judgement.run.reasons import RunStanding
from noisewatch.operations.run.series import RunSeries
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.parts.colours import Meaning
from noisewatch.surfaces.reports.run.drawing.time_scale import TimeScale
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, in_ascii, runs, text_width
from noisewatch.units import short_duration

STYLES: dict[RunStanding, Meaning] = {
    RunStanding.UNDISTURBED: "calm",
    RunStanding.CUT_SHORT: "notable",
    RunStanding.FAILED: "notable",
    RunStanding.UNKNOWN: "unknown",
    RunStanding.DISTURBED: "grave",
}
_GRAVITY = list(RunStanding)
_MOST_STRETCH = 4  # columns between two runs
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run: its place in the series (from 0), its start in ns after the first run's, and its standing."""

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
            number=each.repetition.number,
            command=each.repetition.command,
            began_ns=each.repetition.began_ns - begin_ns,
            seconds=each.repetition.seconds,
            standing=each.standing,
        )
        for place, each in enumerate(series.repetitions)
    ]


@dataclass(frozen=True, slots=True)
class PlaceScale:
    """The scale from the places of `count` runs to `columns` columns."""

    count: int
    columns: int

    @classmethod
    def of(cls, count: int, most_columns: int) -> PlaceScale:
        """Return a scale with a few columns a run, and at most `most_columns` in all."""
        stretch = min(max(most_columns // count, 1), _MOST_STRETCH)
        return cls(count, min(count * stretch, most_columns))

    @property
    def is_shared(self) -> bool:
        """Whether several runs share a column."""
        return self.columns < self.count

    def column_of(self, place: int) -> int:
        return place * self.columns // self.count


def gravest(standings: Iterable[RunStanding]) -> RunStanding:
    """Return the gravest standing; disturbed outranks all others."""
    return max(standings, key=_GRAVITY.index)


def mark_of_run(standing: RunStanding, glyphs: Glyphs) -> Piece:
    """Return the standing's sign and its colour."""
    return mark_of(standing, glyphs.has_braille), STYLES[standing]


def plotted_rows(shown: Sequence[RunShown], scale: TimeScale, places: PlaceScale, glyphs: Glyphs) -> list[Row]:
    """Draw the runs in one row for each row of the time scale, longest times first, as wide as all columns."""
    cells: dict[tuple[int, int], RunStanding] = {}
    for run in shown:
        cell = scale.row_of(run.seconds), places.column_of(run.place)
        cells[cell] = gravest((cells.get(cell, run.standing), run.standing))
    return [
        runs(
            mark_of_run(cells[row, column], glyphs) if (row, column) in cells else (" ", "plain")
            for column in range(places.columns)
        )
        for row in range(scale.rows - 1, -1, -1)
    ]


def axis_rows(shown: Sequence[RunShown], places: PlaceScale, glyphs: Glyphs) -> tuple[str, str, str]:
    """Return three rows: the axis with its ticks, the run numbers at the ticks, and the start times of these runs."""
    across, tick = "─┬" if glyphs.has_braille else "-+"
    numbers, times = [" "] * places.columns, [" "] * places.columns
    line = [across] * places.columns
    for place in _ticks(places):
        column = places.column_of(place)
        if _put(numbers, column, str(place + 1)):
            line[column] = tick
            told = short_duration(shown[place].began_ns)
            _put(times, column, told if glyphs.has_braille else in_ascii(told))
    return "".join(line), "".join(numbers), "".join(times)


def _ticks(places: PlaceScale) -> list[int]:
    """Return the places of the first run and of runs with round numbers, so far apart that their labels fit."""
    room = max(len(str(places.count)), 6) + 2
    steps = (size * 10**power for power in range(len(str(places.count)) + 1) for size in _STEPS)
    step = next((each for each in steps if each * places.columns >= room * places.count), places.count)
    return list(dict.fromkeys([0, *range(step - 1, places.count, step)]))


def _put(line: list[str], begin: int, text: str) -> bool:
    """Write the text into the line of columns if it fits with a blank at either side; return whether it did."""
    end = begin + text_width(text)
    if begin < 0 or end > len(line) or set(line[max(begin - 1, 0) : end + 1]) != {" "}:
        return False
    line[begin:end] = [text, *[""] * (end - begin - 1)]
    return True
