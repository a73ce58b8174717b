"""The selected culprit below a table: its name, where it may go, since when it is there, its cost; or its fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from noisewatch.cpus import format_cpu_strides, name_cpus
from noisewatch.kinds import INTERRUPT_KINDS, Kind
from noisewatch.model.vocabulary import explain_thread
from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine
from noisewatch.surfaces.reports.parts.wraps import wrap_all
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_rows, history_of
from noisewatch.surfaces.tui.draw.glyphs import NOT_FOLLOWED_NS, Glyphs, scale_label, tall_rows
from noisewatch.surfaces.tui.draw.headline import likely_irq
from noisewatch.surfaces.tui.draw.panel import joined, panel, side_by_side
from noisewatch.surfaces.tui.draw.side_panel import LEAST_WITH_SIDE, SIDE, side_panel
from noisewatch.surfaces.tui.draw.text_row import Row, first_that_fits, fitted
from noisewatch.surfaces.tui.screens.event_list import (
    latest_events,
    title_of_latest,
    with_headed_latest,
    with_latest,
)
from noisewatch.surfaces.tui.screens.irq_panel import NAME, fact_row, irq_title, place_rows
from noisewatch.surfaces.tui.state.folding import FoldedLine, by_cpu, cpus_of, is_least, what_is_same
from noisewatch.surfaces.tui.state.irq_table import disturbs_target, row_of
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count, describe_rate, short_noise, short_share

LEAST_TABLE = 3  # rows that a fix leaves: a heading, the selected row and one more

_FACTS, _LEAST_FACTS = 7, 3  # rows that the selected one gets, and needs, if the table does not fit
_LEAST_WIDTH = 60  # columns
_MOST_CPUS = 4
_SHORTEST, _TALLEST = 4, 24  # rows of the chart with events, and if there are few
_MOST_INTERVALS = 240
_BELOW = f"not among the {MOST_CULPRITS} costliest here"


def framed_with_selected(
    model: ScreenModel,
    listing: Listing[CulpritLine],
    title: str,
    keys: str,
    width: int,
    height: int,
    glyphs: Glyphs,
    top: Sequence[Row] = (),
) -> list[Row]:
    """Return frames that share edges: table, selected culprit and latest events, as far as they fit.

    `top` are rows above the table, in its frame.
    """

    def table(room: int) -> list[Row]:
        return [*top, *culprit_rows(model, listing, "who", width - 4, room - len(top), glyphs)]

    selected, needed = listing.selected, len(top) + listing.needed
    below = _rows_below(model, needed, height - 3, width - 4) if selected is not None else 0
    if below < 1 or selected is None:
        events = latest_events(model, width - 4, height - 3 - needed, glyphs)
        table_height = height - (len(events) + 1 if events else 0)
        return with_latest(
            model, panel(title, table(table_height - 2), width, table_height, glyphs, keys), events, width, glyphs
        )
    upper = panel(title, table(height - 3 - below), width, height - 1 - below, glyphs, keys)
    row = row_of(model, str(selected.irq)) if selected.irq is not None else None
    offered = ["f fix"] if row is None or disturbs_target(model, row) else []  # no other IRQ needs one
    offered += [] if model.screen == Screen.CPU else ["enter its CPU"]
    what = fix_keys(model) or " · ".join(offered)
    rows, events = _selected_and_events(model, selected, width - 4, below, glyphs)
    high = below - (len(events) + 1 if events else 0)
    lower = panel(culprit_title(model, selected), rows, width, high + 2, glyphs, what)
    return with_latest(model, joined(upper, lower, glyphs), events, width, glyphs)


def framed_beside_panel(
    model: ScreenModel, listing: Listing[CulpritLine], title: str, keys: str, width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """Return `framed_with_selected`, on a wide screen with the side panel next to it."""
    side_width = SIDE if width >= LEAST_WITH_SIDE else 0
    culprits = framed_with_selected(model, listing, title, keys, width - side_width, height, glyphs)
    return side_by_side(culprits, side_panel(model, side_width, height, glyphs)) if side_width else culprits


def with_selected(
    model: ScreenModel, listing: Listing[CulpritLine], who: str, width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """Return the table without frames, and the selected culprit and latest events in the remaining rows."""
    selected, table = listing.selected, partial(culprit_rows, model, listing, who, width, glyphs=glyphs)
    if model.shows_fix:
        advice = fix_rows(model, width, height - min(LEAST_TABLE, height // 2))
        return with_headed_latest(model, [*table(max(height - len(advice), 0)), *advice], width, height, glyphs)
    left = height - listing.needed - 1
    if selected is None or left < _LEAST_FACTS or width < _LEAST_WIDTH:
        return with_headed_latest(model, table(height), width, height, glyphs)
    facts, events = _selected_and_events(model, selected, width - 1, left, glyphs)
    shown = _with_heading(culprit_title(model, selected), [[(" ", "plain"), *row] for row in facts], width)
    return [*table(listing.needed), *shown, *_with_heading(title_of_latest(model), events, width)]


def _with_heading(title: str, rows: Sequence[Row], width: int) -> list[Row]:
    return [[(fitted(f" {title}", width), "heading")], *rows] if rows else []


def _selected_and_events(
    model: ScreenModel, selected: CulpritLine, width: int, height: int, glyphs: Glyphs
) -> tuple[list[Row], list[Row]]:
    """Return the selected culprit's rows and the latest events, with one row left between; its chart takes the rest."""
    rows, noise = _facts_and_noise(model, selected, width, height, glyphs)
    events = latest_events(model, width, height - len(rows) - (_SHORTEST if noise else 0) - 1, glyphs)
    left = min(height - len(rows) - (len(events) + 1 if events else 0), _TALLEST)
    if noise and left > 0:
        rows = [*rows, *_chart(noise, width, left, glyphs)]
    return rows[:height], events


