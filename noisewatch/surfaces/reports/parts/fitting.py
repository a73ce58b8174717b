"""Markdown cut to the length that its readers accept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

MOST_BYTES = 60_000  # an issue on GitHub has at most 65,536 characters, and its author adds some
_CUT = "The rest was cut off: it is too long.\n"


def fitting(parts: Sequence[str], most_bytes: int) -> str:
    """Return as many of the first parts as fit in `most_bytes`; an empty text if not even the first one does."""
    lengths = [len("\n".join(parts[: count + 1]).encode("utf-8", "replace")) for count in range(len(parts))]
    kept = [part for part, _ in takewhile(lambda each: each[1] <= most_bytes, zip(parts, lengths, strict=True))]
    if len(kept) == len(parts):
        return "\n".join(parts)
    while kept and len("\n".join([*kept, _CUT]).encode("utf-8", "replace")) > most_bytes:
        kept.pop()
    return "\n".join([*kept, _CUT]) if kept else ""
