"""Values of a document from any source: of the expected type, or unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from noisewatch.cpus import CpuSet
from noisewatch.text import clean

_MOST = 1e30  # of any figure: what is larger was never measured
_MOST_CPU = 1 << 20


def mapping_of(said: object) -> Mapping[str, Any]:
    """Return the mapping, or an empty one for any other value."""
    return said if isinstance(said, dict) else {}


def mappings_of(said: object) -> Sequence[Mapping[str, Any]]:
    """Return the mappings in a list; none for any other value."""
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def number_of(said: object) -> float | None:
    """Return a finite number that is not negative, or None for any other value."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= _MOST:
        return None
    return float(said) if math.isfinite(said) else None


def positive(said: object) -> float | None:
    """Return a finite number above 0, or None for any other value."""
    return number_of(said) or None


def word_of(said: object) -> str | None:
    """Return a cleaned text, or None for any other value."""
    return clean(said) if isinstance(said, str) else None


def cpus_of(said: object) -> CpuSet | None:
    """Return a set of CPU numbers, or None for any other value than a list of them."""
    if not isinstance(said, list) or not all(
        isinstance(cpu, int) and not isinstance(cpu, bool) and 0 <= cpu <= _MOST_CPU for cpu in said
    ):
        return None
    return frozenset(said)
