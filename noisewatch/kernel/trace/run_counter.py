"""The lengths of one source's runs, counted by rounded length."""

from __future__ import annotations

from dataclasses import field

from noisewatch.records import dataclass


@dataclass(slots=True)
class RunCounter:
    """All runs of one source: their number, their total and longest time."""

    count: int = 0
    own_ns: int = 0
    max_ns: int = 0
    lengths: dict[int, int] = field(default_factory=dict)  # how many of about each length

    def add(self, ns: int) -> None:
        """Add one run."""
        self.count += 1
        self.own_ns += ns
        if ns > self.max_ns:
            self.max_ns = ns
        rounded = rounded_ns(ns)
        self.lengths[rounded] = self.lengths.get(rounded, 0) + 1


def rounded_ns(ns: int) -> int:
    """Return the length rounded down by less than a quarter, so that similar lengths are counted together."""
    shift = max(ns.bit_length() - 3, 0)
    return ns >> shift << shift
