"""The fourth screen: one CPU, its noise over the last intervals by kind, and its culprits."""

from __future__ import annotations

from noisewatch.operations.frame.frame import KINDS, CpuLine
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, columns_of, level_pieces, style_of
from noisewatch.surfaces.tui.draw.idle_probe_words import measured_row
from noisewatch.surfaces.tui.draw.panel import panel, side_by_side
from noisewatch.surfaces.tui.draw.places import place_title
from noisewatch.surfaces.tui.draw.side_panel import LEAST_WITH_SIDE, SIDE, side_panel
from noisewatch.surfaces.tui.draw.text_row import Row, cut, first_that_fits, length
from noisewatch.surfaces.tui.screens.culprits import LEAST_TABLE, advice_rows, selectable
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_mhz, short_duration, short_rate, short_share

_KEYS = (
    ("q", "quit"),
    ("tab", "next CPU"),
    ("s", "sort"),
    ("f", "fix"),
    ("y", "copy fix"),
    ("[ ]", "spikes"),
    ("esc", "back"),
)
_LABEL = 15
_NARROW = 40
_LEAST_STRIP, _WIDEST_STRIP = 12, 60
_LOWEST_WITH_LANES = 16  # rows: as many again are for who it was
_MOST_INTERVALS = 400  # whose frames are looked into


def cpu_screen_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, framed=_framed)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    line = next((line for line in model.frame.cpus if line.cpu == model.cpu), None) if model.frame is not None else None
    if line is None:
        return [[(f" there is no CPU {model.cpu}" if model.cpu is not None else " no CPU yet", "faint")]]
    lanes = _lanes(model, line.cpu, width, glyphs) if height >= _LOWEST_WITH_LANES else []
    lanes = lanes if 2 * len(lanes) <= height else []
    measured = [measured_row(line)] if model.frame is not None and model.frame.has_idle_probe else []
    top = [_figures(line, width, glyphs), *measured, *_gaps(model, line.cpu, width, glyphs), *lanes]
    left = height - len(top)
    advice = advice_rows(model, width, left - LEAST_TABLE)
    table = selectable(model, f"culprits on CPU {line.cpu}, by {model.sort}", width, left - len(advice), glyphs)
    return [*top, *table, *advice]


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    line = next((line for line in model.frame.cpus if line.cpu == model.cpu), None) if model.frame is not None else None
    if line is None:
        return panel("cpu", _body(model, width - 4, height - 2, glyphs), width, height, glyphs)
    measured = [measured_row(line)] if model.frame is not None and model.frame.has_idle_probe else []
    gaps = _gaps(model, line.cpu, width - 4, glyphs)
    lanes = _lanes(model, line.cpu, width - 4, glyphs)[: height // 2]
    top = [_figures(line, width - 4, glyphs), *measured, *gaps, *lanes]
    upper = panel(place_title(model, [line], glyphs), top, width, len(top) + 2, glyphs, "tab next CPU · w zoom")
    beside = SIDE if width >= LEAST_WITH_SIDE else 0
    left, below = width - beside, height - len(upper)
    advice = advice_rows(model, left - 4, below - 2 - LEAST_TABLE)
    table = selectable(model, "who", left - 4, below - 2 - len(advice), glyphs)
    title = f"culprits on CPU {line.cpu}, by {model.sort}"
    culprits = panel(title, [*table, *advice], left, below, glyphs, "f fix · y copy fix · s sort")
    return [*upper, *(side_by_side(culprits, side_panel(model, beside, below, glyphs)) if beside else culprits)]


def _figures(line: CpuLine, width: int, glyphs: Glyphs) -> Row:
    """The noise of the CPU, and as many of its other figures as find room whole, the most telling first."""
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    figures = [
        f"{short_rate(line.interrupts_per_s)} irq/s",
        f"{short_rate(line.softirqs_per_s)} sirq/s",
        f"load {short_share(line.busy_share)}",
        f"{describe_mhz(line.current_khz)} MHz" if line.current_khz is not None else "",
        line.governor or "",
    ]
    role = f"  {line.role}   " if width >= _NARROW else " "
    row: Row = [
        (f" CPU {line.cpu}", "title"),
        (role, "plain"),
        (f"noise {mark}{short_duration(line.stolen_ns_per_s)}/s", style_of(line.stolen_ns_per_s)),
    ]
    said = [f"   {figure}" for figure in figures if figure]
    fitting = ["".join(said[:count]) for count in range(len(said), -1, -1)]
    return [*row, (first_that_fits(fitting, width - length(row)), "plain")]


def _gaps(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> list[Row]:
    """What the last calibration found there, and how many gaps were how long, from a microsecond on."""
    figures = next((each for each in model.calibration.cpus if each.cpu == cpu), None) if model.calibration else None
    if figures is None or figures.trouble is not None:
        return []
    from noisewatch.surfaces.reports.parts.charts import (
        strip,  # once there is something to draw: the first picture comes first
    )

    ago_s = _calibrated_ago_s(model)
    if ago_s is not None and ago_s < 0:  # in the snapshot that is shown it was not known yet
        return []
    ago = f" {ago_s:.0f} s ago" if ago_s is not None else ""
    said = f" calibrated{ago}: {short_share(figures.stolen_share)} in {short_rate(figures.gaps_per_s)} gaps/s, p99 "
    said += f"{short_duration(figures.gap_p99_ns)}, longest {short_duration(figures.gap_max_ns)}  "
    room = min(width - length([(said, "plain")]), _WIDEST_STRIP)
    drawn = strip(figures.gap_histogram, room, glyphs.ramp) if room >= _LEAST_STRIP else ""
    return [cut([(said, "plain"), (drawn, "notable")], width)]


def _calibrated_ago_s(model: ScreenModel) -> float | None:
    """None of a recording, whose calibration is its own."""
    if model.is_recorded or model.calibrated_at_ns is None or model.frame is None:
        return None
    return (model.frame.taken_at_ns - model.calibrated_at_ns) / 1e9


def _lanes(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> list[Row]:
    """A lane for each kind of noise that there was."""
    room = max(width - _LABEL, 1)
    count = min(room * model.zoom, _MOST_INTERVALS)
    numbers = range(max(model.number + 1 - count, model.history.first), model.number + 1)
    kept = min(model.number + 1 - model.history.first, room * model.zoom)
    unread = -(-(kept - len(numbers)) // model.zoom)  # columns of frames that are kept, and not looked into
    rows: list[Row] = []
    for kind, lost in model.history.noise_by_kind(cpu, numbers).items():
        shown = [*(None for _ in range(unread)), *columns_of(lost, model.zoom)][-room:]
        rows.append(
            [(f" {kind:<{_LABEL - 1}}", "faint"), (" " * (room - len(shown)), "plain"), *level_pieces(shown, glyphs)]
        )
    return sorted(rows, key=lambda row: KINDS.index(row[0][0].strip()))
