"""The head of a screen on which its headline finds no room: the words that matter most, over all rows of the head."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, style_of
from noisewatch.surfaces.tui.draw.header import tab_row
from noisewatch.surfaces.tui.draw.headline import (
    Headline,
    checks_row,
    culprit_of_headline,
    over_now,
    sentences_of,
    states_of,
    verdict_of,
)
from noisewatch.surfaces.tui.draw.text_row import Row, cut, cut_at_word, first_that_fits, length, lines_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_noise

NARROW = 60  # columns


def narrow_head(
    model: ScreenModel, frame: Frame, width: int, height: int, glyphs: Glyphs, of_screen: Headline | None = None
) -> list[Row]:
    """The verdict, the worst CPU and the culprit's name, in that order; above them which snapshot is shown."""
    if is_in_trouble(model):
        return _in_trouble(model, width, height, glyphs)
    verdict, culprit = verdict_of(model), culprit_of_headline(frame)
    if culprit is None:
        first, second = [verdict], _fitting(_sentences(model, frame, glyphs, of_screen), width)
    else:
        noise = _noise(frame, culprit, glyphs)
        first = [verdict, (" ", "plain"), *_fitting(noise, width - length([verdict]) - 1)]
        second = _fitting(_culprit(culprit, glyphs), width)
    if height == 1:
        return [_in_one_row(first, second, width)]
    above = [_state_row(model, width) or tab_row(model, width, glyphs)] if height > 2 else []
    return [*above, cut(first, width), cut(second, width)]


def _in_one_row(first: Row, second: Row, width: int) -> Row:
    """A figure gives way to the name that follows, and then the signs between the words."""
    gap: Row = [(" ", "plain")]
    (verdict, style), *rest = first[:3]
    bare: Row = [(verdict.strip(), style), *rest, *gap, *second[-1:]]
    whole = ([*first, *gap, *second], [*first[:3], *gap, *second])
    return next((row for row in whole if length(row) <= width), cut(bare, width))


def is_in_trouble(model: ScreenModel) -> bool:
    """Whether what is shown is not what is, and why is to be told."""
    return model.cursor is None and bool(model.trouble or model.silence)


def _in_trouble(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """What went wrong comes before what was seen until then."""
    verdict, wrong = verdict_of(model), str(model.trouble or model.silence)
    above = [tab_row(model, width, glyphs)] if width >= NARROW and height > 2 else []
    if height == 1 or above:
        first, *more = lines_of(f"{'-' * length([verdict])} {wrong}", width, height - len(above))
        said = first[length([verdict]) :]
        row = cut([verdict, (said, "doubt")], width)
        return [*above, row, *(cut_at_word([(f" {line}", "doubt")], width) for line in more)]
    told = lines_of(wrong, width, height - 1)
    return [cut([verdict], width), *(cut_at_word([(line, "doubt")], width) for line in told)]


def _noise(frame: Frame, culprit: CulpritLine, glyphs: Glyphs) -> list[Row]:
    """Of the worst CPU, on which the culprit is."""
    line = next(line for line in frame.cpus if line.cpu == culprit.cpu)
    mark = glyphs.estimate if line.is_estimate else ""
    cpu = f"CPU {line.cpu}"
    figure = f": {mark}{short_noise(line.stolen_ns_per_s)}"
    return [[(cpu, "strong"), (figure, style_of(line.stolen_ns_per_s))], [(cpu, "strong")]]


def _culprit(culprit: CulpritLine, glyphs: Glyphs) -> list[Row]:
    """Its name with what it is, then the bare name."""
    bare = culprit.name.partition(" (")[0] if culprit.irq is not None else culprit.name
    marked = bare + culprit.process_mark
    return [
        [(f"{glyphs.cause} ", "faint"), (name, "strong")] for name in (culprit.kind.with_name(marked), marked, bare)
    ]


def _sentences(model: ScreenModel, frame: Frame, glyphs: Glyphs, of_screen: Headline | None) -> list[Row]:
    """What is said where nobody makes noise; of the checks at least their names."""
    checks = checks_row(model, frame)
    return [*sentences_of(model, frame, glyphs, of_screen), *([checks, checks[-1:]] if checks else [])]


def _state_row(model: ScreenModel, width: int) -> Row | None:
    """Which snapshot is shown, where it is not the newest; or that a CPU is over its limit just now."""
    if states := states_of(model):
        said = [*states, *(state.partition(" at ")[2] for state in states if " at " in state)]
        return cut([(f" {first_that_fits(said, width - 1)}", "doubt")], width)
    return cut([(" over its limit now", "grave")], width) if over_now(model) else None


def _fitting(choices: Sequence[Row], width: int) -> Row:
    """The first that finds room, or the last one as far as it does."""
    return next((each for each in choices if length(each) <= width), cut_at_word(choices[-1], width))
