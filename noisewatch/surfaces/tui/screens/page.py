"""The common parts of all screens: head, body, timeline and keys.

The head's first row has tabs, machine and time; the third has target CPUs, checks and the monitor's own cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct

from noisewatch.cpus import format_cpu_strides
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Space, panel
from noisewatch.surfaces.drawing.text_row import Piece, Row, cut, justify, length, with_notice
from noisewatch.surfaces.tui.draw.headline import COPY, checks_row, has_command, head_rows, key_pieces
from noisewatch.surfaces.tui.draw.idle_probe_words import header_words
from noisewatch.surfaces.tui.draw.timeline import number_in, over_limit, timeline_rows, timeline_title
from noisewatch.surfaces.tui.state.run_history import describe_run
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.units import short_share


def tab_row(model: ScreenModel, width: int, glyphs: Glyphs) -> Row:
    """Return the tabs with machine and time; if they do not fit, the machine is shortened first, then the tabs."""
    frame, clock = model.frame, model.wall_clock()
    machine = (frame.machine, frame.online_count, frame.origin) if frame is not None else None
    begin, after = _row_before_clock(machine, model.screen, width, glyphs, clock is not None)
    return [*begin, (f"  {clock}", "plain")] if after else begin


_Named = tuple[str, int, str | None]  # the machine, its online CPUs, and its origin if it is not this host
_CLOCK: Row = [("  00:00:00", "plain")]


@lru_cache(maxsize=8)
def _row_before_clock(
    machine: _Named | None, screen: Screen, width: int, glyphs: Glyphs, has_clock: bool
) -> tuple[Row, bool]:
    """Return the row without the time, and whether the time fits after it."""
    name: Row = [("noisewatch", "title")]
    right = _CLOCK if has_clock else []
    machines = _machines(machine, glyphs)
    named, digits = _tabs(screen, True), _tabs(screen, False)
    for machine_row, tabs in (*((row, named) for row in machines), *((row, digits) for row in machines)):
        left = width - length([*name, *machine_row, *tabs, *right])
        if left >= 2:
            return [*name, *machine_row, (" " * left, "plain"), *tabs], has_clock
    if length([*name, *digits]) < width // 2:
        return justify([*name, *machines[0]], [("  ", "plain"), *digits], width), False
    return cut([*name, *machines[0]], width), False


def _machines(machine: _Named | None, glyphs: Glyphs) -> list[Row]:
    """Return rows with the machine's name, number of CPUs and origin, from complete to short."""
    if machine is None:
        return [[]]
    name, cpus, origin_text = machine
    host: Piece = (f"  {name}", "plain")
    count: Piece = (f" {glyphs.bullet} {cpus} CPUs", "plain")
    if origin_text is None:
        return [[host, count], [host]]
    origin: Piece = (f"  {origin_text}", "faint")
    return [[host, count, origin], [host, origin], [origin]]


def _tabs(shown: Screen, has_names: bool) -> Row:
    """Return the tabs, such as `1 overview [2 map] 3 irqs`; without `has_names` other screens are only digits."""
    row: Row = []
    for screen in Screen:
        if screen == shown:
            row.append((f"[{screen.number} {screen}]", "strong"))
        else:
            row.append((f" {screen.number} {screen} " if has_names else f" {screen.number} ", "faint"))
    return row


def status_row(model: ScreenModel, width: int, noise_counts: Sequence[str] = ()) -> Row:
    """Return a row with runs, idle probe, tuning, baseline, target CPUs and checks, and the monitor's own cost.

    `noise_counts`, texts on the number of noisy intervals, are included if they fit.
    """
    frame = model.frame
    if frame is None:
        return []
    row: Row = [(f"{frame.remark}  ", "doubt")] if frame.remark else []
    if not model.is_stale or model.cursor is not None:
        run_texts = [describe_run(run, frame.target) for run in frame.runs]
        row += [(f"{text}  ", "strong") for text in run_texts if text]
    if not model.is_stale:  # without the sampler there is no idle probe
        row += [*words, ("  ", "plain")] if (words := header_words(frame)) else []
    row += [(f"{frame.tuned}  ", "strong")] if frame.tuned is not None else []
    if model.baseline is not None:
        ago = (frame.taken_at_ns - model.baseline.taken_at_ns) / 1e9
        when = f"{ago:.0f} s ago" if ago >= 0 else f"{-ago:.0f} s later"
        row.append((f"change against {model.baseline.intervals} intervals, marked {when}  ", "strong"))
    target: Row = [(f"target {format_cpu_strides(frame.target) or 'none'}", "strong")]
    chosen: Row = [(f" ({frame.target_chosen_by})", "faint")]
    checks = checks_row(model, frame) if frame.seconds > 0 else []  # without rates the headline shows them
    checks = [("  ", "plain"), *checks] if checks else []
    counts: Row = [(f"  {', '.join(noise_counts)}", "plain")] if noise_counts else []
    for own in _own_costs(model):
        for left in (
            [*row, *target, *chosen, *checks, *counts],
            [*row, *target, *chosen, *checks],
            [*row, *target, *checks],
        ):
            if length(left) + length(own) <= width:
                return justify(left, own, width)
    return cut([*row, *target, *checks], width)


def _own_costs(model: ScreenModel) -> list[Row]:
    """Return rows on the monitor's own cost, from all known figures down to an empty row."""
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


