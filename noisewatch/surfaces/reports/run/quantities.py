"""Formats measured quantities with as many digits as their spread supports."""

from __future__ import annotations

import math
from collections.abc import Sequence

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_MOST_DECIMALS = 6


def quantity_text(
    values: Sequence[float],
    spread: float | None,
    reference: float | None = None,
    units: Sequence[tuple[str, float]] = _TIMES,
) -> str:
    """Format values in the unit that suits `reference` (default: the first value); `units` are names and sizes.

    The number of decimals gives two significant digits of the spread, or without a spread four of `reference`.
    """
    reference = values[0] if reference is None else reference
    unit, size = next((unit_and_size for unit_and_size in units if reference >= unit_and_size[1]), units[-1])
    least = spread / 10 if spread else reference / 1000
    decimals = min(max(-math.floor(math.log10(least / size)), 0), _MOST_DECIMALS)
    return f"{' to '.join(f'{value / size:.{decimals}f}' for value in values)} {unit}"
