"""What one spinner of the idle probe writes and the sampler reads meanwhile: 64-bit words in shared memory.

A header, then the latest slices in turn. The count is written after what it counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.machine.spinning.loops.python_loops import Words

STATE, ERROR, TID, LEASE_NS, SLICES, _HEADER_WORDS = range(6)
STARTING, RESTING, SPINNING, YIELDED, MOVED, REFUSED = range(6)

_SLICE_WORDS = 5
_KEPT = 1024  # slices: those of 100 s
SHEET_WORDS = _HEADER_WORDS + _KEPT * _SLICE_WORDS


@dataclass(frozen=True, slots=True)
class Slice:
    """One stretch of spinning. `spun_ns` has the gaps in it."""

    start_ns: int
    spun_ns: int
    stolen_ns: int
    gap_count: int
    longest_gap_ns: int


class SharedBuffer:
    """One CPU's sheet, over its part of the shared memory. `header[LEASE_NS]` is the sampler's to write."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.header = words[:_HEADER_WORDS]
        self._slices = words[_HEADER_WORDS:SHEET_WORDS]

    def add(self, start_ns: int, spun_ns: int, stolen_ns: int, gap_count: int, longest_gap_ns: int) -> None:
        """Writes down a slice, over the oldest one."""
        count, slices = self.header[SLICES], self._slices
        at = count % _KEPT * _SLICE_WORDS
        slices[at] = start_ns
        slices[at + 1] = spun_ns
        slices[at + 2] = stolen_ns
        slices[at + 3] = gap_count
        slices[at + 4] = longest_gap_ns
        self.header[SLICES] = count + 1

    def slices_since(self, begin_ns: int) -> list[Slice]:
        """The slices that began then or later, the latest first; the one that may be written over is left out."""
        found: list[Slice] = []
        count = self.header[SLICES]
        for number in range(count - 1, max(count - _KEPT, -1), -1):
            at = number % _KEPT * _SLICE_WORDS
            read = Slice(*self._slices[at : at + _SLICE_WORDS].tolist())
            if read.start_ns < begin_ns:
                break
            found.append(read)
        return found
