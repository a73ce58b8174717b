"""Limits of the target CPUs' clocks (heat, power, settings), reasons for unknown figures, and fixes.

The fixes are the remedies of the checks on clock, idle states, heat and power.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import name_cpus, parse_cpu_list
from noisewatch.errors import NO_SUCH_FILE
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import ClockGroup, ClockPackage, FindingLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs, bar
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, facts, first_that_fits
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.tui.state.clock_history import HOT, ClockGraph
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_clock, describe_clocks, short_duration

OMITTED = ""  # the reason of an unknown figure that has no row of its own
Reasons = Mapping[str, str]  # by figure, why it is unknown
_LABEL = 11
_HOTTEST = 0.97  # share of the critical temperature, or of the power limit
_NAMES = {  # names for users of the figures that may be unknown
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

_KINDS_OF_FIGURES = {  # names of the kinds of figures that a virtual machine may lack, besides the clock
    "governor": "governor",
    "window": "limits",
    "turbo": "turbo",
    "preference": "EPP",
    "throttles": "throttling",
    "celsius": "heat",
    "watts": "power",
    "uncore": "uncore",
    "idle_shares": "C-states",
}


def group_of_target(model: ScreenModel) -> ClockGroup | None:
    """Return the settings of the first target CPU with known settings, or None."""
    frame = model.frame
    if frame is None or frame.clock is None:
        return None
    groups = [(frozenset(parse_cpu_list(group.cpus)), group) for group in frame.clock.groups]
    return next((group for cpu in frame.target for cpus, group in groups if cpu in cpus), None)


def base_khz(model: ScreenModel) -> int | None:
    """Return the base clock (without turbo) of the first target CPU with known settings, or None."""
    group = group_of_target(model)
    return group.base_khz if group is not None else None


def highest_khz(model: ScreenModel) -> int | None:
    """Return the hardware's highest clock (with turbo) of the first target CPU with known settings, or None."""
    group = group_of_target(model)
    return group.hardware_max_khz if group is not None else None


def has_clock(model: ScreenModel, numbers: Iterable[int]) -> bool:
    """Return whether any clock of the target CPUs can be drawn in the intervals."""
    if model.clock_graph == ClockGraph.PER_CPU:
        return any(model.clocks.distinct_clocks(model.target, numbers))
    return any(khz is not None for khz in model.clocks.slowest(numbers))


def no_clock_reason(model: ScreenModel) -> str:
    """Return why the target CPUs' clock over time is unknown, and how to measure it."""
    frame = model.frame
    if frame is None:
        return "no figures yet"
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    unknown_cpus = [line.cpu for line in targets if line.current_khz is None]
    if unknown_cpus and len(unknown_cpus) < len(targets) and model.history.count:
        return (
            f"The clock of {name_cpus(unknown_cpus)} is unknown, so the slowest and the mean clock are unknown too. "
            "Press g for one graph per CPU."
        )
    if targets and not unknown_cpus and model.history.count:
        return "Each of these columns contains intervals with an unknown clock. Press w to show intervals one by one."
    if len(unknown_cpus) < len(targets):
        return (
            "The clock over time begins with the next interval."
            if frame.origin is None
            else "A copied tree is a single snapshot of /proc and /sys, so it has no clock over time."
        )
    reason = frame.clock.reasons.get("current_khz") if frame.clock is not None else None
    because = f": {reason}" if reason is not None else ""
    others = _names_of_absent_figures(frame.clock.reasons) if frame.clock is not None and lacks_clocks(model) else ""
    if frame.hypervisor is not None or any(finding.id == "virtual-machine" for finding in frame.findings):
        hides = f", and hides {others}" if others else ""
        return (
            f"The clock of a virtual CPU is unknown{because}. The hypervisor and the host control it{hides}. "
            f"{_measured_clocks(model)}"
        )
    also = f". Also unknown: {others}" if others else ""
    return f"The clock of the target CPUs is unknown{because}{also}. {_measured_clocks(model)}"


