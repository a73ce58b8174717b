"""The smallest difference between two means that a test detects, given the variation of samples."""

from __future__ import annotations

import math

from noisewatch.model.distributions import detection_factor

MOST_SAMPLES = 10_000  # more samples are not practical
TEST = "Welch's t-test, two-sided 5%, power 0.8"


def smallest_change(cv: float, samples: int) -> float:
    """Return the smallest relative difference between two means of `samples` samples each that `TEST` detects.

    It is (t(1 - α/2) + t(power)) · CV · √(2/n), with 2n - 2 degrees of freedom. Infinite for fewer than two samples.
    """
    if samples < 2:
        return math.inf
    return detection_factor(2 * samples - 2) * cv * math.sqrt(2 / samples)


def samples_needed(cv: float, share: float) -> int | None:
    """Return the least number of samples for which `smallest_change` is at most `share`; None above `MOST_SAMPLES`.

    The factor falls with the number of samples, so the factor at `MOST_SAMPLES` gives a start that is a few too low.
    """
    fewest = 2 * (detection_factor(2 * MOST_SAMPLES - 2) * cv / share) ** 2
    if fewest > MOST_SAMPLES:
        return None
    numbers = range(max(math.floor(fewest), 2), MOST_SAMPLES + 1)
    return next((number for number in numbers if smallest_change(cv, number) <= share), None)