_LOWEST_WITH_TIMELINE, _LOWEST_WITH_EVENTS = 16, 20
_FRAMED_TIMELINE = 5
_LEAST_WITH_FRAMES = (100, 32)  # columns and lines; without edges smaller screens show more
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("space", "freeze"),
    ("enter", "CPU"),
    (f"1-{len(Screen)}", "screens"),
    ("p", "preflight"),
    ("c", "calibrate"),
    ("[ ]", "spikes"),
    ("t", "trace"),
)
_SNAPSHOT_KEYS = (  # while the newest interval is not followed
    ("q", "quit"),
    ("?", "help"),
    ("space", "resume"),
    ("enter", "CPU"),
    ("[ ]", "spikes"),
    ("left right", "step"),
    (")", "newest"),
)
_MEASURING = ("c", "t")  # for a recording, these keys only show a calibration or trace that it contains
_ARROWS = {"left right": "← →", "up down": "↑ ↓"}

Keys = Sequence[tuple[str, str]]  # each key, and what it does
Body = Callable[[ScreenModel, Space], list[Row]]


class Heights(Struct, frozen=True):
    """The number of rows of each part of a screen, from the top; on a low screen some parts have none."""

    head: int
    body: int
    timeline: int
    keys: int


def has_frames(width: int, height: int) -> bool:
    """Return whether a screen of that size is drawn with frames."""
    return width >= _LEAST_WITH_FRAMES[0] and height >= _LEAST_WITH_FRAMES[1]


def heights(width: int, height: int, has_runs: bool = False) -> Heights:
    """Return the number of rows of each part of a screen; runs have their own lane if events have one."""
    head = 3 if height >= 12 else (2 if height >= 6 else 1)
    keys = 1 if height >= 8 else 0
    timeline = 3 if height >= _LOWEST_WITH_EVENTS else (2 if height >= _LOWEST_WITH_TIMELINE else 0)
    timeline = _FRAMED_TIMELINE if has_frames(width, height) else timeline
    timeline += has_runs and timeline > 2
    return Heights(head, max(height - head - timeline - keys, 0), timeline, keys)


def number_at(model: ScreenModel, x: int, y: int, width: int, height: int) -> int | None:
    """Return the interval that the timeline shows at a position on the screen, or None outside the timeline."""
    parts = heights(width, height, model.runs.has_any)
    edge = 2 if parts.timeline >= _FRAMED_TIMELINE else 0
    return number_in(model, x - edge, width - 2 * edge) if 0 <= y - parts.head - parts.body < parts.timeline else None


def page(model: ScreenModel, width: int, height: int, glyphs: Glyphs, body: Body, keys: Keys = _KEYS) -> list[Row]:
    """Return a whole screen."""
    parts = heights(width, height, model.runs.has_any)
    noise_counts = over_limit(model) if parts.timeline < _FRAMED_TIMELINE else []
    status = status_row(model, width, noise_counts) if parts.head > 2 else []
    rows = head_rows(model, tab_row(model, width, glyphs), status, width, parts.head, glyphs)
    space = Space(width, parts.body, glyphs, has_frames(width, height))
    drawn = body(model, space)[: parts.body]
    rows += drawn if space.is_framed else [cut(row, width) for row in drawn]
    rows += [[] for _ in range(parts.head + parts.body - len(rows))]
    rows += _timeline(model, width, parts.timeline, glyphs)
    shown = _SNAPSHOT_KEYS if model.cursor is not None and keys is _KEYS else keys
    if model.cursor is not None:
        space_does = "resume" if not model.is_recorded else "stop" if model.plays else "play"
        shown = [(key, space_does if key == "space" else action) for key, action in shown]
    copies = model.frame is not None and has_command(model, model.frame)
    if model.screen in (Screen.CLOCK, Screen.PREFLIGHT) and not copies:
        shown = [binding for binding in shown if binding != COPY]
    if model.is_recorded:
        shown = [(key, action) for key, action in shown if key not in _MEASURING]
    shown = (("q", "close"), *shown[1:]) if model.has_opened else shown
    rows = [*rows, *([_key_row(width, tuple(shown), glyphs)] if parts.keys else [])][:height]
    if model.notice is not None and height > 1:
        rows = with_notice(rows, model.notice, width)  # shown until the next key
    return rows


def _timeline(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    if height < _FRAMED_TIMELINE:
        return timeline_rows(model, width, height, glyphs)
    rows = timeline_rows(model, width - 4, height - 2, glyphs)
    arrows = _ARROWS["left right"] if glyphs.has_braille else "left right"
    keys = f"[ ] {_jump_targets(model)} · {{ }} events · {arrows} step · w zoom"
    return panel(timeline_title(model), rows, width, height, glyphs, " · ".join([*over_limit(model), keys]))


def _jump_targets(model: ScreenModel) -> str:
    """Return what `[` and `]` go to."""
    if model.screen == Screen.CLOCK:
        return "clock drops"
    if model.screen == Screen.CPU and model.cpu is not None:
        return f"spikes of CPU {model.cpu}"
    row = model.irq_listing().selected if model.screen == Screen.IRQS else None
    return f"rises of {row.short_name}" if row is not None else "spikes"


@lru_cache(maxsize=8)
def _key_row(width: int, keys: tuple[tuple[str, str], ...], glyphs: Glyphs) -> Row:
    """Return the keys that fit completely."""
    row: Row = []
    for name, action in keys:
        pieces = key_pieces(_ARROWS.get(name, name) if glyphs.has_braille else name, action)
        if length(row) + length(pieces) > width:
            break
        row += pieces
    return row
