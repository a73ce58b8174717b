"""How many runs took how long: a bar for each row of the timeline's axis, those of each standing apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from noisewatch.judgement.run.reasons import RunStanding
from noisewatch.surfaces.reports.run.drawing.time_scale import TimeScale
from noisewatch.surfaces.reports.run.drawing.timeline import STYLES, RunShown, mark_of_run
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row


def histogram_rows(shown: Iterable[RunShown], scale: TimeScale, width: int, glyphs: Glyphs) -> list[Row]:
    """From the longest times down to the shortest, none wider than `width`; behind each bar, how many it is of.

    A bar is as long as the number of its runs; of any standing at all there is one cell, as long as there are as many.
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
    """Its sign as often, or of undisturbed runs, of which there ought to be most, a bar."""
    sign, style = mark_of_run(standing, glyphs)
    return (glyphs.bar if standing == RunStanding.UNDISTURBED else sign) * cells, style
