"""The CPUs, a row each: what they lose, their interrupts, load and clock, and their history."""

from __future__ import annotations

from noisewatch.surfaces.frame import HOUSEKEEPING, OFFLINE, SIBLING, TARGET, CpuLine
from noisewatch.surfaces.tui.glyphs import Glyphs, duration, rate, share, style_of
from noisewatch.surfaces.tui.levels import columns_of, level_pieces
from noisewatch.surfaces.tui.screen_model import ScreenModel, sorted_cpus
from noisewatch.surfaces.tui.text_row import Row

_ROLE_MARKS = {TARGET: "T", SIBLING: "s", HOUSEKEEPING: " ", OFFLINE: "x"}
_CPU_PANEL_SHARE = 0.5


def cpu_panel_height(cpu_count: int, height: int) -> int:
    """Rows for the CPUs, their heading included: all of them if they leave the culprits half of the screen."""
    return max(min(cpu_count + 1, int(height * _CPU_PANEL_SHARE)), min(height, 2))


def cpu_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """A heading and a row a CPU; the last row tells how many found no room."""
    if height < 1:
        return []
    room = height - 1
    lines = sorted_cpus(model, room)
    offset = max(min(model.offset, len(lines) - room), 0)
    has_clock = any(line.current_khz is not None for line in lines)
    shown = lines[offset : offset + room]
    columns = f"   CPU   lost/s   irq/s  sirq/s   load {'   MHz ' if has_clock else ''}  "
    history = _described(model, max(width - len(columns), 0))
    if len(shown) < len(lines):
        history = f"rows {offset + 1} to {offset + len(shown)} of {len(lines)}, arrows scroll"
    rows: list[Row] = [[(columns + history, "heading")]]
    return rows + [_cpu_row(model, line, width, has_clock, glyphs) for line in shown]


def _cpu_row(model: ScreenModel, line: CpuLine, width: int, has_clock: bool, glyphs: Glyphs) -> Row:
    role_style = {TARGET: "strong", SIBLING: "plain"}.get(line.role, "faint")
    row: Row = [(f" {_ROLE_MARKS[line.role]} {line.cpu:>3} ", role_style)]
    if line.role == OFFLINE:
        return [*row, ("  offline", "faint")]
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    row.append((f"{mark + duration(line.stolen_ns_per_s):>8} ", style_of(line.stolen_ns_per_s)))
    figures = f"{rate(line.interrupts_per_s):>7} {rate(line.softirqs_per_s):>7} {share(line.busy_share):>6} "
    row.append((figures, role_style))
    if has_clock:
        mhz = "?" if line.current_khz is None else f"{line.current_khz / 1000:.0f}"
        row.append((f"{mhz:>6} ", role_style))
    used = sum(len(text) for text, _ in row)
    return [*row, (" ", "plain"), *_spark(model, line.cpu, width - used - 1, glyphs)]


def _described(model: ScreenModel, width: int) -> str:
    each = f", {model.zoom} a column" if model.zoom > 1 else ""
    return f"last {width * model.zoom} intervals{each}"


def _spark(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> Row:
    """The history up to the interval that is shown, at the right."""
    numbers = range(max(model.number + 1 - width * model.zoom, model.history.first), model.number + 1)
    shown = columns_of(model.history.losses(cpu, numbers), model.zoom)[-width:] if width > 0 else []
    return [(" " * (width - len(shown)), "plain"), *level_pieces(shown, glyphs)]
