"""Selection of runs by what disturbed them, never by their times: statistics of all, and of the undisturbed ones."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.model.run.series import SeriesStatistics, statistics_of
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class SelectedByCause:
    """The statistics of all runs and of the undisturbed ones; the latter are None if there are none.

    A run that may or may not have been disturbed counts as neither. Runs that failed or were cut short are no
    measurements, and in neither statistics; `of_all` is None if there are no others. `is_refused` means that fewer than
    `min_undisturbed` (a share) of all runs were undisturbed: then no figure represents the command alone.
    """

    of_all: SeriesStatistics | None
    of_undisturbed: SeriesStatistics | None
    disturbed: int
    unknown: int
    min_undisturbed: float
    is_refused: bool
    failed_statuses: tuple[int, ...] = ()  # negative for the signal that ended it
    cut_short: int = 0

    @property
    def count(self) -> int:
        """The number of all runs, measurements or not."""
        return self.undisturbed + self.disturbed + self.unknown + len(self.failed_statuses) + self.cut_short

    @property
    def undisturbed(self) -> int:
        return 0 if self.of_undisturbed is None else self.of_undisturbed.count

    @property
    def headline(self) -> SeriesStatistics | None:
        """The statistics to report first; None if they are refused."""
        return None if self.is_refused else self.of_undisturbed


def select_by_cause(
    times_s: Sequence[float],
    are_undisturbed: Sequence[bool | None],
    min_undisturbed: float,
    failed_statuses: Sequence[int] = (),
    cut_short: int = 0,
) -> SelectedByCause:
    """Return the statistics of the runs, selected by cause. Raise ValueError if there are no runs at all.

    `are_undisturbed` has an entry for each time, in order; None is unknown. The times are those of measurements alone:
    not of runs that failed with a status, or were cut short.
    """
    kept = [time for time, is_undisturbed in zip(times_s, are_undisturbed, strict=True) if is_undisturbed]
    total = len(times_s) + len(failed_statuses) + cut_short
    if not total:
        raise ValueError("a series without runs has no statistics")
    return SelectedByCause(
        of_all=statistics_of(times_s) if times_s else None,
        of_undisturbed=statistics_of(kept) if kept else None,
        disturbed=sum(each is False for each in are_undisturbed),
        unknown=sum(each is None for each in are_undisturbed),
        min_undisturbed=min_undisturbed,
        is_refused=not kept or len(kept) / total < min_undisturbed,
        failed_statuses=tuple(failed_statuses),
        cut_short=cut_short,
    )
