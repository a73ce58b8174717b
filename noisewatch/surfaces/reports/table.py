"""Columns that line up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def align(rows: Iterable[Sequence[str]], gap: str = "  ") -> str:
    """The rows with each column as wide as its widest cell; numbers to the right."""
    rows = list(rows)
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        gap.join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _padded(cell: str, width: int) -> str:
    return cell.rjust(width) if cell.isdecimal() else cell.ljust(width)
