"""The noise that a repetition may meet and still count as undisturbed: what this machine adds when left alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH, NoiseFloor

# A machine that adds more to samples of 10 ms is not left alone. Noise that comes at random adds up more slowly than
# the time does, by its square root: of a second it may take a tenth of that share.
_MOST_SHARE = 0.03
_MOST_AT_NS = 10_000_000
_MOST_AT_ALL = 0.1


class Allowance(Struct, frozen=True):
    """The allowed noise, as a share of a repetition's length.

    `is_measured`: it comes from the opening calibration, and is not the default for most machines. Half of a change of
    1% is always allowed.
    """

    share: float
    is_measured: bool

    def ns(self, length_ns: int) -> float:
        return self.share * length_ns


def allowance_for(length_ns: int, floors: Sequence[NoiseFloor] = ()) -> Allowance:
    """Return the allowance for repetitions of this length.

    It is derived from the `floors` of interruptions alone of each target CPU. The expected worst sample is within the
    machine's own noise. It matters less the longer a sample is: the floor of the next shorter samples bounds it. Of
    several CPUs the quietest counts.
    """
    if not floors:
        return Allowance(LOSES_TOO_MUCH, False)
    shortest_ns = min(floor.sample_ns for floor in floors)
    sample_ns = max((floor.sample_ns for floor in floors if floor.sample_ns <= length_ns), default=shortest_ns)
    added = min(floor.max_inflation for floor in floors if floor.sample_ns == sample_ns) - 1
    most = min(_MOST_SHARE * math.sqrt(_MOST_AT_NS / max(length_ns, 1)), _MOST_AT_ALL)
    return Allowance(max(LOSES_TOO_MUCH, min(most, added)), True)
