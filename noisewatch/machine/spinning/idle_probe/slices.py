"""When a spinner of the idle probe spins: a short slice in each period, never at the same place of it.

Ten slices of 2 ms a second see ten moments of it, where one of 20 ms sees one; none is longer than what the scheduler
gives a task at once (3 ms), so that whoever starts there meets it for less than that; and shorter ones would be spent
on waking up. Most noise is periodic, and its periods divide ours: the tick would be in each slice or in none. So each
slice lies at another place of its period, evenly spread over time.
"""

from __future__ import annotations

PERIOD_NS = 100_000_000
WARM_NS = 100_000  # after waking up, caches and clock are cold, and the kernel catches up: that is not told
SPIN_NS = 1_700_000  # with the warming up, and with waking up and adding up around it, 2 % of the period
DUTY_SHARE = 0.02
# Of 2**64. Multiples of the golden ratio fill a period most evenly (Weyl's sequence), and two in turn are never nearer
# than 0.38 of it, so that no slice runs into the next.
_GOLDEN = 0x9E3779B97F4A7C15
_APART = 4099  # so that CPUs, siblings above all, seldom spin together


def slice_start_ns(number: int, cpu: int) -> int:
    """When that slice of that CPU's begins, after the spinning has begun."""
    place = (number + cpu * _APART) * _GOLDEN % (1 << 64)
    return number * PERIOD_NS + (place * PERIOD_NS >> 64)
