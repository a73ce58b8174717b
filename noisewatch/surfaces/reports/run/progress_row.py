"""The progress of a series in one row: signs of the last runs, who disturbed the last disturbed one, the time left."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noisewatch.judgement.run.reasons import RunOutcome, RunStanding, describe_reasons, mark_of
from noisewatch.surfaces.reports.parts.axis import rows_for
from noisewatch.surfaces.reports.run.picture import STYLES
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, cut, length
from noisewatch.text import printable
from noisewatch.units import NS_PER_S, short_duration

if TYPE_CHECKING:
    from noisewatch.operations.run.judging import JudgedRepetition

_MOST_MARKS = 20
_SHAPES = ((_MOST_MARKS, 3), (10, 3), (10, 2), (5, 1))  # how many signs, and how many of them with their times
_LEAST_WHO = 24  # columns, to name a culprit
_MINUTE_S = 60
_BETWEEN = "  "


class SeriesProgress:
    """The progress of a series so far; `wanted` is its number of runs without repeated ones."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._last: deque[tuple[RunStanding, int]] = deque(maxlen=_MOST_MARKS)  # with the time in ns
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
        """The estimated time left (ns) at the pace so far; None before the first run or while runs are repeated."""
        done = self._counts.total()
        if self._began_ns is None or done > self._expected:
            return None
        return (self._ended_ns - self._began_ns) * (self._expected - done) // done

    def row(self, width: int, in_unicode: bool = True, waits_for: str = "") -> Row:
        """Return the row, at most `width` columns wide; what matters least is left out first.

        It shows what the series `waits_for`, or else who disturbed the last disturbed run.
        """
        count: Row = [(f"{self._counts.total()}/{self._expected}", "strong")]
        left = self.left_ns
        rest: Row = [] if left is None else [(f"{_left_words(left)} left", "plain")]
        who: Row = (
            [(f"waiting for {printable(waits_for)}", "notable")]
            if waits_for
            else [(self._last_reason, "plain")] * bool(self._last_reason)
        )
        whole = [[count, self._marks(marks, times, in_unicode), rest, self._count_pieces()] for marks, times in _SHAPES]
        short = [[count, self._marks(marks, 0, in_unicode), rest] for marks in (5, 1)]
        room = width - (_LEAST_WHO if who else 0)
        row = next((row for row in map(_joined, whole) if length(row) <= room), None)
        if row is not None:
            row = cut(_joined([row, who]), width)
        else:
            row = next((row for row in map(_joined, short) if length(row) <= width), cut(count, width))
        return rows_for([row], in_unicode)[0]

    def _marks(self, most: int, times: int, in_unicode: bool) -> Row:
        """Return the signs of the last `most` runs, with the times of the newest `times`."""
        last = list(self._last)[-most:]
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
        return _joined([[piece] for piece in pieces])


def _joined(parts: Sequence[Row]) -> Row:
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
