"""What holds the clocks of the target CPUs: heat, power, settings; why the rest is unknown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from noisewatch.cpus import format_cpu_list, name_cpus, parse_cpu_list
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.clock import ClockGroup, ClockPackage
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks, short_duration

_LABEL = 11
_NAMES = {  # of the figures whose reasons are told, as people call them
    "current_khz": "clock",
    "window": "window",
    "hardware_max_khz": "highest clock",
    "base_khz": "base clock",
    "preference": "EPP",
    "throttles": "throttling",
    "slowed_ms": "time slowed",
    "idle_shares": "C-states",
    "core_celsius": "heat of cores",
    "celsius": "heat",
    "watts": "power",
    "limits": "power limits",
    "uncore_khz": "uncore clock",
    "uncore": "uncore",
}


def group_of_target(model: ScreenModel) -> ClockGroup | None:
    """The settings of the first target CPU of which they are known."""
    frame = model.frame
    if frame is None or frame.clock is None:
        return None
    groups = [(frozenset(parse_cpu_list(group.cpus)), group) for group in frame.clock.groups]
    return next((group for cpu in frame.target for cpus, group in groups if cpu in cpus), None)


def base_khz(model: ScreenModel) -> int | None:
    """The clock of the target CPUs without turbo."""
    group = group_of_target(model)
    return group.base_khz if group is not None else None


def highest_khz(model: ScreenModel) -> int | None:
    """The highest clock of the target CPUs' hardware, with turbo."""
    group = group_of_target(model)
    return group.hardware_max_khz if group is not None else None


def has_clock(model: ScreenModel, numbers: Iterable[int]) -> bool:
    """Whether the clock of a target CPU is known in any of these intervals."""
    return any(khz is not None for khz in model.clocks.slowest(numbers))


def why_no_clock(model: ScreenModel) -> str:
    """Of a target CPU over time; what can be done about it."""
    frame = model.frame
    if frame is None:
        return "no figures yet"
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    if any(line.current_khz is not None for line in targets):
        return (
            "The clock over time begins with the next look."
            if frame.origin is None
            else "A copied tree is a single snapshot: it has no clock over time."
        )
    reason = frame.clock.reasons.get("current_khz") if frame.clock is not None else None
    because = f": {reason}" if reason is not None else ""
    if any(each.id == "virtual-machine" for each in frame.findings):
        return (
            f"The clock of a virtual CPU is unknown{because}. The hypervisor and the host decide on it. "
            f"{_measured(model)}"
        )
    return f"The clock of the target CPUs is unknown{because}. {_measured(model)}"


def _measured(model: ScreenModel) -> str:
    """What a calibration measured, or how to have it measured."""
    found = [each for each in model.calibration.cpus if each.effective_khz] if model.calibration is not None else []
    if found:
        clocks = [each.effective_khz or 0.0 for each in found]
        return f"The calibration measured {describe_clocks(min(clocks), max(clocks))} (c measures again)."
    if model.is_recorded:
        return "A calibration on that machine measures it."
    return "c measures it: calibrate times a chain of multiplications."


def why_no_figures(model: ScreenModel) -> str | None:
    """Why there are no figures but clocks and governors; None where there are."""
    frame = model.frame
    if frame is None or frame.clock is not None:
        return None
    if model.is_recorded:
        return "not recorded"
    return "read at the next look" if model.cursor is None else "not read then: this screen was shut"


