"""How many runs took how long: a bar for each row of the timeline's axis, undisturbed, unknown and disturbed apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.surfaces.reports.run.drawing.time_scale import TimeScale
from noisewatch.surfaces.reports.run.drawing.timeline import STYLES, RunShown, mark_of_run
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row


def histogram_rows(shown: Iterable[RunShown], scale: TimeScale, width: int, glyphs: Glyphs) -> list[Row]:
    """From the longest times down to the shortest, none wider than `width`; behind each bar, how many it is of.

    A bar is as long as the number of its runs; of any verdict at all there is one cell, as long as there are as many.
    """
    counts: list[Counter[RunOutcome]] = [Counter() for _ in range(scale.rows)]
    for run in shown:
        counts[scale.row_of(run.seconds)][run.outcome] += 1
    most = max((each.total() for each in counts), default=0)
    room = max(width - len(f" {most}"), len(STYLES))
    return [_bar(each, most, room, glyphs) for each in reversed(counts)]


def _bar(counts: Counter[RunOutcome], most: int, room: int, glyphs: Glyphs) -> Row:
    row: Row = []
    for outcome in STYLES:
        if counts[outcome]:
            cells = max(round(counts[outcome] * (room - len(STYLES) + 1) / most), 1) if most > room else counts[outcome]
            row.append(_piece(outcome, cells, glyphs))
    return [*row, (f" {counts.total()}", "faint")] if row else []


def _piece(outcome: RunOutcome, cells: int, glyphs: Glyphs) -> Piece:
    """Its sign as often, or of undisturbed runs, of which there ought to be most, a bar."""
    sign, style = mark_of_run(outcome, glyphs)
    return (glyphs.bar if outcome == RunOutcome.UNDISTURBED else sign) * cells, style
