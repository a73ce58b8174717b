"""The CPUs of the clock screen, one row each: the current clock and its range, idle states, heat, slowing.

If not all CPUs fit, target CPUs whose clock differs come first, the worst one at the top.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import ClockCpu, CpuLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.table import Column, Table, first_row
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, cut, length
from noisewatch.surfaces.tui.draw.clock_facts import lacks_clocks
from noisewatch.surfaces.tui.draw.places import ROLE_MARKS, ROLE_STYLES, brackets, in_topology_order
from noisewatch.surfaces.tui.state.clock_history import ClockRange, ReportedFigures
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_mhz, short_duration, short_share

_DIFFERS = 0.01  # share of the clock by which a target CPU differs from most target CPUs
_SHARED = 0.005  # share of the clock; a smaller spread is not notable
_LEAST_RANGE = 12
_LEAST_WIDTH = 74  # columns of a table next to another
_AWAKE = "POLL"  # the idle state in which a CPU spins; its time counts as C0


class _Scale(Struct, frozen=True):
    """The common scale (kHz) of all clock ranges."""

    low: float
    high: float

    def column(self, khz: float, room: int) -> int:
        share = (khz - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return min(max(round(share * (room - 1)), 0), room - 1)


class _Figures(Struct, frozen=True):
    """The clock ranges and figures of the CPUs that have a row."""

    ranges: Mapping[int, ClockRange | None]
    figures: Mapping[int, ClockCpu]
    scale: _Scale | None
    has_ranges: bool = False  # whether ranges are over intervals, not only the current clocks


def clock_table(model: ScreenModel, numbers: range, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return a heading and the CPUs by topology; if not all fit, target CPUs whose clock differs come first."""
    frame = model.frame
    if frame is None or height < 2:
        return []
    across = tables_across(len(frame.cpus), width, height)
    _, shown = _window(model, frame, numbers, width, height)
    figures = _figures_of(model, frame, shown, numbers)
    rows_a_column = -(-len(shown) // across)
    wide = (width - 2 * (across - 1)) // across
    parts = [shown[begin : begin + rows_a_column] for begin in range(0, len(shown), max(rows_a_column, 1))]
    reported = model.clocks.reported if model.history.count else ReportedFigures.of(frame)
    columns = _columns(model, reported, figures, shown, glyphs)
    tables = [_table(model, part, columns, figures, wide, glyphs) for part in parts]
    rows = [list(row) for row in tables[0]] if tables else []
    for index, table in enumerate(tables[1:], start=1):
        for row, more in zip(rows, table, strict=False):
            row += [(" " * (index * (wide + 2) - length(row)), "plain"), *more]
    return rows


def tables_across(count: int, width: int, height: int) -> int:
    """Return how many tables to put side by side, so that as many CPUs as possible have a row."""
    return max(min(width // _LEAST_WIDTH, -(-count // max(height - 1, 1))), 1)


def rows_for(count: int, across: int) -> int:
    """Return the height of `across` tables side by side that list all CPUs, headings included."""
    return -(-count // across) + 1


def clock_room(count: int, width: int, height: int) -> int:
    return tables_across(count, width, height) * max(height - 1, 0)


def describe_hidden(model: ScreenModel, numbers: range, width: int, height: int) -> str:
    """Return a text on the CPUs that the table leaves out, or an empty text if it shows all."""
    frame = model.frame
    lines, shown = _window(model, frame, numbers, width, height) if frame is not None else ([], [])
    count = len(lines) - len(shown)
    if not count:
        return ""
    at = {line.cpu for line in shown}
    hidden = [line.cpu for line in lines if line.role == Role.TARGET and line.cpu not in at]
    deviations = _deviations(model, hidden, numbers)
    differing = sum(deviation is not None and deviation > _DIFFERS for deviation in deviations.values())
    unknown_count = sum(deviation is None for deviation in deviations.values())
    parts = [f"{differing} differ" if differing > 1 else "1 differs"] if differing else []
    parts += [f"{unknown_count} unknown"] if unknown_count else []
    targets = f", {', '.join(parts)}" if parts else ", no target differs" if hidden else ""
    return f"{count} more{targets}"


def _window(
    model: ScreenModel, frame: Frame, numbers: range, width: int, height: int
) -> tuple[list[CpuLine], list[CpuLine]]:
    """Return all CPUs in their order, and those that have a row in a table of this size."""
    lines, room = in_topology_order(model, frame.cpus), clock_room(len(frame.cpus), width, height)
    if len(lines) > room:
        lines = _differing_first(model, lines, numbers)
    first = first_row(model.offset, len(lines), room)
    return lines, lines[first : first + room]


def _differing_first(model: ScreenModel, lines: Sequence[CpuLine], numbers: range) -> list[CpuLine]:
    """Return the CPUs: differing target CPUs, the worst first, unknown and other target CPUs, siblings, other CPUs."""
    deviations = _deviations(model, (line.cpu for line in lines if line.role == Role.TARGET), numbers)

    def rank(line: CpuLine) -> tuple[int, float]:
        if line.role != Role.TARGET:
            return (3 if line.role == Role.SIBLING else 4), 0.0
        deviation = deviations[line.cpu]
        if deviation is None:
            return 1, 0.0
        return (0, -round(deviation, 2)) if deviation > _DIFFERS else (2, 0.0)

    return sorted(lines, key=rank)


def _deviations(model: ScreenModel, cpus: Iterable[int], numbers: range) -> dict[int, float | None]:
    """Return the deviation of each CPU's clock from the clock that most target CPUs reach, as a share of the latter.

    It is the largest deviation in the intervals; before the first interval, the current one. None means unknown, as for
    clocks without a tick.
    """
    until = range(numbers.start, min(numbers.stop, model.number + 1))
    khz_by_cpu = {line.cpu: line.current_khz for line in model.cpus}

    def extremes(cpu: int) -> tuple[int, int] | None:
        if until:
            return model.clocks.extremes(cpu, until)
        khz = khz_by_cpu.get(cpu)
        return None if khz is None else (khz, khz)

    usual = _usual_khz(extremes(cpu) for cpu in model.target)
    extremes_by_cpu = {cpu: extremes(cpu) for cpu in cpus}
    return {
        cpu: None if ends is None or usual is None else max(usual - ends[0], ends[1] - usual, 0) / usual
        for cpu, ends in extremes_by_cpu.items()
    }


def _usual_khz(extremes: Iterable[tuple[int, int] | None]) -> float | None:
    """Return the highest clock that most CPUs reach, or None if no clock is known."""
    highest = [ends[1] for ends in extremes if ends is not None]
    return statistics.median(highest) if highest else None


def _figures_of(model: ScreenModel, frame: Frame, shown: Sequence[CpuLine], numbers: range) -> _Figures:
    """Return the ranges and figures of the shown CPUs.

    Before the first interval, the ranges are the current clocks, on the scale of the hardware's limits.
    """
    figures = (
        {figures_of_cpu.cpu: figures_of_cpu for figures_of_cpu in frame.clock.cpus} if frame.clock is not None else {}
    )
    until = range(numbers.start, min(numbers.stop, model.number + 1))
    ranges = {line.cpu: model.clocks.range_of(line.cpu, until) if until else _current_range(line) for line in shown}
    measured_ranges = [clock_range for clock_range in ranges.values() if clock_range is not None]
    if not measured_ranges:
        return _Figures(ranges, figures, None)
    ends = [clock_range.lowest_khz for clock_range in measured_ranges] + [
        clock_range.highest_khz for clock_range in measured_ranges
    ]
    if not until and frame.clock is not None:
        groups = frame.clock.groups
        ends += [khz for group in groups for khz in (group.hardware_min_khz, group.hardware_max_khz) if khz is not None]
    low, high = min(ends), max(ends)
    margin = max(high * 0.02, (high - low) * 0.05)
    return _Figures(ranges, figures, _Scale(max(low - margin, 0), high + margin), has_ranges=bool(until))


def _current_range(line: CpuLine) -> ClockRange | None:
    khz = line.current_khz
    return ClockRange(khz, khz, khz, 0.0) if khz is not None else None


def _table(
    model: ScreenModel,
    lines: Sequence[CpuLine],
    columns: Sequence[Column[CpuLine]],
    figures: _Figures,
    width: int,
    glyphs: Glyphs,
) -> list[Row]:
    signs = brackets(model, lines, glyphs)

    def number(line: CpuLine) -> Piece:
        text = f" {ROLE_MARKS.get(line.role, ' ')}{line.cpu:>4}{signs.get(line.cpu, ' ')} "
        return text, ROLE_STYLES.get(line.role, "faint")

    numbers = Column("CPU  ", 8, number)
    kept = Table.fitting([numbers, *columns], width - 1).columns
    room = width - 2 - Table(kept).width if figures.scale is not None else 0
    if room >= _LEAST_RANGE:
        heading = f" {_scale_heading(figures.scale, room)}"
        kept = [*kept[:2], Column(heading, room + 1, lambda line: _bar(figures, line.cpu, room, glyphs)), *kept[2:]]
    table = Table(kept)
    rows: list[Row] = [[(table.heading, "heading")]]
    for line in lines:
        is_offline = line.role == Role.OFFLINE
        rows.append([number(line), (" offline", "faint")] if is_offline else table.row(line))
    return [cut(row, width) for row in rows]


def _scale_heading(scale: _Scale | None, room: int) -> str:
    """Return the ends of the scale."""
    if scale is None:
        return ""
    low, high = f"{scale.low / 1e6:.2f}", f"{scale.high / 1e6:.2f}"
    return f"{low}{high:>{room - len(low)}}"


def _columns(
    model: ScreenModel, reported: ReportedFigures, figures: _Figures, lines: Sequence[CpuLine], glyphs: Glyphs
) -> list[Column[CpuLine]]:
    """Return the columns of figures reported for these CPUs; of the idle states, the deepest is dropped last."""
    names = reported.names({line.cpu for line in lines if line.role != Role.OFFLINE})
    ranges, by_cpu, unit = figures.ranges, figures.figures, "°C" if glyphs.has_braille else "C"
    wide = max((len(_slowdown(by_cpu.get(line.cpu))[0]) for line in lines), default=0)
    least = _LEAST_RANGE + 1 if figures.scale is not None else 0
    columns: dict[str, Column[CpuLine]] = {
        "age": Column("age", 9, lambda line: _age(ranges.get(line.cpu)), 1, least),
        "spread": Column("spread", 8, lambda line: _spread(ranges.get(line.cpu)), 2, least),
        "heat": Column("heat", 7, lambda line: _heat(by_cpu.get(line.cpu), unit), 3, least),
        "slowed": Column("slowed", max(wide + 2, 8), lambda line: _slowdown(by_cpu.get(line.cpu)), 4, least),
        "C0": Column("C0", 6, lambda line: _awake_cell(by_cpu.get(line.cpu)), 5, least),
    }
    if not figures.has_ranges:
        del columns["age"], columns["spread"]
    count = len(reported.idle_names)
    for index, name in enumerate(reported.idle_names):
        if name != _AWAKE:
            wide = max(len(name[:8]) + 1, 7)
            columns[name] = Column(name[:8], wide, _idle_cell(figures, index), 5 + count - index, least)
    clock = Column[CpuLine]("GHz", 6, lambda line: _clock(line, figures))
    clocks = [clock] if any(line.current_khz is not None for line in model.cpus) or not lacks_clocks(model) else []
    return [*clocks, *(column for name, column in columns.items() if (name == "spread" and clocks) or name in names)]


def _clock(line: CpuLine, figures: _Figures) -> Piece:
    clock_range = figures.ranges.get(line.cpu)
    if line.current_khz is None:
        return "?", "unknown"
    is_stale = clock_range is not None and clock_range.age_s != 0
    return f"{float(describe_mhz(line.current_khz)) / 1000:.2f}", "faint" if is_stale else "strong"


def _age(clock_range: ClockRange | None) -> Piece:
    """Return the age of a clock from before the last interval; empty for a newer clock.

    `no tick`: no tick is kept, so the clock may be as old as the session. `unknown`: ticks are unknown.
    """
    if clock_range is None or clock_range.age_s == 0:
        return "", "faint"
    if clock_range.age_s is None and not clock_range.knows_ticks:
        return "unknown", "unknown"
    return ("no tick" if clock_range.age_s is None else f"{clock_range.age_s:.0f} s"), "faint"


def _spread(clock_range: ClockRange | None) -> Piece:
    if clock_range is None or clock_range.is_stale:
        return "?", "unknown"
    share = (clock_range.highest_khz - clock_range.lowest_khz) / clock_range.highest_khz
    return short_share(share), "notable" if share >= _SHARED else "plain"


def _heat(figures: ClockCpu | None, unit: str) -> Piece:
    if figures is None or figures.celsius is None:
        return "?", "unknown"
    critical = figures.critical_celsius
    style: Style = "notable" if critical is not None and figures.celsius >= 0.9 * critical else "plain"
    return f"{figures.celsius:.0f} {unit}", style


def _slowdown(figures: ClockCpu | None) -> Piece:
    """Return how long (if unknown, how often) heat slowed the CPU since boot, and how often power did (`700× P`)."""
    heat_ms, times = (figures.slowed_ms, figures.throttles) if figures is not None else (None, None)
    limited = figures.power_limit_count if figures is not None else None
    heat = f"{times}×" if times is not None else "?"
    heat = heat if heat_ms is None else short_duration(heat_ms * 1e6)
    shows_heat = heat == "?" or heat_ms or times or not limited
    text = ", ".join([*([heat] if shows_heat else []), *([f"{limited}× P"] if limited else [])])
    return text, "notable" if heat_ms or times or limited else "unknown" if heat == "?" else "plain"


def _awake_cell(figures: ClockCpu | None) -> Piece:
    return _share_cell(figures.awake_share if figures is not None else None)


def _share_cell(share: float | None) -> Piece:
    return short_share(share), "unknown" if share is None else "plain"


def _idle_cell(all_figures: _Figures, at: int) -> Callable[[CpuLine], Piece]:
    def cell(line: CpuLine) -> Piece:
        figures = all_figures.figures.get(line.cpu)
        shares = (figures.idle_shares if figures is not None else None) or ()
        return _share_cell(shares[at] if at < len(shares) else None)

    return cell


def _bar(figures: _Figures, cpu: int, room: int, glyphs: Glyphs) -> Row:
    """Return the CPU's range on the scale, with its current clock: `··├──●─┤··`."""
    clock_range = figures.ranges.get(cpu)
    out, left, between, right, now = "·├─┤●" if glyphs.has_braille else ".[-]o"
    if clock_range is None or figures.scale is None:
        return [(" " + out * room, "faint")]
    low, high = figures.scale.column(clock_range.lowest_khz, room), figures.scale.column(clock_range.highest_khz, room)
    marks = [between if low <= index <= high else out for index in range(room)]
    marks[low], marks[high] = left, right
    marks[figures.scale.column(clock_range.last_khz, room)] = now
    style: Style = "faint" if clock_range.age_s != 0 else "calm"
    parts = "".join(marks[:low]), "".join(marks[low : high + 1]), "".join(marks[high + 1 :])
    return [(f" {parts[0]}", "faint"), (parts[1], style), (parts[2], "faint")]
