"""Makes names that other programs chose (of processes, devices, drivers, cgroups) safe to show.

A process may choose any 15 bytes as its name, including escape sequences, which must never reach a terminal. A name in
a damaged copy or a hostile file may be megabytes long.
"""

from __future__ import annotations

_REPLACEMENT = "·"
_LONGEST = 512  # characters: twice the longest file name


def clean(name: str) -> str:
    """Return the name, cut to a readable length, with `·` for each unprintable character."""
    return printable(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")


def printable(text: str) -> str:
    """Return the text with `·` for each unprintable character (control, bidirectional, zero-width)."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _REPLACEMENT for character in text)


def one_line(text: str) -> str:
    """Return the text in one line and printable, for a comment or standard error."""
    return " ".join(printable(text).split())
