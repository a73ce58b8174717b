"""Finds outliers: figures that are out of line with the same figures of machines of the same kind.

A figure is out of line if it is more than 3.5 standard deviations from the median, by a difference that counts. The
standard deviation is estimated from the median absolute deviation, so outliers do not hide themselves (Iglewicz and
Hoaglin, How to Detect and Handle Outliers, 1993). Logarithms are compared, because figures of machines differ by
factors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from statistics import median

from msgspec import Struct

from noisewatch.model.history.figures import TRAITS, Figure, Nature, logarithm

LEAST_MACHINES = 8  # of 5 machines, one in 18 normal values would be an outlier; of 8, one in 45 (simulated)
MOST_DEVIATIONS = 3.5
_DEVIATION_PER_MAD = 1.4826  # standard deviation of a normal distribution, in MADs


class OutOfLine(Struct, frozen=True):
    """One machine's outlier. `machines` is the number of compared machines, and `median` the median of their values.

    For a figure of the slowest CPU, `cpu` is this CPU; it is compared with the other machines' slowest CPUs.
    """

    figure: Figure
    value: float
    median: float
    machines: int
    cpu: int | None = None

    @property
    def distance(self) -> float:
        """The absolute natural logarithm of the value's ratio to the median."""
        return abs(logarithm(self.figure, self.value) - logarithm(self.figure, self.median))


Figures = Mapping[Figure, float]


def find_outliers(kinds: Mapping[str, Hashable], figures: Mapping[str, Figures]) -> dict[str, list[OutOfLine]]:
    """Return the outliers by machine, for machines that have any.

    Machines are the keys of all maps. A machine of unknown kind (None) is not compared.
    """
    members: dict[Hashable, list[str]] = defaultdict(list)
    for machine, kind in kinds.items():
        if kind is not None:
            members[kind].append(machine)
    outliers: dict[str, list[OutOfLine]] = defaultdict(list)
    for machines in members.values():
        for figure in Figure:
            pairs = [(machine, figures[machine][figure]) for machine in machines if figure in figures[machine]]
            for machine, outlier in _outliers(figure, pairs):
                outliers[machine].append(outlier)
    return dict(outliers)


def _outliers(figure: Figure, pairs: Sequence[tuple[str, float]]) -> Iterator[tuple[str, OutOfLine]]:
    """Yield the outliers of one figure, with their machines.

    Less noise than on other machines is not an outlier; a speed may be an outlier in both directions.
    """
    if len(pairs) < LEAST_MACHINES:
        return
    logs = [logarithm(figure, value) for _, value in pairs]
    middle, traits = median(logs), TRAITS[figure]
    deviation = _DEVIATION_PER_MAD * median(abs(log - middle) for log in logs)
    usual = max(MOST_DEVIATIONS * deviation, traits.least_change)
    middle_value = median(value for _, value in pairs)
    for (machine, value), log in zip(pairs, logs, strict=True):
        distance = log - middle if traits.nature is Nature.NOISE else abs(log - middle)
        if distance > usual:
            yield machine, OutOfLine(figure, value, middle_value, len(pairs))
