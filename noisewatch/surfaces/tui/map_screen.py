"""The second screen: all CPUs by time, so that one sees which are disturbed, when, and whether together."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.sources.cpulist import format_cpu_list
from noisewatch.surfaces.frame import OFFLINE, SIBLING, TARGET, CpuLine
from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.levels import columns_of, greatest_of, level_pieces
from noisewatch.surfaces.tui.page import page
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row

_MARKS = {TARGET: "T", SIBLING: "s", OFFLINE: "x"}
_WIDEST_LABEL = 14


def map_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """A row a CPU, or a row for as many neighbours as there have to be."""
    lines = model.frame.cpus if model.frame is not None else ()
    if not lines or height < 2:
        return []
    each = -(-len(lines) // (height - 1))
    groups = [lines[first : first + each] for first in range(0, len(lines), each)]
    labels = [_label(group) for group in groups]
    wide = min(max(len(label) for label in labels), _WIDEST_LABEL)
    room = max(width - wide - 1, 1)
    numbers = range(max(model.number + 1 - room * model.zoom, model.history.first), model.number + 1)
    rows = [_heading(each, model, room)]
    for label, group in zip(labels, groups, strict=True):
        lost = greatest_of([model.history.losses(line.cpu, numbers) for line in _there(group)])
        shown = columns_of(lost, model.zoom)[-room:]
        style = "strong" if any(line.role == TARGET for line in group) else "faint"
        padding = " " * (room - len(shown))
        rows.append([(f"{label[:wide]:<{wide}} ", style), (padding, "plain"), *level_pieces(shown, glyphs)])
    return rows


def _there(group: Sequence[CpuLine]) -> Sequence[CpuLine]:
    """Those that are online; all where none is."""
    return [line for line in group if line.role != OFFLINE] or group


def _label(group: Sequence[CpuLine]) -> str:
    """The mark of the most important CPU among them, and their numbers."""
    mark = next((sign for role, sign in _MARKS.items() if any(line.role == role for line in group)), " ")
    return f" {mark} {format_cpu_list(line.cpu for line in group)}"


def _heading(each: int, model: ScreenModel, room: int) -> Row:
    together = f", the worst of {each} CPUs a row" if each > 1 else ""
    column = f", the worst of {model.zoom} intervals a column" if model.zoom > 1 else ""
    return [(f" CPU by time: lost/s in the last {room * model.zoom} intervals{together}{column}", "heading")]
