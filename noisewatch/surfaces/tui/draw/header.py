"""The first and third row of every screen: tabs, machine and clock; target CPUs, checks and the monitor's own cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from noisewatch.cpus import format_cpu_strides
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.headline import checks_row
from noisewatch.surfaces.tui.draw.idle_probe_words import header_words
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, cut, ends, length
from noisewatch.surfaces.tui.runs.history import describe_run
from noisewatch.surfaces.tui.state.screen_model import SCREENS, Screen, ScreenModel
from noisewatch.units import short_share


def tab_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """Return the tabs with machine and time; without room the machine is shortened first, then the tabs."""
    frame, clock = model.frame, model.wall_clock()
    machine = (frame.machine, frame.online_count, frame.origin) if frame is not None else None
    begin, after = _tabs_beside(machine, model.screen, width, glyphs, clock is not None)
    return [*begin, (f"  {clock}", "plain")] if after else begin


_Named = tuple[str, int, str | None]  # the machine, its online CPUs, and its origin if it is not this host
_CLOCK: Row = [("  00:00:00", "plain")]


@lru_cache(maxsize=8)
def _tabs_beside(
    machine: _Named | None, screen: Screen, width: int, glyphs: Glyphs, has_clock: bool
) -> tuple[Row, bool]:
    """Return the row before the clock, and whether the clock follows."""
    name: Row = [("noisewatch", "title")]
    right = _CLOCK if has_clock else []
    machines = _machines(machine, glyphs)
    named, digits = _tabs(screen, True), _tabs(screen, False)
    for told, tabs in (*((each, named) for each in machines), *((each, digits) for each in machines)):
        left = width - length([*name, *told, *tabs, *right])
        if left >= 2:
            return [*name, *told, (" " * left, "plain"), *tabs], has_clock
    if length([*name, *digits]) < width // 2:
        return ends([*name, *machines[0]], [("  ", "plain"), *digits], width), False
    return cut([*name, *machines[0]], width), False


def _machines(machine: _Named | None, glyphs: Glyphs) -> list[Row]:
    """Return the machine's name, its number of CPUs and its origin, from complete to short."""
    if machine is None:
        return [[]]
    name, cpus, told_by = machine
    host: Piece = (f"  {name}", "plain")
    count: Piece = (f" {glyphs.bullet} {cpus} CPUs", "plain")
    if told_by is None:
        return [[host, count], [host]]
    origin: Piece = (f"  {told_by}", "faint")
    return [[host, count, origin], [host, origin], [origin]]


def _tabs(shown: Screen, has_names: bool) -> Row:
    """Return the tabs: `1 overview [2 map] 3 irqs`; without `has_names`, only the digits of other screens."""
    row: Row = []
    for number, screen in enumerate(SCREENS, start=1):
        if screen == shown:
            row.append((f"[{number} {screen}]", "strong"))
        else:
            row.append((f" {number} {screen} " if has_names else f" {number} ", "faint"))
    return row


def status_row(model: ScreenModel, width: int, counted: Sequence[str] = ()) -> Row:
    """Return baseline, runs, idle probe, target CPUs and failed checks, and at the right the monitor's own cost.

    If it fits, also in how many intervals there was noise, as `counted`.
    """
    frame = model.frame
    if frame is None:
        return []
    row: Row = [(f"{frame.remark}  ", "doubt")] if frame.remark else []
    if not model.is_stale or model.cursor is not None:
        told = [describe_run(run, frame.target) for run in frame.runs]
        row += [(f"{each}  ", "strong") for each in told if each]
    if not model.is_stale:  # without the sampler there is no idle probe
        row += [*words, ("  ", "plain")] if (words := header_words(frame)) else []
    if model.baseline is not None:
        ago = (frame.taken_at_ns - model.baseline.taken_at_ns) / 1e9
        when = f"{ago:.0f} s ago" if ago >= 0 else f"{-ago:.0f} s later"
        row.append((f"change against {model.baseline.intervals} intervals, marked {when}  ", "strong"))
    target: Row = [(f"target {format_cpu_strides(frame.target) or 'none'}", "strong")]
    chosen: Row = [(f" ({frame.target_chosen_by})", "faint")]
    checks = checks_row(model, frame) if frame.seconds > 0 else []  # without rates the headline shows them
    checks = [("  ", "plain"), *checks] if checks else []
    counts: Row = [(f"  {', '.join(counted)}", "plain")] if counted else []
    for own in _own_costs(model):
        for left in (
            [*row, *target, *chosen, *checks, *counts],
            [*row, *target, *chosen, *checks],
            [*row, *target, *checks],
        ):
            if length(left) + length(own) <= width:
                return ends(left, own, width)
    return cut([*row, *target, *checks], width)


def _own_costs(model: ScreenModel) -> list[Row]:
    """Return the monitor's own cost, from all known figures down to none."""
    frame, cost = model.frame, model.own_cost
    if frame is None or frame.sampler_cpu_s is None:
        return [[]]
    house = format_cpu_strides(frame.housekeeping)
    where = f" on CPU {house}" if house else ""
    used = f"  self {short_share(cost.cpu_share if cost is not None else None)}"
    rows: list[Row] = [[(used + where, "faint")], []]
    if cost is not None:
        written = f", {cost.written_per_s / 1e3:.1f} kB/s" if cost.written_per_s is not None else ""
        rows.insert(0, [(f"{used}, {cost.wakeups_per_s:.0f} wake-ups/s{written}{where}", "faint")])
    return rows
