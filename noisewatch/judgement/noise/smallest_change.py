"""The smallest difference of two means that a test will show, given how much samples vary."""

from __future__ import annotations

import math

from noisewatch.model.distributions import detection_factor

TEST = "Welch's t-test, two-sided 5 %, power 0.8"


def smallest_change(cv: float, samples: int) -> float:
    """The smallest relative difference of two means that `samples` samples each will show, by `TEST`.

    (t(1 - α/2) + t(power)) · CV · √(2/n), with 2n - 2 degrees of freedom. Infinite for fewer than two samples.
    """
    if samples < 2:
        return math.inf
    return detection_factor(2 * samples - 2) * cv * math.sqrt(2 / samples)
