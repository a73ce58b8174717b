"""The panel of the selected IRQ: its CPUs, its allowed CPUs, its moves, its rate over time, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log10
from statistics import median

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kinds import AFTER_AN_INTERRUPT, Kind
from noisewatch.operations.frame.frame import CulpritLine
from noisewatch.surfaces.drawing.glyphs import Glyphs, tall_bars
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, fact, length
from noisewatch.surfaces.tui.draw.irq_matrix import cpu_words, round_rate
from noisewatch.surfaces.tui.draw.levels import level_pieces
from noisewatch.surfaces.tui.draw.places import role_of
from noisewatch.surfaces.tui.draw.timeline import LABEL, TimeAxis, axis_of, mark_cursor, time_row
from noisewatch.surfaces.tui.state.irq_history import FREQUENT_PER_S, IrqRow, uncounted_cpus
from noisewatch.surfaces.tui.state.irq_table import busiest_first, culprits_of, movable_word, moves_of
from noisewatch.surfaces.tui.state.noise import columns_of, highest_if_certain, merge_by_zoom
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_count, describe_rate, short_duration, short_noise, short_seconds

NAME = 10  # columns of a fact's name
_MOST_CPUS, _MOST_MOVES = 8, 3
_POWERS = 5  # powers of ten up to the top of the scale
_LEAST_WITH_NOISE = 6  # rows
_MOVABLE = {
    "yes": "it can be moved",
    "mgd": "managed: only the kernel moves it",
    "no": "it cannot be moved",
    "?": "unknown whether it can be moved",
    "some": "some of them can be moved",
}


def irq_title(row: IrqRow) -> str:
    """Return the title for the IRQ or IRQs of a row, such as `IRQ 205 · eth0-TxRx-5 · Ethernet Controller`."""
    if len(row.settings) > 1:
        return f"{row.name}: IRQs {', '.join(row.labels)}"
    device = row.settings[0].device if row.settings else None
    named = [f"IRQ {row.label}" if row.label.isdecimal() else row.label, row.name, device or ""]
    return " · ".join(dict.fromkeys(part for part in named if part))


def rates_of(model: ScreenModel, row: IrqRow, columns: int) -> list[float | None]:
    """Return the row's interrupts/s by column, up to the shown interval: the highest rate in the column's intervals."""
    first = max(model.number + 1 - columns * model.zoom, model.history.first)
    return _by_column(model.irqs.total_rates(row.labels, range(first, model.number + 1)), model.zoom)


def _by_column(rates: Sequence[float | None], zoom: int) -> list[float | None]:
    return merge_by_zoom(rates, zoom, partial(highest_if_certain, limit=FREQUENT_PER_S))


def irq_facts(model: ScreenModel, row: IrqRow, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the facts that fit, and below them the IRQ's rate in the timeline's columns."""
    axis = axis_of(model, width)
    rates = model.irqs.total_rates(row.labels, axis.numbers)
    rows = [_affinity(row), *_rate_rows(model, row, rates, width), *_costs(model, row, glyphs), *_moves(model, row)]
    left = height - len(rows)
    if axis.numbers and width - LABEL > 1:
        lanes = [] if left < _LEAST_WITH_NOISE else _noise(model, row, axis, glyphs)
        rows += _chart(model, rates, axis, left - len(lanes), glyphs)[: max(left - len(lanes), 0)]
        rows += lanes
    return rows[: max(height, 0)]


def place_rows(model: ScreenModel, row: IrqRow) -> list[Row]:
    """Return rows on the IRQ's CPUs, its allowed CPUs, and its last moves."""
    return [_affinity(row), *_moves(model, row)]


def fact_row(name: str, text: str, style: Style = "plain") -> Row:
    return fact(name, text, NAME, style)


def _affinity(row: IrqRow) -> Row:
    if not row.is_numbered:
        return fact_row("goes to", "each CPU has its own, which cannot be moved")
    return [
        *fact_row("goes to", _cpus(cpu_words(row.effective)), "unknown" if row.effective is None else "strong"),
        ("   may go to ", "faint"),
        (_cpus(cpu_words(row.allowed)), "unknown" if row.allowed is None else "plain"),
        (f"   {_MOVABLE[movable_word(row)]}", "plain"),
    ]


