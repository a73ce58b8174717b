"""The screen as rows of styled text: pure functions of the model and the space there is."""

from __future__ import annotations

from itertools import islice

from rich.cells import cell_len, set_cell_size

from noisewatch.sources.cpulist import format_cpu_list
from noisewatch.surfaces.frame import HOUSEKEEPING, OFFLINE, SIBLING, TARGET, CpuLine, CulpritLine
from noisewatch.surfaces.tui.glyphs import Glyphs, duration, level_of, rate, share, style_of
from noisewatch.surfaces.tui.screen_model import ScreenModel, sorted_cpus, sorted_culprits

Row = list[tuple[str, str]]  # pieces of text, each with the name of its style

_ROLE_MARKS = {TARGET: "T", SIBLING: "s", HOUSEKEEPING: " ", OFFLINE: "x"}
_VERDICTS = {"stable": ("QUIET", "good"), "unstable": ("NOISY", "bad"), "unknown": ("UNKNOWN", "doubt")}
_CPU_PANEL_SHARE = 0.5
_MOST_FAILED = 3
_NARROW = 60
_WIDEST_NAME = 64  # so that on a wide screen the figures stay near the name
KEYS = (
    ("q", "quit"),
    ("space", "freeze"),
    ("s", "sort"),
    ("a", "all CPUs"),
    ("c", "calibrate"),
    ("t", "trace"),
    ("?", "help"),
)


def header_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Host and verdict; target CPUs and the worst of them; what failed."""
    frame = model.frame
    if frame is None:
        return [_ends([("noisewatch", "title")], [(model.trouble or "looking …", "doubt")], width), [], []]
    left: Row = [("noisewatch", "title"), (f"  {frame.machine} {glyphs.bullet} {frame.online_count} CPUs", "plain")]
    if model.frozen is not None:
        left.append((f"  FROZEN {model.frozen_for_s():.0f} s ago", "doubt"))
    elif model.trouble:
        left.append((f"  {model.trouble}", "doubt"))
    elif frame.source is not None:
        left.append((f"  {frame.source}", "faint"))
    return [_ends(left, [_verdict(model)], width), _target_row(model, width, glyphs), _cut(_failed_row(model), width)]


def _verdict(model: ScreenModel) -> tuple[str, str]:
    verdict = model.frame.verdict if model.frame is not None else None
    if verdict is None:
        return (" no rates yet ", "faint")
    word, style = _VERDICTS[verdict]
    return (f" {word} ", style)


def _target_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """What finds no room goes: first why these CPUs, then our own cost."""
    frame = model.frame
    if frame is None:
        return []
    target: Row = [(f"target {format_cpu_list(frame.target) or 'none'}", "strong")]
    chosen: Row = [(f" ({frame.target_chosen_by})", "faint")]
    worst: Row = []
    own: Row = []
    known = [line for line in frame.cpus if line.role == TARGET and line.stolen_ns_per_s is not None]
    if known:
        line = max(known, key=lambda line: line.stolen_ns_per_s or 0)
        mark = glyphs.estimate if line.is_estimate else ""
        lost = f"CPU {line.cpu} {mark}{duration(line.stolen_ns_per_s)}/s"
        worst = [("  worst ", "plain"), (lost, style_of(line.stolen_ns_per_s))]
    if frame.sampler_cpu_s is not None:
        house = format_cpu_list(frame.housekeeping)
        own = [(f"  self {share(model.shown.own_cpu_share)}" + (f" on CPU {house}" if house else ""), "faint")]
    for left, right in ((target + chosen + worst, own), (target + worst, own), (target + worst, [])):
        if _length(left) + _length(right) <= width:
            return _ends(left, right, width)
    return _cut(worst[1:] or target, width)


def _failed_row(model: ScreenModel) -> Row:
    frame = model.frame
    if frame is None:
        return []
    if frame.remark:
        return [(frame.remark, "doubt")]
    if frame.verdict is None:
        return []
    row: Row = []
    if model.shown.interval_count:
        picture = model.shown
        row.append((f"{picture.disturbed_count} of {picture.interval_count} intervals lost over 0.5%  ", "plain"))
    if frame.failed:
        named = ", ".join(frame.failed[:_MOST_FAILED]) + (" …" if len(frame.failed) > _MOST_FAILED else "")
        return [*row, ("last 5 s fails: ", "plain"), (named, "grave")]
    if frame.unknown:
        named = ", ".join(frame.unknown[:_MOST_FAILED]) + (" …" if len(frame.unknown) > _MOST_FAILED else "")
        return [*row, ("unknown: ", "plain"), (named, "unknown")]
    return row


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
    history = f"last {max(width - len(columns), 0)} intervals"
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


def _spark(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> Row:
    """The history, the newest at the right; runs of one style are one piece."""
    history = model.shown.history_by_cpu.get(cpu)
    if history is None or width < 1:
        return []
    shown = list(islice(history, max(len(history) - width, 0), None))
    row: Row = [(" " * (width - len(shown)), "plain")]
    for lost in shown:
        glyph = glyphs.unknown if lost is None else glyphs.ramp[level_of(lost)]
        style = style_of(lost)
        if row and row[-1][1] == style:
            row[-1] = (row[-1][0] + glyph, style)
        else:
            row.append((glyph, style))
    return row


def culprit_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """A heading and a row for each source of noise, the costliest first. A narrow screen leaves out kind and rate."""
    if height < 1:
        return []
    is_narrow = width < _NARROW
    fixed = 21 if is_narrow else 44
    name_width = min(max(width - fixed, 8), _WIDEST_NAME)
    who = f"who, {'all' if model.shows_all_cpus else 'target'} CPUs, by {model.sort}"
    heading = f" CPU {'' if is_narrow else 'kind          '}{_fitted(who, name_width)}"
    heading += f"{'' if is_narrow else '      /s'}   lost/s  share"
    rows: list[Row] = [[(heading, "heading")]]
    lines = sorted_culprits(model)
    rows += [_culprit_row(line, name_width, is_narrow, glyphs) for line in lines[: height - 1]]
    if not lines and model.frame is not None:
        said = "nothing seen" if model.frame.seconds > 0 else "no rates: `noisewatch show` tells what is known"
        rows.append([(f"     {said}", "calm" if model.frame.seconds > 0 else "faint")])
    return rows


def _culprit_row(line: CulpritLine, name_width: int, is_narrow: bool, glyphs: Glyphs) -> Row:
    lost = (glyphs.estimate if line.is_estimate else "") + duration(line.stolen_ns_per_s)
    how_often = rate(line.rate_per_s) if line.rate_per_s is not None else glyphs.dash
    role_style = "faint" if line.role == HOUSEKEEPING else "plain"
    return [
        (f" {line.cpu:>3} " + ("" if is_narrow else f"{line.kind:<13} "), role_style),
        (_named(line, name_width), "strong" if line.role != HOUSEKEEPING else "plain"),
        ("" if is_narrow else f" {how_often:>7}", role_style),
        (f" {lost:>8} {share(line.stolen_ns_per_s / 1e9):>6}", style_of(line.stolen_ns_per_s)),
    ]


def _named(line: CulpritLine, width: int) -> str:
    """The name, cut where it must be, and the whole of the numbers: half of one would be another's."""
    thread = "" if line.tid in (None, line.pid) else f"/{line.tid}"
    pid = "" if line.pid is None else f" [{line.pid}{thread}]"
    room = max(width - len(pid), 0)
    name = line.name if cell_len(line.name) <= room else _fitted(line.name, max(room - 1, 0)) + "…"
    return _fitted(name + pid, width)


