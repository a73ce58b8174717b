"""The second screen: all CPUs over time, to show which CPUs are noisy, when, and whether at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import fitting_cpu_list
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine
from noisewatch.surfaces.drawing.colours import LEVEL_STYLES, halves_style
from noisewatch.surfaces.drawing.glyphs import OFFLINE_MARK, Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space, count_rows
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, cut, join_styles, length
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.headline import bare_name
from noisewatch.surfaces.tui.draw.levels import style_of
from noisewatch.surfaces.tui.draw.places import ROLE_MARKS, brackets, in_topology_order
from noisewatch.surfaces.tui.draw.timeline import axis_of, intervals_in_sight
from noisewatch.surfaces.tui.screens.event_list import latest_section, most_latest
from noisewatch.surfaces.tui.screens.map_scales import Scale, Values, scale_of
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.history import celsius_by_cpu
from noisewatch.surfaces.tui.state.noise import OFFLINE_NS, merge_by_zoom
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import short_noise, short_rate, short_share

_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("k", "quantity"),
    ("enter", "CPU"),
    ("up down", "point at a CPU"),
    ("left right", "step"),
    (")", "newest"),
    ("[ ]", "spikes"),
    ("w", "zoom"),
    ("z", "cache alone"),
    ("space", "freeze"),
    ("esc", "back"),
)
_WIDEST_LABEL = 14
_EIGHTHS = 8
Lane = Sequence[CpuLine]  # the CPUs of a lane, which shows the worst of them
_MOST_RULES = 6  # minimum rows for each rule between parts, if CPUs have to share rows
_HIGH, _HIGHEST = 6, 16  # most lines of a row: before the other parts get rows, and if rows are left
_LEAST_PANEL = 5  # rows for the selected CPU, with the rule above them
_MOST_ROWS = 14


def map_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    """Return the lanes by place, and below them the selected CPU and the latest events."""
    if model.frame is None or space.height < 2:
        return space.draw([Section("map", [], height=space.room, has_heading=True)])
    width, glyphs = space.inside, space.glyphs
    scale, layout, drawn = _scale_layout_rows(model, width, space.room - (not space.is_framed), glyphs)
    sections = [
        Section(
            _title(scale, part, is_first=index == 0),
            rows,
            _right(model, scale, layout, glyphs) if index == 0 else "",
            is_active=True,
        )
        for index, (part, rows) in enumerate(zip(layout.parts, drawn, strict=True))
    ]
    if layout.panel > 1:
        rows = selected_cpu_rows(model, width, layout.panel - 1, glyphs)
        latest = latest_section(model, space, space.room - layout.panel + 1 + len(rows))
        pointed = Section(
            selected_cpu_title(model), rows, "enter opens it · up down another", layout.panel - 1 - count_rows(latest)
        )
        sections += [pointed, *latest]
    return space.draw(sections)


def _scale_layout_rows(
    model: ScreenModel, width: int, room: int, glyphs: Glyphs
) -> tuple[Scale, Layout, list[list[Row]]]:
    """Return the scale, the layout, and the rows of each of its parts, in at most `room` rows."""
    scale = scale_of(model, model.map.quantity)
    unknown_rows = _unknown_rows(model, scale, width)
    panel_rows = selected_cpu_height(model)
    most_below = panel_rows + 1 + most_latest(model)
    layout = layout_of(model, room - len(unknown_rows), glyphs, panel_rows, most_below)
    legend = [pair_legend(scale, width, glyphs)] if layout.is_paired else []
    if legend:
        layout = layout_of(model, room - len(unknown_rows) - 1, glyphs, panel_rows, most_below)
    drawn = _lanes(model, layout, scale, width, glyphs)
    drawn[0] = [*unknown_rows, *drawn[0]]
    drawn[-1] = [*drawn[-1], *legend, *([selected_cpu_row(model, width, glyphs)] if layout.panel == 1 else [])]
    return scale, layout, drawn


def _unknown_rows(model: ScreenModel, scale: Scale, width: int) -> list[Row]:
    """Return a row on why the quantity is unknown, or no row if it is known for any CPU in sight."""
    cpus = [line.cpu for line in model.cpus]
    numbers = intervals_in_sight(model, width)
    if scale.unknown_reason is None or any(
        value is not None and value >= 0 for cpu in cpus for value in scale.values(cpu, numbers)
    ):
        return []
    return [cut([(f" {scale.unknown_reason}", "doubt")], width)]


def _lanes(model: ScreenModel, layout: Layout, scale: Scale, width: int, glyphs: Glyphs) -> list[list[Row]]:
    """Return the rows of each part, with their labels, in the timeline's columns."""
    labels = _Labels.of(model, layout, glyphs)
    axis = axis_of(model, width).with_room(width - labels.width - 1)
    numbers, cursor = axis.numbers, axis.cursor - axis.before if axis.cursor is not None else None
    before: Row = [(" " * axis.before, "plain")]
    after: Row = [(" " * axis.after, "plain")]
    drawn: list[list[Row]] = []
    for part in layout.parts:
        rows: list[Row] = []
        for row in part.rows:
            places = [_columns([scale.values(line.cpu, numbers) for line in lane], scale, axis.zoom) for lane in row]
            values = [axis.spread(lane_values) for lane_values in places]
            if layout.is_paired:
                lower = values[1] if len(values) > 1 else None
                lanes = [pair_row(values[0], lower, scale, cursor, glyphs, is_grey=_is_grey(row, scale))]
            else:
                lanes = lane_rows(values[0], scale, layout.lines, cursor, glyphs, is_grey=_is_grey(row, scale))
            rows += [[*labels.of_line(row, index), *before, *lane, *after] for index, lane in enumerate(lanes)]
        drawn.append(rows)
    return drawn


