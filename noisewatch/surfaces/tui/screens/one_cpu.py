"""The screen of one CPU: its noise over the last intervals, by kind, and its culprits."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import KINDS, CpuLine
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space
from noisewatch.surfaces.drawing.text_row import Row, cut, first_that_fits, length
from noisewatch.surfaces.tui.draw.idle_probe_words import measured_row
from noisewatch.surfaces.tui.draw.levels import height_keys, style_of, tall_rows
from noisewatch.surfaces.tui.draw.places import place_title, role_of, shared_words
from noisewatch.surfaces.tui.draw.timeline import LABEL, TimeAxis, axis_of, time_row
from noisewatch.surfaces.tui.screens.culprits import culprit_list
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.noise import columns_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, short_duration, short_noise, short_rate, short_share

_KEYS = (
    ("q", "quit"),
    ("tab", "next CPU"),
    ("s", "sort"),
    ("f", "fix"),
    ("y", "copy fix"),
    ("[ ]", "spikes"),
    ("esc", "back"),
)
_LABELS = {  # shorter labels for kinds whose names do not fit before their lanes
    Kind.SOFTIRQ: "sirq",
    Kind.KERNEL_THREAD: "kernel",
    Kind.UNATTRIBUTED: "unattr",
    Kind.OUTSIDE: "steal",
}
_TALLEST = 6  # rows of a lane
_MOST_LANES, _WITH_SELECTED = 0.55, 11  # maximum share of the body; rows of the selected culprit with all edges
_NARROW = 40
_LEAST_STRIP, _WIDEST_STRIP = 12, 60
_LOWEST_WITH_LANES = 16  # minimum rows of a body with lanes; half of them are left for culprits
_MOST_INTERVALS = 400  # maximum number of decoded frames, because decoding takes long


def cpu_screen_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    """Return the CPU's figures, its lanes and its culprits; the lanes are as high as the culprits permit."""
    line, glyphs, width = _line(model), space.glyphs, space.inside
    if line is None:
        text = f" there is no CPU {model.cpu}" if model.cpu is not None else " no CPU yet"
        return space.draw([Section("cpu", [[(text, "faint")]], height=space.room, has_heading=True)])
    figure_rows, axis = _figure_rows(model, line, width, glyphs), axis_of(model, width)
    max_rows = min(space.height - model.listing().needed - _WITH_SELECTED, int(space.height * _MOST_LANES))
    rows = (
        _lane_rows(model, line.cpu, axis, max_rows - len(figure_rows) - 3, space)
        if space.height >= _LOWEST_WITH_LANES
        else []
    )
    title = place_title(model, [line], glyphs)
    titles = [f"{title} {glyphs.bullet} {words}" if words else title for words in shared_words(model, line.cpu)]
    title = first_that_fits(titles, space.width - 6)
    keys = f"tab next CPU · w zoom · {height_keys(glyphs)[0]}"
    upper = space.draw([Section(title, [*figure_rows, *rows], keys, has_heading=True)])
    return [*upper, *culprit_list(model, replace(space, height=space.height - len(upper)))]


def _line(model: ScreenModel) -> CpuLine | None:
    return next((line for line in model.cpus if line.cpu == model.cpu), None)


