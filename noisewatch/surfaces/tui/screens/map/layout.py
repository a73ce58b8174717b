"""Which CPUs share a row of the map: by their place, each alone while there is room, then two, then more.

Roles share no row: what keeps house is loud, and would hide a target CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.places import in_topology_order
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

Lane = Sequence[CpuLine]  # the CPUs whose worst it shows
_MOST_RULES = 6  # a rule for as many rows, where CPUs have to share some
_HIGH, _HIGHEST = 6, 16  # lines of a row before others have theirs, and at most
_LEAST_PANEL = 5  # rows for the CPU that is pointed at, with the rule above them


@dataclass(frozen=True, slots=True)
class MapPart:
    """CPUs of one place, and their rows from above, each of a lane or of two."""

    title: str
    rows: Sequence[Sequence[Lane]]


@dataclass(frozen=True, slots=True)
class Layout:
    """A row is so many `lines` high; below all parts are `panel` rows, with their rule, or one without."""

    parts: Sequence[MapPart]
    lines: int
    panel: int

    @property
    def lanes(self) -> list[Lane]:
        return [lane for part in self.parts for row in part.rows for lane in row]

    @property
    def is_paired(self) -> bool:
        return any(len(row) > 1 for part in self.parts for row in part.rows)


def layout_of(model: ScreenModel, room: int, glyphs: Glyphs, panel_rows: int, most_below: int) -> Layout:
    """For so many rows; `panel_rows` is what the panel needs, `most_below` what all below the map could use."""
    lines = in_topology_order(model, model.frame.cpus) if model.frame is not None else []
    if model.map.opens_part:
        lines = _alone(model, lines)
    parts = _parts(model, lines, room)
    found = _shared(parts, room - (len(parts) - 1), glyphs)
    count = sum(len(part.rows) for part in found)
    left = room - count - (len(found) - 1)
    if left < _LEAST_PANEL and left < count:
        return Layout(found, 1, max(left, 0))
    panel = min(max(panel_rows, _LEAST_PANEL), left) if left >= _LEAST_PANEL else 0
    most = _HIGHEST if model.history.count else 1
    high = min(1 + (left - panel) // count, _HIGH, most)
    if panel:
        panel = max(min(most_below, left - (high - 1) * count), panel)
        high = min(1 + (left - panel) // count, most)
        panel = left - (high - 1) * count
    return Layout(found, high, panel)


def _alone(model: ScreenModel, lines: Sequence[CpuLine]) -> list[CpuLine]:
    """Those of the cache, or else of the node, of the CPU that is pointed at."""
    pointed = model.map.pointed(model)
    for by_cache in (True, False):
        place = next((_place(model, line, by_cache) for line in lines if line.cpu == pointed), None)
        found = [line for line in lines if _place(model, line, by_cache) == place]
        if place is not None and len(found) < len(lines):
            return found
    return list(lines)


def _place(model: ScreenModel, line: CpuLine, by_cache: bool) -> str | None:
    """`node 1 · L3#2`, or `node 1`; None where that is unknown."""
    place = (model.places or {}).get(line.cpu)
    if place is None:
        return None
    node = f"node {place.node}" if place.node is not None else None
    if not by_cache:
        return node
    return f"{node} · {place.cache}" if node and place.cache else place.cache


def _parts(model: ScreenModel, lines: Sequence[CpuLine], room: int) -> list[tuple[str, list[CpuLine]]]:
    """By cache, by node, or all in one: the finest whose rules do not cost too many rows."""
    for by_cache in (True, False):
        lines_by_place: dict[str, list[CpuLine]] = {}
        for line in lines:
            place = _place(model, line, by_cache)
            if place is None and line.role == Role.OFFLINE and lines_by_place:  # it has none now, and comes last
                place = list(lines_by_place)[-1]
            lines_by_place.setdefault(place or "", []).append(line)
        if "" in lines_by_place:
            continue
        if len(lines) + len(lines_by_place) - 1 <= room or len(lines_by_place) - 1 <= room // _MOST_RULES:
            return list(lines_by_place.items())
    return [("", list(lines))]


def _shared(parts: Sequence[tuple[str, list[CpuLine]]], room: int, glyphs: Glyphs) -> list[MapPart]:
    """Each CPU alone, if all find room; else as many together as have to be."""
    room, count = max(room, 1), sum(len(lines) for _, lines in parts)
    across = 1 if count <= room or not glyphs.has_tones else 2
    for by_role in (True, False):
        for each in range(max(count // (room * across), 1), count + 1):
            found = [MapPart(title, _rows(lines, each, across, by_role)) for title, lines in parts]
            if sum(len(part.rows) for part in found) <= room:
                return found
            if all(
                len(part.rows) <= len({line.role for line in lines})
                for part, (_, lines) in zip(found, parts, strict=True)
            ):
                break
    return [MapPart("", _rows([line for _, lines in parts for line in lines], count, 1, by_role=False))]


def _rows(lines: Sequence[CpuLine], each: int, across: int, by_role: bool) -> list[Sequence[Lane]]:
    """In the order of their first CPUs."""
    roles = dict.fromkeys(line.role for line in lines) if by_role else (None,)
    rows: list[Sequence[Lane]] = []
    for role in roles:
        of_role = [line for line in lines if role is None or line.role == role]
        lanes = [of_role[first : first + each] for first in range(0, len(of_role), each)]
        rows += [lanes[first : first + across] for first in range(0, len(lanes), across)]
    order = {line.cpu: at for at, line in enumerate(lines)}
    return sorted(rows, key=lambda row: order[row[0][0].cpu])
