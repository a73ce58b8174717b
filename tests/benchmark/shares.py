"""How often something was so, of some trials."""

from __future__ import annotations

import math

_NORMAL = 1.96


def describe_trials(count: int, trials: int) -> str:
    """`19 of 20 (95.0%, 76.4 to 99.1%)`: 95 % confidence by Wilson's score interval, which holds at 0 and at all."""
    if not trials:
        return "0 of 0"
    share, square = count / trials, _NORMAL**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = _NORMAL * math.sqrt(share * (1 - share) / trials + square / trials / 4) / (1 + square)
    return f"{count} of {trials} ({share:.1%}, {max(middle - half, 0):.1%} to {min(middle + half, 1):.1%})"
