"""Files that hold one number or one word."""

from __future__ import annotations

from noisewatch.errors import Malformed


def parse_integer(text: str) -> int:
    """The one whole number of the file. Raises Malformed."""
    stripped = text.strip()
    if not stripped.removeprefix("-").isdecimal() or not stripped.isascii():
        raise Malformed("a whole number", stripped)
    return int(stripped)


def parse_flag(text: str) -> bool:
    """True for `1`, False for `0`. Raises Malformed."""
    stripped = text.strip()
    if stripped not in ("0", "1"):
        raise Malformed("0 or 1", stripped)
    return stripped == "1"


def parse_word(text: str) -> str:
    """The one word of the file. Raises Malformed where there is none, or more than one line."""
    stripped = text.strip(" \t\r\n\0")
    if not stripped or "\n" in stripped:
        raise Malformed("a word", stripped)
    return stripped
