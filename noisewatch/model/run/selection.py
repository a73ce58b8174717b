"""Runs selected by what disturbed them, never by their times: the statistics of all, and of the undisturbed ones."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.model.run.series import SeriesStatistics, statistics_of
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class SelectedByCause:
    """Both statistics; `of_undisturbed` is None where there is no undisturbed run.

    A run of which nobody knows whether it was disturbed counts as neither. `is_refused` says that fewer than
    `min_undisturbed` (a share) of all runs were undisturbed: then no figure stands for the command alone.
    """

    of_all: SeriesStatistics
    of_undisturbed: SeriesStatistics | None
    disturbed: int
    unknown: int
    min_undisturbed: float
    is_refused: bool

    @property
    def undisturbed(self) -> int:
        return self.of_all.count - self.disturbed - self.unknown

    @property
    def headline(self) -> SeriesStatistics | None:
        """What to report first; None where that is refused."""
        return None if self.is_refused else self.of_undisturbed


def select_by_cause(
    times_s: Sequence[float], are_undisturbed: Sequence[bool | None], min_undisturbed: float
) -> SelectedByCause:
    """`are_undisturbed` has an entry for each time, in order; None where nobody knows. No times: ValueError."""
    kept = [time for time, is_undisturbed in zip(times_s, are_undisturbed, strict=True) if is_undisturbed]
    return SelectedByCause(
        of_all=statistics_of(times_s),
        of_undisturbed=statistics_of(kept) if kept else None,
        disturbed=sum(each is False for each in are_undisturbed),
        unknown=sum(each is None for each in are_undisturbed),
        min_undisturbed=min_undisturbed,
        is_refused=not kept or len(kept) / len(times_s) < min_undisturbed,
    )
