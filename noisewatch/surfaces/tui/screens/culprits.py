"""The third screen: all sources of noise on all CPUs, filtered and sorted, and what helps against one of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace

from noisewatch.operations.frame.frame import MOST_CULPRITS, CulpritLine, Frame
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.filter_typing import hint
from noisewatch.surfaces.tui.state.filters import mistakes
from noisewatch.surfaces.tui.state.screen_model import CPU, ScreenModel

_KEYS = (
    ("q", "quit"),
    ("/", "filter"),
    ("s", "sort"),
    ("enter", "its CPU"),
    ("f", "fix"),
    ("y", "copy it"),
    ("esc", "back"),
)
LEAST_TABLE = 3  # rows that advice leaves: a heading, the selected row and one more


def sources_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    listed = model.listed()
    advice = advice_rows(model, width, height - LEAST_TABLE)
    top = _filter_rows(model, width)
    cut = "the costliest " if model.frame is not None and model.frame.is_cut else ""
    who = f"{cut}{len(listed)} source{'s' * (len(listed) != 1)}, by {model.sort}"
    return [*top, *selectable(model, who, width, height - len(top) - len(advice), glyphs), *advice]


def _filter_rows(model: ScreenModel, width: int) -> list[Row]:
    """What is typed can always be seen: of a long filter its end."""
    if not model.filter and not model.is_typing:
        return []
    said = model.filter + ("_" if model.is_typing else "")
    label = " filter: "
    rows: list[Row] = [[(label, "faint"), (said[-max(width - len(label), 1) :], "strong")]]
    if model.is_typing:
        rows[0].append((f"  {hint(model)}", "faint"))
    else:
        rows += [
            [(f" {part}", "doubt")]
            for line in mistakes(model.filter)
            for part in textwrap.wrap(line, max(width - 2, 10), break_on_hyphens=False)
        ]
    return rows


def selectable(model: ScreenModel, who: str, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The table of what is listed, scrolled so that the selected row can be seen."""
    listing = model.listing()
    rows = culprit_table(listing, who, width, height, glyphs, model.baseline)
    if not model.listed():
        is_cut = model.frame is not None and not _tells_all(model, model.frame)
        said = f"nothing among the {MOST_CULPRITS} costliest sources: there may be others" if is_cut else "nothing"
        rows.append([(f"     {said}", "doubt" if is_cut else "faint")])
    return rows


def advice_rows(model: ScreenModel, width: int, most: int) -> list[Row]:
    """What helps against the source that was asked about; scrolled, and with a sign, where it finds no room."""
    advice = model.advice
    if advice is None:
        return []
    about: Row = [(f" {_named(advice.about)} on CPU {advice.about.cpu}", "strong")]
    rows: list[Row] = [about, *_advised(advice.lines, width)]
    if len(rows) < most:
        return [[], *rows]
    to_do = next((command for _, command in advice.commands), advice.by_hand)
    if len(rows) > most and to_do is not None:  # what to do comes before why
        others = [line for line in advice.lines if line.partition(": ")[2] != to_do]
        rows = [about, *_advised([to_do, *others], width)]
    model.advice = replace(advice, offset=min(advice.offset, max(len(rows) - most, 0)))
    shown = rows[model.advice.offset : model.advice.offset + max(most, 0)]
    if shown and model.advice.offset + most < len(rows):
        shown[-1] = [(" … down scrolls, esc closes", "faint")]
    return shown


def _advised(lines: Iterable[str], width: int) -> list[Row]:
    wrapped = (textwrap.wrap(line, max(width - 2, 10), subsequent_indent="  ") or [""] for line in lines)
    return [[(f" {part}", "plain")] for parts in wrapped for part in parts]


def _named(line: CulpritLine) -> str:
    return line.name + line.process_mark


def _tells_all(model: ScreenModel, frame: Frame) -> bool:
    return frame.tells_all_of(model.cpu) if model.screen == CPU and model.cpu is not None else not frame.is_cut
