"""The panel next to the culprits: how one CPU spent its time, conditions of the target CPUs, and the checks."""

from __future__ import annotations

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, CpuLine, Frame
from noisewatch.surfaces.drawing.colours import STYLE_BY_KIND
from noisewatch.surfaces.drawing.glyphs import Glyphs, bar
from noisewatch.surfaces.drawing.marks import MEANINGS, mark_of
from noisewatch.surfaces.drawing.panel import join_frames, panel
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, fact
from noisewatch.surfaces.tui.state.noise import worst_of
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.units import describe_clock, describe_clocks, short_seconds, short_share

SIDE, LEAST_WITH_SIDE = 38, 110  # columns of the panel, and of a screen that has room for it
_LABEL, _SHARE, _NAME = 14, 6, 7  # columns
_SECOND_NS = 1_000_000_000
_MOST_KINDS = 5
_LISTED = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED, Gravity.OPEN)


def side_panel(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the panel with as many of its three parts as fit, from the top."""
    parts = [part for part in _parts(model, width - 4, glyphs) if part[1]]
    if not parts:
        return panel("", [], width, height, glyphs)
    drawn: list[Row] = []
    for index, (title, rows) in enumerate(parts):
        left = height - len(drawn) + (1 if drawn else 0)
        is_last = index == len(parts) - 1
        if left < 3:
            break
        shown = _cut(rows, left - 2) if is_last else rows
        part = panel(title, shown, width, left if is_last else min(len(rows) + 2, left), glyphs)
        drawn = join_frames(drawn, part, glyphs) if drawn else part
    missing = height - len(drawn)
    return (
        [*drawn[:-1], *panel("", [], width, missing + 2, glyphs)[1:-1], drawn[-1]] if missing > 0 and drawn else drawn
    )


def _cut(rows: list[Row], room: int) -> list[Row]:
    """Return the rows that fit, and a last row that counts the hidden ones and names the key of their screen."""
    if len(rows) <= room:
        return rows
    kept = rows[: max(room - 1, 0)]
    return [*kept, [(f"{len(rows) - len(kept)} more · {Screen.PREFLIGHT.number} shows all", "faint")]]


def _parts(model: ScreenModel, width: int, glyphs: Glyphs) -> tuple[tuple[str, list[Row]], ...]:
    """Return title and rows of each part; a part without content has no rows."""
    frame = model.frame
    if frame is None:
        return ()
    return _second(model, frame, width, glyphs), _conditions(frame), _checks(frame, glyphs)


def _second(model: ScreenModel, frame: Frame, width: int, glyphs: Glyphs) -> tuple[str, list[Row]]:
    """Return, by kind, how the selected or worst CPU spent its time; empty if unknown, as for housekeeping CPUs."""
    line = _cpu_in_question(model, frame)
    if line is None or line.taken_ns_per_s is None:
        return "", []
    shares = {kind: ns / _SECOND_NS for kind, ns in zip(KINDS, line.taken_ns_per_s, strict=True) if ns}
    rows = [
        _bar(kind, share, width, STYLE_BY_KIND[kind], glyphs)
        for kind, share in sorted(shares.items(), key=lambda pair: -pair[1])[:_MOST_KINDS]
    ]
    command = sum(share for run in frame.runs for cpu, share in run.share_by_cpu if cpu == line.cpu)
    if command:
        rows.insert(0, _bar("command", command, width, "good", glyphs))
    free = max(1 - sum(shares.values()) - command, 0.0)
    return f"CPU {line.cpu}: use of its time", [*rows, _bar("free", free, width, "faint", glyphs)]


def _cpu_in_question(model: ScreenModel, frame: Frame) -> CpuLine | None:
    selected = model.selected()
    cpu = model.cpu if model.screen == Screen.CPU else model.cpu_of(selected) if selected is not None else None
    if cpu is not None:
        return next((line for line in frame.cpus if line.cpu == cpu), None)
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    if worst_of(line.stolen_ns_per_s for line in targets) is None:
        return None
    return max(targets, key=lambda line: line.stolen_ns_per_s or 0, default=None)


def _bar(label: str, share: float, width: int, style: Style, glyphs: Glyphs) -> Row:
    drawn = bar(share, max(width - _LABEL - _SHARE, 0), style, glyphs)
    return [(f"{label:<{_LABEL}}", "plain"), *drawn, (f"{short_share(share):>{_SHARE}}", "plain")]


def _conditions(frame: Frame) -> tuple[str, list[Row]]:
    """Return the target CPUs' clocks, turbo, the hottest sensor and mains power; unknown CPUs and sensors are named."""
    rows: list[Row] = []
    targets = [line for line in frame.cpus if line.role == Role.TARGET]
    clocks = [line.current_khz for line in targets if line.current_khz is not None]
    governors = sorted({line.governor for line in targets if line.governor is not None})
    if clocks:
        low, high = min(clocks), max(clocks)
        text = describe_clock(high) if high - low < high / 1000 else describe_clocks(low, high)
        unknown_sensors = format_cpu_list(
            line.cpu for line in targets if line.current_khz is None or line.governor is None
        )
        rows.append([*fact("clock", f"{text} {'/'.join(governors)}".rstrip(), _NAME), *_unknown_note(unknown_sensors)])
    if frame.turbo is not None:
        rows.append(fact("turbo", frame.turbo, _NAME))
    measured_sensors = [sensor for sensor in frame.conditions.temperatures if sensor.celsius is not None]
    if measured_sensors:
        hottest = max(measured_sensors, key=lambda sensor: sensor.celsius or 0.0)
        of = f" of {hottest.critical_celsius:g}" if hottest.critical_celsius is not None else ""
        unknown_sensors = ", ".join(sensor.name for sensor in frame.conditions.temperatures if sensor.celsius is None)
        rows.append([*fact("heat", f"{hottest.celsius:g}{of} °C", _NAME), *_unknown_note(unknown_sensors)])
    if frame.conditions.mains_power is False:
        rows.append(fact("power", "on battery", _NAME, "notable"))
    return "conditions", rows


def _unknown_note(what: str) -> Row:
    return [(f"  ? {what}", "unknown")] if what else []


def _checks(frame: Frame, glyphs: Glyphs) -> tuple[str, list[Row]]:
    """Return how many checks have each mark, and the checks that did not pass, the gravest first."""
    number_of = frame.number_of
    if frame.verdict is None:
        return "", []
    blocking, warned = number_of.get(Gravity.FAILED, 0), number_of.get(Gravity.WARNED, 0)
    unknown = number_of.get(Gravity.UNANSWERED, 0) + number_of.get(Gravity.OPEN, 0)
    over = f", last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else ""
    row: Row = [
        (f"{glyphs.failing} {blocking}", "grave" if blocking else "plain"),
        (f"  ! {warned}  ? {unknown}  {glyphs.passing} {number_of.get(Gravity.PASSED, 0)}", "plain"),
    ]
    rows = [row]
    for finding in frame.findings:
        if finding.gravity in _LISTED:
            sign, style = mark(finding.gravity, glyphs)
            rows.append([(f"{sign} {finding.id}", style)])
    return f"preflight{over}", rows


def mark(gravity: Gravity, glyphs: Glyphs) -> Piece:
    """Return the mark of a gravity: a character and its style."""
    return mark_of(gravity, glyphs.has_braille), MEANINGS[gravity]
