"""Results that are reused from case to case until settings are read again (every ten seconds) or an input changes.

A check that reads anything beyond `STILL`, such as rates, must declare it (`asks_rates` or `reads_counters`), and is
then evaluated for each case. Without the declaration, its answer is as old as the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import Any, TypeVar

from noisewatch.kernel.snapshot.snapshot import Settings

T = TypeVar("T")

_OF_CASE = (
    *("rules", "limits", "starts_benchmark", "running", "no_sample_reason", "no_calibration_reason", "calibrated"),
    *("under_load", "clock_comparison", "past"),
)
_OF_SNAPSHOT = (
    *("is_live", "own_pids", "platform", "online", "isolation", "target", "own_affinity", "pin_trial", "hardware"),
    *("frequency.driver", "frequency.turbo", "frequency.turbo_by_cpu", "frequency.turbo_path", "frequency.cpus"),
    *("machine_lock", "cgroup.folder", "jobs", "inventory", "commands", "reason_by_path"),
)

STILL = (  # attributes of the case; unchanged settings are mostly the same objects, so the comparison is cheap
    *_OF_CASE,
    *(f"snapshot.{name}" for name in _OF_SNAPSHOT),
    *(f"snapshot.settings.{name}" for name in Settings.__struct_fields__),  # the settings include the time of reading
)
_still_values = attrgetter(*STILL)


class Remembered:
    """Results of the previous cases of one machine, which is judged again and again."""

    def __init__(self) -> None:
        self._case: object | None = None
        self._still: tuple[object, ...] = ()
        self._results: dict[Hashable, tuple[tuple[object, ...], Any]] = {}  # by key: the inputs (`of`) and the result

    def set_current(self, case: object) -> None:
        """Make this the current case, and forget all results if a `STILL` value has changed."""
        still = _still_values(case)
        if still != self._still:
            self._results.clear()
        self._case, self._still = case, still

    def is_current(self, case: object) -> bool:
        """Return whether this is the current case itself. A case derived from it is not."""
        return case is self._case

    def get(self, key: Hashable, work: Callable[[Any], T], of: tuple[object, ...] = ()) -> T:
        """Return the result of `work` for the current case; `work` may only read `STILL` values and `of`."""
        assert self._case is not None
        if key not in self._results or self._results[key][0] != of:
            self._results[key] = of, work(self._case)
        result: T = self._results[key][1]
        return result

    def forget(self, key: Hashable) -> None:
        """Forget the result, so the next case computes it again."""
        self._results.pop(key, None)
