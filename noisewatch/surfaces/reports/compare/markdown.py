"""A comparison in Markdown, to paste into an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.judgement.comparison.compared import SideComparison
from noisewatch.surfaces.reports.compare.words import (
    alone_sentences,
    answer_of,
    finding_words,
    other_machine_sentences,
    ratio_words,
    side_words,
    test_sentences,
)
from noisewatch.surfaces.reports.parts.fitting import MOST_BYTES, fitting
from noisewatch.surfaces.reports.parts.tables import cell, prose, table
from noisewatch.units import describe_figure


def markdown_of_comparison(found: SideComparison) -> str:
    """Return the comparison, cut at the end to what fits in an issue."""
    return fitting([*_parts(found)], MOST_BYTES)


def _parts(found: SideComparison) -> Iterator[str]:
    yield f"### noisewatch compare: {prose(answer_of(found))}\n"
    sides = (f"before: {side_words(found.before)}", f"after: {side_words(found.after)}")
    yield _list([*other_machine_sentences(found), *sides, *found.remarks])
    if found.facts:
        rows = [[cell(each.of_class), *map(cell, (each.name, each.before, each.after))] for each in found.facts]
        yield table(["class", "fact", "before", "after"], rows)
    if found.findings:
        yield _list([f"{'blocks: ' if each.blocks else ''}{finding_words(each)}" for each in found.findings])
    if found.different_figures:
        yield table(["figure", "before", "after", "ratio"], _figure_rows(found))
    sentences = [*test_sentences(found), *alone_sentences(found)]
    if sentences:
        yield _list(sentences)


def _figure_rows(found: SideComparison) -> Iterator[list[str]]:
    for figure in found.different_figures:
        values = [describe_figure(each.value, figure.traits.unit) for each in (figure.before, figure.after)]
        yield [*map(cell, (figure.name, *values, ratio_words(figure)))]


def _list(sentences: Sequence[str]) -> str:
    return "".join(f"- {prose(each)}\n" for each in sentences)