def _rows_below(model: ScreenModel, needed: int, room: int, width: int) -> int:
    """Return the rows of `room` for the selected culprit: those that the table leaves, or its share if few are left."""
    free = room - needed
    if model.shows_fix:
        fix_height = len(_advice_lines(model.advice.lines, width)) if model.advice else 0
        return min(max(fix_height, free, _LEAST_FACTS), room - LEAST_TABLE)
    below = max(free, min(_FACTS, room // 2))
    return below if below >= _LEAST_FACTS else 0


def fix_keys(model: ScreenModel) -> str:
    """Return the keys of a shown fix; empty if none is shown."""
    if not model.shows_fix:
        return ""
    return "y copy · f, esc close" if model.advice is not None and model.advice.commands else "f, esc close"


def fix_below_title(model: ScreenModel, width: int, height: int) -> list[Row]:
    """Return the fix for a panel whose title names the culprit."""
    return fix_rows(model, width, height + 1)[1:] if model.advice is not None else fix_rows(model, width, height)


def fix_rows(model: ScreenModel, width: int, most: int) -> list[Row]:
    """Return the fix as soon as it is found; its first row names the culprit."""
    if model.advice is None:
        waiting: Row = [("reading what helps …", "faint")]
        return [waiting][: max(most, 0)]
    return [row for row in advice_rows(model, width, most) if row]


def advice_rows(model: ScreenModel, width: int, most: int) -> list[Row]:
    """Return the fix for the culprit; if it does not fit, it is scrolled, with a sign."""
    advice = model.advice
    if advice is None:
        return []
    about: Row = [(f" {advice.about.name}{advice.about.process_mark} on CPU {advice.about.cpu}", "strong")]
    rows: list[Row] = [about, *_advice_lines(advice.lines, width)]
    if len(rows) < most:
        return [[], *rows]
    to_do = next((command for _, command in advice.commands), advice.by_hand)
    if len(rows) > most and to_do is not None:  # the fix comes before the reason
        first = [line for line in advice.lines if line.partition(": ")[2] == to_do]
        rows = [about, *_advice_lines([*first, *(line for line in advice.lines if line not in first)], width)]
    model.advice = replace(advice, offset=min(advice.offset, max(len(rows) - most, 0)))
    shown = rows[model.advice.offset : model.advice.offset + max(most, 0)]
    if shown and model.advice.offset + most < len(rows):
        shown[-1] = [(" … pgdn scrolls, esc closes", "faint")]
    return shown


def _advice_lines(lines: Iterable[str], width: int) -> list[Row]:
    return [[(f" {line}", "plain")] for line in wrap_all(lines, width - 2, keep="hyphens")]


def culprit_title(model: ScreenModel, line: CulpritLine) -> str:
    """Return the culprit's title: `IRQ 205 · eth0-TxRx-5 · Ethernet Controller`; `thread postgres [7/9] on CPU 5`."""
    row = row_of(model, str(line.irq)) if line.irq is not None else None
    if row is not None:
        return irq_title(row)
    return f"{line.kind.with_name(line.name)}{line.process_mark} on {name_cpus(cpus_of(line), format_cpu_strides)}"


def _facts_and_noise(
    model: ScreenModel, line: CulpritLine, width: int, height: int, glyphs: Glyphs
) -> tuple[list[Row], Sequence[float | None]]:
    """Return the facts about the culprit and its noise over time; or its fix."""
    if model.shows_fix:
        return fix_below_title(model, width, height), ()
    noise = history_of(model)(line, min(max(width - NAME, 1), _MOST_INTERVALS))
    return [
        *_where(model, line),
        *_costs(model, line, width - NAME, glyphs),
        *_recent_noise(model, noise, width - NAME, is_least(line)),
        *_gaps(noise, width - NAME, glyphs),
    ], noise


def _where(model: ScreenModel, line: CulpritLine) -> list[Row]:
    """Return where an IRQ goes and may go, which IRQ likely raises a softirq, or what a kernel thread does."""
    row = row_of(model, str(line.irq)) if line.irq is not None else None
    if row is not None:
        return place_rows(model, row)[:2]
    if line.kind == Kind.KERNEL_THREAD:
        does = explain_thread(line.name)
        return [fact_row("does", does)] if does is not None else []
    irq = likely_irq(line, model.frame.culprits) if model.frame is not None else None
    if irq is not None:
        name, rate = irq.name.partition(" (")[0], describe_rate(irq.rate_per_s)
        return [fact_row("likely by", f"IRQ {name}, {rate}: the most frequent one on CPU {line.cpu}")]
    return []


def _costs(model: ScreenModel, line: CulpritLine, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprit's cost on each CPU, the costliest first, and whether it was measured."""
    what, on = what_is_same(line), cpus_of(line)
    same = [other for other in model.culprits if other.cpu in on and what_is_same(other) == what]
    same = [other for other in same if isinstance(line, FoldedLine) or line.tid in (None, other.tid)]
    costliest = sorted(by_cpu(same), key=lambda culprit: -culprit.stolen_ns_per_s)
    if not costliest:
        return [fact_row("costs", _why_no_cost(history_of(model)(line, 1)))]
    mark = glyphs.estimate
    least = "at least " if is_least(line) else ""
    parts = [f"{least}{_cost(costliest[0], glyphs)} ({short_share(costliest[0].stolen_ns_per_s / 1e9)})"]
    parts += [f", {_cost(culprit, glyphs)}" for culprit in costliest[1:_MOST_CPUS]]
    parts += [f", {len(costliest) - _MOST_CPUS} more"] if len(costliest) > _MOST_CPUS else []
    parts += [f"   {describe_rate(line.rate_per_s)}"] if line.rate_per_s else []
    if line.is_estimate:
        is_interrupt = line.kind in (*INTERRUPT_KINDS, Kind.SOFTIRQ)
        parts.append(f"   {mark} {'counted, at a typical cost' if is_interrupt else 'it may have been elsewhere'}")
    return [fact_row("costs", first_that_fits(["".join(parts[:count]) for count in range(len(parts), 0, -1)], width))]


def _why_no_cost(noise: Sequence[float | None]) -> str:
    if NOT_FOLLOWED_NS in noise:
        return f"unknown: {_BELOW}"
    return "unknown: its CPU was not read" if None in noise else "not seen in this interval"


def _cost(line: CulpritLine, glyphs: Glyphs) -> str:
    return f"{glyphs.estimate if line.is_estimate else ''}{short_noise(line.stolen_ns_per_s)} of CPU {line.cpu}"


def _recent_noise(model: ScreenModel, noise: Sequence[float | None], width: int, is_cut: bool) -> list[Row]:
    """Return the culprit's usual and highest noise, and since when it has been there."""
    measured = [value for value in noise if value is not None and value != NOT_FOLLOWED_NS]
    if not measured:
        return []
    usual, count = f"most {short_noise(max(measured))}", describe_count(len(noise), "interval")
    if len(measured) < len(noise):
        usual = history = f"{usual} in {len(measured)} of {count}"  # the median of known ones would be too high
    elif is_cut:
        usual = history = f"{usual} or more in {count}"
    else:
        usual = f"median {short_noise(median(measured))}, {usual}"
        history = f"{usual} in {count}"
    there = next((at for at, value in enumerate(reversed(noise)) if value is None or value <= 0), len(noise))
    if not there:
        return [fact_row("history", history)]
    if there == len(noise):
        return [fact_row("history", first_that_fits([f"{history}, there in all of them", history], width))]
    least = " at least" if noise[-1 - there] != 0 else ""
    first = model.number + 1 - there
    end_s = model.clocks.end_time_s(first)
    at = model.wall_clock(round(end_s * 1e9)) if end_s is not None else None
    since = (
        f"without a break since {at}{least}" if at is not None else f"for{least} {describe_count(there, 'interval')}"
    )
    return [
        fact_row("history", first_that_fits([f"{history}, there {since}", f"{usual}, there {since}", history], width))
    ]


def _gaps(noise: Sequence[float | None], width: int, glyphs: Glyphs) -> list[Row]:
    """Return the number of intervals with unknown noise, by their marks, and why."""
    left_out, unknown = noise.count(NOT_FOLLOWED_NS), noise.count(None)
    counts = [(f"{glyphs.not_followed} {left_out} not followed", f": {_BELOW}")] if left_out else []
    counts += [(f"{glyphs.unknown} {unknown} unknown", ": not read")] if unknown else []
    choices = ("   ".join(f"{count}{why}" for count, why in counts), "   ".join(count for count, _ in counts))
    return [fact_row("", first_that_fits(choices, width))] if counts else []


def _chart(noise: Sequence[float | None], width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprit's noise over time, with a scale at the left if rows suffice."""
    rows = tall_rows(noise[-max(width - NAME, 1) :], height, glyphs)
    return [[(f"{scale_label(height - at, height):>{NAME - 2}}  ", "faint"), *row] for at, row in enumerate(rows)]
