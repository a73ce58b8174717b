"""Quantiles of the distributions used for intervals of means and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import count

SIGNIFICANCE, POWER = 0.05, 0.80


def detection_factor(freedom: int) -> float:
    """Return the smallest difference, in standard errors, that a two-sided t-test detects with 80% power.

    t(1 - α/2) + t(power): Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, ch. 2.
    """
    return t_quantile(1 - SIGNIFICANCE / 2, freedom) + t_quantile(POWER, freedom)


@cache
def t_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution at `share` (0.5 to 1), with a relative accuracy of 1e-6."""
    return _invert(lambda value: 1 - t_outside(value, freedom) / 2, share)


def t_outside(value: float, freedom: int) -> float:
    """Return the share of Student's t distribution at least as far from 0 as `value`, accurate to 1e-14.

    This is the finite series for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(abs(value), math.sqrt(freedom))
    square, is_odd = math.cos(angle) ** 2, freedom % 2
    term = total = math.cos(angle) if is_odd else 1.0
    for at in range(2 + is_odd, freedom - 1, 2):
        term *= square * (at - 1) / at
        total += term
    if not is_odd:
        return 1 - math.sin(angle) * total
    return 1 - 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0))


@cache
def chi_square_quantile(share: float, freedom: float) -> float:
    """Return the quantile of the χ² distribution at `share`, with a relative accuracy of 1e-6.

    `share` is between 0 and 1, exclusive. `freedom` is above 0 and need not be whole.
    """
    return _invert(lambda value: _chi_square_share(value, freedom), share)


def f_outside(value: float, above: int, below: int) -> float:
    """Return the share of the F distribution beyond `value`, accurate to 1e-10.

    `above` and `below` are the degrees of freedom of the numerator and the denominator.
    """
    return _beta_share(below / (below + above * value), below / 2, above / 2)


@cache
def f_quantile(share: float, above: int, below: int) -> float:
    """Return the quantile of the F distribution at `share` (0 to 1, exclusive), with a relative accuracy of 1e-6."""
    return _invert(lambda value: 1 - f_outside(value, above, below), share)


def _invert(share_below: Callable[[float], float], share: float) -> float:
    """Return the value, from 0 on, at which a cumulative distribution reaches `share`, by bisection."""
    low, high = 0.0, 1.0
    while share_below(high) < share:
        low, high = high, 2 * high
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if share_below(middle) < share else (low, middle)
    return (low + high) / 2


def _chi_square_share(value: float, freedom: float) -> float:
    """Return the regularized incomplete gamma function P(freedom / 2, value / 2).

    https://dlmf.nist.gov/8.11.E4. The series is summed from its largest term in both directions, because its first term
    may be too small for a float.
    """
    if value <= 0:
        return 0.0
    shape, half = freedom / 2, value / 2
    peak = max(math.floor(half - shape), 0)
    largest = math.exp((shape + peak) * math.log(half) - half - math.lgamma(shape + peak + 1))
    total, term, at = largest, largest, peak
    while term > total * _NEGLIGIBLE:
        at += 1
        term *= half / (shape + at)
        total += term
    term, at = largest, peak
    while at > 0 and term > total * _NEGLIGIBLE:
        term *= (shape + at) / half
        at -= 1
        total += term
    return total


def _beta_share(value: float, first: float, second: float) -> float:
    """Return the regularized incomplete beta function I_value(first, second).

    Its continued fraction is evaluated forwards: https://dlmf.nist.gov/8.17.E22 and https://dlmf.nist.gov/3.10.
    """
    if not 0 < value < 1:
        return float(value >= 1)
    if value > (first + 1) / (first + second + 2):  # the fraction converges slowly there
        return 1 - _beta_share(1 - value, second, first)
    logarithm = math.lgamma(first + second) - math.lgamma(first) - math.lgamma(second)
    logarithm += first * math.log(value) + second * math.log1p(-value)
    upper, lower, fraction = 1.0, 0.0, 1.0
    for at in count(1):
        half = at // 2
        term = -(first + half) * (first + second + half) if at % 2 else half * (second - half)
        term *= value / ((first + at - 1) * (first + at))
        lower = 1 / (1 + term * lower)
        upper = 1 + term / upper
        fraction *= upper * lower
        if abs(upper * lower - 1) < _NEGLIGIBLE:
            break
    return math.exp(logarithm) / first / fraction


_NEGLIGIBLE = 1e-14