def _is_grey(row: Sequence[Lane], scale: Scale) -> bool:
    """Return whether a row is grey: noise of housekeeping CPUs alone, which disturbs no target CPU."""
    return scale.limit is not None and all(line.role == Role.HOUSEKEEPING for lane in row for line in lane)


def _columns(values: Sequence[Values], scale: Scale, zoom: int) -> Values:
    """Return one value per column for a lane's CPUs; intervals are grouped into columns from the newest backwards."""
    merged = values[0] if len(values) == 1 else [scale.shown_value(at_once) for at_once in zip(*values, strict=True)]
    return merge_by_zoom(merged, zoom, scale.shown_value)


class _Labels(Struct, frozen=True):
    """The labels before the lanes: each has the mark of a role, and a row's CPUs."""

    width: int
    pointed: int | None
    signs: Mapping[int, str]

    @classmethod
    def of(cls, model: ScreenModel, layout: Layout, glyphs: Glyphs) -> _Labels:
        lanes = layout.lanes
        alone = [lane[0] for lane in lanes] if all(len(lane) == 1 for lane in lanes) and not layout.is_paired else []
        signs = brackets(model, alone, glyphs)
        labels = cls(_WIDEST_LABEL, model.map.pointed(model), signs)
        wide = max((len(labels._text(row)) for part in layout.parts for row in part.rows), default=0)
        return cls(min(wide, _WIDEST_LABEL), labels.pointed, signs)

    def of_line(self, row: Sequence[Lane], line: int) -> Row:
        """Return the label of a line; only the first line of a row has a text."""
        if line > 0:
            return [(" " * (self.width + 1), "plain")]
        text = self._text(row)
        lines = [cpu_line for lane in row for cpu_line in lane]
        is_target = any(cpu_line.role == Role.TARGET for cpu_line in lines)
        style = style_of_label(is_target, any(cpu_line.cpu == self.pointed for cpu_line in lines))
        return [(f"{text:<{self.width}}", style), (" ", "plain")]

    def _text(self, row: Sequence[Lane]) -> str:
        """Return the mark of the row's most important CPU, and the CPU numbers."""
        lines = [line for lane in row for line in lane]
        mark = next((sign for role, sign in ROLE_MARKS.items() if any(line.role == role for line in lines)), " ")
        sign = self.signs.get(lines[0].cpu, "")
        return f"{mark} {fitting_cpu_list((line.cpu for line in lines), _WIDEST_LABEL - 2 - len(sign))}{sign}"


