"""The axis for the times of all runs, shared by timeline and histogram: logarithmic, in a few rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewatch.records import dataclass
from noisewatch.surfaces.reports.run.words import times_text
from noisewatch.units import NS_PER_S, describe_ns

_TOLD_APART = 1.02  # ratio from row to row from which three digits tell labels apart


@dataclass(frozen=True, slots=True)
class TimeScale:
    """A logarithmic scale from the shortest to the longest time in `rows` rows; row 0 is the shortest time."""

    least_s: float
    most_s: float
    rows: int

    @classmethod
    def of(cls, times_s: Sequence[float], rows: int) -> TimeScale:
        """Return the scale of these times; a single row if all are equal. Raise ValueError if there are none."""
        least_s, most_s = min(times_s), max(times_s)
        return cls(least_s, most_s, rows if 0 < least_s < most_s else 1)

    def row_of(self, time_s: float) -> int:
        """Return the row whose time is nearest."""
        if self.rows == 1:
            return 0
        share = math.log(time_s / self.least_s) / math.log(self.most_s / self.least_s)
        return min(max(round(share * (self.rows - 1)), 0), self.rows - 1)

    @property
    def labels(self) -> list[str]:
        """The time of each row, with enough digits to differ; the first and the last were measured."""
        if self.rows == 1:
            return [describe_ns(self.least_s * NS_PER_S)]
        ratio = (self.most_s / self.least_s) ** (1 / (self.rows - 1))
        times_s = [self.least_s * ratio**row for row in range(self.rows)]
        if ratio > _TOLD_APART:
            return [describe_ns(each * NS_PER_S) for each in times_s]
        return [times_text([each], (times_s[1] - times_s[0]) * 10, self.least_s) for each in times_s]
