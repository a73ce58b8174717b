"""The idle probe's shared memory, 64-bit words written by a spinner and read by the sampler, and the spinning schedule.

The buffer is a header, then a ring of the latest slices. A slice is written before the count that includes it.

A spinner spins for a short slice in each period. Ten slices of 2 ms per second sample ten moments of the second, one
slice of 20 ms only one. A slice is shorter than the scheduler's time slice for a task (3 ms), so a benchmark that
starts there is disturbed for less than that; even shorter slices would be spent on waking up. Most noise is periodic,
with periods that divide the probe's: at a fixed phase, the tick would be in each slice or in none. So each slice is at
another phase of its period, evenly spread over time.
"""

from __future__ import annotations

from typing import NamedTuple

from noisewatch.machine.spinning.loops.python_loops import Words

STATE, ERROR, TID, LEASE_NS, SLICES, _HEADER_WORDS = range(6)
STARTING, RESTING, SPINNING, YIELDED, MOVED, REFUSED = range(6)

_SLICE_WORDS = 5
_KEPT = 1024  # number of slices, enough for 100 s
BUFFER_WORDS = _HEADER_WORDS + _KEPT * _SLICE_WORDS


class Slice(NamedTuple):  # no Struct: a spinner's interpreter has only the standard library
    """One slice of spinning. `spun_ns` includes the gaps in it."""

    start_ns: int
    spun_ns: int
    stolen_ns: int
    gap_count: int
    longest_gap_ns: int


class ProbeBuffer:
    """One CPU's buffer, in its part of the shared memory. The sampler writes `header[LEASE_NS]`."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.header = words[:_HEADER_WORDS]
        self._slices = words[_HEADER_WORDS:BUFFER_WORDS]

    def add(self, start_ns: int, spun_ns: int, stolen_ns: int, gap_count: int, longest_gap_ns: int) -> None:
        """Write a slice over the oldest one."""
        count, slices = self.header[SLICES], self._slices
        at = count % _KEPT * _SLICE_WORDS
        slices[at] = start_ns
        slices[at + 1] = spun_ns
        slices[at + 2] = stolen_ns
        slices[at + 3] = gap_count
        slices[at + 4] = longest_gap_ns
        self.header[SLICES] = count + 1

    def slices_since(self, begin_ns: int) -> list[Slice]:
        """Return the slices that began at `begin_ns` or later, latest first, except a slice being overwritten."""
        slices: list[Slice] = []
        count = self.header[SLICES]
        for number in range(count - 1, max(count - _KEPT, -1), -1):
            at = number % _KEPT * _SLICE_WORDS
            read = Slice(*self._slices[at : at + _SLICE_WORDS].tolist())
            if read.start_ns < begin_ns:
                break
            slices.append(read)
        return slices


PERIOD_NS = 100_000_000
WARM_NS = 100_000  # not recorded: after waking up, caches and clock are cold and the kernel catches up
SPIN_NS = 1_700_000  # with warm-up, waking up and summing, a slice takes 2% of the period
DUTY_SHARE = 0.02
# The golden ratio's fraction (0.618) of 2**64. Its multiples fill a period most evenly (Weyl's sequence), and
# consecutive ones are at least 0.38 of the period apart, so that no slice overlaps the next.
_GOLDEN = 0x9E3779B97F4A7C15
_APART = 4099  # so that CPUs, siblings in particular, rarely spin together


def slice_start_ns(number: int, cpu: int) -> int:
    """Return the start of the CPU's slice `number`, in ns since spinning began."""
    place = (number + cpu * _APART) * _GOLDEN % (1 << 64)
    return number * PERIOD_NS + (place * PERIOD_NS >> 64)