def lacks_clocks(model: ScreenModel) -> bool:
    """Return whether the kernel reports neither a clock nor a governor for any target CPU, as in most virtual machines.

    Then one sentence, `no_clock_reason`, replaces the rows of all figures that the kernel lacks.
    """
    frame = model.frame
    if frame is None or frame.clock is None or not is_absent(frame.clock.reasons.get("current_khz")):
        return False
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    return bool(targets) and all(line.current_khz is None and line.governor is None for line in targets)


def is_absent(reason: str | None) -> bool:
    """Return whether the reason of an unknown figure is that the kernel does not have it."""
    return reason is not None and reason.startswith((NO_SUCH_FILE, "not reported"))


def _names_of_absent_figures(reasons: Mapping[str, str]) -> str:
    names = [name for figure, name in _KINDS_OF_FIGURES.items() if is_absent(reasons.get(figure))]
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def _measured_clocks(model: ScreenModel) -> str:
    """Return the clocks that a calibration measured, or how to measure them."""
    measured = (
        [figures for figures in model.calibration.cpus if figures.effective_khz]
        if model.calibration is not None
        else []
    )
    if measured:
        clocks = [figures.effective_khz or 0.0 for figures in measured]
        return f"The calibration measured {describe_clocks(min(clocks), max(clocks))} (c measures again)."
    if model.is_recorded:
        return "A calibration on that machine measures it."
    return "Press c to measure it: a calibration times a chain of multiplications."


def no_figures_reason(model: ScreenModel) -> str | None:
    """Return why the frame has only clocks and governors, or None if it has the other figures too."""
    frame = model.frame
    if frame is None or frame.clock is not None:
        return None
    if model.is_recorded:
        return "not recorded"
    return "read next interval" if model.cursor is None else "not read then, because this screen was closed"


def package_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Return rows on the first target CPU's package (heat, power, slowing, uncore) and other packages (heat, power)."""
    frame = model.frame
    if frame is None or frame.clock is None:
        names = ("heat", "power", "slowed")
        return [row for name in names for row in fact(name, None, width, reason=no_figures_reason(model))]
    packages, reasons = packages_in_order(frame), reasons_to_show(model)
    first = packages[0] if packages else ClockPackage(0, "")
    rows = _heat_and_power(first, reasons, width, glyphs)
    for package in packages[1:]:
        heat, power = _degrees(package.celsius, package.critical_celsius, glyphs), _watts(package)
        text = f"{heat or 'heat ?'}, {power or 'power ?'}" if heat or power else None
        rows += fact(f"package {package.package}", text, width, reason=reasons.get("celsius") or reasons.get("watts"))
    rows += _slowing_rows(first, frame, reasons, width, glyphs)
    if packages and first.celsius is None:
        for sensor in frame.clock.sensors:
            heat = _degrees(sensor.celsius, sensor.critical_celsius, glyphs)
            rows += fact("heat", f"{heat} {sensor.name}", width) if heat is not None else []
    return rows


def packages_in_order(frame: Frame) -> list[ClockPackage]:
    """Return all packages, the first target CPU's package first; packages without target CPUs are last."""
    cpus = [
        (frozenset(parse_cpu_list(package.cpus)), package) for package in (frame.clock.packages if frame.clock else ())
    ]
    packages = [package for cpu in frame.target for its, package in cpus if cpu in its] + [
        package for _, package in cpus
    ]
    return list({package.package: package for package in packages}.values())


def _heat_and_power(package: ClockPackage, reasons: Reasons, width: int, glyphs: Glyphs) -> list[Row]:
    heat = _degrees(package.celsius, package.critical_celsius, glyphs)
    hot, used = _share(package.celsius, package.critical_celsius), _share(package.watts, _limit_w(package))
    return [
        *_gauge("heat", hot, heat, width, glyphs, reasons.get("celsius")),
        *_gauge("power", used, _watts(package), width, glyphs, reasons.get("watts")),
    ]


