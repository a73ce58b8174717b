"""Entries of a machine's history: a calibration, and the facts of the machine at that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.kinds import Work
from noisewatch.model.history.facts import Facts
from noisewatch.model.history.figures import Figure

Cvs = Mapping[Work, Mapping[int, float]]  # predicted CV by kind of work, and by sample length in ns


class Entry(Struct, frozen=True):
    """One calibration in the history. `facts` and `figures` are empty in entries of versions without them."""

    at_s: float  # seconds since 1970, by this machine's clock
    core: str  # what measured
    cpus: CpuSet
    cvs: Cvs
    figures: Mapping[Figure, float] = {}
    facts: Facts = {}
    boot: str | None = None  # the machine's boot; None is unknown


class Acceptance(Struct, frozen=True):
    """The time and reason of accepting the machine as its new baseline; None and empty are unknown."""

    at_s: float | None
    why: str


class Past(Struct, frozen=True):
    """The entries of one machine in the order of writing; those since `accepted` count as usual."""

    entries: tuple[Entry, ...] = ()
    accepted: int = 0
    doubt: str | None = None  # why the entries may be another machine's
    is_kept: bool = True  # whether there is a history
    other_machines: int = 0  # other machines with entries in the same file
    acceptance: Acceptance | None = None  # the newest
    thinned_out: int = 0  # omitted older entries, represented by others of their time
    damaged: tuple[int, ...] = ()  # numbers of ignored lines of the file, from 1

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
    """Return whether a boot recurs after another one, which shows that two machines share one machine-id."""
    earlier_boots: set[str] = set()
    last: str | None = None
    for boot in (entry.boot for entry in entries if entry.boot is not None):
        if boot != last and boot in earlier_boots:
            return True
        earlier_boots.add(boot)
        last = boot
    return False