def _cpus(cpus: str) -> str:
    return "unknown" if cpus == "?" else "no CPU yet" if cpus == "none" else f"CPU {cpus}"


def _rate_rows(model: ScreenModel, row: IrqRow, rates: Sequence[float | None], width: int) -> list[Row]:
    """Return the rates on the busiest CPUs, and median and maximum of the total rate in the intervals in sight."""
    measured = [rate for rate in rates if rate is not None]
    history = f"median {describe_rate(median(measured))}, max {describe_rate(max(measured))}" if measured else "unknown"
    unknown = len(rates) - len(measured)
    history += f" in {describe_count(len(rates), 'interval')}{f' ({unknown} unknown)' if measured and unknown else ''}"
    lately: Row = [(history, "plain")]
    frame = model.frame
    now = _rate_by_cpu_row(row, uncounted_cpus(frame) if frame is not None else frozenset())
    if frame is not None and frame.seconds > 0 and row.total is not None:
        now = [*now, (f" over {short_seconds(frame.seconds)}", "faint")]
    if not rates:
        return [now]
    if length(now) + length(lately) + 3 <= width:
        return [[*now, ("   ", "plain"), *lately]]
    return [now, [*fact_row("history", ""), *lately]]


def _rate_by_cpu_row(row: IrqRow, uncounted: CpuSet) -> Row:
    if row.total is None:
        return fact_row("rate", "unknown", "unknown")
    doubt: Row = [(f", unknown on {name_cpus(uncounted)}", "unknown")] if uncounted else []
    if not row.rate_by_cpu:
        return [*fact_row("rate", "interrupts no CPU"), *doubt]
    cpus = sorted(row.rate_by_cpu, key=lambda cpu: -row.rate_by_cpu[cpu])
    text = ", ".join(f"CPU {cpu}: {describe_rate(row.rate_by_cpu[cpu])}" for cpu in cpus[:_MOST_CPUS])
    rest = len(cpus) - _MOST_CPUS
    return [*fact_row("rate", text + (f", and {describe_count(rest, 'more CPU')}" if rest > 0 else "")), *doubt]


def _costs(model: ScreenModel, row: IrqRow, glyphs: Glyphs) -> list[Row]:
    """Return the IRQ's cost on its costliest CPUs, and of softirqs that it likely raised on the costliest one.

    If another device interrupts that CPU as often, the softirqs are left out.
    """
    lines = sorted(culprits_of(model, row), key=lambda line: -line.stolen_ns_per_s)
    costs = ", ".join(f"{_cost(line, glyphs)} of CPU {line.cpu}" for line in lines[:_MOST_CPUS])
    if not costs:
        return []
    if row.total:
        costs += f", about {short_duration(sum(line.stolen_ns_per_s for line in lines) / row.total)} each"
    cpu = lines[0].cpu
    here = [line for line in model.culprits if line.cpu == cpu]
    if row.is_numbered and all(line in lines or (line.rate_per_s or 0) < (row.total or 0) for line in here if line.irq):
        raised = [line for line in here if line.kind == Kind.SOFTIRQ and line.name in AFTER_AN_INTERRUPT]
        costs += "".join(f"; and {_cost(line, glyphs)} of {line.name} softirqs, likely raised by it" for line in raised)
    return [fact_row("costs", costs)]


def _cost(line: CulpritLine, glyphs: Glyphs) -> str:
    return f"{glyphs.estimate if line.is_estimate else ''}{short_noise(line.stolen_ns_per_s)}"


def _moves(model: ScreenModel, row: IrqRow) -> list[Row]:
    """Return the IRQ's last moves, the newest first, with the time of day if known."""
    if not row.is_numbered:
        return []
    rows = []
    for move in sorted(moves_of(model, row), key=lambda irq_move: -irq_move.at_ns)[:_MOST_MOVES]:
        ago = ((model.frame.taken_at_ns if model.frame is not None else move.at_ns) - move.at_ns) / 1e9
        what = "from CPU {1} to CPU {0}" if move.is_effective else "may go to CPU {0} instead of CPU {1}"
        at = model.wall_clock(move.at_ns)
        irq = f"IRQ {move.label} " if len(row.settings) > 1 else ""
        when = f"{at}, {ago:.0f} s ago" if at is not None else f"{ago:.0f} s ago"
        by = f", perhaps by {move.balancer}" if move.balancer is not None else ""
        rows.append(fact_row("moved", f"{irq}{what.format(move.after, move.before)} ({when}){by}", "strong"))
    return rows or [fact_row("moved", _unmoved_text(model, row))]


