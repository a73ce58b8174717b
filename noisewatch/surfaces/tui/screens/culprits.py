"""The list of culprits on three screens, with the selected culprit, its fix and the filter.

The overview lists the culprits on target CPUs and their siblings (or on all CPUs), the screen of one CPU lists that
CPU's culprits, and the last screen lists all culprits that match the filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from noisewatch.cpus import format_cpu_strides, name_cpus
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind
from noisewatch.model.rhythm import rhythm_of_intervals, steady_rate
from noisewatch.model.vocabulary import explain_thread
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space, count_rows, side_by_side
from noisewatch.surfaces.drawing.text_row import Row, first_that_fits
from noisewatch.surfaces.drawing.wraps import wrap_all
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_rows, history_of, noise_in
from noisewatch.surfaces.tui.draw.levels import scale_label, tall_rows
from noisewatch.surfaces.tui.draw.side_panel import LEAST_WITH_SIDE, SIDE, side_panel
from noisewatch.surfaces.tui.draw.timeline import LABEL, axis_of, mark_cursor
from noisewatch.surfaces.tui.screens.event_list import latest_section
from noisewatch.surfaces.tui.screens.irq_panel import NAME, fact_row, irq_title, place_rows
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.filters import (
    cpus_in_filter,
    describe_culprit_count,
    listed_filter,
    mistakes,
    order_in_words,
)
from noisewatch.surfaces.tui.state.folding import FoldedLine, by_cpu, cpus_of, culprit_identity, is_least, parts_of
from noisewatch.surfaces.tui.state.irq_table import disturbs_target, row_of
from noisewatch.surfaces.tui.state.leading import likely_irq
from noisewatch.surfaces.tui.state.noise import NOT_FOLLOWED_NS, columns_of
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.units import describe_count, describe_rate, short_noise, short_share

_LEAST_TABLE = 3  # rows left next to a fix: a heading, the selected row and one more

_FACTS, _LEAST_FACTS = 8, 3  # rows for the selected culprit: if the table does not fit, and the minimum
_LEAST_WIDTH = 60  # columns
_MOST_CPUS = 4
_SHORTEST, _TALLEST = 4, 24  # rows of the chart: reserved above the events, and the maximum
_MOST_INTERVALS = 240
_MOST_RATES = 30  # intervals in which a rate has to be steady, if the thread ran in that many
_BELOW = f"not among the {MOST_CULPRITS} costliest here"
_LONGEST_FILTER = 60  # characters
_KEYS = (
    ("q", "quit"),
    ("/", "filter"),
    ("s", "sort"),
    ("enter", "open CPU"),
    ("f", "fix"),
    ("y", "copy fix"),
    ("esc", "back"),
)


def culprits_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the screen of all culprits."""
    return page(model, width, height, glyphs, culprit_list, _KEYS)


def culprit_list(model: ScreenModel, space: Space) -> list[Row]:
    """Return the culprits that the screen lists, and the selected culprit; on a wide screen also the side panel."""
    side_width = SIDE if space.is_framed and space.width >= LEAST_WITH_SIDE and model.screen != Screen.CULPRITS else 0
    list_space = replace(space, width=space.width - side_width)
    culprits = list_space.draw(_sections(model, list_space))
    return side_by_side(culprits, side_panel(model, side_width, space.height, space.glyphs)) if side_width else culprits


def _sections(model: ScreenModel, space: Space) -> list[Section]:
    """Return the filter and the table of culprits, the selected culprit or its fix, and the latest events.

    Sections below the table are left out if they do not fit.
    """
    listing, top = model.listing(), filter_rows(model, space.inside) if model.screen == Screen.CULPRITS else []
    selected, needed = listing.selected, len(top) + listing.needed
    below = _rows_below(model, needed, space) if selected is not None else 0
    further = _selected_and_latest(model, selected, space, below) if below > 0 and selected is not None else []
    further = further or latest_section(model, space, needed)
    room = space.room - count_rows(further)
    title, who, keys = _captions(model, describe_culprit_count(model, listing))
    rows = culprit_rows(model, listing, "who" if space.is_framed else who, space.inside, room - len(top), space.glyphs)
    return [Section(title, [*top, *rows], keys, room if space.is_framed or below else None, True, True), *further]


def _captions(model: ScreenModel, count: str) -> tuple[str, str, str]:
    """Return the list's title, the heading that replaces the title if the list has no frame, and the list's keys."""
    if model.screen == Screen.CPU:
        title = f"culprits on CPU {model.cpu}, by {model.sort}"
        return title, title, f"{count} · s sort"
    by, keys = f"by {order_in_words(model.sort, model.folds)}", f"{count} · s sort · g group · / filter"
    if model.screen == Screen.CULPRITS:
        return f"culprits on all CPUs, {by}", f"{count}, {by}", keys
    where, short = ("all CPUs", "all CPUs") if model.shows_all_cpus else ("the target CPUs", "targets")
    return f"culprits on {where}, {by}", f"culprits on {short}, {by}", keys