def package_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Heat, power, slowing and uncore of the first target CPU's package; heat and power of the others'."""
    frame = model.frame
    if frame is None or frame.clock is None:
        return [_fact(name, None, why=why_no_figures(model)) for name in ("heat", "power", "slowed")]
    packages = packages_in_order(frame)
    rows = _package(packages[0] if packages else ClockPackage(0, ""), frame, width, glyphs)
    for at, package in enumerate(packages[1:], start=2):  # below heat and power
        told = [_degrees(package.celsius, package.critical_celsius, glyphs), _watts(package)]
        rows.insert(at, _fact(f"package {package.package}", ", ".join(each for each in told if each) or None))
    if packages and packages[0].celsius is None:
        for each in frame.clock.sensors:
            heat = _degrees(each.celsius, each.critical_celsius, glyphs)
            rows += [_fact("heat", f"{heat} {each.name}")] if heat is not None else []
    return rows


def packages_in_order(frame: Frame) -> list[ClockPackage]:
    """All of them: that of the first target CPU first, those without a target CPU last."""
    cpus = [(frozenset(parse_cpu_list(each.cpus)), each) for each in (frame.clock.packages if frame.clock else ())]
    found = [each for cpu in frame.target for its, each in cpus if cpu in its] + [each for _, each in cpus]
    return list({each.package: each for each in found}.values())


def _package(package: ClockPackage, frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    why: Mapping[str, str] = frame.clock.reasons if frame.clock is not None else {}
    heat = _degrees(package.celsius, package.critical_celsius, glyphs)
    mark = _mark(frame, glyphs, "power-limit-lowered")
    return [
        _gauge("heat", _share(package.celsius, package.critical_celsius), heat, width, glyphs, why.get("celsius")),
        _gauge("power", _share(package.watts, _limit_w(package)), _watts(package), width, glyphs, why.get("watts")),
        _fact(
            "slowed",
            _slowed(package),
            _mark(frame, glyphs, "throttled", "cooling-active"),
            why.get("slowed_ms") or why.get("throttles"),
        ),
        _fact("limits", _limits_w(package), mark, why.get("limits")),
        _fact("uncore", _uncore(package), _mark(frame, glyphs, "uncore-frequency-moves"), why.get("uncore")),
    ]


def _limit_w(package: ClockPackage) -> float | None:
    return package.long_limit_w or package.rated_w


def _limits_w(package: ClockPackage) -> str | None:
    """Beside PL1 what the package was made for, where that is more."""
    first, second, rated = package.long_limit_w, package.short_limit_w, package.rated_w
    if first is None:
        return None if rated is None else f"made for {rated:.0f} W"
    told = f"PL1 {first:.0f}{f' of {rated:.0f}' if rated is not None and rated > first else ''}"
    return f"{told}{f', PL2 {second:.0f}' if second is not None else ''} W"


def _watts(package: ClockPackage) -> str | None:
    limit = _limit_w(package)
    return None if package.watts is None else f"{package.watts:.0f}{f' of {limit:.0f}' if limit else ''} W"


def _uncore(package: ClockPackage) -> str | None:
    low, high, now = package.uncore_min_khz, package.uncore_max_khz, package.uncore_khz
    window = [describe_clocks(low, high)] if low is not None and high is not None else []
    return " of ".join([*([describe_clock(now)] if now is not None else []), *window]) or None


def _slowed(package: ClockPackage) -> str | None:
    """Since the machine was booted."""
    told = []
    if package.slowed_ms is not None:
        told.append(f"{short_duration(package.slowed_ms * 1e6)} by heat")
    elif package.throttles is not None:
        told.append(f"{package.throttles}× by heat")
    if package.power_limit_count is not None:
        told.append(f"{package.power_limit_count}× by power")
    return ", ".join(told) or None


def _degrees(celsius: float | None, critical: float | None, glyphs: Glyphs) -> str | None:
    unit = "°C" if glyphs.has_braille else "C"
    return None if celsius is None else f"{celsius:.0f}{f' of {critical:.0f}' if critical else ''} {unit}"


def _share(value: float | None, limit: float | None) -> float | None:
    return None if value is None or not limit else min(value / limit, 1.0)


def _gauge(name: str, share: float | None, said: str | None, width: int, glyphs: Glyphs, why: str | None = None) -> Row:
    if share is None or said is None:
        return _fact(name, said, why=why)
    room = max(width - _LABEL - len(said) - 2, 0)
    filled = round(share * room)
    style: Style = "grave" if share >= 0.97 else "notable" if share >= 0.85 else "calm"
    return [
        (f"{name:<{_LABEL}}", "faint"),
        (glyphs.bar * filled, style),
        (glyphs.empty * (room - filled), "faint"),
        (f"  {said}", "plain"),
    ]


def settings_rows(model: ScreenModel, glyphs: Glyphs) -> list[Row]:
    """Of the first target CPU; a mark stands before what a check does not let pass."""
    frame, group = model.frame, group_of_target(model)
    if frame is None:
        return []
    line = next((each for each in frame.cpus if each.role == Role.TARGET), None)
    governor = (group.governor if group is not None else None) or (line.governor if line is not None else None)
    missing = why_no_figures(model)
    why: Mapping[str, str | None] = frame.clock.reasons if frame.clock is not None else {}
    window = _window(group) if group is not None else _limits(frame)
    names = frame.clock.idle_names if frame.clock is not None else ()

    def fact(name: str, said: str | None, figure: str, *checks: str) -> Row:
        return _fact(name, said, _mark(frame, glyphs, *checks), why.get(figure, missing))

    rows = [
        fact("governor", _with_driver(governor, group), "governor", "governor-not-performance"),
        fact("turbo", frame.turbo, "turbo", "turbo-enabled"),
        fact("window", window, "window", "frequency-window-open", "clock-capped"),
        fact("EPP", group.preference if group is not None else None, "preference", "energy-preference-not-performance"),
        fact("idle", " ".join(names), "idle_shares", "deep-idle-states", "idle-cpus-spin"),
    ]
    others = _others(frame, group)
    return [*rows, *([_fact("other", f"settings on CPU {others}", ("!", "notable"))] if others else [])]


def _with_driver(governor: str | None, group: ClockGroup | None) -> str | None:
    driver = group.driver if group is not None else None
    return f"{governor}, {driver}" if governor is not None and driver is not None else governor or driver


def _window(group: ClockGroup) -> str | None:
    if group.min_khz is None or group.max_khz is None:
        return None
    if group.min_khz == group.max_khz:
        return f"{describe_clock(group.max_khz)}, fixed"
    return describe_clocks(group.min_khz, group.max_khz)


def _limits(frame: Frame) -> str | None:
    found = [each for each in frame.conditions.clock_limits if each.min_khz is not None and each.max_khz is not None]
    return describe_clocks(found[0].min_khz or 0, found[0].max_khz or 0) if found else None


def _others(frame: Frame, group: ClockGroup | None) -> str:
    """The target CPUs whose clocks are set in another way."""
    if group is None:
        return ""
    its = frozenset(parse_cpu_list(group.cpus))
    return format_cpu_list(cpu for cpu in frame.target if cpu not in its)


def reason_rows(model: ScreenModel, width: int) -> list[Row]:
    """What is unknown of the first target CPU, or its package, and why; what has one reason stands together."""
    frame = model.frame
    reasons: Mapping[str, str] = frame.clock.reasons if frame is not None and frame.clock is not None else {}
    names_by_reason: dict[str, list[str]] = {}
    asked = [each.cpu for each in (frame.clock.cpus if frame and frame.clock else ()) if each.awake_share is not None]
    if frame is not None and 0 < len(asked) < frame.online_count and "idle_shares" not in reasons:
        reasons = {"idle_shares": f"asked of {name_cpus(asked)} only", **reasons}  # it has columns beside
    for figure, reason in reasons.items():
        names_by_reason.setdefault(reason, []).append(_NAMES.get(figure, figure))
    return [
        [(line, "unknown")]
        for reason, names in names_by_reason.items()
        for line in textwrap.wrap(
            f"? {', '.join(names)}: {reason}", max(width, 10), subsequent_indent="  ", break_on_hyphens=False
        )
    ]


def _mark(frame: Frame, glyphs: Glyphs, *checks: str) -> Piece | None:
    """The gravest of what these checks found."""
    found = {each.gravity for each in frame.findings if each.id in checks}
    if Gravity.FAILED in found:
        return glyphs.failing, "grave"
    if Gravity.WARNED in found:
        return "!", "notable"
    return ("?", "unknown") if found & {Gravity.UNANSWERED, Gravity.OPEN} else None


def _fact(name: str, said: str | None, mark: Piece | None = None, why: str | None = None) -> Row:
    """What is not known says why."""
    label: Piece = (f"{name:<{_LABEL - 2}}", "faint")
    if not said:
        return [label, (f"  ? {why or ''}".rstrip(), "unknown")]
    sign, style = mark or (" ", "plain")
    return [label, (f"{sign} ", style), (said, style)]
