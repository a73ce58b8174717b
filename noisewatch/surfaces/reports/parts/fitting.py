"""Markdown that is no longer than its readers take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

MOST_BYTES = 60_000  # GitHub takes 65,536 characters in an issue, and its reporter has something to say too
_CUT = "The rest was cut off: it is too long.\n"


def fitting(parts: Sequence[str], most_bytes: int) -> str:
    """As many of the parts, from the first on, as fit; nothing where not even the first does."""
    lengths = [len("\n".join(parts[: count + 1]).encode("utf-8", "replace")) for count in range(len(parts))]
    kept = [part for part, _ in takewhile(lambda each: each[1] <= most_bytes, zip(parts, lengths, strict=True))]
    if len(kept) == len(parts):
        return "\n".join(parts)
    while kept and len("\n".join([*kept, _CUT]).encode("utf-8", "replace")) > most_bytes:
        kept.pop()
    return "\n".join([*kept, _CUT]) if kept else ""