def _slowing_rows(package: ClockPackage, frame: Frame, reasons: Reasons, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows on what slowed or may slow the package, the most important first."""
    slowdown, limits, uncore = (
        mark_of(frame, glyphs, *checks)
        for checks in (("throttled", "cooling-active"), ("power-limit-lowered",), ("uncore-frequency-moves",))
    )
    return [
        *fact(
            "slowed", _slowdown(package, width), width, slowdown, reasons.get("slowed_ms") or reasons.get("throttles")
        ),
        *fact("limits", _limits_w(package), width, limits, reasons.get("limits")),
        *fact("uncore", _uncore(package), width, uncore, reasons.get("uncore")),
    ]


def _limit_w(package: ClockPackage) -> float | None:
    return package.long_limit_w or package.rated_w


def _limits_w(package: ClockPackage) -> str | None:
    """Return the power limits; a rated power above PL1 is shown next to PL1."""
    first, second, rated = package.long_limit_w, package.short_limit_w, package.rated_w
    if first is None:
        return None if rated is None else f"rated {rated:.0f} W"
    text = f"PL1 {first:.0f}{f' of {rated:.0f}' if rated is not None and rated > first else ''}"
    return f"{text}{f', PL2 {second:.0f}' if second is not None else ''} W"


def _watts(package: ClockPackage) -> str | None:
    limit = _limit_w(package)
    return None if package.watts is None else f"{package.watts:.0f}{f' of {limit:.0f}' if limit else ''} W"


def _uncore(package: ClockPackage) -> str | None:
    low, high, now = package.uncore_min_khz, package.uncore_max_khz, package.uncore_khz
    window = [describe_clocks(low, high)] if low is not None and high is not None else []
    return " of ".join([*([describe_clock(now)] if now is not None else []), *window]) or None


def _slowdown(package: ClockPackage, width: int) -> str | None:
    """Return how long or how often the package was slowed since boot; `since boot` is dropped if it does not fit."""
    parts = []
    if package.slowed_ms is not None:
        parts.append(f"{short_duration(package.slowed_ms * 1e6)} by heat")
    elif package.throttles is not None:
        parts.append(f"{package.throttles}× by heat")
    if package.power_limit_count is not None:
        parts.append(f"{package.power_limit_count}× by power")
    text = ", ".join(parts)
    return first_that_fits([f"{text} since boot", text], width - _LABEL) if parts else None


def _degrees(celsius: float | None, critical: float | None, glyphs: Glyphs) -> str | None:
    unit = "°C" if glyphs.has_braille else "C"
    return None if celsius is None else f"{celsius:.0f}{f' of {critical:.0f}' if critical else ''} {unit}"


def _share(value: float | None, limit: float | None) -> float | None:
    return None if value is None or not limit else min(value / limit, 1.0)


def _gauge(
    name: str, share: float | None, text: str | None, width: int, glyphs: Glyphs, reason: str | None = None
) -> list[Row]:
    if share is None or text is None:
        return fact(name, text, width, reason=reason)
    drawn = bar(share, max(width - _LABEL - len(text) - 2, 0), style_of_share(share), glyphs, glyphs.empty)
    return [[(f"{name:<{_LABEL}}", "faint"), *drawn, (f"  {text}", "plain")]]


def style_of_share(share: float) -> Style:
    """Return the style of a share of the critical temperature, or of the power limit."""
    return "grave" if share >= _HOTTEST else "notable" if share >= HOT else "calm"


def reason_rows(model: ScreenModel, width: int) -> list[Row]:
    """Return a row for each reason why figures of the first target CPU or its package are unknown."""
    frame = model.frame
    reasons: Mapping[str, str] = frame.clock.reasons if frame is not None and frame.clock is not None else {}
    reasons = {name: reason for name, reason in reasons.items() if not (lacks_clocks(model) and is_absent(reason))}
    names_by_reason: dict[str, list[str]] = {}
    asked = [
        figures.cpu
        for figures in (frame.clock.cpus if frame and frame.clock else ())
        if figures.awake_share is not None
    ]
    if frame is not None and 0 < len(asked) < frame.online_count and "idle_shares" not in reasons:
        reasons = {"idle_shares": f"read on {name_cpus(asked)} only", **reasons}  # unread CPUs have these columns too
    for figure, reason in reasons.items():
        names_by_reason.setdefault(reason, []).append(_NAMES.get(figure, figure))
    return [
        [(line, "unknown")]
        for reason, names in names_by_reason.items()
        for line in wrap(f"? {', '.join(names)}: {reason}", width, "", "  ", keep="hyphens")
    ]


def mark_of(frame: Frame, glyphs: Glyphs, *checks: str) -> Piece | None:
    """Return the mark of the gravest finding of `checks`, or None if no check failed, warned or is unknown."""
    gravities = {finding.gravity for finding in frame.findings if finding.id in checks}
    if Gravity.FAILED in gravities:
        return glyphs.failing, "grave"
    if Gravity.WARNED in gravities:
        return "!", "notable"
    return ("?", "unknown") if gravities & {Gravity.UNANSWERED, Gravity.OPEN} else None


def reasons_to_show(model: ScreenModel) -> Reasons:
    """Return the reasons of unknown figures; OMITTED for figures that one sentence on the whole machine explains."""
    frame = model.frame
    reasons: Mapping[str, str] = frame.clock.reasons if frame is not None and frame.clock is not None else {}
    lacks = lacks_clocks(model)
    return {name: OMITTED if lacks and is_absent(reason) else reason for name, reason in reasons.items()}


def fact(name: str, value: str | None, width: int, mark: Piece | None = None, reason: str | None = None) -> list[Row]:
    """Return the rows of a fact; a text that does not fit continues in further rows.

    For an unknown fact the text is the reason, without its file names, which are listed below the CPUs. There is no row
    if the reason is OMITTED.
    """
    if value is None and reason == OMITTED:
        return []
    text = value or f"? {(reason or '').partition(' (')[0]}".rstrip()
    sign, style = (mark or (" ", "plain")) if value else (" ", "unknown")
    lines = wrap(text, width - _LABEL, "", "" if value else "  ", keep="hyphens")
    marked = [f"{' ' if index else sign} {line}" for index, line in enumerate(lines)]
    return facts(name, marked, _LABEL - 2, style)


# The checks on clock, idle states, heat and power. Importing the catalogue here would delay the first picture.
CHECKS = frozenset(
    (
        *("governor-not-performance", "turbo-enabled", "frequency-window-open", "energy-preference-not-performance"),
        *("energy-bias-not-performance", "platform-profile-saves-power", "frequency-daemon-runs", "clock-capped"),
        *("clock-boosted-after-io", "uncore-frequency-moves", "deep-idle-states", "idle-cpus-spin", "throttled"),
        *("cooling-active", "processor-hot", "power-limit-lowered", "on-battery", "under-voltage"),
    )
)
_UNKNOWN = (Gravity.UNANSWERED, Gravity.OPEN)
_HELPED = (Gravity.FAILED, Gravity.WARNED)


def helpful_findings(findings: Sequence[FindingLine]) -> list[FindingLine]:
    """Return the failed and warning checks on clock, idle states, heat and power, the gravest first."""
    concerned = [finding for finding in findings if finding.id in CHECKS and finding.gravity in _HELPED]
    return sorted(concerned, key=lambda finding: _HELPED.index(finding.gravity))


def help_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Return two rows for each failed or warning check: finding and fix. If there is none, list the unknown checks."""
    frame = model.frame
    if frame is None or frame.verdict is None:
        return [[("not judged yet", "faint")]]
    rows: list[Row] = []
    for finding in helpful_findings(frame.findings):
        sign: Piece = (f"{glyphs.failing} ", "grave") if finding.gravity == Gravity.FAILED else ("! ", "notable")
        rows.append([sign, (finding.said, "plain")])
        rows.append(
            [("    ", "plain"), (finding.fix or "no command is known to fix it", "strong" if finding.fix else "faint")]
        )
    unknown = [finding.id for finding in frame.findings if finding.id in CHECKS and finding.gravity in _UNKNOWN]
    if unknown and not rows:
        lines = wrap(f"? unknown: {', '.join(unknown)}", width, "", "  ", keep="hyphens")
        return [[(line, "unknown")] for line in lines]
    return rows or [[("no check on clock, idle states, heat or power fails or warns", "plain")]]
