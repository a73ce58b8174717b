"""Where a spike begins: far above what was usual just before, on a noisy machine as on a quiet one."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS

# Two minutes, at an interval a second: what lasts less than a quarter of them is not usual yet, and what goes on for
# longer is; so are bursts that come as often. A slow rise is no spike at any moment.
USUAL_INTERVALS = 120
# Times that the upper quartile lies above the median. Were losses normally distributed, that would come to six standard
# deviations; of 120 intervals the quartile is itself so inexact that four are exceeded in every hour.
_LEAST_SPREADS = 8
_LEAST_KNOWN = 10  # intervals; from fewer nobody can say how much they vary, and it has to be twice as much
_MANIFOLD = 10  # times what was lost before: within a spike another one


def spikes_in(losses: Sequence[float | None]) -> list[int]:
    """The places at which a spike begins, of losses in ns a second, the oldest first; None is unknown."""
    return [at for at in range(len(losses)) if is_spike_at(losses, at)]


def is_spike_at(losses: Sequence[float | None], at: int) -> bool:
    """Whether one begins there. What is unknown neither begins one nor ends it."""
    lost = losses[at]
    if lost is None or not _stands_out(losses, at, lost):
        return False
    place = next(place for place in range(at - 1, -1, -1) if losses[place] is not None)  # as there was something usual
    was = losses[place] or 0.0
    return lost >= _MANIFOLD * was or not _stands_out(losses, place, was)


def _stands_out(losses: Sequence[float | None], at: int, lost: float) -> bool:
    """Whether as much as is called grave came on top of what was usual, and more than that usually varies.

    Where nothing is known of the time before, nothing was usual.
    """
    if lost < GRAVE_NS:  # most of them, on a quiet machine
        return False
    before = sorted(each for each in losses[max(at - USUAL_INTERVALS, 0) : at] if each is not None)
    if not before:
        return False
    middle, usual = before[len(before) // 2], before[len(before) * 3 // 4]
    least = _LEAST_SPREADS * (usual - middle) if len(before) >= _LEAST_KNOWN else usual
    return lost - usual >= max(GRAVE_NS, least)