def _figure_rows(model: ScreenModel, line: CpuLine, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the figures of this interval, of the idle probe, and of the last calibration."""
    measured = [measured_row(line)] if model.frame is not None and model.frame.has_idle_probe else []
    figures = _figures(line, _commands(model, line.cpu), width, glyphs)
    return [figures, *measured, *_gaps(model, line.cpu, width, glyphs)]


def _commands(model: ScreenModel, cpu: int) -> list[str]:
    """Return the commands that run on the CPU, with their shares of its time."""
    commands = []
    for run in model.frame.runs if model.frame is not None else ():
        share = dict(run.share_by_cpu).get(cpu)
        if share is not None:
            name = run.programs[0] if run.programs else "a command"
            commands.append(f"command {name} {short_share(share)}")
    return commands


def _figures(line: CpuLine, commands: Sequence[str], width: int, glyphs: Glyphs) -> Row:
    """Return the CPU's noise and as many further figures as fit completely, the most important first."""
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    figures = [
        *commands,
        f"{short_rate(line.interrupts_per_s)} irq/s",
        f"{short_rate(line.softirqs_per_s)} sirq/s",
        f"load {short_share(line.busy_share)}",
        describe_clock(line.current_khz) if line.current_khz is not None else "",
        line.governor or "",
    ]
    role = f"  {line.role}   " if width >= _NARROW else " "
    row: Row = [
        (f" CPU {line.cpu}", "title"),
        (role, "plain"),
        (f"noise {mark}{short_noise(line.stolen_ns_per_s)}", style_of(line.stolen_ns_per_s, glyphs, line.role)),
    ]
    texts = [f"   {figure}" for figure in figures if figure]
    fitting = ["".join(texts[:count]) for count in range(len(texts), -1, -1)]
    return [*row, (first_that_fits(fitting, width - length(row)), "plain")]


def _gaps(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the CPU's results in the last calibration, with a histogram of the gaps of 1 µs or more."""
    figures = (
        next((result for result in model.calibration.cpus if result.cpu == cpu), None) if model.calibration else None
    )
    if figures is None or figures.trouble is not None:
        return []
    from noisewatch.surfaces.drawing.charts import (
        strip,  # imported only when there is something to draw, so that the monitor starts sooner
    )

    ago_s = _calibrated_ago_s(model)
    if ago_s is not None and ago_s < 0:  # the shown interval is before the calibration
        return []
    ago = f" {ago_s:.0f} s ago" if ago_s is not None else ""
    summary = f" calibrated{ago}: {short_share(figures.stolen_share)} in {short_rate(figures.gaps_per_s)} gaps/s, p99 "
    summary += f"{short_duration(figures.gap_p99_ns)}, longest {short_duration(figures.gap_max_ns)}  "
    room = min(width - length([(summary, "plain")]), _WIDEST_STRIP)
    drawn = strip(figures.gap_histogram, room, glyphs.ramp) if room >= _LEAST_STRIP else ""
    return [cut([(summary, "plain"), (drawn, "notable")], width)]


def _calibrated_ago_s(model: ScreenModel) -> float | None:
    """Return the calibration's age (s), or None if it is unknown, or if a recording contains the calibration."""
    if model.is_recorded or model.calibrated_at_ns is None or model.frame is None:
        return None
    return (model.frame.taken_at_ns - model.calibrated_at_ns) / 1e9


_Lane = tuple[str, Sequence[float | None]]  # name, and noise by the places of the axis


def _lanes(model: ScreenModel, cpu: int, axis: TimeAxis) -> list[_Lane]:
    """Return one lane for all noise, and one for each kind of noise that occurred."""
    kept = axis.numbers
    numbers = kept[-_MOST_INTERVALS:]
    undecoded = -(-(len(kept) - len(numbers)) // axis.zoom)  # columns of kept frames that are not decoded
    lanes: list[_Lane] = [("noise", columns_of(model.history.lane(cpu, kept), axis.zoom))]
    lost_by_kind = model.history.noise_by_kind(cpu, numbers)
    for kind in sorted(lost_by_kind, key=KINDS.index):
        shown = [*(None for _ in range(undecoded)), *columns_of(lost_by_kind[kind], axis.zoom)]
        lanes.append((_LABELS.get(Kind(kind), kind), shown[len(shown) - axis.places :]))
    return lanes


def _lane_rows(model: ScreenModel, cpu: int, axis: TimeAxis, room: int, space: Space) -> list[Row]:
    """Return the lanes in the timeline's columns, and the time below them, in at most half of the space."""
    lanes, role = _lanes(model, cpu, axis), role_of(model, cpu)
    tall = max(min(room // len(lanes), _TALLEST), 1) if space.is_framed else 1
    rows = [row for name, shown in lanes for row in _lane(name, shown, axis, tall, space.glyphs, role)]
    rows += [time_row(model, axis, space.glyphs)] if axis.numbers else []
    return rows if 2 * len(rows) <= space.height else rows[: space.height // 2] if space.is_framed else []


def _lane(
    name: str, shown: Sequence[float | None], axis: TimeAxis, tall: int, glyphs: Glyphs, role: Role | None
) -> list[Row]:
    """Return the rows of a lane; the column of the shown interval is highlighted."""
    lane = tall_rows(axis.spread(shown), tall, glyphs, role)
    before, after, edge = " " * axis.before, " " * axis.after, "│" if glyphs.has_braille else "|"
    rows: list[Row] = []
    for index, row in enumerate(lane):
        label = name if index == tall - 1 else ""
        marked = _with_selected_column([(before, "plain"), *row, (after, "plain")], axis.cursor)
        rows.append([(f"{label:<{LABEL - 1}.{LABEL - 1}}{edge}", "faint"), *marked])
    return rows


def _with_selected_column(row: Row, column: int | None) -> Row:
    """Return the row with this column highlighted, or the row itself for None."""
    if column is None:
        return row
    marked: Row = []
    at = 0
    for text, style in row:
        inside = column - at
        if 0 <= inside < len(text):
            marked += [(text[:inside], style), (text[inside], "selected"), (text[inside + 1 :], style)]
        else:
            marked.append((text, style))
        at += len(text)
    return marked
