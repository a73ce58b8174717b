"""The picture of a run in the README shows the text that the run printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.written.terminal_text import svg_of_text

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


def test_picture_of_a_run_is_drawn_from_its_text() -> None:
    (picture,) = SCREENSHOTS.glob("run-*.svg")
    printed = (SCREENSHOTS / "run.txt").read_text("utf-8")
    assert picture.read_text("utf-8") == svg_of_text(printed, 100)


def test_colours_and_words_are_those_of_the_text() -> None:
    svg = svg_of_text("plain \x1b[1;35mgrave\x1b[0m words", 40)
    assert "".join(re.findall(r"<text class=[^>]*>([^<]*)<", svg)).replace("\xa0", " ") == "plaingravewords"
    assert len(set(re.findall(r'<text class="(\w+)"', svg))) == 2
