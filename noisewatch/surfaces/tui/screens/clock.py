"""The fourth screen: the CPUs' clocks over time, the causes of changes, and fixes."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import format_cpu_list, name_cpus, parse_cpu_list
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import ClockGroup, Frame
from noisewatch.surfaces.drawing.glyphs import UNICODE, Glyphs
from noisewatch.surfaces.drawing.panel import Space, join_frames, panel, side_by_side
from noisewatch.surfaces.drawing.text_row import Piece, Row, cut
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.tui.draw.clock_chart import (
    BY_HEAT,
    BY_POWER,
    TALL_LINE,
    chart_rows,
    lane_count,
    slowdown_marks,
)
from noisewatch.surfaces.tui.draw.clock_facts import (
    fact,
    group_of_target,
    has_clock,
    help_rows,
    helpful_findings,
    lacks_clocks,
    mark_of,
    no_figures_reason,
    package_rows,
    packages_in_order,
    reason_rows,
    reasons_to_show,
)
from noisewatch.surfaces.tui.draw.clock_table import (
    clock_room,
    clock_table,
    describe_hidden,
    rows_for,
    tables_across,
)
from noisewatch.surfaces.tui.draw.timeline import intervals_in_sight
from noisewatch.surfaces.tui.screens.page import has_frames, heights, page
from noisewatch.surfaces.tui.state.clock_falls import DROP
from noisewatch.surfaces.tui.state.clock_history import ClockGraph
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks, describe_count

_SCROLLS = ("pgdn", "more CPUs")
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("space", "freeze"),
    ("[ ]", "clock drops"),
    ("g", "graph"),
    _SCROLLS,
    ("w", "zoom"),
    ("y", "copy fix"),
    ("c", "measure the clock"),
    ("esc", "back"),
)
_SIDE = 40  # columns of the panels of package and settings
_SIDE_ROWS = 13  # rows of the panels of package and settings, edges included
_LEAST_CHART, _LEAST_MIDDLE, _LEAST_HELP = 8, 5, 4  # minimum rows, with edges, without heat and power
_TALL_CHART, _TALL_LANE = TALL_LINE + 3, 3  # rows that the chart and a lane keep if the CPUs get more
_TITLES = {
    ClockGraph.SLOWEST: "clock of the slowest target CPU, GHz",
    ClockGraph.PER_CPU: "clock of each target CPU, GHz",
    ClockGraph.MEAN: "mean clock of the target CPUs, GHz",
}
_LONG_NAME = 14  # characters; instead of a longer list of CPUs their number is shown
_READ_HERE = "read only while this screen is open: idle states; heat and power every 5 s, by a housekeeping CPU"
_MOST_VALUES = 3  # values of a setting that have their own rows
_STEADY = ("performance", "fixed")  # endings of the values of settings that pass all checks

_ByCpu = Mapping[int, str | None]


def clock_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    fits = model.frame is not None and rows_of_cpus(model, width, height) >= len(model.frame.cpus)
    keys = [key for key in _KEYS if key is not _SCROLLS] if fits else _KEYS
    return page(model, width, height, glyphs, _body, keys)


def rows_of_cpus(model: ScreenModel, width: int, height: int) -> int:
    """Return how many CPUs have a row on a screen of this size."""
    room = heights(width, height, model.runs.has_any).body
    count = len(model.frame.cpus) if model.frame is not None else 1
    if not has_frames(width, height):
        return clock_room(
            count, width, _unframed_height(model, width, room - len(_unframed_chart(model, width, room, UNICODE)))
        )
    wide = width - _side_width(model) - 4
    return clock_room(count, wide, _table_height(model, wide, _parts(model, width, room)[1] - 2))


def _body(model: ScreenModel, space: Space) -> list[Row]:
    """Return chart, CPUs, package, settings and fixes; on a screen without frames, settings and package are last."""
    if not space.is_framed:
        return _unframed_body(model, space.width, space.height, space.glyphs)
    width, glyphs = space.width, space.glyphs
    above, middle, below = _parts(model, width, space.height)
    line = chart_rows(model, space.inside, above - 2, glyphs)
    title = "clock" if lacks_clocks(model) else _TITLES[model.clock_graph]
    chart = panel(title, line, width, above, glyphs, _chart_notes(model, space.inside))
    cpus = _cpus(model, width - _side_width(model), middle, intervals_in_sight(model, space.inside), glyphs)
    cpus = side_by_side(cpus, _side(model, middle, glyphs)) if _side_width(model) else cpus
    return [*chart, *cpus, *_help(model, width, below, glyphs)]


def _unframed_body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    chart = _unframed_chart(model, width, height, glyphs)
    left = _unframed_height(model, width, height - len(chart))
    numbers = intervals_in_sight(model, width)
    table = clock_table(model, numbers, width, left, glyphs)
    hidden = describe_hidden(model, numbers, width, left)
    note: list[Row] = [[(f"{hidden} · pgdn scrolls", "faint")]] if hidden else []
    rest = (
        *note,
        *help_rows(model, width - 2, glyphs),
        *settings_rows(model, width - 2, glyphs),
        *package_rows(model, width - 2, glyphs),
        *reason_rows(model, width - 2),
    )
    return [*chart, *table, *([(" ", "plain"), *row] for row in rest)][:height]


def _unframed_height(model: ScreenModel, width: int, height: int) -> int:
    """Return the height of the table of CPUs; if not all of them fit, one row is left for a note on the others."""
    count = len(model.cpus)
    fits = clock_room(count, width, height) >= count
    return max(min(height, count + 1) if fits else height - 1, 0)


def _unframed_chart(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the chart in a third of the rows, at least two, or why there is no clock; empty if it does not fit."""
    return chart_rows(model, width, max(height // 3, 2), glyphs)


def _parts(model: ScreenModel, width: int, height: int) -> tuple[int, int, int]:
    """Return the heights of chart, CPUs and fixes, edges included."""
    inside = width - _side_width(model) - 4
    rows = len(help_rows(model, width - 4, UNICODE))
    helps = rows + 2 if rows > 1 else 1
    least_help = _LEAST_HELP if _fix_count(model) else 1
    middles = _cpu_heights(model, inside)
    if not has_clock(model, intervals_in_sight(model, width - 4)):
        above = min(len(chart_rows(model, width - 4, height, UNICODE)) + 2, height - least_help - _LEAST_MIDDLE)
        below = _fix_height(helps, height - above - middles[-1], least_help)
        return above, height - above - below, below
    lanes = lane_count(model, width - 4)
    least_chart = max(_LEAST_CHART, height // 5) + lanes
    middle = max(min(middles[-1], height - least_help - least_chart), _LEAST_MIDDLE)
    below = _fix_height(helps, height - middle - least_chart, least_help)
    room = height - below - _TALL_CHART - lanes * _TALL_LANE
    middle = next((rows for rows in middles if middle < rows <= room), middle)
    return height - middle - below, middle, below


def _cpu_heights(model: ScreenModel, width: int) -> list[int]:
    """Return the possible heights of the panel of CPUs: for one table, for two tables side by side, and so on.

    Edges are included. All heights are at least the height of the panels next to it.
    """
    count = len(model.frame.cpus) if model.frame is not None else 1
    remarks = len(_remarks(model, width))
    rows = [rows_for(count, across) + 2 for across in range(1, tables_across(count, width, 2) + 1)]
    return [max(height + (remarks + 1 if remarks else 0), _SIDE_ROWS) for height in rows]


def _cpus(model: ScreenModel, width: int, height: int, numbers: range, glyphs: Glyphs) -> list[Row]:
    table_height = _table_height(model, width - 4, height - 2)
    rows = clock_table(model, numbers, width - 4, table_height, glyphs)
    rows += [*([] if table_height < height - 2 else [[]]), *_remarks(model, width - 4)]
    shown = f"range in {len(numbers)} intervals" if len(numbers) > 1 else "clock now"
    count = len(model.cpus)
    room = clock_room(count, width - 4, table_height)
    first = max(min(model.offset, count - room), 0)
    hidden = describe_hidden(model, numbers, width - 4, table_height)
    title = f"CPUs {first + 1} to {first + room} of {count}, pgdn scrolls" if room < count else "CPUs"
    reported = model.clocks.reported.cpus
    since = f"slowed since boot{', P by power' * bool(reported['limited'])} · " if reported["slowed"] else ""
    hidden = f"{hidden} · " if hidden else ""
    return panel(title, rows, width, height, glyphs, f"{hidden}{since}T target · s sibling · {shown}", is_active=True)


def _table_height(model: ScreenModel, width: int, height: int) -> int:
    """Return the height of the table of CPUs, without the rows below it for the reasons of unknown figures.

    If all CPUs fit, it is the whole height. Otherwise one row is left for the first reason, or up to half of the rows
    if no clock is known.
    """
    cpus = model.cpus
    if clock_room(max(len(cpus), 1), width, height) >= max(len(cpus), 1):
        return height
    reasons = len(reason_rows(model, width))
    has_figures = any(line.current_khz is not None for line in cpus)
    return height - min(reasons, 1 if has_figures else height // 2)


def _remarks(model: ScreenModel, width: int) -> list[Row]:
    """Return rows on why figures are unknown, and on which figures are read only for this screen."""
    reason = no_figures_reason(model)
    rows = reason_rows(model, width)
    if model.frame is None or (model.is_recorded and reason is None):
        return rows
    note = _READ_HERE if reason is None else f"idle states, heat and power: {reason}"
    rows += [[(line, "faint")] for line in wrap(note, width)]
    return rows


def _side_width(model: ScreenModel) -> int:
    """Return the width of the panels of package and settings; 0 if the kernel lacks all their figures."""
    has_rows = package_rows(model, _SIDE - 4, UNICODE) or settings_rows(model, _SIDE - 4, UNICODE)
    return _SIDE if has_rows or not lacks_clocks(model) else 0


def _side(model: ScreenModel, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the package's panel and, below it, the panel of settings, which gets its rows first."""
    frame = model.frame
    age = frame.clock.packages_age_s if frame is not None and frame.clock is not None else None
    age_text = f"{age:.0f} s ago" if age is not None and age >= 1 else ""
    packages, settings = package_rows(model, _SIDE - 4, glyphs), settings_rows(model, _SIDE - 4, glyphs)
    above = min(len(packages) + 2, max(height - len(settings) - 1, 3)) if settings else height
    shown_packages = packages_in_order(frame) if frame is not None else []
    upper = panel(
        f"package {shown_packages[0].package}" if shown_packages else "package",
        packages,
        _SIDE,
        above,
        glyphs,
        age_text,
    )
    title = f"settings of {name_cpus(frame.target[:1])}" if frame is not None and frame.target else "settings"
    if not packages or not settings:
        return upper if packages else panel(title, settings, _SIDE, height, glyphs)
    return join_frames(upper, panel(title, settings, _SIDE, height - above + 1, glyphs), glyphs)


def _fix_count(model: ScreenModel) -> int:
    return len(helpful_findings(model.frame.findings)) if model.frame is not None else 0


def _fix_height(needed: int, room: int, least: int) -> int:
    """Return the height of the fixes: as many of the `needed` rows as fit, but at least `least`.

    If `least` is 1 (one row without edges), the height is either `needed` or 1.
    """
    rows = max(min(needed, room), least)
    return rows if rows == needed or least > 1 else least


def _help(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    count = _fix_count(model)
    if height == 1:
        rows = help_rows(model, 10 * width, glyphs)  # so wide that each text stays in one row
        return [cut([("  what helps: ", "faint"), *rows[0]], width - 2)]
    rows = help_rows(model, width - 4, glyphs)
    measures = [] if model.is_recorded else ["c measures the clock"]
    commands = (
        [finding.command is not None for finding in helpful_findings(model.frame.findings)]
        if model.frame is not None
        else []
    )
    copies = ["y copies the first command" if not commands[0] else "y copies the first"] if any(commands) else []
    hints = " · ".join([*copies, *([f"{count} found"] if count else []), *measures])
    return panel("what helps", rows, width, height, glyphs, hints)


def _chart_notes(model: ScreenModel, width: int) -> str:
    """Return notes on the chart: current clock, range, marks on the axis, keys. They are empty without a clock."""
    parts, numbers = [], intervals_in_sight(model, width)
    slowest = model.clocks.slowest(numbers)
    clocks = [khz for khz in slowest if khz is not None]
    at = next(iter(model.clocks.slowest([model.number])), None) if model.number >= 0 else None
    if at is not None:
        whose = "" if model.clock_graph is ClockGraph.SLOWEST else "slowest "
        parts.append(f"{whose}{'now' if model.cursor is None else 'then'} {at / 1e6:.2f}")
    if clocks and max(clocks) - min(clocks) >= 5000:
        low, high = min(clocks), max(clocks)
        where = _cpus_at(model, numbers[slowest.index(low)], low)
        parts.append(f"{low / 1e6:.2f}{where} to {high / 1e6:.2f}, spread {(high - low) / high:.0%}")
    without_clock = [line.cpu for line in model.cpus if line.role == Role.TARGET and line.current_khz is None]
    parts += [f"unknown on {name_cpus(without_clock)}"] if without_clock and has_clock(model, numbers) else []
    words = {BY_HEAT: "slowed by heat", BY_POWER: "at power limit"}
    marks = [f"{mark} {words[mark]}" for mark in sorted(slowdown_marks(model, width))]
    uncounted = sum(model.clocks.are_uncounted(numbers))
    marks += [f"slowing unknown in {describe_count(uncounted, 'interval')}"] if uncounted else []
    return " · ".join([*parts, *marks, f"[ ] drops over {DROP:.0%}", "g graph"] if parts else [])


def _cpus_at(model: ScreenModel, number: int, khz: int) -> str:
    """Return which target CPUs (or how many) had this clock in the interval; empty if all of them or none had it."""
    target = model.target
    cpus = [cpu for cpu in target if model.clocks.clocks(cpu, [number]) == [khz]]
    named = name_cpus(cpus)
    return "" if len(cpus) in (0, len(target)) else f" on {named if len(named) < _LONG_NAME else f'{len(cpus)} CPUs'}"


def settings_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the settings of the first target CPU, and below each setting the differing values of other target CPUs.

    A mark precedes settings whose check fails, warns or is unknown.
    """
    frame = model.frame
    if frame is None:
        return []
    group = group_of_target(model)
    listed = frame.clock.groups if frame.clock is not None else ()
    groups = {cpu: other for other in listed for cpu in parse_cpu_list(other.cpus)}
    reasons: Mapping[str, str] = reasons_to_show(model)
    missing = no_figures_reason(model)
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    governors: _ByCpu = {
        line.cpu: line.governor or (groups[line.cpu].governor if line.cpu in groups else None) for line in targets
    }
    windows = _windows(frame, groups)
    preferences: _ByCpu = {cpu: groups[cpu].preference if cpu in groups else None for cpu in governors}
    names = frame.clock.idle_names if frame.clock is not None else ()
    driver = group.driver if group is not None else None

    def setting(name: str, value_by_cpu: _ByCpu, figure: str, *checks: str, suffix: str | None = None) -> list[Row]:
        mark = mark_of(frame, glyphs, *checks)
        return _setting(name, value_by_cpu, width, mark, reasons.get(figure, missing), suffix)

    return [
        *setting("governor", governors, "governor", "governor-not-performance", suffix=driver),
        *fact("turbo", frame.turbo, width, mark_of(frame, glyphs, "turbo-enabled"), reasons.get("turbo", missing)),
        *setting(
            "window",
            {cpu: windows.get(cpu) for cpu in governors},
            "window",
            "frequency-window-open",
            "clock-capped",
        ),
        *setting("EPP", preferences, "preference", "energy-preference-not-performance"),
        *fact(
            "idle",
            " ".join(names),
            width,
            mark_of(frame, glyphs, "deep-idle-states", "idle-cpus-spin"),
            reasons.get("idle_shares", missing),
        ),
    ]


def _setting(
    name: str, value_by_cpu: _ByCpu, width: int, mark: Piece | None, reason: str | None, suffix: str | None
) -> list[Row]:
    """Return a row for each value of a setting; the mark precedes values that may fail a check."""
    cpus_by_value: dict[str | None, list[int]] = {}
    for cpu, value in value_by_cpu.items():
        cpus_by_value.setdefault(value, []).append(cpu)
    first, *others = cpus_by_value or [None]
    moving = [value for value in cpus_by_value if value is not None and not value.endswith(_STEADY)]
    marked = moving or cpus_by_value
    text = f"{first}, {suffix}" if first and suffix else first
    rows = fact(name, text, width, mark if first in marked else None, reason)
    if len(others) >= _MOST_VALUES:
        many = format_cpu_list(cpu for value in others for cpu in cpus_by_value[value])
        return [*rows, *fact("", f"{len(others)} other values on {many}", width, mark)]
    for value in others:
        where = f"on {format_cpu_list(cpus_by_value[value])}"
        rows += fact("", f"{value} {where}", width, mark if value in marked else None) if value else []
        rows += [] if value else fact("", None, width, reason=where)
    return rows


def _windows(frame: Frame, groups: Mapping[int, ClockGroup]) -> _ByCpu:
    """Return the clock windows by CPU, from the groups, or else from the conditions, which are always read."""
    limits = frame.conditions.clock_limits
    windows = {cpu: _window(limit.min_khz, limit.max_khz) for limit in limits for cpu in parse_cpu_list(limit.cpus)}
    return windows | {cpu: _window(group.min_khz, group.max_khz) for cpu, group in groups.items()}


def _window(low: int | None, high: int | None) -> str | None:
    if low is None or high is None:
        return None
    return f"{describe_clock(high)}, fixed" if low == high else describe_clocks(low, high)