def _title(scale: Scale, part: MapPart, is_first: bool) -> str:
    return " · ".join([*([scale.title] if is_first else []), *([part.title] if part.title else [])])


def _right(model: ScreenModel, scale: Scale, layout: Layout, glyphs: Glyphs) -> str:
    """Return notes on shared lanes and levels, then keys; parts that do not fit are dropped, the last one first."""
    cpus_per_lane = max((len(lane) for lane in layout.lanes), default=1)
    worst = "lowest" if scale.is_best_high else "worst"
    levels = "  ".join(f"{glyphs.ramp[level]} {text}" for level, text in scale.legend())
    following = model.map.with_next_quantity().quantity
    opened = ["z all CPUs"] if model.map.opens_part else ["z its cache alone"] if len(layout.parts) > 1 else []
    pointed = model.map.pointed(model)
    return " · ".join(
        [
            *([f"enter CPU {pointed}"] if not layout.panel and pointed is not None else []),
            *(
                [f"each {'half' if layout.is_paired else 'row'}: {worst} of up to {cpus_per_lane} CPUs"]
                if cpus_per_lane > 1
                else []
            ),
            *(
                ([levels] if levels else [])
                if not layout.is_paired
                else ["two CPUs per row"]
                if cpus_per_lane == 1
                else []
            ),
            *([f"each column: {worst} of {model.zoom} intervals"] if model.zoom > 1 else []),
            f"k {following}",
            *opened,
        ]
    )


def lane_rows(
    values: Values, scale: Scale, lines: int, cursor: int | None, glyphs: Glyphs, is_grey: bool = False
) -> list[Row]:
    """Return a lane as `lines` rows, from the top; the cursor's column is a vertical line in the value's style."""
    heights = [_eighths(value, scale, lines) for value in values]
    rows = []
    for line in range(lines):
        below = _EIGHTHS * (lines - 1 - line)
        cells = (
            _cell(value, height - below, scale, line == lines - 1, index == cursor, glyphs, is_grey)
            for index, (value, height) in enumerate(zip(values, heights, strict=True))
        )
        rows.append(join_styles(cells))
    return rows


def _eighths(value: float | None, scale: Scale, lines: int) -> int:
    """Return the height of a value in eighths of a line; a single line shows the level itself."""
    if value is None or value == OFFLINE_NS:
        return 0
    if lines == 1:
        return scale.level(value)
    return max(round(scale.height(value) * lines), min(scale.level(value), 1))


def _cell(
    value: float | None,
    eighths: int,
    scale: Scale,
    is_lowest: bool,
    is_cursor: bool,
    glyphs: Glyphs,
    is_grey: bool,
) -> Piece:
    """Return a value's character in a line; unknown values and offline CPUs are marked in the lowest line."""
    if value is None or value == OFFLINE_NS:
        if not is_lowest:
            return (glyphs.line, "strong") if is_cursor else (" ", "plain")
        sign, style = (glyphs.unknown, "unknown") if value is None else (OFFLINE_MARK, "faint")
        return sign, "selected" if is_cursor else style  # type: ignore[return-value]
    level = scale.level(value)
    style = "faint" if is_grey else scale.style(value)
    if glyphs.has_tones and scale.limit is not None and level and not is_grey and not is_cursor:
        style = LEVEL_STYLES[level - 1]
    if is_cursor:
        return glyphs.line, "strong" if style in ("calm", "faint") else style
    return glyphs.ramp[max(min(eighths, _EIGHTHS), 0)], style


def pair_row(
    upper: Values, lower: Values | None, scale: Scale, cursor: int | None, glyphs: Glyphs, is_grey: bool = False
) -> Row:
    """Return two lanes in one line, or a single lane if `lower` is None."""
    pairs: Sequence[tuple[float | None, float | None]] = [
        (upper_value, lower_value)
        for upper_value, lower_value in zip(
            upper, lower if lower is not None else [OFFLINE_NS] * len(upper), strict=True
        )
    ]
    return join_styles(
        _halves(upper_value, lower_value, scale, index == cursor, glyphs, is_grey)
        for index, (upper_value, lower_value) in enumerate(pairs)
    )


