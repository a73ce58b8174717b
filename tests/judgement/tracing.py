"""A stand-in for a case that records the attributes that checks read of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any, cast

from noisewatch.judgement.case import Case
from noisewatch.judgement.remembered import STILL
from noisewatch.kernel.cgroup.bandwidth import Cgroup
from noisewatch.kernel.frequency.cpufreq import Frequency
from noisewatch.kernel.memory.counters import Memory
from noisewatch.kernel.snapshot.snapshot import Background, Settings, Snapshot
from noisewatch.model.interval.interval import Interval

_RECORDS = {Case, Snapshot, Settings, Background, Frequency, Memory, Cgroup, Interval}
_ALTERED = "without_own_process"  # the case with some values replaced by others that never change


class View:
    """A case, or a record in it, with the same attributes; the path of each attribute that is read is added to `paths`.

    Methods and properties read through the view too. What is read for a result that the case remembers is added to
    `remembered_paths` as well, by the result's key. Comparing or copying a view raises an error.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, record: object, path: str, paths: set[str], remembered_paths: dict[Hashable, set[str]]) -> None:
        self._record, self._path, self._paths, self._remembered_paths = record, path, paths, remembered_paths

    def __getattr__(self, name: str) -> Any:
        if name == "remember":
            return self._remember
        attribute = getattr(type(self._record), name, None)
        if self._path + name not in STILL:
            if isinstance(attribute, property):
                return attribute.__get__(self)
            if isinstance(attribute, cached_property) and name != _ALTERED:
                return attribute.func(self)
            if isinstance(attribute, FunctionType) and type(self._record) is not Interval:  # an interval caches results
                return MethodType(attribute, self)
        value = getattr(self._record, name)
        if name == _ALTERED:
            return View(value, self._path, self._paths, self._remembered_paths)
        if type(value) in _RECORDS:
            return View(value, f"{self._path}{name}.", self._paths, self._remembered_paths)
        self._paths.add(self._path + name)
        return value

    def _remember(self, key: Hashable, work: Callable[[Case], Any]) -> Any:
        paths = self._remembered_paths.setdefault(key, set())
        value = work(cast(Case, View(self._record, self._path, paths, self._remembered_paths)))
        self._paths |= paths
        return value

    def __eq__(self, other: object) -> bool:
        raise TypeError("compared as a whole")


def view_of(case: Case, paths: set[str], remembered_paths: dict[Hashable, set[str]] | None = None) -> Case:
    """Return a view of the case."""
    return cast(Case, View(case, "", paths, {} if remembered_paths is None else remembered_paths))


def moving_paths(paths: Iterable[str]) -> list[str]:
    """Return the paths whose values may differ although all values in `STILL` are equal."""
    return sorted(path for path in paths if not any(path == still or path.startswith(f"{still}.") for still in STILL))
