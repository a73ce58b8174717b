"""A comparison as text: the answer, then the differences, blocking ones first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from noisewatch.judgement.comparison.compared import FindingDifference, SideComparison
from noisewatch.surfaces.reports.compare.words import (
    alone_sentences,
    answer_of,
    figure_words,
    finding_words,
    other_machine_sentences,
    side_words,
    test_sentences,
)

_NARROWEST = 20
_ASCII = {"→": "->", "µ": "u", "…": "...", "·": ".", "×": "x", "–": "-"}


def text_of_comparison(found: SideComparison, width: int, is_unicode: bool = True) -> str:
    """Return the comparison in lines of at most `width` columns."""
    lines = [line for text in _lines(found) for line in _wrapped(text, width)]
    text = "\n".join(lines) + "\n"
    return text if is_unicode else "".join(_ASCII.get(character, character) for character in text)


def _lines(found: SideComparison) -> Iterator[str]:
    yield answer_of(found)
    yield from other_machine_sentences(found)
    yield f"before: {side_words(found.before)}"
    yield f"after:  {side_words(found.after)}"
    yield from found.remarks
    for of_class in dict.fromkeys(each.of_class for each in found.facts):
        yield ""
        yield f"{of_class}:"
        yield from (f"  {each}" for each in found.facts if each.of_class == of_class)
    if found.findings:
        yield ""
        yield "checks:"
        yield from (f"  {_mark(each)}{finding_words(each)}" for each in found.findings)
    if found.different_figures:
        yield ""
        yield "figures:"
        yield from (f"  {each.name}: {figure_words(each)}" for each in found.different_figures)
    yield from _below(found)


def _mark(found: FindingDifference) -> str:
    """Return a mark for a check whose difference blocks, or leaves the answer unknown."""
    return "BLOCKS " if found.blocks else "UNKNOWN " if found.is_undecided else ""


def _below(found: SideComparison) -> Iterator[str]:
    sentences = [*test_sentences(found), *alone_sentences(found)]
    if sentences:
        yield ""
    yield from sentences


def _wrapped(text: str, width: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    room = max(width, _NARROWEST)
    return textwrap.wrap(text, room, subsequent_indent=f"{indent}  ", break_on_hyphens=False) or [""]
