"""How the clocks of the target CPUs are set: a value of each setting, and on which CPUs it is another one."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import format_cpu_list, parse_cpu_list
from noisewatch.kinds import Role
from noisewatch.operations.frame.clock import ClockGroup
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.clock_facts import fact, group_of_target, mark_of, why_no_figures
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks

_MOST_VALUES = 3  # of a setting that have a row each
_STEADY = ("performance", "fixed")  # in a value that no check is about

_ByCpu = Mapping[int, str | None]


def settings_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Of the first target CPU, and below it of those that are set in another way.

    A mark stands before what a check does not let pass.
    """
    frame = model.frame
    if frame is None:
        return []
    group, groups = group_of_target(model), _groups_by_cpu(frame)
    why: Mapping[str, str | None] = frame.clock.reasons if frame.clock is not None else {}
    missing = why_no_figures(model)
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    governors: _ByCpu = {
        line.cpu: line.governor or (groups[line.cpu].governor if line.cpu in groups else None) for line in targets
    }
    windows = _windows(frame, groups)
    preferences: _ByCpu = {cpu: groups[cpu].preference if cpu in groups else None for cpu in governors}
    names = frame.clock.idle_names if frame.clock is not None else ()
    driver = group.driver if group is not None else None

    def setting(name: str, said_by_cpu: _ByCpu, figure: str, *checks: str, suffix: str | None = None) -> list[Row]:
        mark = mark_of(frame, glyphs, *checks)
        return _setting(name, said_by_cpu, width, mark, why.get(figure, missing), suffix)

    return [
        *setting("governor", governors, "governor", "governor-not-performance", suffix=driver),
        *fact("turbo", frame.turbo, width, mark_of(frame, glyphs, "turbo-enabled"), why.get("turbo", missing)),
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
            why.get("idle_shares", missing),
        ),
    ]


def _setting(
    name: str, said_by_cpu: _ByCpu, width: int, mark: Piece | None, why: str | None, suffix: str | None
) -> list[Row]:
    """A row for each value; the mark stands before those that a check may be about."""
    cpus_by_said: dict[str | None, list[int]] = {}
    for cpu, said in said_by_cpu.items():
        cpus_by_said.setdefault(said, []).append(cpu)
    first, *others = cpus_by_said or [None]
    moving = [said for said in cpus_by_said if said is not None and not said.endswith(_STEADY)]
    marked = moving or cpus_by_said
    told = f"{first}, {suffix}" if first and suffix else first
    rows = fact(name, told, width, mark if first in marked else None, why)
    if len(others) >= _MOST_VALUES:
        many = format_cpu_list(cpu for said in others for cpu in cpus_by_said[said])
        return [*rows, *fact("", f"{len(others)} other values on {many}", width, mark)]
    for said in others:
        where = f"on {format_cpu_list(cpus_by_said[said])}"
        rows += fact("", f"{said} {where}", width, mark if said in marked else None) if said else []
        rows += [] if said else fact("", None, width, why=where)
    return rows


def _groups_by_cpu(frame: Frame) -> dict[int, ClockGroup]:
    groups = frame.clock.groups if frame.clock is not None else ()
    return {cpu: group for group in groups for cpu in parse_cpu_list(group.cpus)}


def _windows(frame: Frame, groups: Mapping[int, ClockGroup]) -> _ByCpu:
    """As far as the conditions tell, which are read whatever screen is open; and the groups."""
    limits = frame.conditions.clock_limits
    windows = {cpu: _window(each.min_khz, each.max_khz) for each in limits for cpu in parse_cpu_list(each.cpus)}
    return windows | {cpu: _window(group.min_khz, group.max_khz) for cpu, group in groups.items()}


def _window(low: int | None, high: int | None) -> str | None:
    if low is None or high is None:
        return None
    return f"{describe_clock(high)}, fixed" if low == high else describe_clocks(low, high)
