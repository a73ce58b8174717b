"""The third screen: which IRQ interrupts which CPU, how often, where each may go, and whether that has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.irq_matrix import (
    legend,
)
from noisewatch.surfaces.tui.draw.panel import panel
from noisewatch.surfaces.tui.draw.text_row import Row, cut, fitted, text_width
from noisewatch.surfaces.tui.screens.culprits import advice_rows
from noisewatch.surfaces.tui.screens.headlines import irqs_headline
from noisewatch.surfaces.tui.screens.irq_panel import irq_facts, irq_title
from noisewatch.surfaces.tui.screens.irq_rows import LABEL, SORTS, IrqTable
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.irq_table import IrqRow, listed_rows
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing

_FACTS = 9  # rows of the lower frame
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("enter", "its CPU"),
    ("up down", "IRQ"),
    ("f", "fix"),
    ("y", "copy fix"),
    ("s", "sort"),
    ("z", "silent"),
    ("g", "by device"),
    ("left right", "step"),
    ("{ }", "events"),
    ("esc", "back"),
)


def irqs_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, _framed, irqs_headline)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    found, silent = _listing(model)
    needed = len(_entries(found)) + _overhead(model, silent, height) + 2
    lower = max(height - needed, min(_lower(model, width), height // 2))
    upper = panel(
        f"interrupts a second by IRQ and CPU, {_order(model)}",
        _table(model, found, silent, width - 4, height - lower - 2, height, glyphs),
        width,
        height - lower,
        glyphs,
        f"s sort · z {'hide' if model.shows_silent_irqs else 'show'} silent · g by device",
    )
    row = found.selected
    facts = _facts(model, row, width - 4, lower - 2, glyphs)
    title = irq_title(row) if row is not None else "no IRQ is selected"
    return [*upper, *panel(title, facts, width, lower, glyphs, "f fix · y copy · enter its CPU")]


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    found, silent = _listing(model)
    needed = len(_entries(found)) + _overhead(model, silent, height)
    least = 0 if height < 8 else 3 if height < 14 else min(_lower(model, width) - 2, height // 2)
    lower = max(height - needed, least) if least else 0
    rows = _table(model, found, silent, width, height - lower, height, glyphs)
    row = found.selected
    if not lower or row is None:
        return rows
    rows += [[] for _ in range(height - lower - len(rows))]
    facts = _facts(model, row, width, lower - 1, glyphs)
    return [*rows, [(fitted(f" {irq_title(row)}", width), "heading")], *facts]


def _facts(model: ScreenModel, row: IrqRow | None, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """About the selected one; its fix, where that was asked for."""
    if model.advice is not None:
        return [each for each in advice_rows(model, width, height) if each][:height]
    return irq_facts(model, row, width, height, glyphs) if row is not None else []


def _lower(model: ScreenModel, width: int) -> int:
    """Rows that the lower frame needs."""
    if model.advice is None:
        return _FACTS
    return max(_FACTS, 3 + sum(-(-text_width(line) // max(width - 8, 10)) for line in model.advice.lines))


def _order(model: ScreenModel) -> str:
    what = "of a device together, " if model.groups_irqs else ""
    return f"{what}by {SORTS.get(model.sort, 'level')}"


def _listing(model: ScreenModel) -> tuple[Listing[IrqRow], int]:
    """What is listed, and how many silent ones are not."""
    found = model.irq_listing()
    if found.is_gone:
        gone = replace(found.lines[found.at], total=None, rate_by_cpu={}, name=f"{found.lines[found.at].name} (gone)")
        found = replace(found, lines=(*found.lines[: found.at], gone, *found.lines[found.at + 1 :]))
    return found, listed_rows(model)[1]


def _entries(found: Listing[IrqRow]) -> list[IrqRow | None]:
    """The rows, with a gap between those of devices and all others."""
    first_other = next((at for at, row in enumerate(found.lines) if not row.is_numbered), 0)
    lines = list(found.lines)
    return [*lines[:first_other], None, *lines[first_other:]] if first_other else [*lines]


def _notes(model: ScreenModel, frame: Frame) -> list[str]:
    """What is unknown, and why."""
    notes = []
    if frame.irqs is None:
        why = frame.no_irqs_reason or ("no rates yet" if frame.seconds <= 0 else "/proc/interrupts was not read")
        notes.append(f"rates unknown: {why}")
    numbered = [setting for setting in model.irqs.settings.values() if setting.irq is not None]
    if not model.irqs.settings:
        notes.append("names and affinities unknown: neither /proc/interrupts nor /proc/irq tells them")
    elif numbered and all(each.allowed is None and each.effective is None for each in numbered):
        notes.append("where IRQs go, and may go, is unknown: /proc/irq cannot be read")
    return notes


@dataclass(frozen=True, slots=True)
class _Extras:
    """What the table shows beside IRQs, by the height of the whole body; the last one goes last."""

    legend: bool
    sums: bool
    marks: bool
    silent: bool

    @classmethod
    def at(cls, height: int, silent: int) -> _Extras:
        return cls(height >= 16, height >= 12, height >= 10, silent > 0 and height >= 7)


def _overhead(model: ScreenModel, silent: int, height: int) -> int:
    """Rows of the table that are no IRQ."""
    notes = len(_notes(model, model.frame)) if model.frame is not None else 0
    extras = _Extras.at(height, silent)
    return notes + 1 + extras.legend + extras.sums + extras.marks + extras.silent


def _table(
    model: ScreenModel,
    found: Listing[IrqRow],
    silent: int,
    width: int,
    height: int,
    body: int,
    glyphs: Glyphs,
) -> list[Row]:
    """In so many rows, of a body of `body`."""
    frame = model.frame
    if frame is None or height < 1:
        return []
    table = IrqTable.of(model, found.lines, width, glyphs)
    top: list[Row] = [[(f" {note}", "doubt")] for note in _notes(model, frame)]
    extras = _Extras.at(body, silent)
    top += [table.marks(), table.heading()] if extras.marks or table.is_shared else [table.heading()]
    bottom: list[Row] = [table.sums(frame)] if extras.sums else []
    if extras.silent:
        said = f"{silent} silent one{'s are' if silent > 1 else ' is'} hidden: z shows {'them' if silent > 1 else 'it'}"
        bottom.append([(f"{'':>{LABEL}} {said}", "faint")])
    bottom += [legend(glyphs)] if extras.legend else []
    entries = _entries(found)
    room = max(height - len(top) - len(bottom), 0)
    at = found.at + (1 if None in entries[: found.at + 1] else 0)
    first = 0 if len(entries) <= room or (not found.is_chosen and at < room) else at - room // 2
    first = max(min(first, len(entries) - room), 0)
    rows = [
        table.row(entry, number == at) if entry is not None else _others(width)
        for number, entry in enumerate(entries[first : first + room], start=first)
    ]
    return [cut(row, width) for row in (*top, *rows, *bottom)][:height]


def _others(width: int) -> Row:
    return [(fitted(f"{'':>{LABEL}} of the CPUs themselves", width), "heading")]
