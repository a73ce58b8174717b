"""Shares of trials, with confidence intervals."""

from __future__ import annotations

import math

_NORMAL = 1.96


def describe_trials(count: int, trials: int) -> str:
    """Return `19 of 20 (95.0%, 76.4 to 99.1%)`, with the 95 % interval by Wilson, which is also valid at 0 and 1."""
    if not trials:
        return "0 of 0"
    share, square = count / trials, _NORMAL**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = _NORMAL * math.sqrt(share * (1 - share) / trials + square / trials / 4) / (1 + square)
    return f"{count} of {trials} ({share:.1%}, {max(middle - half, 0):.1%} to {min(middle + half, 1):.1%})"
