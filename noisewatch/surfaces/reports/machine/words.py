"""Cells of the tables that show a machine: `?` is unknown, `none` and `-` are known not to be there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from noisewatch.cpus import format_cpu_list

UNKNOWN, NOT_THERE = "?", "-"
_WIDEST_LIST = 20
_LEAST_STEPS = 4


def cpus(listed: Iterable[int] | None) -> str:
    """A CPU list for people: `none` and `?` instead of nothing."""
    return UNKNOWN if listed is None else format_cpu_list(listed) or "none"


def brief(listed: Collection[int] | None) -> str:
    """The same for a column, as interleaved numbers make long lists: `0,2…102` has equal steps, `0…95 (40)` has not."""
    text = cpus(listed)
    if not listed or len(text) <= _WIDEST_LIST:
        return text
    ordered = sorted(listed)
    step = ordered[1] - ordered[0]
    if len(ordered) >= _LEAST_STEPS and ordered == list(range(ordered[0], ordered[-1] + 1, step)):
        return f"{ordered[0]},{ordered[1]}…{ordered[-1]}"
    return f"{ordered[0]}…{ordered[-1]} ({len(ordered)})"


def number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def count(value: int | None) -> str:
    """How many, in at most six columns: `99 999`, `482M`, `1.04G`."""
    if value is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(99_999.5, size):
            return f"{value / size:.3g}{letter}" if value < 999.5 * size else f"{value / size:.0f}{letter}"
    return f"{value:,}".replace(",", " ")


def between(values: Iterable[int | None], word: Callable[[int | None], str]) -> str:
    """The least and the most of them: `2.893-2.894`; unknown where one is."""
    known = list(values)
    if not known or None in known:
        return UNKNOWN
    words = [word(min(value for value in known if value is not None))]
    words.append(word(max(value for value in known if value is not None)))
    return "-".join(dict.fromkeys(words))


def or_dash(word: str | None) -> str:
    return UNKNOWN if word is None else (NOT_THERE if word == "none" else word)


def yes(value: bool | None) -> str:
    return UNKNOWN if value is None else ("yes" if value else "no")


def ghz(khz: int | None) -> str:
    """`2.3`, without the unit, which the heading has."""
    return UNKNOWN if khz is None else f"{khz / 1e6:.4g}"
