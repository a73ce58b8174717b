"""Names that other programs chose: processes, devices, drivers, cgroups.

A process may choose any 15 bytes as its name, including escape sequences, which must never reach a terminal. A name in
a damaged copy or a hostile file may be megabytes long.
"""

from __future__ import annotations

_REPLACEMENT = "·"
_LONGEST = 512  # twice the length of a file name; more is unreadable


def clean(name: str) -> str:
    """Return the name cut to a readable length, with unprintable characters as `·`."""
    return printable(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")


def printable(text: str) -> str:
    """Return the text with all unprintable characters (control, bidirectional, zero-width) as `·`."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _REPLACEMENT for character in text)


def one_line(text: str) -> str:
    """Return the printable text in one line, for a comment or standard error."""
    return " ".join(printable(text).split())
