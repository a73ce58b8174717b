"""Entries of a machine's history: a calibration, and the facts of the machine at that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.kinds import Work
from noisewatch.model.history.facts import Facts
from noisewatch.model.history.figures import Figure

Cvs = Mapping[Work, Mapping[int, float]]  # what was expected: by kind of work, and by the length of samples in ns


class Entry(Struct, frozen=True):
    """One calibration in the history. `facts` and `figures` are empty in entries of versions without them."""

    at_s: float  # since 1970, by this machine's clock
    core: str  # what measured
    cpus: CpuSet
    cvs: Cvs
    figures: Mapping[Figure, float] = {}
    facts: Facts = {}
    boot: str | None = None  # which of the machine's boots; None is unknown


class Acceptance(Struct, frozen=True):
    """The time and the reason of accepting the machine as it is from there on; None and empty are unknown."""

    at_s: float | None
    why: str


class Past(Struct, frozen=True):
    """The entries of one machine in the order in which they were written; those from `accepted` on count as usual."""

    entries: tuple[Entry, ...] = ()
    accepted: int = 0
    doubt: str | None = None  # why they may be another machine's
    is_kept: bool = True  # whether anything is remembered at all
    other_machines: int = 0  # whose entries are in the same file
    acceptance: Acceptance | None = None  # the newest
    thinned_out: int = 0  # older entries left out, represented by others of their time
    damaged: tuple[int, ...] = ()  # lines of the file that count for nothing, from 1 on

    @property
    def usual(self) -> tuple[Entry, ...]:
        """The entries since the machine was accepted, or all of them."""
        return self.entries[self.accepted :]

    def like(self, entry: Entry) -> tuple[Entry, ...]:
        """Return the usual entries that are comparable with `entry`: with figures, and the same CPUs and core."""
        return tuple(
            candidate
            for candidate in self.usual
            if candidate.figures and candidate.core == entry.core and candidate.cpus == entry.cpus
        )


def boots_interleave(entries: Sequence[Entry]) -> bool:
    """Return whether a boot recurs after another one: then two machines share one machine-id."""
    earlier_boots: set[str] = set()
    last: str | None = None
    for boot in (entry.boot for entry in entries if entry.boot is not None):
        if boot != last and boot in earlier_boots:
            return True
        earlier_boots.add(boot)
        last = boot
    return False
