"""How much of the variation between processes the machine explains, and how much the program."""

from __future__ import annotations

import math
from enum import StrEnum

from noisewatch.model.run.series import Bounds, SeriesStatistics
from noisewatch.records import dataclass


class Explained(StrEnum):
    """Why processes of the same command differ, as far as it is known."""

    PROGRAM = "program"  # they vary more than the machine makes them: layout, hash seeds, allocation
    ORDER = "order"  # they do, but by when they ran, which nothing of that changes: warming up, heat, a neighbour
    MACHINE = "machine"  # they vary no more than the machine can make them
    UNDECIDED = "undecided"  # too few runs to tell the two apart
    UNKNOWN_MACHINE = "unknown-machine"  # nobody measured what the machine does
    UNKNOWN_RUNS = "unknown-runs"  # one run does not vary


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The CV between processes, and its two parts; their squares add up. `of_machine` is what was predicted.

    `of_program` is the rest, as an interval; None where one of the others is unknown. It starts at 0 unless the runs
    vary more than the machine alone makes them, for all that either interval allows.
    """

    explained: Explained
    count: int
    cv: float | None
    cv_interval: Bounds | None
    of_machine: Bounds | None
    of_program: Bounds | None


def parts_of(series: SeriesStatistics | None, of_machine: Bounds | None) -> VarianceParts:
    """`of_machine` is the CV that the machine alone gives runs of this length: a noise floor's;
    None if unknown. A series of None: no run counts.

    What the machine does and what the program does are taken as independent, so that their variances add up.
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