def _unmoved_text(model: ScreenModel, row: IrqRow) -> str:
    """Return how long the IRQ is known not to have moved, or why that is unknown."""
    if row.effective is None and row.allowed is None:
        return "unknown: the kernel does not report where the IRQ goes"
    if not all(model.irqs.knows_moves(setting, model.number) for setting in row.settings):
        return "unknown: only its last moves are kept"
    if not model.history.count or model.frame is None:
        return "unknown: a single snapshot shows no move"
    reports = [model.irqs.affinity_span(setting, model.number) for setting in row.settings]
    latest = max((report for report in reports if report is not None), key=lambda report: report.at_ns, default=None)
    if latest is None or None in reports:
        return "unknown: its affinity was not recorded at that time"
    for_s = (model.frame.taken_at_ns - latest.at_ns) / 1e9
    if any(report.is_less for report in reports if report is not None):
        return f"unknown for {short_seconds(for_s)}: the kernel no longer reports where the IRQ goes"
    if for_s <= 0:
        return "unknown before this snapshot; affinities are read every 10 s"
    return f"not in the {short_seconds(for_s)} before this snapshot; affinities are read every 10 s"


def _chart(model: ScreenModel, rates: Sequence[float | None], axis: TimeAxis, height: int, glyphs: Glyphs) -> list[Row]:
    """Return bars on a fixed logarithmic scale from 1 to 100 000 interrupts/s, with the time axis below."""
    tall = max(height - 1, 1)
    steps = tall * (len(glyphs.ramp) - 1)
    heights = axis.spread([_steps(rate, steps) for rate in _by_column(rates, axis.zoom)])
    marks: list[Piece] = [(glyphs.unknown if filled is None else glyphs.quiet, "irq") for filled in heights]
    bars = tall_bars([filled or None for filled in heights], marks, tall, glyphs)
    edge = "┤" if glyphs.has_braille else "|"
    rows: list[Row] = [
        [
            (f"{_scale(tall - 1 - index, tall):>{LABEL - 2}} {edge}{'':{axis.before}}", "faint"),
            *row,
            (" " * axis.after, "plain"),
        ]
        for index, row in enumerate(bars)
    ]
    rows = mark_cursor(rows, axis, glyphs)
    return [*rows, time_row(model, axis, glyphs)] if height > 1 else rows


def _scale(level: int, tall: int) -> str:
    """Return the power of ten whose bar ends in the row `level`, counted from below, or an empty text."""
    powers = [power for power in range(_POWERS + 1) if max(round(power / _POWERS * tall) - 1, 0) == level]
    return round_rate(10 ** powers[-1]) if powers and (tall > 1 or powers[-1] == _POWERS) else ""


def _noise(model: ScreenModel, row: IrqRow, axis: TimeAxis, glyphs: Glyphs) -> list[Row]:
    """Return the noise of the IRQ's busiest CPU, in the chart's columns, and a legend; nothing if no CPU is known."""
    cpus = busiest_first(row)
    if not cpus:
        return []
    losses = axis.spread(columns_of(model.history.lane(cpus[0], axis.numbers), axis.zoom))
    lane = level_pieces(losses, glyphs, role_of(model, cpus[0]))
    name = f"CPU {cpus[0]}"
    return [
        [(f"{name:<{LABEL}.{LABEL}}{'':{axis.before}}", "faint"), *lane, (" " * axis.after, "plain")],
        [(f"{'':{LABEL}}above: interrupts/s; CPU {cpus[0]}: all its noise", "faint")],
    ]


def _steps(rate: float | None, max_height: int) -> int | None:
    """Return the height of a bar in eighths of a row; any rate above 0 is visible."""
    if rate is None:
        return None
    return 0 if rate <= 0 else max(min(round(log10(max(rate, 1)) / _POWERS * max_height), max_height), 1)