def _halves(
    upper: float | None, lower: float | None, scale: Scale, is_cursor: bool, glyphs: Glyphs, is_grey: bool
) -> Piece:
    """Return the character of two values; a value over the limit takes precedence, then an unknown value."""
    over = (False, False) if is_grey else (scale.is_over(upper), scale.is_over(lower))
    if is_cursor and (any(over) or None not in (upper, lower)):
        return glyphs.line, "grave" if any(over) else "strong"
    if any(over):
        level = max(scale.level(value) for value in (upper, lower) if value is not None and scale.is_over(value))
        return glyphs.over[2 if all(over) else over.index(True)], halves_style(0, level)
    if None in (upper, lower):
        return glyphs.unknown, "selected" if is_cursor else "unknown"
    if upper == lower == OFFLINE_NS:
        return OFFLINE_MARK, "faint"
    levels = [None if value == OFFLINE_NS else scale.level(value or 0) for value in (upper, lower)]
    if levels[0] is None:
        return glyphs.halves[1], halves_style(levels[1], None, is_grey)
    return glyphs.halves[0], halves_style(levels[0], levels[1], is_grey)


def pair_legend(scale: Scale, width: int, glyphs: Glyphs) -> Row:
    """Return the meaning of halves, tones and signs.

    If not all fits, every second tone is left out, and then the last parts.
    """
    for levels in ((*range(1, _EIGHTHS + 1),), (1, *range(2, _EIGHTHS + 1, 2))):
        parts = _legend_parts(scale, levels, glyphs)
        if sum(map(length, parts)) <= width:
            break
    while len(parts) > 1 and sum(map(length, parts)) > width:
        parts.pop()
    return [piece for part in parts for piece in part]


def _legend_parts(scale: Scale, levels: Sequence[int], glyphs: Glyphs) -> list[Row]:
    parts: list[Row] = [[(f" {glyphs.halves[0]} upper {glyphs.halves[1]} lower CPU ", "plain")]]
    quiet = scale.quiet or f"<{scale.in_words(scale.levels[1])}"
    for level in levels if scale.has_levels else ():
        meaning = quiet if level == 1 else scale.in_words(scale.levels[level - 1])
        parts.append([("  ", halves_style(level, level)), (f" {meaning} ", "plain")])
    signs = zip(glyphs.over, ("upper", "lower", "both"), strict=True)
    parts += [[(f" {' '.join(map(' '.join, signs))} {scale.marked} ", "plain")]] if scale.has_levels else []
    return [*parts, [(f" {glyphs.unknown} unknown ", "plain")]]


def style_of_label(is_target: bool, is_pointed: bool) -> Style:
    """Return the style of a label, for the selected CPU, target CPUs or other CPUs."""
    return "selected" if is_pointed else "strong" if is_target else "faint"


class MapPart(Struct, frozen=True):
    """The CPUs of one place, in rows from the top; a row has one or two lanes."""

    title: str
    rows: Sequence[Sequence[Lane]]


