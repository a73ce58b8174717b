"""How much the noise of a host changes from one calibration to the next: what none of them can see by itself.

The ends of a predicted interval are moved apart for it. Until the host has shown how much that is, what the one of
tests/truth did stands for it, with the weight of so many changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from noisewatch.model.distributions import t_outside
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.model.history.entries import Cvs

_FREEDOM = 4
_MEASURED_OF_EXPECTED = 0.87  # the median over the held-out conditions of tests/truth
_LEAST_DEVIATION = 0.05
_LEAST_CV = 1e-4  # what varies by less is calm, however many times as calm it is
WEIGHT = 5  # changes
ENDS = 1.645  # standard deviations, between which nine of ten lie


class _Usual(NamedTuple):
    """Of samples up to that length, the standard deviation of the logarithm of what was measured by what was expected.

    From tests/truth, on a virtual machine with changing neighbours, where two halves of one calibration differ by as
    much: nine of ten benchmarks lie within the ends that are moved apart so.
    """

    length_ns: int
    deviation: float


_USUAL = (_Usual(1_000_000, 0.39), _Usual(10_000_000, 0.56), _Usual(100_000_000, 0.67))


def _usual_at(length_ns: int) -> _Usual:
    return next((each for each in _USUAL if length_ns <= each.length_ns), _USUAL[-1])


class Learned(NamedTuple):
    """From how many pairs of calibrations, one after the other; the mean square of the logarithm of their ratio."""

    changes: int
    mean_square: float


@dataclass(frozen=True, slots=True)
class Drift:
    """What was learned of this host, by the length of samples in ns; all else is as usual."""

    learned: Mapping[int, Learned] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """How many were seen, at the length of which most are known."""
        return max((each.changes for each in self.learned.values()), default=0)

    def changes_at(self, length_ns: int) -> int:
        """From how many changes the margin for samples of that length was learned; 0 where it is the usual one."""
        return self._learned_at(_usual_at(length_ns)).changes

    def margin_at(self, length_ns: int) -> float:
        """By how many times the ends of the interval for samples of that length are moved apart."""
        return math.exp(ENDS * self.deviation_at(length_ns))

    def deviation_at(self, length_ns: int) -> float:
        """Return the standard deviation of the logarithm of what is measured by what was expected."""
        usual = _usual_at(length_ns)
        learned = self._learned_at(usual)
        square = (WEIGHT * usual.deviation**2 + learned.changes * learned.mean_square) / (WEIGHT + learned.changes)
        return math.sqrt(square)

    def chance_within(self, most: float, cv: float, length_ns: int) -> float:
        """Return the chance (0 to 1) that samples of which the CV `cv` is expected vary by no more than `most`.

        Its tails are those of Student's t with four degrees of freedom: what a host does next is now and then quite
        another thing (tests/truth/gate holds the chances against what benchmarks then did).
        """
        likely = max(cv * _MEASURED_OF_EXPECTED, _LEAST_CV)
        apart = math.log(max(most, _LEAST_CV) / likely) / max(self.deviation_at(length_ns), _LEAST_DEVIATION)
        outside = t_outside(apart, _FREEDOM)
        return 1 - outside / 2 if apart > 0 else outside / 2

    def widened(self, low: float, high: float, length_ns: int) -> tuple[float, float]:
        """The ends of the interval of the CV of samples of that length, moved apart."""
        margin = self.margin_at(length_ns)
        return low / margin, max(high, _LEAST_CV) * margin

    def _learned_at(self, usual: _Usual) -> Learned:
        return self.learned.get(usual.length_ns, _NOTHING)


_NOTHING = Learned(0, 0.0)
USUAL_DRIFT = Drift()


def drift_of(changes: Sequence[tuple[Cvs, Cvs]]) -> Drift:
    """What is learned from calibrations: each pair is one and the next."""
    import statistics  # most runs judge without a history

    learned = {}
    for usual in _USUAL:
        logarithms = (_logarithms(one, other, usual.length_ns) for one, other in changes)
        squares = [statistics.fmean(each**2 for each in of_pair) for of_pair in logarithms if of_pair]
        if squares:
            learned[usual.length_ns] = Learned(len(squares), statistics.fmean(squares))
    return Drift(learned)


def _logarithms(one: Cvs, other: Cvs, length_ns: int) -> list[float]:
    """Of the ratio of both, for each kind of work that both know."""
    return [
        math.log(max(other[work][length_ns], _LEAST_CV) / max(cvs[length_ns], _LEAST_CV))
        for work, cvs in one.items()
        if length_ns in cvs and length_ns in other.get(work, {})
    ]
