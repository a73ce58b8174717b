"""How much noise a repetition may meet and still count as undisturbed: what this machine, left alone, adds anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH, NoiseFloor
from noisewatch.records import dataclass

_MOST_SHARE = 0.03  # of a repetition of 10 ms and longer: a machine that adds more is not left alone
_MOST_AT_NS = 10_000_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """A share of a repetition's length; `is_measured`: from the opening calibration, and not what suits most machines.

    At least half of a change of 1 % may always be lost.
    """

    share: float
    is_measured: bool

    def ns(self, length_ns: int) -> float:
        return self.share * length_ns


def allowance_for(length_ns: int, floors: Sequence[NoiseFloor] = ()) -> Allowance:
    """For repetitions of that length, from the `floors` of interruptions alone, shortest samples first.

    The worst sample that is to be expected, by the median, is within the machine's own noise. It comes less and less
    to matter the longer a sample is; the floor of the next shorter length bounds it.
    """
    fitting = [floor for floor in floors if floor.sample_ns <= length_ns] or list(floors[:1])
    if not fitting:
        return Allowance(LOSES_TOO_MUCH, False)
    most = _MOST_SHARE * max(math.sqrt(_MOST_AT_NS / max(length_ns, 1)), 1.0)
    return Allowance(min(max(fitting[-1].max_inflation - 1, LOSES_TOO_MUCH), most), True)
