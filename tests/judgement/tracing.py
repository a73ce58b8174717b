"""A stand-in for a case that records what is read of it, by which tests prove what checks declare."""

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

_LOOKED_INTO = {Case, Snapshot, Settings, Background, Frequency, Memory, Cgroup, Interval}
_ALTERED = "without_own_process"  # the case with some values replaced by others that never change


class View:
    """A case, or a record in it: it has the same attributes, and records the paths of those read in `paths`.

    Methods and properties use it too. The paths that parts read which the case keeps are recorded in `paths_of_kept` as
    well, by the key of the part. All else raises, as it is not a record: it is equal to nothing and cannot be copied.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: object, path: str, paths: set[str], paths_of_kept: dict[Hashable, set[str]]) -> None:
        self._of, self._path, self._paths, self._paths_of_kept = of, path, paths, paths_of_kept

    def __getattr__(self, name: str) -> Any:
        if name == "kept":
            return self._kept
        found = getattr(type(self._of), name, None)
        if self._path + name not in STILL:
            if isinstance(found, property):
                return found.__get__(self)
            if isinstance(found, cached_property) and name != _ALTERED:
                return found.func(self)
            if isinstance(found, FunctionType) and type(self._of) is not Interval:  # which caches its value
                return MethodType(found, self)
        value = getattr(self._of, name)
        if name == _ALTERED:
            return View(value, self._path, self._paths, self._paths_of_kept)
        if type(value) in _LOOKED_INTO:
            return View(value, f"{self._path}{name}.", self._paths, self._paths_of_kept)
        self._paths.add(self._path + name)
        return value

    def _kept(self, key: Hashable, work: Callable[[Case], Any]) -> Any:
        paths = self._paths_of_kept.setdefault(key, set())
        value = work(cast(Case, View(self._of, self._path, paths, self._paths_of_kept)))
        self._paths |= paths
        return value

    def __eq__(self, other: object) -> bool:
        raise TypeError("compared as a whole")


def view_of(case: Case, paths: set[str], paths_of_kept: dict[Hashable, set[str]] | None = None) -> Case:
    """Return a view of the case."""
    return cast(Case, View(case, "", paths, {} if paths_of_kept is None else paths_of_kept))


def moving(paths: Iterable[str]) -> list[str]:
    """Return the paths whose values may differ while all that is `STILL` is equal."""
    return sorted(path for path in paths if not any(path == still or path.startswith(f"{still}.") for still in STILL))
