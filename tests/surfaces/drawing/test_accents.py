"""Accents colour whole phrases, and change no text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from noisewatch.surfaces.drawing.accents import Accents, accent, accent_lines, first_figure
from noisewatch.surfaces.drawing.text_row import text_of


@pytest.mark.parametrize(
    ("lines", "styled"),
    [
        (["hog takes 36% of CPU 1"], ["hog"]),
        (["hogs and a hog"], ["hog"]),
        (["a long", "  name of it"], ["long", "name"]),
        (["a process with a lo…  3"], ["process with a lo…"]),
        (["nothing"], []),
    ],
)
def test_whole_phrases_are_styled_also_across_lines_or_cut(lines: Sequence[str], styled: Sequence[str]) -> None:
    accents: Accents = dict.fromkeys(("hog", "long name", "process with a long argument"), "culprit")
    rows = accent(lines, accents)
    assert [text_of(row) for row in rows] == lines
    assert [text for row in rows for text, style in row if style == "culprit"] == styled


def test_colours_change_no_text() -> None:
    lines = ["hog takes 36%  ", "", "run noisewatch"]
    assert accent_lines(lines, {"hog": "culprit"}, in_colour=False) == lines
    painted = accent_lines(lines, {"hog": "culprit", "noisewatch": "command"}, in_colour=True)
    assert "\x1b[1;35mhog\x1b[0m" in painted[0]
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in painted] == [line.rstrip() for line in lines]


@pytest.mark.parametrize(
    ("text", "figure"), [("CPU 2 is 99.9% busy", "99.9%"), ("took 1.2 ms on 3", "1.2 ms"), ("CPU 2", None)]
)
def test_the_first_figure_with_a_unit_counts(text: str, figure: str | None) -> None:
    assert first_figure(text) == ({} if figure is None else {figure: "strong"})
