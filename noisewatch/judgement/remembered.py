"""Remembered answers, valid as long as no value that a check has read changes.

A check is a pure function of its case: while all values it has read are unchanged, its answer is too. These values need
not be declared: a check gets its case through a `View`, which records each attribute read. Answers do not expire: in
each case all recorded values are compared with those of the case before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from operator import is_
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

from noisewatch.judgement.case import Calibrated, Case
from noisewatch.kernel.cgroup.bandwidth import Cgroup
from noisewatch.kernel.frequency.cpufreq import Frequency
from noisewatch.kernel.memory.counters import Memory
from noisewatch.kernel.snapshot.snapshot import Background, Hardware, Settings, Snapshot
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.model.interval.interval import Interval
from noisewatch.records import dataclass

_LOOKED_INTO = {Case, Snapshot, Settings, Hardware, Background, Frequency, Memory, Cgroup, Interval}
_NEVER_THE_SAME = {Calibrated, Tasks, MethodType}  # or costly to compare
_ALTERED = "without_own_process"  # the case with some values replaced by others that never change
_BY_VALUE = {_ALTERED, "running"}  # computed values that hardly change although their parts do
_PATIENCE, _TRIED_EVERY = 3, 16  # views are slow: results that differ each time rarely get one

T = TypeVar("T")
_Names = dict[str, "_Names"]  # of attributes, with those of the records that they are


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any
    of: tuple[object, ...]  # the other inputs, compared by identity
    asked: frozenset[str]  # the values that were read, by their paths from the case


class Remembered:
    """Results computed from the last case of one machine, for judging case after case."""

    def __init__(self) -> None:
        self._case: Case | None = None
        self._known: dict[Hashable, _Kept] = {}
        self._kept: dict[Hashable, _Kept] = {}
        self._names: _Names = {}  # read by any kept result, and by some that are not kept any more
        self._turns = 0
        self._changed: frozenset[str] = frozenset()
        self._misses: Counter[Hashable] = Counter()

    def turn_to(self, case: Case) -> None:
        """Make this the present case.

        Results that were not used for the last case were not compared, and are forgotten.
        """
        self._turns += 1
        if self._turns % _TRIED_EVERY == 0:
            self._names = _names_of(self._kept.values())
        if self._case is not None:
            self._changed = frozenset(_changed(self._case, case, self._names))
        self._case, self._known, self._kept = case, self._kept, {}

    def is_at(self, case: Case) -> bool:
        """Return whether this is the present case itself, and not a case derived from it."""
        return case is self._case

    def get(
        self,
        key: Hashable,
        work: Callable[[Case], T],
        of: tuple[object, ...] = (),
        is_fault: Callable[[T], bool] = lambda _: False,
    ) -> T:
        """Return the result of `work` for the present case, and for the objects `of`.

        If `work` fails, maybe only because a view is not a case, it is called with the case itself.
        """
        assert self._case is not None
        known = self._known.get(key)
        if known is not None and known.asked.isdisjoint(self._changed) and _are_same(known.of, of):
            self._kept[key] = known
            self._misses.pop(key, None)
            value: T = known.value
            return value
        self._misses[key] += 1
        if self._misses[key] > _PATIENCE and self._misses[key] % _TRIED_EVERY:
            return work(self._case)
        asked: set[str] = set()
        try:
            value = work(cast(Case, View(self._case, "", self._names, asked)))
        except (TypeError, AttributeError):
            return work(self._case)
        if is_fault(value):
            return work(self._case)
        self._kept[key] = _Kept(value, of, frozenset(asked))
        return value


def _are_same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return len(before) == len(now) and all(map(is_, before, now))


def _names_of(kept: Iterable[_Kept]) -> _Names:
    names: _Names = {}
    for path in frozenset[str]().union(*(each.asked for each in kept)):
        below = names
        for name in path.split("."):
            below = below.setdefault(name, {})
    return names


def _changed(before: object, now: object, names: _Names, path: str = "") -> Iterator[str]:
    """Yield the paths below the record whose values differ.

    Of a nested record that was replaced, only the changed parts are yielded.
    """
    for name, below in names.items():
        old, new = getattr(before, name), getattr(now, name)
        if old is new:
            continue
        if type(new) in _LOOKED_INTO and type(old) in _LOOKED_INTO:
            yield from _changed(old, new, below, f"{path}{name}.")
        elif type(new) in _NEVER_THE_SAME or old != new:
            yield path + name


class View:
    """A stand-in for a case, or a record in it: it has the same attributes, and records the paths of those read.

    Methods and properties use it too. All else raises, as it is not a record: it is equal to nothing, cannot be copied,
    and is not hashable.
    """

    __slots__ = ("_asked", "_names", "_of", "_path")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: object, path: str, names: _Names, asked: set[str]) -> None:
        self._of, self._path, self._names, self._asked = of, path, names, asked

    def __getattr__(self, name: str) -> Any:
        if name == "remembered":  # what it looks at, this view has to note
            return None
        found = getattr(type(self._of), name, None)
        if isinstance(found, property):
            return found.__get__(self)
        if isinstance(found, cached_property) and name not in _BY_VALUE:
            return found.func(self)
        if isinstance(found, FunctionType) and type(self._of) is not Interval:  # which caches its value
            return MethodType(found, self)
        value = getattr(self._of, name)
        if name == _ALTERED:
            return View(value, self._path, self._names, self._asked)
        self._asked.add(self._path + name)
        below = self._names.setdefault(name, {})
        return View(value, f"{self._path}{name}.", below, self._asked) if type(value) in _LOOKED_INTO else value

    def __eq__(self, other: object) -> bool:
        raise TypeError("compared as a whole")
