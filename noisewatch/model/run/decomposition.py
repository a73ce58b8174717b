"""Why runs of a command take different times: instructions, cycles per instruction, clock, and time off the CPU.

A run's time is the product instructions × cycles/instruction × CPU time/cycle × time/CPU time. The logarithms of these
factors add up to the logarithm of the time. So each factor's part of the variance is its covariance with the time, and
the parts add up to the variance without a remainder.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.machine.command.counting import CommandCounts, Event

if TYPE_CHECKING:
    from noisewatch.model.run.repetition import Repetition

SAME_WORK = 0.001  # a larger spread of the instructions means that the program did different work
_LARGE = math.log(1.1)  # logarithm of an outlier's ratio; the outliers of a steady series may be smaller
_MAIN = 0.5  # a larger share of the total makes a factor the main one


class Factor(StrEnum):
    """A factor of a run's time."""

    INSTRUCTIONS = "instructions"
    CYCLES_PER_INSTRUCTION = "cycles-per-instruction"
    CLOCK = "clock"  # CPU time per cycle
    CLOCK_AND_KERNEL = "clock-and-kernel"  # CPU time per cycle of user code, if only those cycles could be counted
    CPU_TIME = "cpu-time"  # the product of all of the above, if hardware events could not be counted
    OFF_CPU = "off-cpu"  # elapsed time per CPU time: waiting increases it, several threads decrease it


class Decomposition(Struct, frozen=True):
    """The parts of a spread or of a difference; they are shares of the mean time and add up to `total`.

    A negative part counteracts the others. `instruction_spread` is the relative standard deviation of the instructions
    of user code; None means unknown. `unknown` is the reason why hardware events are missing, or None.
    """

    total: float
    parts: Mapping[Factor, float]
    instruction_spread: float | None
    unknown: str | None

    @property
    def main(self) -> Factor | None:
        """The factor that causes more than half of the total, if there is one."""
        factor = max(self.parts, key=lambda factor: self.parts[factor] / self.total)
        return factor if self.parts[factor] / self.total > _MAIN else None

    @property
    def is_same_work(self) -> bool | None:
        """Whether the runs executed the same instructions; None means unknown."""
        return None if self.instruction_spread is None else self.instruction_spread <= SAME_WORK


def spread_of(runs: Sequence[Repetition]) -> Decomposition | None:
    """Return the parts of the CV of the runs' times; None for fewer than two runs, or if all times are equal."""
    if len(runs) < 2:
        return None
    times = [math.log(run.seconds) for run in runs]
    variance = statistics.variance(times)
    if not variance:
        return None
    factors, unknown = _factors(runs)
    total = statistics.stdev(run.seconds for run in runs) / statistics.fmean(run.seconds for run in runs)
    parts = {factor: statistics.covariance(values, times) / variance * total for factor, values in factors.items()}
    return Decomposition(total, parts, _instruction_spread(runs), unknown)


def difference_of_factors(a: Sequence[Repetition], b: Sequence[Repetition], share: float) -> Decomposition | None:
    """Return the parts of the difference between two commands, whose runs form one or more pairs in order.

    `share` is how much longer the second command takes. Return None if the pairs show no difference.
    """
    factors, unknown = _factors([*a, *b])
    count = len(a)
    means = {
        factor: statistics.fmean(values[count:]) - statistics.fmean(values[:count])
        for factor, values in factors.items()
    }
    total = math.fsum(means.values())
    if not total:
        return None
    return Decomposition(share, {factor: mean / total * share for factor, mean in means.items()}, None, unknown)


class Outlier(Struct, frozen=True):
    """A run whose time is far from the times of the others, although no disturbance was observed.

    `ratio` is its time, and `factors` are its factors, divided by the geometric means of the others; the product of the
    factors is the ratio. `unknown` is the reason why hardware events are missing, or None.
    """

    number: int
    ratio: float
    factors: Mapping[Factor, float]
    unknown: str | None

    @property
    def is_large(self) -> bool:
        """Whether the difference is large enough to be explained in a sentence, and not only listed."""
        return abs(math.log(self.ratio)) >= _LARGE

    @property
    def main(self) -> Factor | None:
        """The factor that causes more than half of the ratio, if there is one."""
        total = math.log(self.ratio)
        parts = {factor: math.log(ratio) / total for factor, ratio in self.factors.items()} if total else {}
        return next((factor for factor, part in parts.items() if part == max(parts.values()) > _MAIN), None)


def outlier_of(run: Repetition, others: Sequence[Repetition]) -> Outlier:
    """Return how the run differs from one or more others."""
    factors, unknown = _factors([run, *others])
    ratios = {factor: math.exp(values[0] - statistics.fmean(values[1:])) for factor, values in factors.items()}
    return Outlier(run.number, math.prod(ratios.values()), ratios, unknown)


def _factors(runs: Sequence[Repetition]) -> tuple[dict[Factor, list[float]], str | None]:
    """Return the logarithms of each factor by run (one or more), and why hardware events are missing, or None.

    If events are missing for any run, they are left out for all runs.
    """
    unknown = next((run.counts.unknown for run in runs if run.counts.unknown is not None), None)
    rows = [_without_counters(run) if unknown is not None else _with_counters(run) for run in runs]
    return {factor: [math.log(row[factor]) for row in rows] for factor in rows[0]}, unknown


def _without_counters(run: Repetition) -> dict[Factor, float]:
    cpu_s = (run.use.cpu_ns or 1) / 1e9
    return {Factor.CPU_TIME: cpu_s, Factor.OFF_CPU: run.seconds / cpu_s}


def _with_counters(run: Repetition) -> dict[Factor, float]:
    counts = run.counts
    cycles, instructions = (counts.value(event) or 1 for event in (Event.CYCLES, Event.INSTRUCTIONS))
    cpu_s = (counts.value(Event.CPU_TIME) or run.use.cpu_ns or 1) / 1e9
    return {
        Factor.INSTRUCTIONS: instructions,
        Factor.CYCLES_PER_INSTRUCTION: cycles / instructions,
        Factor.CLOCK_AND_KERNEL if counts.is_user_only else Factor.CLOCK: cpu_s / cycles,
        Factor.OFF_CPU: run.seconds / cpu_s,
    }


def _instruction_spread(runs: Sequence[Repetition]) -> float | None:
    counts = [_user_instructions(run.counts) for run in runs]
    known = [count for count in counts if count]
    return statistics.stdev(known) / statistics.fmean(known) if len(known) == len(runs) else None


def _user_instructions(counts: CommandCounts) -> int | None:
    return counts.value(Event.INSTRUCTIONS if counts.is_user_only else Event.USER_INSTRUCTIONS)
