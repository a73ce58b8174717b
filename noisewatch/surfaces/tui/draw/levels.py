"""Losses as characters, one a column, on the one logarithmic scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.surfaces.tui.draw.glyphs import OFFLINE_MARK, OFFLINE_NS, Glyphs, level_of, style_of, worst_of
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel


def columns_of(losses: Sequence[float | None], zoom: int) -> list[float | None]:
    """The worst of so many intervals each, counted from the newest."""
    if zoom == 1:
        return list(losses)
    return [worst_of(losses[max(end - zoom, 0) : end]) for end in range(len(losses), 0, -zoom)][::-1]


def greatest_of(columns: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Of several CPUs the worst in each interval."""
    return [worst_of(each) for each in zip(*columns, strict=True)]


def level_pieces(losses: Iterable[float | None], glyphs: Glyphs) -> Row:
    """A character each; runs of one style are one piece."""
    row: Row = []
    for lost in losses:
        glyph, style = _mark_of(lost, glyphs)
        if row and row[-1][1] == style:
            row[-1] = (row[-1][0] + glyph, style)
        else:
            row.append((glyph, style))
    return row


def _mark_of(lost: float | None, glyphs: Glyphs) -> tuple[str, str]:
    if lost == OFFLINE_NS:
        return OFFLINE_MARK, "faint"
    return (glyphs.unknown if lost is None else glyphs.ramp[level_of(lost)]), style_of(lost)


def history_pieces(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> Row:
    """What the CPU lost up to the interval that is shown, which is at the right."""
    numbers = range(max(model.number + 1 - width * model.zoom, model.history.first), model.number + 1)
    shown = columns_of(model.history.lane(cpu, numbers), model.zoom)[-width:] if width > 0 else []
    return [(" " * (width - len(shown)), "plain"), *level_pieces(shown, glyphs)]
