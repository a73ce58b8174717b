"""The selected IRQ: where it goes and may go, when it was moved, how often it interrupted, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from statistics import median

from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.irq_matrix import cpu_words, history_cells
from noisewatch.surfaces.tui.draw.text_row import Row, Style, fitted
from noisewatch.surfaces.tui.state.irq_table import IrqRow, culprits_of, goes_to, movable_word
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_rate, short_duration, short_rate, short_seconds

_NAME = 10  # columns of what a row is about
_MOST_CPUS, _MOST_MOVES = 8, 3
_TOP_RATE = 100_000  # of the scale
_LEAST_CHART, _AXIS = 3, 7  # rows; columns
_MOVABLE = {
    "yes": "it can be moved",
    "mgd": "managed by the kernel: nobody else can move it",
    "no": "it cannot be moved",
    "?": "unknown whether it can be moved",
    "some": "some of them can be moved",
}


def irq_title(row: IrqRow) -> str:
    """`IRQ 205 · eth0-TxRx-5 · Ethernet Controller`."""
    if len(row.settings) > 1:
        return f"{row.name}: IRQs {', '.join(row.labels)}"
    device = row.settings[0].device if row.settings else None
    named = [f"IRQ {row.label}" if row.label.isdecimal() else row.label, row.name, device or ""]
    return " · ".join(dict.fromkeys(each for each in named if each))


def rates_of(model: ScreenModel, row: IrqRow, columns: int) -> list[float | None]:
    """Its interrupts per second up to what is shown, by column; of several intervals the highest."""
    first = max(model.number + 1 - columns * model.zoom, model.history.first)
    numbers = range(first, model.number + 1)
    found = [model.irqs.rates(label, numbers) for label in row.labels]
    total = [_sum(each) for each in zip(*found, strict=True)]
    ends = range(len(total), 0, -model.zoom)
    return [_highest(total[max(end - model.zoom, 0) : end]) for end in ends][::-1]


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def _highest(rates: Sequence[float | None]) -> float | None:
    return max((rate for rate in rates if rate is not None), default=None)


def irq_facts(model: ScreenModel, row: IrqRow, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """As many as find room; the history as a chart where much is left."""
    rows = [_affinity(model, row), _now(row), *_costs(model, row, glyphs), *_moves(model, row)]
    rates = rates_of(model, row, max(width - _NAME, 1))
    known = [rate for rate in rates if rate is not None]
    said = f"median {describe_rate(median(known))}, most {describe_rate(max(known))}" if known else "unknown"
    count = min(len(rates) * model.zoom, model.number + 1)
    over = f"{said} over {count} interval{'s' * (count != 1)}"
    rows.append(_fact("history", over))
    left = height - len(rows)
    if left >= _LEAST_CHART:
        rows += _chart(rates, width, left, glyphs)
    elif left > 0:
        rows.append(
            [(" " * _NAME, "plain"), *history_cells(rates[-(width - _NAME) :], min(len(rates), width - _NAME), glyphs)]
        )
    return rows[: max(height, 0)]


def _fact(name: str, said: str, style: Style = "plain") -> Row:
    return [(f"{name:<{_NAME}}", "faint"), (said, style)]


def _affinity(model: ScreenModel, row: IrqRow) -> Row:
    if not row.is_numbered:
        return _fact("goes to", "each CPU has its own: it cannot be moved")
    goes = goes_to(model, row)
    return [
        *_fact("goes to", _cpus(cpu_words(goes)), "unknown" if goes is None else "strong"),
        ("   may go to ", "faint"),
        (_cpus(cpu_words(row.allowed)), "unknown" if row.allowed is None else "plain"),
        (f"   {_MOVABLE[movable_word(row)]}", "plain"),
    ]


def _cpus(said: str) -> str:
    return "unknown" if said == "?" else "no CPU yet" if said == "none" else f"CPU {said}"


def _now(row: IrqRow) -> Row:
    """The CPUs that it interrupts, the busiest first."""
    if row.total is None:
        return _fact("now", "unknown", "unknown")
    if not row.rate_by_cpu:
        return _fact("now", "interrupts no CPU")
    cpus = sorted(row.rate_by_cpu, key=lambda cpu: -row.rate_by_cpu[cpu])
    said = ", ".join(f"CPU {cpu} {describe_rate(row.rate_by_cpu[cpu])}" for cpu in cpus[:_MOST_CPUS])
    rest = len(cpus) - _MOST_CPUS
    return _fact("now", said + (f", and {rest} more CPU{'s' * (rest > 1)}" if rest > 0 else ""))


def _costs(model: ScreenModel, row: IrqRow, glyphs: Glyphs) -> list[Row]:
    """Of the culprits of the frame that are this IRQ."""
    lines = sorted(culprits_of(model, row), key=lambda line: -line.stolen_ns_per_s)
    said = ", ".join(
        f"{glyphs.estimate if line.is_estimate else ''}{short_duration(line.stolen_ns_per_s)}/s of CPU {line.cpu}"
        for line in lines[:_MOST_CPUS]
    )
    return [_fact("costs", said)] if said else []


def _moves(model: ScreenModel, row: IrqRow) -> list[Row]:
    """The newest first, with the wall clock where that is known."""
    if not row.is_numbered:
        return []
    moves = [move for label in row.labels for move in model.irqs.moves(label) if move.number <= model.number]
    rows = []
    for move in sorted(moves, key=lambda each: -each.at_ns)[:_MOST_MOVES]:
        ago = ((model.frame.taken_at_ns if model.frame is not None else move.at_ns) - move.at_ns) / 1e9
        what = "came to CPU {}, was on CPU {}" if move.is_effective else "may go to CPU {}, was allowed on CPU {}"
        at = model.wall_clock(move.at_ns)
        irq = f"IRQ {move.label} " if len(row.settings) > 1 else ""
        when = f"{at}, {ago:.0f} s ago" if at is not None else f"{ago:.0f} s ago"
        rows.append(_fact("moved", f"{irq}{what.format(move.after, move.before)} ({when})", "strong"))
    return rows or [_fact("moved", _not_moved(model, row))]


def _not_moved(model: ScreenModel, row: IrqRow) -> str:
    """For how long it is known to have stayed."""
    if goes_to(model, row) is None and row.allowed is None:
        return "unknown: the kernel does not tell where it goes"
    return f"not in the {short_seconds(model.into_s())} before this; affinities are read every 10 s"


def _chart(rates: Sequence[float | None], width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The history on a fixed logarithmic scale from 1 to 100 000 a second; the newest interval is the last."""
    room = max(width - _AXIS - 1, 0)
    shown = list(rates[-room:]) if room else []
    steps = len(glyphs.ramp) - 1
    heights = [_steps(rate, height * steps) for rate in shown]
    rows: list[Row] = []
    for level in range(height - 1, -1, -1):
        text = "".join(
            (glyphs.unknown if level == 0 else " ")
            if filled is None
            else glyphs.ramp[max(min(filled - level * steps, steps), 0)]
            for filled in heights
        )
        label = short_rate(_TOP_RATE ** ((level + 1) / height)) if level in (height - 1, height // 2, 0) else ""
        rows.append([(f"{label:>{_AXIS}} ", "faint"), (fitted(text, room), "irq")])
    return rows


def _steps(rate: float | None, most: int) -> int | None:
    """How high its bar is, in eighths of a row; whatever is more than nothing can be seen."""
    if rate is None:
        return None
    return 0 if rate <= 0 else max(min(round(log10(max(rate, 1)) / log10(_TOP_RATE) * most), most), 1)
