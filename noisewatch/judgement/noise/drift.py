"""How much the noise of a host changes from one calibration to the next, which no single calibration can measure.

A predicted interval is widened by this drift. The starting value is the drift of another host (tests/truth), which
weighs as much as five changes observed on this host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from noisewatch.model.distributions import t_outside

if TYPE_CHECKING:
    from noisewatch.model.history.entries import Cvs

_FREEDOM = 4
_MEASURED_OF_EXPECTED = 0.87  # median ratio of measured to expected CV, over the held-out conditions of tests/truth
_MIN_DEVIATION = 0.05
_MIN_CV = 1e-4  # smaller CVs are raised to this value
WEIGHT = 5  # the usual drift weighs as much as this number of changes on the host
ENDS = 1.645  # standard deviations: nine of ten values lie within this distance of the mean


class _Usual(NamedTuple):
    """The standard deviation of log(measured CV / expected CV), for samples up to this length.

    The values are from tests/truth, on a virtual machine with changing neighbours, where even the two halves of one
    calibration differ by this much. Nine of ten benchmarks lie within intervals that are widened for this deviation.
    """

    length_ns: int
    deviation: float


_USUAL = (_Usual(1_000_000, 0.39), _Usual(10_000_000, 0.56), _Usual(100_000_000, 0.67))


def _usual_at(length_ns: int) -> _Usual:
    return next((usual for usual in _USUAL if length_ns <= usual.length_ns), _USUAL[-1])


class Learned(NamedTuple):
    """The number of pairs of consecutive calibrations, and the mean square of the logarithms of their CVs' ratios."""

    changes: int
    mean_square: float


class Drift(Struct, frozen=True):
    """The drift learned from this host, for lengths (ns) in `_USUAL`; the usual drift replaces missing lengths."""

    learned: Mapping[int, Learned] = {}

    @property
    def changes(self) -> int:
        """The largest number of changes observed at any length."""
        return max((drift.changes for drift in self.learned.values()), default=0)

    def changes_at(self, length_ns: int) -> int:
        """Return the number of changes from which the margin at this length was learned; 0 for the usual margin."""
        return self._learned_at(_usual_at(length_ns)).changes

    def margin_at(self, length_ns: int) -> float:
        """Return the factor by which the lower end of an interval is divided and the upper end is multiplied."""
        return math.exp(ENDS * self.deviation_at(length_ns))

    def deviation_at(self, length_ns: int) -> float:
        """Return the standard deviation of log(measured CV / expected CV)."""
        usual = _usual_at(length_ns)
        learned = self._learned_at(usual)
        square = (WEIGHT * usual.deviation**2 + learned.changes * learned.mean_square) / (WEIGHT + learned.changes)
        return math.sqrt(square)

    def chance_within(self, max_cv: float, cv: float, length_ns: int) -> float:
        """Return the chance (0 to 1) that samples with the expected CV `cv` vary by no more than `max_cv`.

        The tails are those of Student's t with four degrees of freedom, because a host's noise sometimes changes
        completely (tests/truth/gate compares the chances with the results of benchmarks).
        """
        likely = max(cv * _MEASURED_OF_EXPECTED, _MIN_CV)
        distance = math.log(max(max_cv, _MIN_CV) / likely) / max(self.deviation_at(length_ns), _MIN_DEVIATION)
        outside = t_outside(distance, _FREEDOM)
        return 1 - outside / 2 if distance > 0 else outside / 2

    def widen(self, low: float, high: float, length_ns: int) -> tuple[float, float]:
        """Widen an interval of the CV for samples of this length by the drift's margin."""
        margin = self.margin_at(length_ns)
        return low / margin, max(high, _MIN_CV) * margin

    def _learned_at(self, usual: _Usual) -> Learned:
        return self.learned.get(usual.length_ns, _NOTHING)


_NOTHING = Learned(0, 0.0)
USUAL_DRIFT = Drift()


def drift_of(changes: Sequence[tuple[Cvs, Cvs]]) -> Drift:
    """Return the drift learned from pairs of consecutive calibrations."""
    import statistics  # most runs judge without a history

    learned = {}
    for usual in _USUAL:
        logarithms = (_logarithms(before, after, usual.length_ns) for before, after in changes)
        squares = [statistics.fmean(logarithm**2 for logarithm in of_pair) for of_pair in logarithms if of_pair]
        if squares:
            learned[usual.length_ns] = Learned(len(squares), statistics.fmean(squares))
    return Drift(learned)


def _logarithms(before: Cvs, after: Cvs, length_ns: int) -> list[float]:
    """Return the logarithm of the ratio of the CVs, for each kind of work that both have."""
    return [
        math.log(max(after[work][length_ns], _MIN_CV) / max(cvs[length_ns], _MIN_CV))
        for work, cvs in before.items()
        if length_ns in cvs and length_ns in after.get(work, {})
    ]