def _selected_and_latest(model: ScreenModel, selected: CulpritLine, space: Space, height: int) -> list[Section]:
    """Return the selected culprit and the latest events in `height` rows; the culprit's chart takes spare rows."""
    width, glyphs = space.inside, space.glyphs
    rows, noise = _facts_and_noise(model, selected, width, height, glyphs)
    used_rows = space.room - height + len(rows) + (_SHORTEST if noise else 0)
    latest = latest_section(model, space, used_rows)
    room = height - count_rows(latest)
    left = min(room - len(rows), _TALLEST)
    if noise and left > 0:
        rows = [*rows, *_chart(model, selected, width, left, glyphs)]
    row = row_of(model, str(selected.irq)) if selected.irq is not None else None
    offered = ["f fix"] if row is None or disturbs_target(model, row) else []  # other IRQs need no fix
    offered += [] if model.screen == Screen.CPU else ["enter its CPU"]
    keys = fix_keys(model) or " · ".join(offered)
    return [Section(_title(model, selected), rows, keys, room), *latest]


def _rows_below(model: ScreenModel, needed: int, space: Space) -> int:
    """Return how many rows are below the table: the rows it does not need, or a share if it needs all of them."""
    room = space.room - 1
    free = room - needed
    if model.shows_fix:
        fix_height = len(_advice_lines(model.advice.lines, space.inside)) if model.advice else 0
        return min(max(fix_height, free, _LEAST_FACTS), room - min(_LEAST_TABLE, room // 2))
    if space.width < _LEAST_WIDTH:
        return 0
    below = max(free, min(_FACTS if space.is_framed else _LEAST_FACTS, room // 2))
    return below if below >= _LEAST_FACTS else 0


def fix_keys(model: ScreenModel) -> str:
    """Return the keys of a shown fix; empty if none is shown."""
    if not model.shows_fix:
        return ""
    return "y copy · f, esc close" if model.advice is not None and model.advice.commands else "f, esc close"


def fix_rows(model: ScreenModel, width: int, max_rows: int) -> list[Row]:
    """Return the fix, or a note while it is looked up; a fix that does not fit is scrolled."""
    advice = model.advice
    if advice is None:
        waiting: Row = [("looking up the fix …", "faint")]
        return [waiting][: max(max_rows, 0)]
    rows = _advice_lines(advice.lines, width)
    to_do = next((command for _, command in advice.commands), advice.by_hand)
    if len(rows) > max_rows and to_do is not None:  # show the fix before its reason
        first = [line for line in advice.lines if line.partition(": ")[2] == to_do]
        rows = _advice_lines([*first, *(line for line in advice.lines if line not in first)], width)
    model.advice = replace(advice, offset=min(advice.offset, max(len(rows) - max_rows, 0)))
    shown = rows[model.advice.offset : model.advice.offset + max(max_rows, 0)]
    if shown and model.advice.offset + max_rows < len(rows):
        shown[-1] = [(" … pgdn scrolls, esc closes", "faint")]
    return shown


def _advice_lines(lines: Iterable[str], width: int) -> list[Row]:
    return [[(f" {line}", "plain")] for line in wrap_all(lines, width - 2, keep="hyphens")]


def _title(model: ScreenModel, line: CulpritLine) -> str:
    """Return a title such as `IRQ 205 · eth0-TxRx-5 · Ethernet Controller` or `thread postgres [7/9] on CPU 5`."""
    row = row_of(model, str(line.irq)) if line.irq is not None else None
    if row is not None:
        return irq_title(row)
    return f"{line.label_with_kind} on {name_cpus(cpus_of(line), format_cpu_strides)}"


def _facts_and_noise(
    model: ScreenModel, line: CulpritLine, width: int, height: int, glyphs: Glyphs
) -> tuple[list[Row], Sequence[float | None]]:
    """Return rows of facts about the culprit, and its noise over time; if a fix is shown, the fix and no noise."""
    if model.shows_fix:
        return fix_rows(model, width, height), ()
    noise = history_of(model)(line, min(max(width - NAME, 1), _MOST_INTERVALS))
    return [
        *_where(model, line),
        *_costs(model, line, width - NAME, glyphs),
        *_recent_noise(model, noise, width - NAME, is_least(line)),
        *_rhythm(model, line, noise, width - NAME),
        *_gaps(noise, width - NAME, glyphs),
    ], noise


def _where(model: ScreenModel, line: CulpritLine) -> list[Row]:
    """Return facts: an IRQ's CPUs, the IRQ that likely raises a softirq, what a thread does, or its command."""
    row = row_of(model, str(line.irq)) if line.irq is not None else None
    if row is not None:
        return place_rows(model, row)[:2]
    if line.kind == Kind.KERNEL_THREAD:
        does = explain_thread(line.name)
        return [fact_row("does", does)] if does is not None else []
    process = model.frame.process_of(line) if model.frame is not None and line.kind == Kind.THREAD else None
    if process is not None:
        facts = (("runs", process.command), ("in", process.surroundings))
        return [fact_row(name, text) for name, text in facts if text]
    irq = likely_irq(line, model.frame.culprits) if model.frame is not None else None
    if irq is not None:
        name, rate = irq.name.partition(" (")[0], describe_rate(irq.rate_per_s)
        return [fact_row("likely by", f"IRQ {name}, {rate}: the most frequent one on CPU {line.cpu}")]
    return []


def _costs(model: ScreenModel, line: CulpritLine, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprit's cost on its costliest CPUs, and why the cost is an estimate, if it is."""
    what, on = culprit_identity(line), cpus_of(line)
    same = [other for other in model.culprits if other.cpu in on and culprit_identity(other) == what]
    same = [other for other in same if isinstance(line, FoldedLine) or line.tid in (None, other.tid)]
    costliest = sorted(by_cpu(same), key=lambda culprit: -culprit.stolen_ns_per_s)
    if not costliest:
        return [fact_row("costs", _no_cost_reason(history_of(model)(line, 1)))]
    mark = glyphs.estimate
    least = "at least " if is_least(line) else ""
    parts = [f"{least}{_cost(costliest[0], glyphs)} ({short_share(costliest[0].stolen_ns_per_s / 1e9)})"]
    parts += [f", {_cost(culprit, glyphs)}" for culprit in costliest[1:_MOST_CPUS]]
    parts += [f", {len(costliest) - _MOST_CPUS} more"] if len(costliest) > _MOST_CPUS else []
    parts += [f"   {describe_rate(line.rate_per_s)}"] if line.rate_per_s else []
    if line.is_estimate:
        is_interrupt = line.kind in (*INTERRUPT_KINDS, Kind.SOFTIRQ)
        parts.append(f"   {mark} {'counted at a typical cost' if is_interrupt else 'may have moved between CPUs'}")
    return [fact_row("costs", first_that_fits(["".join(parts[:count]) for count in range(len(parts), 0, -1)], width))]


def _no_cost_reason(noise: Sequence[float | None]) -> str:
    if NOT_FOLLOWED_NS in noise:
        return f"unknown: {_BELOW}"
    return "unknown: its CPU was not read" if None in noise else "not seen in this interval"


def _cost(line: CulpritLine, glyphs: Glyphs) -> str:
    return f"{glyphs.estimate if line.is_estimate else ''}{short_noise(line.stolen_ns_per_s)} of CPU {line.cpu}"


def _recent_noise(model: ScreenModel, noise: Sequence[float | None], width: int, is_cut: bool) -> list[Row]:
    """Return the culprit's median and highest noise, and since when it has been present."""
    measured = [value for value in noise if value is not None and value != NOT_FOLLOWED_NS]
    if not measured:
        return []
    usual, count = f"max {short_noise(max(measured))}", describe_count(len(noise), "interval")
    if len(measured) < len(noise):
        usual = history = f"{usual} in {len(measured)} of {count}"  # the median of known values would be too high
    elif is_cut:
        usual = history = f"{usual} or more in {count}"
    else:
        usual = f"median {short_noise(median(measured))}, {usual}"
        history = f"{usual} in {count}"
    present_count = next((at for at, value in enumerate(reversed(noise)) if value is None or value <= 0), len(noise))
    if not present_count:
        return [fact_row("history", history)]
    if present_count == len(noise):
        return [fact_row("history", first_that_fits([f"{history}, present in all", history], width))]
    least = " at least" if noise[-1 - present_count] != 0 else ""
    first = model.number + 1 - present_count
    end_s = model.clocks.end_time_s(first)
    at = model.wall_clock(round(end_s * 1e9)) if end_s is not None else None
    since = (
        f"without a break since {at}{least}"
        if at is not None
        else f"for{least} {describe_count(present_count, 'interval')}"
    )
    return [
        fact_row(
            "history", first_that_fits([f"{history}, present {since}", f"{usual}, present {since}", history], width)
        )
    ]


def _rhythm(model: ScreenModel, line: CulpritLine, noise: Sequence[float | None], width: int) -> list[Row]:
    """Return the thread's steady rate in the last intervals, or its rhythm of several intervals; empty without both."""
    seconds = model.frame.seconds if model.frame is not None else 0.0
    parts = parts_of(line)
    if line.kind not in THREADS or seconds <= 0 or len(parts) != 1:
        return []
    numbers = range(max(model.number + 1 - _MOST_RATES, model.history.first), model.number + 1)
    rates = model.culprit_noise.rates(parts[0], numbers)
    steady = steady_rate([rate for rate, _ in rates], [noise_ns for _, noise_ns in rates], seconds)
    if steady is not None:
        texts = [f"{steady.text}, alike in {steady.alike} of {steady.count} intervals", steady.text]
        return [fact_row("rate", first_that_fits(texts, width))]
    rhythm = rhythm_of_intervals(noise, seconds)
    return [fact_row("rhythm", rhythm.text)] if rhythm is not None else []


def _gaps(noise: Sequence[float | None], width: int, glyphs: Glyphs) -> list[Row]:
    """Return the number of intervals with unknown noise, by reason, with their marks."""
    left_out, unknown = noise.count(NOT_FOLLOWED_NS), noise.count(None)
    counts_with_reasons = [(f"{glyphs.not_followed} {left_out} not followed", f": {_BELOW}")] if left_out else []
    counts_with_reasons += [(f"{glyphs.unknown} {unknown} unknown", ": not read")] if unknown else []
    choices = (
        "   ".join(f"{count}{reason}" for count, reason in counts_with_reasons),
        "   ".join(count for count, _ in counts_with_reasons),
    )
    return [fact_row("", first_that_fits(choices, width))] if counts_with_reasons else []


def _chart(model: ScreenModel, line: CulpritLine, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprit's noise in the last intervals, in the timeline's columns, with a scale at the left."""
    axis = axis_of(model, width)
    later = 0 if model.is_recorded else max(axis.last - model.number, 0) // axis.zoom  # a frozen chart does not grow
    last = axis.last - later * axis.zoom
    first = max(axis.first, last + 1 - _MOST_INTERVALS)
    axis = replace(axis, first=first, last=last, after=axis.after + later)
    noise = columns_of(noise_in(model, line, axis.numbers), axis.zoom)
    rows = [
        [
            (f"{scale_label(height - index, height):>{LABEL - 1}} {'':{axis.before}}", "faint"),
            *row,
            (" " * axis.after, "plain"),
        ]
        for index, row in enumerate(tall_rows(axis.spread(noise), height, glyphs, line.role))
    ]
    return mark_cursor(rows, axis, glyphs)


def begin_filter(model: ScreenModel) -> None:
    """Start a new filter; the next keys are typed into it."""
    if model.screen not in (Screen.CULPRITS, Screen.EVENTS, Screen.IRQS):
        model.go_to(Screen.CULPRITS)
    model.filter_before = _filter(model)
    _change(model, "")
    model.is_typing = True


def type_key(model: ScreenModel, key: str, character: str | None) -> None:
    """Type a key into the filter. Enter accepts it (an empty filter shows all), escape restores the earlier filter."""
    if key == "enter":
        model.is_typing = False
    elif key == "escape":
        model.is_typing = False
        _change(model, model.filter_before)
    elif key == "backspace":
        _change(model, _filter(model)[:-1])
    elif character is not None and character.isprintable():
        _change(model, (_filter(model) + character)[:_LONGEST_FILTER])


def hint(model: ScreenModel) -> str:
    """Return a hint on the keys that end typing."""
    before = f"esc: {model.filter_before}" if model.filter_before else "esc: as before"
    return f"enter: {'show these' if _filter(model) else 'show all'}, {before}"


def _filter(model: ScreenModel) -> str:
    if model.screen == Screen.EVENTS:
        return model.log.filter
    return model.irq_filter if model.screen == Screen.IRQS else model.filter


def _change(model: ScreenModel, text: str) -> None:
    """Set the filter of the screen, and select the first remaining row."""
    if model.screen == Screen.EVENTS:
        model.log.filter = text
    elif model.screen == Screen.IRQS:
        model.irq_filter = text
    else:
        model.filter = text
    model.close_fix()
    model.forget_selection()


def filter_rows(model: ScreenModel, width: int) -> list[Row]:
    """Return the rows of the filter; the end of a long filter stays visible, because text is typed there."""
    text = _filter(model)
    if not text and not model.is_typing:
        return []
    visible = text + ("_" if model.is_typing else "")
    label = " filter: "
    rows: list[Row] = [[(label, "faint"), (visible[-max(width - len(label), 1) :], "strong")]]
    if model.is_typing:
        rows[0].append((f"  {hint(model)}", "faint"))
    else:
        rows += [
            [(f" {part}", "doubt")]
            for part in wrap_all((*mistakes(text), *_absent(model)), width - 2, "", keep="hyphens")
        ]
    return rows


def _absent(model: ScreenModel) -> list[str]:
    """Return a message for CPUs in the filter that the machine does not have."""
    if model.frame is None:
        return []
    absent = (cpus_in_filter(listed_filter(model)) or frozenset()) - {line.cpu for line in model.cpus}
    return [f"this machine has no {name_cpus(absent)}"] if absent else []
