"""Thins a long history: keeps the newest entries, and older ones evenly over time.

A machine judged every ten minutes has 200 entries within a day and a half, but the usual values of past weeks are
needed too. Series that are not comparable, such as calibrations of different CPUs, are thinned separately.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_NEWEST, _MOST_OLDER = 40, 160  # entries; the newest are few, so one day does not outnumber past weeks
_MOST_SERIES = 16


class Thinning(Generic[T]):
    """A collection of entries of several series, added newest first, with at most 200 of each series."""

    def __init__(self) -> None:
        self._by_series: dict[Hashable, _Series[T]] = {}

    def add(self, series: Hashable, at_s: float, facts: object, entry: T, is_usual: bool = True) -> None:
        """Add the next older entry to its series.

        Entries that do not define what is usual are kept only if they are among the newest 40 of their series. Only the
        16 series with the newest entries are kept.
        """
        entries = self._by_series.get(series)
        if entries is None and len(self._by_series) < _MOST_SERIES:
            entries = self._by_series[series] = _Series()
        if entries is not None:
            entries.add(_Entry(at_s, facts, entry), is_usual)

    @property
    def kept(self) -> list[T]:
        """The kept entries, series by series, the newest first."""
        return [entry.entry for series in self._by_series.values() for entry in (*series.newest, *series.older)]


class _Entry(NamedTuple, Generic[T]):
    at_s: float
    facts: object
    entry: T


class _Series(Generic[T]):
    """The kept entries of one series.

    Of the older entries, the first in each period and the first after a change of facts are kept. The period is doubled
    until few enough entries are left. The boundaries of periods do not depend on entries, so the same entries are kept
    the next time.
    """

    def __init__(self) -> None:
        self.newest: list[_Entry[T]] = []
        self.older: list[_Entry[T]] = []
        self._stretch_s = 1.0
        self._minds_facts = True

    def add(self, entry: _Entry[T], is_usual: bool) -> None:
        if len(self.newest) < _NEWEST:
            self.newest.append(entry)
        elif is_usual:
            if self.older and self._are_alike(self.older[-1], entry):
                self.older.pop()
            self.older.append(entry)
            while len(self.older) > _MOST_OLDER:
                self._lengthen()

    def _lengthen(self) -> None:
        """Double the period, and ignore changes of facts from now on if there are too many."""
        changes = sum(newer.facts != older.facts for newer, older in pairwise(self.older))
        self._minds_facts = self._minds_facts and changes <= _MOST_OLDER // 2
        self._stretch_s *= 2
        kept = [newer for newer, older in pairwise(self.older) if not self._are_alike(newer, older)]
        self.older = [*kept, self.older[-1]]

    def _are_alike(self, newer: _Entry[T], older: _Entry[T]) -> bool:
        is_together = abs(newer.at_s) // self._stretch_s == abs(older.at_s) // self._stretch_s
        return is_together and (newer.facts == older.facts or not self._minds_facts)
