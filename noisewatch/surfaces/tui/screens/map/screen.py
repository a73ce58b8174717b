"""The second screen: all CPUs by time, so that one sees which are noisy, when, and whether together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from noisewatch.cpus import fitting_cpu_list
from noisewatch.kinds import Role
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.glyphs import OFFLINE_MARK, Glyphs
from noisewatch.surfaces.tui.draw.panel import joined, panel
from noisewatch.surfaces.tui.draw.places import brackets
from noisewatch.surfaces.tui.draw.text_row import Row, cut, first_that_fits
from noisewatch.surfaces.tui.draw.timeline import in_sight
from noisewatch.surfaces.tui.screens.event_list import latest_events, most_latest, title_of_latest, with_latest
from noisewatch.surfaces.tui.screens.headlines import map_headline
from noisewatch.surfaces.tui.screens.map.lanes import lane_rows, pair_legend, pair_row, style_of_label
from noisewatch.surfaces.tui.screens.map.layout import Lane, Layout, MapPart, layout_of
from noisewatch.surfaces.tui.screens.map.pointed import pointed_height, pointed_line, pointed_rows, pointed_title
from noisewatch.surfaces.tui.screens.map.scales import Scale, Values, scale_of
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.time_axis import axis_of

_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("k", "quantity"),
    ("enter", "CPU"),
    ("up down", "point at a CPU"),
    ("left right", "step"),
    ("end", "newest"),
    ("[ ]", "spikes"),
    ("w", "zoom"),
    ("z", "cache alone"),
    ("space", "freeze"),
    ("esc", "back"),
)
_MARKS = {Role.TARGET: "T", Role.SIBLING: "s", Role.OFFLINE: OFFLINE_MARK}
_WIDEST_LABEL = 14


def map_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    headline = partial(map_headline, numbers=model.history.kept)
    return page(model, width, height, glyphs, _body, _KEYS, framed=_framed, headline=headline)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    if model.frame is None:
        return panel("map", [], width, height, glyphs)
    scale, found, drawn = _drawn(model, width - 4, height - 2, glyphs)
    frames = [
        panel(
            _title(scale, part, is_first=at == 0),
            rows,
            width,
            len(rows) + 2,
            glyphs,
            _right(model, scale, found, glyphs) if at == 0 else "",
        )
        for at, (part, rows) in enumerate(zip(found.parts, drawn, strict=True))
    ]
    if found.panel > 1:
        rows, events = _below(model, found.panel - 1, width - 4, glyphs)
        high = found.panel + 1 - (len(events) + 1 if events else 0)
        frames.append(panel(pointed_title(model), rows, width, high, glyphs, "enter opens it · up down another"))
    else:
        events = []
    return with_latest(model, reduce(lambda upper, lower: joined(upper, lower, glyphs), frames), events, width, glyphs)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The same with headings instead of frames."""
    if model.frame is None or height < 2:
        return []
    scale, found, drawn = _drawn(model, width, height - 1, glyphs)
    rows: list[Row] = []
    for at, (part, lanes) in enumerate(zip(found.parts, drawn, strict=True)):
        heading = f" {_title(scale, part, is_first=at == 0)}"
        if at == 0:
            parts = _right(model, scale, found, glyphs).split(" · ")
            said = [f"{heading}   {' · '.join(parts[:count])}" for count in range(len(parts), 0, -1)]
            heading = first_that_fits([*said, heading], width)
        rows += [[(heading, "heading")], *lanes]
    if found.panel > 1:
        pointed, events = _below(model, found.panel - 1, width, glyphs)
        rows += [[(f" {pointed_title(model)}", "heading")], *pointed]
        rows += [[(f" {title_of_latest(model)}", "heading")], *events] if events else []
    return rows


def _below(model: ScreenModel, height: int, width: int, glyphs: Glyphs) -> tuple[list[Row], list[Row]]:
    """About the CPU that is pointed at, and the latest events; a row is left between them."""
    rows = pointed_rows(model, width, height, glyphs)
    return rows, latest_events(model, width, height - len(rows) - 1, glyphs)


def _drawn(model: ScreenModel, width: int, room: int, glyphs: Glyphs) -> tuple[Scale, Layout, list[list[Row]]]:
    """In so many rows: the layout, and the rows of each of its parts."""
    scale = scale_of(model, model.map.quantity)
    why = _why_unknown(model, scale, width)
    panel_rows = pointed_height(model)
    most_below = panel_rows + 1 + most_latest(model)
    found = layout_of(model, room - len(why), glyphs, panel_rows, most_below)
    legend = [pair_legend(scale, width, glyphs)] if found.is_paired else []
    if legend:
        found = layout_of(model, room - len(why) - 1, glyphs, panel_rows, most_below)
    drawn = _lanes(model, found, scale, width, glyphs)
    drawn[0] = [*why, *drawn[0]]
    drawn[-1] = [*drawn[-1], *legend, *([pointed_line(model, width, glyphs)] if found.panel == 1 else [])]
    return scale, found, drawn