class Layout(Struct, frozen=True):
    """The layout of the map: rows of `lines` lines, and a panel of `panel` rows (if more than 1, with a rule) below."""

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
    """Return the layout of the map by place: one row for each CPU or, if these do not fit, for two or more CPUs.

    CPUs with different roles share a lane only if there is no room otherwise: a noisy housekeeping CPU would hide a
    target CPU.
    `panel_rows` is the number of rows that the panel needs, `most_below` the number that everything below could use.
    """
    lines = in_topology_order(model, model.cpus)
    if model.map.opens_part:
        lines = _cpus_of_one_place(model, lines)
    parts = _parts(model, lines, room)
    parts_shown = _fitting_parts(parts, room - (len(parts) - 1), glyphs)
    count = sum(len(part.rows) for part in parts_shown)
    left = room - count - (len(parts_shown) - 1)
    if left < _LEAST_PANEL and left < count:
        return Layout(parts_shown, 1, max(left, 0))
    panel = min(max(panel_rows, _LEAST_PANEL), left) if left >= _LEAST_PANEL else 0
    max_lines = _HIGHEST if model.history.count else 1
    high = min(1 + (left - panel) // count, _HIGH, max_lines)
    if panel:
        panel = max(min(most_below, left - (high - 1) * count), panel)
        high = min(1 + (left - panel) // count, max_lines)
        panel = left - (high - 1) * count
    return Layout(parts_shown, high, panel)


def _cpus_of_one_place(model: ScreenModel, lines: Sequence[CpuLine]) -> list[CpuLine]:
    """Return the CPUs in the selected CPU's cache or, if these are all CPUs, in its node; or else all CPUs."""
    pointed = model.map.pointed(model)
    for by_cache in (True, False):
        place = next((_place(model, line, by_cache) for line in lines if line.cpu == pointed), None)
        neighbours = [line for line in lines if _place(model, line, by_cache) == place]
        if place is not None and len(neighbours) < len(lines):
            return neighbours
    return list(lines)


def _place(model: ScreenModel, line: CpuLine, by_cache: bool) -> str | None:
    """Return a CPU's place, `node 1 · L3#2` or `node 1`, or None if unknown."""
    place = (model.places or {}).get(line.cpu)
    if place is None:
        return None
    node = f"node {place.node}" if place.node is not None else None
    if not by_cache:
        return node
    return f"{node} · {place.cache}" if node and place.cache else place.cache


def _parts(model: ScreenModel, lines: Sequence[CpuLine], room: int) -> list[tuple[str, list[CpuLine]]]:
    """Return the CPUs by cache, or by node, or undivided: the finest division for which there are enough rows."""
    for by_cache in (True, False):
        lines_by_place: dict[str, list[CpuLine]] = {}
        for line in lines:
            place = _place(model, line, by_cache)
            if (
                place is None and line.role == Role.OFFLINE and lines_by_place
            ):  # an offline CPU has no place, and joins the last place
                place = list(lines_by_place)[-1]
            lines_by_place.setdefault(place or "", []).append(line)
        if "" in lines_by_place:
            continue
        if len(lines) + len(lines_by_place) - 1 <= room or len(lines_by_place) - 1 <= room // _MOST_RULES:
            return list(lines_by_place.items())
    return [("", list(lines))]


def _fitting_parts(parts: Sequence[tuple[str, list[CpuLine]]], room: int, glyphs: Glyphs) -> list[MapPart]:
    """Return the parts with each CPU in its own lane if all fit, or else with as few CPUs per lane as possible."""
    room, count = max(room, 1), sum(len(lines) for _, lines in parts)
    across = 1 if count <= room or not glyphs.has_tones else 2
    for by_role in (True, False):
        for cpus_per_lane in range(max(count // (room * across), 1), count + 1):
            shared = [MapPart(title, _rows(lines, cpus_per_lane, across, by_role)) for title, lines in parts]
            if sum(len(part.rows) for part in shared) <= room:
                return shared
            if all(
                len(part.rows) <= len({line.role for line in lines})
                for part, (_, lines) in zip(shared, parts, strict=True)
            ):
                break
    return [MapPart("", _rows([line for _, lines in parts for line in lines], count, 1, by_role=False))]


def _rows(lines: Sequence[CpuLine], cpus_per_lane: int, across: int, by_role: bool) -> list[Sequence[Lane]]:
    """Return the rows of lanes, in the order of their first CPUs."""
    roles = dict.fromkeys(line.role for line in lines) if by_role else (None,)
    rows: list[Sequence[Lane]] = []
    for role in roles:
        of_role = [line for line in lines if role is None or line.role == role]
        lanes = [of_role[first : first + cpus_per_lane] for first in range(0, len(of_role), cpus_per_lane)]
        rows += [lanes[first : first + across] for first in range(0, len(lanes), across)]
    order = {line.cpu: index for index, line in enumerate(lines)}
    return sorted(rows, key=lambda row: order[row[0][0].cpu])


def selected_cpu_height(model: ScreenModel) -> int:
    """Return how many rows the selected CPU could use, rule or heading included."""
    return min(3 + max(len(_culprits(model)), 1), _MOST_ROWS)


def selected_cpu_title(model: ScreenModel) -> str:
    """Return the title for the selected CPU, such as `CPU 5, target, at 14:01:01`."""
    line = _line(model)
    if line is None:
        return "no CPU"
    at = model.wall_clock()
    when = f"at {at}" if at is not None else f"at {model.into_s():.0f} s" if model.is_recorded else None
    if when is None:
        when = f"{model.behind_s():.0f} s ago" if model.cursor is not None else "now"
    place = (model.places or {}).get(line.cpu)
    where = place.cache if place is not None else None
    return f"CPU {line.cpu}, {line.role}{f', {where}' if where else ''}, {when}"


def selected_cpu_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the selected CPU's figures and then its culprits, the costliest first."""
    line = _line(model)
    if line is None or height < 1:
        return []
    rows = [cut(_figures(model, line, glyphs), width)]
    culprits, has_heading = _culprits(model), height > 2
    if height < 2:
        return rows
    if not culprits:
        return [*rows, [(f" {_empty_reason(line)}", "faint")]]
    shown = tuple(culprits[: height - 1 - has_heading])
    listing = Listing(shown, len(shown))
    table = culprit_table(listing, "who", width, len(shown) + 1, glyphs, frame=model.frame)
    return [*rows, *(table if has_heading else table[1:])]


def selected_cpu_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """Return one row with the selected CPU's figures and its costliest culprit."""
    line = _line(model)
    if line is None:
        return []
    figures = _figures(model, line, glyphs)
    return cut([(f" CPU {line.cpu}:", "strong"), *figures[:1], *_costliest(model, glyphs), *figures[1:]], width)


def _costliest(model: ScreenModel, glyphs: Glyphs) -> Row:
    """Return the selected CPU's costliest culprit, for a row of figures."""
    culprits = _culprits(model)
    if not culprits:
        return []
    name = culprits[0].kind.with_name(bare_name(culprits[0])) + culprits[0].process_mark
    return [(f"  {glyphs.cause} ", "faint"), (name, "strong")]


def _line(model: ScreenModel) -> CpuLine | None:
    pointed = model.map.pointed(model)
    return next((line for line in model.cpus if line.cpu == pointed), None)


def _culprits(model: ScreenModel) -> list[CulpritLine]:
    pointed = model.map.pointed(model)
    culprits = [line for line in model.culprits if line.cpu == pointed]
    return sorted(culprits, key=lambda line: -line.stolen_ns_per_s)


def _empty_reason(line: CpuLine) -> str:
    if line.role == Role.OFFLINE:
        return "it is offline"
    return "culprit unknown" if line.stolen_ns_per_s is None or line.stolen_ns_per_s > 0 else "no culprit"


def _figures(model: ScreenModel, line: CpuLine, glyphs: Glyphs) -> Row:
    """Return the CPU's figures, noise first."""
    if line.role == Role.OFFLINE:
        return [(" offline", "faint")]
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    celsius = celsius_by_cpu(model.frame).get(line.cpu) if model.frame is not None else None
    figures = [
        f"{short_rate(line.interrupts_per_s)} irq/s",
        f"{short_rate(line.softirqs_per_s)} sirq/s",
        f"load {short_share(line.busy_share)}",
        f"clock {line.current_khz / 1e6:.2f} GHz" if line.current_khz is not None else "",
        line.governor or "",
        f"{celsius:.0f} °C" if celsius is not None else "",
    ]
    noise = f" noise {mark}{short_noise(line.stolen_ns_per_s)}"
    return [
        (noise, style_of(line.stolen_ns_per_s, glyphs, line.role)),
        ("".join(f"   {figure}" for figure in figures if figure), "plain"),
    ]
