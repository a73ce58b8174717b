"""Below the map: the CPU that is pointed at, in the interval that is shown, and who made it noisy."""

from __future__ import annotations

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine, CulpritLine
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, style_of
from noisewatch.surfaces.tui.draw.text_row import Row, cut
from noisewatch.surfaces.tui.state.cpu_readings import celsius_by_cpu
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import short_noise, short_rate, short_share

_MOST_ROWS = 14


def pointed_height(model: ScreenModel) -> int:
    """Rows that it could use, its rule or heading among them."""
    return min(3 + max(len(_culprits(model)), 1), _MOST_ROWS)


def pointed_title(model: ScreenModel) -> str:
    """`CPU 5, target, at 14:01:01`"""
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


def pointed_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Its figures, then its culprits, the costliest first."""
    line = _line(model)
    if line is None or height < 1:
        return []
    rows = [cut(_figures(model, line, glyphs), width)]
    culprits, has_heading = _culprits(model), height > 2
    if height < 2:
        return rows
    if not culprits:
        return [*rows, [(f" {_why_none(line)}", "faint")]]
    shown = tuple(culprits[: height - 1 - has_heading])
    table = culprit_table(Listing(shown, len(shown), is_chosen=False), "who", width, len(shown) + 1, glyphs)
    return [*rows, *(table if has_heading else table[1:])]


def pointed_line(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """The figures alone, with the CPU before them, and who made it noisy."""
    line = _line(model)
    if line is None:
        return []
    noise, figures = _figures(model, line, glyphs)[:1], _figures(model, line, glyphs)[1:]
    return cut([(f" CPU {line.cpu}:", "strong"), *noise, *_costliest(model, glyphs), *figures], width)


def _costliest(model: ScreenModel, glyphs: Glyphs) -> Row:
    """The culprit that took the most; what one look tells comes before the figures."""
    culprits = _culprits(model)
    if not culprits:
        return []
    name = culprits[0].name.partition(" (")[0] if culprits[0].irq is not None else culprits[0].name
    return [
        (f"  {glyphs.cause} ", "faint"),
        (f"{culprits[0].kind.with_name(name)}{culprits[0].process_mark}", "strong"),
    ]


def _line(model: ScreenModel) -> CpuLine | None:
    pointed = model.map.pointed(model)
    return next((line for line in (model.frame.cpus if model.frame is not None else ()) if line.cpu == pointed), None)


def _culprits(model: ScreenModel) -> list[CulpritLine]:
    pointed = model.map.pointed(model)
    found = [line for line in (model.frame.culprits if model.frame is not None else ()) if line.cpu == pointed]
    return sorted(found, key=lambda line: -line.stolen_ns_per_s)


def _why_none(line: CpuLine) -> str:
    if line.role == Role.OFFLINE:
        return "it is offline"
    return "who it was is not known" if line.stolen_ns_per_s is None or line.stolen_ns_per_s > 0 else "nobody"


def _figures(model: ScreenModel, line: CpuLine, glyphs: Glyphs) -> Row:
    """What is unknown has a sign, as everywhere."""
    if line.role == Role.OFFLINE:
        return [(" offline", "faint")]
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    celsius = celsius_by_cpu(model.frame).get(line.cpu) if model.frame is not None else None
    said = [
        f"{short_rate(line.interrupts_per_s)} irq/s",
        f"{short_rate(line.softirqs_per_s)} sirq/s",
        f"load {short_share(line.busy_share)}",
        f"clock {line.current_khz / 1e6:.2f} GHz" if line.current_khz is not None else "",
        line.governor or "",
        f"{celsius:.0f} °C" if celsius is not None else "",
    ]
    noise = f" noise {mark}{short_noise(line.stolen_ns_per_s)}"
    return [(noise, style_of(line.stolen_ns_per_s)), ("".join(f"   {each}" for each in said if each), "plain")]
