"""The shares of the machine and of the program in the variation between processes."""

from __future__ import annotations

import math
from enum import StrEnum

from noisewatch.model.run.series import Bounds, SeriesStatistics
from noisewatch.records import dataclass


class Explained(StrEnum):
    """The explanation for differences between processes of the same command."""

    PROGRAM = "program"  # they vary more than the machine makes them: layout, hash seeds, allocation
    ORDER = "order"  # they do, but by when they ran, which nothing of that changes: warming up, heat, a neighbour
    MACHINE = "machine"  # they vary no more than the machine can make them
    UNDECIDED = "undecided"  # too few runs to separate the two
    UNKNOWN_MACHINE = "unknown-machine"  # the noise of the machine was not measured
    UNKNOWN_RUNS = "unknown-runs"  # one run does not vary


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The CV between processes, and its two parts; their squares add up. `of_machine` is the prediction.

    `of_program` is the rest, as an interval; None if one of the others is unknown. It starts at 0 unless the runs vary
    more than the machine alone makes them, within both intervals.
    """

    explained: Explained
    count: int
    cv: float | None
    cv_interval: Bounds | None
    of_machine: Bounds | None
    of_program: Bounds | None


def parts_of(series: SeriesStatistics | None, of_machine: Bounds | None) -> VarianceParts:
    """Divide the variation of the series between the machine and the program.

    `of_machine` is the CV that the machine alone gives runs of this length, by a noise floor; None if unknown. A series
    of None has no run that counts. Machine and program are assumed to be independent, so that their variances add up.
    """
    if series is None:
        return VarianceParts(Explained.UNKNOWN_RUNS, 0, None, None, of_machine, None)
    between = series.cv_interval
    of_program = None
    if between is not None and of_machine is not None:
        of_program = Bounds(_rest(between.low, of_machine.high), _rest(between.high, of_machine.low))
    return VarianceParts(
        explained=_explained(series, of_machine),
        count=series.count,
        cv=series.cv,
        cv_interval=between,
        of_machine=of_machine,
        of_program=of_program,
    )


def _explained(series: SeriesStatistics, of_machine: Bounds | None) -> Explained:
    between = series.cv_interval
    if between is None:
        return Explained.UNKNOWN_RUNS
    if of_machine is None:
        return Explained.UNKNOWN_MACHINE
    if between.low > of_machine.high:
        return Explained.PROGRAM if series.doubt is None else Explained.ORDER
    return Explained.MACHINE if between.high <= of_machine.high else Explained.UNDECIDED


def _rest(whole: float, part: float) -> float:
    return math.sqrt(max(whole**2 - part**2, 0.0))
