"""Names that somebody else chose: processes, devices, drivers, cgroups.

A process names itself with any 15 bytes, escape sequences among them; a terminal must never see those. What a damaged
copy or a hostile file gives as a name may be megabytes long.
"""

from __future__ import annotations

_REPLACEMENT = "·"
_LONGEST = 512  # twice a file's; nobody reads further


def clean(name: str) -> str:
    """The name with everything unprintable as `·`, and no more of it than is read."""
    return printable(name if len(name) <= _LONGEST else name[:_LONGEST] + "…")


def printable(text: str) -> str:
    """The text with everything unprintable (control, bidirectional, zero-width characters) as `·`."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _REPLACEMENT for character in text)
