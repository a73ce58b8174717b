"""Figures that two sides know, tested: means of all CPUs, and some of them CPU by CPU, where both name the same CPUs.

All are tested at once. By Bonferroni each has its part of 5 %, and each CPU its part of that, so that of twenty
comparisons of two equal sides one shows a difference at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from noisewatch.judgement.comparison.compared import ComparedFigure
from noisewatch.judgement.comparison.side import Condition, MeasuredFigure
from noisewatch.model.distributions import SIGNIFICANCE
from noisewatch.model.estimate import ratio_of
from noisewatch.model.history.figures import Figure, Nature

SPEEDS = "speeds"
_TOO_NOISY = "too noisy to compare"


class FigureComparison(NamedTuple):
    """All that were compared, at one significance; `by_cpu` of them also CPU by CPU."""

    figures: tuple[ComparedFigure, ...]
    significance: float
    by_cpu: int


class _Pair(NamedTuple):
    name: str
    before: MeasuredFigure
    after: MeasuredFigure

    @property
    def cpus(self) -> Sequence[int]:
        """Those that can be compared one by one."""
        cpus = self.before.by_cpu.keys()
        return [*cpus] if cpus == self.after.by_cpu.keys() else []


def compare_figures(
    before: Mapping[str, MeasuredFigure], after: Mapping[str, MeasuredFigure], excluded: frozenset[str]
) -> FigureComparison:
    """Those that both sides know, in the order of the first, and behind each the CPU on which it changed otherwise."""
    pairs = [
        _Pair(name, one, after[name])
        for name, one in before.items()
        if name in after and name not in excluded and one.estimate is not None and after[name].estimate is not None
    ]
    by_cpu = sum(bool(pair.cpus) for pair in pairs)
    significance = SIGNIFICANCE / max(len(pairs) + by_cpu, 1)
    figures = tuple(figure for pair in pairs for figure in _compared(pair, significance))
    return FigureComparison(figures, significance, by_cpu)


def too_noisy(figures: Sequence[ComparedFigure]) -> Iterator[str]:
    """The speeds, where none of them could have shown that it doubled; otherwise those that may have changed much."""
    for condition in Condition:
        of_condition = [each for each in figures if each.condition == condition]
        speeds = [each for each in of_condition if _is_speed(each)]
        if speeds and all(figure.is_blind for figure in speeds):
            yield f"{SPEEDS}{condition} ({_TOO_NOISY})"
        else:
            yield from (f"{figure.name} ({_TOO_NOISY})" for figure in of_condition if figure.is_suspect)


def _is_speed(figure: ComparedFigure) -> bool:
    """Of all CPUs together. How long it takes to read the clock tells nothing of their speed."""
    readings = figure.condition.names_of([Figure.CLOCK_READING])
    return figure.cpu is None and figure.traits.nature != Nature.NOISE and figure.name not in readings


def _compared(pair: _Pair, significance: float) -> Iterator[ComparedFigure]:
    if pair.before.estimate is None or pair.after.estimate is None:
        return
    ratio = ratio_of(pair.before.estimate, pair.after.estimate, significance)
    traits, test, condition = pair.before.traits, pair.before.test, pair.before.condition
    whole = ComparedFigure(pair.name, pair.before.estimate, pair.after.estimate, traits, test, ratio, condition)
    yield whole
    changed = [each for each in _by_cpu(pair, significance) if each.differs or each.is_suspect]
    apart = [each for each in changed if not _is_of_all(each, whole)]
    if apart:
        yield max(apart, key=lambda each: (each.differs, abs(math.log(each.ratio.value))))


def _by_cpu(pair: _Pair, significance: float) -> Iterator[ComparedFigure]:
    traits, test, condition = pair.before.traits, pair.before.test, pair.before.condition
    for cpu in pair.cpus:
        before, after = pair.before.by_cpu[cpu], pair.after.by_cpu[cpu]
        ratio = ratio_of(before, after, significance / len(pair.cpus))
        yield ComparedFigure(f"{pair.name} on CPU {cpu}", before, after, traits, test, ratio, condition, cpu)


def _is_of_all(each: ComparedFigure, whole: ComparedFigure) -> bool:
    """Whether the CPU changed as all of them together did, which is told already."""
    is_told = whole.differs or whole.is_suspect
    return is_told and each.ratio.interval.low <= whole.ratio.value <= each.ratio.interval.high
