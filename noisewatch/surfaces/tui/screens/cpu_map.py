"""The second screen: all CPUs by time, so that one sees which are noisy, when, and whether together."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.cpus import format_cpu_list
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.tui.draw.glyphs import LEVELS_NS, OFFLINE_MARK, Glyphs, columns_of, greatest_of, level_pieces
from noisewatch.surfaces.tui.draw.places import brackets, in_topology_order
from noisewatch.surfaces.tui.draw.text_row import Row, Style, first_that_fits
from noisewatch.surfaces.tui.draw.timeline import last_in_sight
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_duration

_MARKS = {Role.TARGET: "T", Role.SIBLING: "s", Role.OFFLINE: OFFLINE_MARK}
_WIDEST_LABEL = 14


def map_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """A row a CPU, or a row for as many CPUs of one role as there have to be."""
    lines = model.frame.cpus if model.frame is not None else ()
    if not lines or height < 2:
        return []
    groups = _groups(in_topology_order(model, lines), height - 1)
    signs = brackets(model, [group[0] for group in groups], glyphs) if len(groups) == len(lines) else {}
    labels = [_label(group) + signs.get(group[0].cpu, "") for group in groups]
    wide = min(max(len(label) for label in labels), _WIDEST_LABEL)
    room = max(width - wide - 1, 1)
    last, behind = last_in_sight(model, width)
    numbers = range(max(last + 1 - room * model.zoom, model.history.first), last + 1)
    rows = [_heading(max(map(len, groups)), model, width, room, glyphs)]
    for label, group in zip(labels, groups, strict=True):
        noise = greatest_of([model.history.lane(line.cpu, numbers) for line in group])
        shown = columns_of(noise, model.zoom)[-room:]
        style: Style = "strong" if any(line.role == Role.TARGET for line in group) else "faint"
        padding = " " * (room - len(shown))
        named = label if len(label) <= wide else label[: wide - 1] + "…"
        rows.append([(f"{named:<{wide}} ", style), (padding, "plain"), *_pieces(model, shown, behind, glyphs)])
    return rows


def _pieces(model: ScreenModel, shown: Sequence[float | None], behind: int, glyphs: Glyphs) -> Row:
    """The lane; stepped back, the column of the snapshot that is shown stands out, above the timeline's mark."""
    at = len(shown) - 1 - behind
    if model.cursor is None or at < 0:
        return level_pieces(shown, glyphs)
    ((mark, _),) = level_pieces(shown[at : at + 1], glyphs)
    return [*level_pieces(shown[:at], glyphs), (mark, "selected"), *level_pieces(shown[at + 1 :], glyphs)]


def _groups(lines: Sequence[CpuLine], room: int) -> list[Sequence[CpuLine]]:
    """In the order of their first CPUs. Roles share no row: what keeps house is loud, and would hide the target."""
    roles = dict.fromkeys(line.role for line in lines)
    parts = [[line for line in lines if line.role == role] for role in roles] if len(roles) <= room else [lines]
    each = -(-len(lines) // room)
    while sum(-(-len(part) // each) for part in parts) > room:
        each += 1
    groups = [part[first : first + each] for part in parts for first in range(0, len(part), each)]
    places = {line.cpu: at for at, line in enumerate(lines)}
    return sorted(groups, key=lambda group: places[group[0].cpu])


def _label(group: Sequence[CpuLine]) -> str:
    """The mark of the most important CPU among them, and their numbers."""
    mark = next((sign for role, sign in _MARKS.items() if any(line.role == role for line in group)), " ")
    return f" {mark} {format_cpu_list(line.cpu for line in group)}"


def _heading(most: int, model: ScreenModel, width: int, room: int, glyphs: Glyphs) -> Row:
    """As much of it as finds room, the meaning of the levels first to go."""
    together = f", worst of up to {most} CPUs a row" if most > 1 else ""
    column = f", worst of {model.zoom} intervals a column" if model.zoom > 1 else ""
    short = f" CPU by time, noise/s, {room * model.zoom} intervals"
    whole = f" CPU by time: noise/s in the last {room * model.zoom} intervals{together}{column}"
    levels = "  ".join(f"{glyphs.ramp[level]} {short_duration(LEVELS_NS[level - 1])}" for level in (2, 4, 6, 8))
    return [(first_that_fits([f"{whole}   from {levels}", whole, short], width), "heading")]
