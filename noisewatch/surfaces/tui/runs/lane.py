"""The lane of runs on the timeline: each repetition as its number and its outcome's sign, over its duration."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from noisewatch.judgement.run.reason_words import mark_of
from noisewatch.judgement.run.reasons import RunStanding
from noisewatch.operations.frame.frame import RepetitionLine
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, runs
from noisewatch.surfaces.tui.runs.history import describe_repetition, overlapping
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.time_axis import LABEL, TimeAxis
from noisewatch.units import NS_PER_S

RUNNING = ">"
_WORST_FIRST: list[str] = list(reversed(RunStanding))
_STYLES: dict[str, Style] = {
    RunStanding.DISTURBED: "grave",
    RunStanding.UNKNOWN: "unknown",
    RunStanding.FAILED: "notable",
    RunStanding.CUT_SHORT: "notable",
    RunStanding.UNDISTURBED: "good",
}


def run_row(model: ScreenModel, axis: TimeAxis, glyphs: Glyphs) -> Row:
    """Return the lane of runs; a shared column shows the worst repetition, and numbers are shown where they fit."""
    signs: list[tuple[str, Style]] = [(" ", "plain")] * axis.room
    ordered = _ordered(model)
    running = min((since_ns for _, since_ns in model.runs.running_since()), default=None)
    columns_of: dict[tuple[int, int], list[int]] = {}  # by begin and number
    for column, begin_ns, end_ns in _columns(model, axis):
        found = overlapping(ordered, begin_ns, end_ns)
        if found:
            worst = min(found, key=lambda each: (_WORST_FIRST.index(each.outcome), -each.began_ns))
            signs[column] = mark_of(RunStanding(worst.outcome), glyphs.has_braille), _STYLES[worst.outcome]
            columns_of.setdefault((worst.began_ns, worst.number), []).append(column)
        elif running is not None and end_ns >= running:
            signs[column] = RUNNING, "strong"
    for (_, number), columns in columns_of.items():
        digits = str(number)
        if len(columns) > len(digits):  # leaves a column for its sign
            for column, digit in zip(columns, digits, strict=False):
                signs[column] = digit, signs[column][1]
    return [(f"{'run':<{LABEL}}", "faint"), *runs(signs)]


def _ordered(model: ScreenModel) -> list[RepetitionLine]:
    return sorted(model.runs.repetitions(), key=attrgetter("began_ns"))


def _columns(model: ScreenModel, axis: TimeAxis) -> list[tuple[int, int, int]]:
    """Return each column of the lane with its start and end, in ns."""
    found = []
    for column in range(axis.before, axis.stop):
        times = _times(model, axis.of_column(column))
        if times is not None:
            found.append((column, *times))
    return found


def _times(model: ScreenModel, numbers: Sequence[int]) -> tuple[int, int] | None:
    """Return the start of the first kept interval and the end of the last one, in ns, or None if none is kept."""
    kept = [number for number in numbers if model.history.first <= number < model.history.count]
    if not kept:
        return None
    end_s = model.clocks.taken_at_s(kept[-1])
    begin_s = model.clocks.taken_at_s(kept[0] - 1) if kept[0] > model.history.first else None
    begin_ns = (model.begin_ns or 0) if begin_s is None else round(begin_s * NS_PER_S)
    return None if end_s is None else (begin_ns, round(end_s * NS_PER_S))


def runs_at(model: ScreenModel, axis: TimeAxis) -> list[str]:
    """Return the repetitions in the cursor's column, the worst first."""
    times = _times(model, axis.of_column(axis.cursor)) if axis.cursor is not None else None
    if times is None:
        return []
    found = sorted(overlapping(_ordered(model), *times), key=lambda each: _WORST_FIRST.index(each.outcome))
    return [describe_repetition(each) for each in found]
