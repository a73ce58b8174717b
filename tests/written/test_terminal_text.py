"""The picture of a run in the README is that of what the run printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.written.terminal_text import drawn

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


def test_the_picture_of_a_run_is_drawn_from_what_it_printed() -> None:
    (picture,) = SCREENSHOTS.glob("run-*.svg")
    printed = (SCREENSHOTS / "run.txt").read_text("utf-8")
    assert picture.read_text("utf-8") == drawn(printed, 100)


def test_colours_and_words_are_those_that_were_printed() -> None:
    svg = drawn("plain \x1b[1;35mgrave\x1b[0m words", 40)
    assert "".join(re.findall(r"<text class=[^>]*>([^<]*)<", svg)).replace("\xa0", " ") == "plaingravewords"
    assert len(set(re.findall(r'<text class="(\w+)"', svg))) == 2