def _fitted(text: str, width: int) -> str:
    """The text in exactly so many columns; wide characters count as what they take on a terminal."""
    return set_cell_size(text, width)


def _length(row: Row) -> int:
    return sum(cell_len(text) for text, _ in row)


def _cut(row: Row, width: int) -> Row:
    """The row, with a sign where its end found no room."""
    if _length(row) <= width or width < 1:
        return row
    return [*_ends(row, [("…", "faint")], width)]


def key_row(width: int) -> Row:
    """As many keys as fit whole."""
    row: Row = []
    used = 0
    for key, action in KEYS:
        piece = f" {key} {action} "
        if used + len(piece) > width:
            break
        used += len(piece)
        row += [(f" {key} ", "key"), (f"{action} ", "plain")]
    return row


def _ends(left: Row, right: Row, width: int) -> Row:
    """Both in one row; what is at the right is never cut."""
    room = max(width - sum(cell_len(text) for text, _ in right), 0)
    kept: Row = []
    for text, style in left:
        piece = text if cell_len(text) <= room else set_cell_size(text, room)
        room -= cell_len(piece)
        kept.append((piece, style))
    return [*kept, (" " * room, "plain"), *right]


def _heights(model: ScreenModel, height: int) -> tuple[int, int, int, int]:
    """Rows for the header, the CPUs, the culprits and the keys. A low screen loses the keys first."""
    header = 3 if height >= 12 else (2 if height >= 6 else 1)
    keys = 1 if height >= 8 else 0
    left = max(height - header - keys, 0)
    cpu_count = len(model.frame.cpus) if model.frame is not None else 1
    cpus = cpu_panel_height(cpu_count, left)
    return header, cpus, left - cpus, keys


def cpu_room(model: ScreenModel, height: int) -> int:
    """How many CPUs a screen of this height shows at once."""
    return max(_heights(model, height)[1] - 1, 0)


def all_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen: header, CPUs, culprits, keys."""
    header_height, cpu_height, culprit_height, key_height = _heights(model, height)
    rows = header_rows(model, width, glyphs)[:header_height]
    rows += cpu_rows(model, width, cpu_height, glyphs)
    rows += culprit_rows(model, width, culprit_height, glyphs)
    rows += [[] for _ in range(height - key_height - len(rows))]
    return [*rows, key_row(width)][:height] if key_height else rows[:height]
