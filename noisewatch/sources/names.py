"""Names that somebody else chose: processes, devices, drivers.

A process names itself with any 15 bytes, escape sequences among them; a terminal must never see those.
"""

from __future__ import annotations

_REPLACEMENT = "·"


def clean(name: str) -> str:
    """The name with everything unprintable (control, bidirectional, zero-width characters) as `·`."""
    if name.isprintable():
        return name
    return "".join(character if character.isprintable() else _REPLACEMENT for character in name)