def _why_unknown(model: ScreenModel, scale: Scale, width: int) -> list[Row]:
    """Where nothing is known of any CPU in sight."""
    cpus = [line.cpu for line in model.frame.cpus] if model.frame is not None else []
    numbers = in_sight(model, width)
    if scale.why_unknown is None or any(
        value is not None and value >= 0 for cpu in cpus for value in scale.values(cpu, numbers)
    ):
        return []
    return [cut([(f" {scale.why_unknown}", "doubt")], width)]


def _lanes(model: ScreenModel, found: Layout, scale: Scale, width: int, glyphs: Glyphs) -> list[list[Row]]:
    """The rows of each part, with their labels, in the columns of the timeline."""
    labels = _Labels.of(model, found, glyphs)
    axis = axis_of(model, width).within(width - labels.width - 1)
    numbers, cursor = axis.numbers, axis.cursor - axis.before if axis.cursor is not None else None
    before: Row = [(" " * axis.before, "plain")]
    after: Row = [(" " * axis.after, "plain")]
    drawn: list[list[Row]] = []
    for part in found.parts:
        rows: list[Row] = []
        for row in part.rows:
            places = [_columns([scale.values(line.cpu, numbers) for line in lane], scale, axis.zoom) for lane in row]
            values = [axis.spread(each) for each in places]
            if found.is_paired:
                lower = values[1] if len(values) > 1 else None
                lanes = [pair_row(values[0], lower, scale, cursor, glyphs)]
            else:
                lanes = lane_rows(values[0], scale, found.lines, cursor, glyphs)
            rows += [[*labels.of_line(row, at), *before, *lane, *after] for at, lane in enumerate(lanes)]
        drawn.append(rows)
    return drawn


def _columns(values: Sequence[Values], scale: Scale, zoom: int) -> Values:
    """Of the CPUs of a lane, and of the intervals of a column, the one value to know; counted from the newest."""
    each = values[0] if len(values) == 1 else [scale.one_of(at_once) for at_once in zip(*values, strict=True)]
    if zoom == 1:
        return list(each)
    return [scale.one_of(each[max(end - zoom, 0) : end]) for end in range(len(each), 0, -zoom)][::-1]


@dataclass(frozen=True, slots=True)
class _Labels:
    """What stands before the lanes of a row: the mark of the role, and the CPUs."""

    width: int
    pointed: int | None
    signs: Mapping[int, str]

    @classmethod
    def of(cls, model: ScreenModel, found: Layout, glyphs: Glyphs) -> _Labels:
        lanes = found.lanes
        alone = [lane[0] for lane in lanes] if all(len(lane) == 1 for lane in lanes) and not found.is_paired else []
        signs = brackets(model, alone, glyphs)
        labels = cls(_WIDEST_LABEL, model.map.pointed(model), signs)
        wide = max((len(labels._text(row)) for part in found.parts for row in part.rows), default=0)
        return cls(min(wide, _WIDEST_LABEL), labels.pointed, signs)

    def of_line(self, row: Sequence[Lane], line: int) -> Row:
        """Of the first line of a row; the others of it have none."""
        if line > 0:
            return [(" " * (self.width + 1), "plain")]
        text = self._text(row)
        lines = [each for lane in row for each in lane]
        is_target = any(each.role == Role.TARGET for each in lines)
        style = style_of_label(is_target, any(each.cpu == self.pointed for each in lines))
        return [(f"{text:<{self.width}}", style), (" ", "plain")]

    def _text(self, row: Sequence[Lane]) -> str:
        """The mark of the most important CPU among them, and their numbers."""
        lines = [line for lane in row for line in lane]
        mark = next((sign for role, sign in _MARKS.items() if any(line.role == role for line in lines)), " ")
        sign = self.signs.get(lines[0].cpu, "")
        return f"{mark} {fitting_cpu_list((line.cpu for line in lines), _WIDEST_LABEL - 2 - len(sign))}{sign}"


def _title(scale: Scale, part: MapPart, is_first: bool) -> str:
    return " · ".join([*([scale.title] if is_first else []), *([part.title] if part.title else [])])


def _right(model: ScreenModel, scale: Scale, found: Layout, glyphs: Glyphs) -> str:
    """What a level means, what stands together, and the keys; the last ones go first where there is no room."""
    each = max((len(lane) for lane in found.lanes), default=1)
    worst = "lowest" if scale.is_best_high else "worst"
    levels = "  ".join(f"{glyphs.ramp[level]} {text}" for level, text in scale.legend())
    following = model.map.with_next_quantity().quantity
    opened = ["z all CPUs"] if model.map.opens_part else ["z its cache alone"] if len(found.parts) > 1 else []
    pointed = model.map.pointed(model)
    return " · ".join(
        [
            *([f"enter CPU {pointed}"] if not found.panel and pointed is not None else []),
            *([f"{worst} of up to {each} CPUs {'in each half' if found.is_paired else 'a row'}"] if each > 1 else []),
            *(([levels] if levels else []) if not found.is_paired else ["two CPUs a row"] if each == 1 else []),
            *([f"{worst} of {model.zoom} intervals a column"] if model.zoom > 1 else []),
            f"k {following}",
            *opened,
        ]
    )
