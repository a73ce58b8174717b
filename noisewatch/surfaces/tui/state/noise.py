"""Limits and levels of noise, special values for missing noise, and the merging of several values into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

# The lowest noise (ns/s) of each level. The logarithmic scale is fixed, so 20 µs never look like 20 ms.
LEVELS_NS = (1, 50_000, 200_000, 1_000_000, 3_000_000, 10_000_000, 50_000_000, 200_000_000)
NOTABLE_NS, GRAVE_NS = 500_000, 5_000_000  # 0.05% and 0.5% of a second
OFFLINE_NS = -1.0  # stands for an offline CPU: less than any noise, so such a CPU is never the worst of several
NOT_FOLLOWED_NS = -2.0  # stands for the noise of a culprit that the frame may omit in favour of costlier culprits
T = TypeVar("T")


def worst_of(noise: Iterable[float | None]) -> float | None:
    """Return the highest noise, or None if any noise is unknown and no known noise is over the limit."""
    return highest_if_certain(noise, GRAVE_NS)


def highest_if_certain(values: Iterable[float | None], limit: float) -> float | None:
    """Return the highest value, or None if any value is unknown and no known value reaches the limit."""
    listed = list(values)
    measured = [value for value in listed if value is not None]
    highest = max(measured, default=None)
    return highest if len(measured) == len(listed) or (highest or 0) >= limit else None


def columns_of(noise: Sequence[float | None], zoom: int) -> list[float | None]:
    """Return the worst noise of every `zoom` intervals, grouped from the newest backwards."""
    return merge_by_zoom(noise, zoom, worst_of)


def merge_by_zoom(values: Sequence[T], zoom: int, merge: Callable[[Sequence[T]], T]) -> list[T]:
    """Return one value for every `zoom` values, from the last backwards; `merge` must keep a single value."""
    if zoom == 1:
        return list(values)
    return [merge(values[max(end - zoom, 0) : end]) for end in range(len(values), 0, -zoom)][::-1]
