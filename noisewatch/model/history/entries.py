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
    """One calibration in the history. `facts` and `figures` are empty if an old version wrote the entry."""

    at_s: float  # seconds since 1970, by this machine's clock
    core: str  # the spinner's core: native or Python
    cpus: CpuSet
    cvs: Cvs
    figures: Mapping[Figure, float] = {}
    facts: Facts = {}
    boot: str | None = None  # random ID of the machine's boot; None means unknown


class Acceptance(Struct, frozen=True):
    """When and why the user accepted the machine's state as the new baseline.

    A time of None, or an empty reason, means unknown.
    """

    at_s: float | None
    why: str


class Past(Struct, frozen=True):
    """One machine's entries in the order of writing. Only entries from the index `accepted` on define what is usual."""

    entries: tuple[Entry, ...] = ()
    accepted: int = 0
    doubt: str | None = None  # why the entries may belong to another machine
    is_kept: bool = True  # whether a history is kept
    other_machines: int = 0  # other machines with entries in the same file
    acceptance: Acceptance | None = None  # the newest acceptance
    thinned_out: int = 0  # number of omitted older entries; kept entries of the same time represent them
    damaged: tuple[int, ...] = ()  # numbers of ignored lines of the file, from 1

    @property
    def usual(self) -> tuple[Entry, ...]:
        """The entries since the machine was accepted, or all entries if it never was."""
        return self.entries[self.accepted :]

    def like(self, entry: Entry) -> tuple[Entry, ...]:
        """Return the usual entries that are comparable with `entry`: with figures, and with its CPUs and `core`."""
        return tuple(
            candidate
            for candidate in self.usual
            if candidate.figures and candidate.core == entry.core and candidate.cpus == entry.cpus
        )


def boots_interleave(entries: Sequence[Entry]) -> bool:
    """Return whether a boot recurs after another boot. If so, two machines share one machine-id."""
    earlier_boots: set[str] = set()
    last: str | None = None
    for boot in (entry.boot for entry in entries if entry.boot is not None):
        if boot != last and boot in earlier_boots:
            return True
        earlier_boots.add(boot)
        last = boot
    return False
