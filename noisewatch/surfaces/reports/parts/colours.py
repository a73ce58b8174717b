"""What stands out in which colour, on the screen and in a report: one for each meaning, which a word always repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Meaning = Literal["calm", "notable", "grave", "unknown", "good", "bad", "doubt"]

# By meaning, of the sixteen colours that every terminal has. Cyan, yellow and magenta can be told apart by those who
# cannot tell red from green.
STYLES: Mapping[str, str] = {
    "calm": "cyan",
    "notable": "yellow",
    "grave": "bold magenta",
    "unknown": "dim yellow",
    "good": "bold reverse cyan",
    "bad": "bold reverse magenta",
    "doubt": "bold reverse yellow",
}
_MEANING_BY_LABEL: Mapping[str, Meaning] = {"FAIL": "grave", "WARN": "grave", "fail": "notable", "warn": "notable"}
_CODES = {"bold": "1", "dim": "2", "reverse": "7", "magenta": "35", "cyan": "36", "yellow": "33"}


def painted(text: str, meaning: Meaning) -> str:
    """The text between the escape sequences of a terminal."""
    return f"\x1b[{';'.join(_CODES[word] for word in STYLES[meaning].split())}m{text}\x1b[0m"


def style_of_label(label: str) -> Meaning:
    """The style's name for a label."""
    return _MEANING_BY_LABEL.get(label, "unknown")
