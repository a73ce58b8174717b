"""Accents in the lines of a report: the command to copy, the figure that counts, and the culprit.

A report is wrapped as plain text first, so colours change neither its words nor its line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.colours import paint_row, plain_row

if TYPE_CHECKING:
    from noisewatch.surfaces.drawing.text_row import Row, Style

Accents = dict[str, "Style"]  # styles by text, whose words are separated by single blanks
_LEAST_CUT = 12  # characters that are left of a cut phrase
# A figure with its unit, such as `36%`, `1.2 ms` or `2.3 times`
FIGURE = regex(r"[~<>±+-]?\d[\d ,.]*\d ?(?:%|×|times\b|[nµm]?s\b)|[~<>±+-]?\d ?(?:%|×|times\b|[nµm]?s\b)")


def accent(lines: Sequence[str], accents: Accents) -> list[Row]:
    """Return the lines as rows in which each whole word or phrase in `accents` has its style.

    A phrase may continue on the next line, or be cut with `…`. Of overlapping phrases, the longest has precedence.
    """
    pattern = _pattern_of(accents)
    if pattern is None:
        return [[(line, "plain")] for line in lines]
    text = "\n".join(lines)
    spans = [
        (match.start(), match.end(), _style_of(" ".join(match[0].split()), accents)) for match in pattern.finditer(text)
    ]
    rows, start = [], 0
    for line in lines:
        rows.append(list(_pieces(text, start, start + len(line), spans)))
        start += len(line) + 1
    return rows


def _pattern_of(accents: Accents) -> re.Pattern[str] | None:
    phrases = sorted((text.split() for text in accents if text.strip()), key=lambda words: -sum(map(len, words)))
    if not phrases:
        return None
    whole = [r"\s+".join(map(re.escape, words)) for words in phrases]
    shortened = [
        rf"{re.escape(start)}[^\n…]*…" for words in phrases if len(start := " ".join(words)[:_LEAST_CUT]) == _LEAST_CUT
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join([*whole, *shortened])})(?!\w)")


def _style_of(text: str, accents: Accents) -> Style:
    """Return the style of a matched phrase, which may be cut."""
    if text in accents:
        return accents[text]
    start = text.removesuffix("…").rstrip()
    return next((style for phrase, style in accents.items() if phrase.startswith(start)), accents[min(accents)])


def _pieces(text: str, start: int, end: int, spans: Sequence[tuple[int, int, Style]]) -> Iterator[tuple[str, Style]]:
    """Yield the pieces of one line; the indent of a continued phrase has no style."""
    for first, last, style in spans:
        if last <= start or first >= end:
            continue
        begin = max(first, start)
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        if begin > start:
            yield text[start:begin], "plain"
        start = min(last, end)
        yield text[begin:start], style
    if start < end:
        yield text[start:end], "plain"


def first_figure(text: str) -> Accents:
    """Return the accent for the first figure with a unit in the text, which is the one that counts."""
    match = FIGURE.search(text)
    return {} if match is None else {match[0]: "strong"}


def draw(rows: Iterable[Row], in_colour: bool) -> list[str]:
    """Return the rows as lines, with a terminal's escape sequences if `in_colour`."""
    return [paint_row(trim(row)) if in_colour else plain_row(row) for row in rows]


def trim(row: Row) -> Row:
    """Return the row without trailing blanks."""
    kept = list(row)
    while kept and not kept[-1][0].rstrip():
        kept.pop()
    return [*kept[:-1], (kept[-1][0].rstrip(), kept[-1][1])] if kept else []


def accent_lines(lines: Sequence[str], accents: Accents, in_colour: bool) -> list[str]:
    """Return the lines with accents if `in_colour`, and otherwise unchanged."""
    return draw(accent(lines, accents), True) if in_colour else list(lines)
