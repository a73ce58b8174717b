"""The document of `noisewatch history --format json`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from noisewatch.documents.document import Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import FactsPart

FactClassName = Literal["identity", "hardware", "firmware", "kernel", "settings", "surroundings"]
_FromOne = Annotated[int, Meta(ge=1)]


class ChangedFactPart(DocumentPart, frozen=True, kw_only=True, rename={"of_class": "class"}):
    """A fact with two different values."""

    of_class: FactClassName
    name: str
    before: str
    after: str


class AcceptancePart(DocumentPart, frozen=True, kw_only=True):
    """The last acceptance of the machine's state (`history accept`).

    at: Seconds since 1970.
    """

    at: float | None
    why: str
    entries_before: Count


class EntryPart(DocumentPart, frozen=True, kw_only=True):
    """A calibration in the history.

    at: Seconds since 1970.
    core: The implementation of the measuring loops, native (C) or python.
    figures: Values by name: work and clock readings in ns, clocks in kHz, gaps per second, noise floors as CV, figures
        of the slowest CPU in multiples of the median of all CPUs.
    facts: The facts of the machine at that time, by class and name; the value of an unreadable fact is null.
    """

    at: float
    cpus: Cpus
    core: str
    figures: dict[str, float]
    facts: FactsPart


class MovePart(DocumentPart, frozen=True, kw_only=True):
    """A change of a figure: from an old level to a new one, or the drift of the entries at one level.

    change_share: 0.04 means 4% more.
    last_old_at: The time of the last entry before the change, or of a drift's first entry, in seconds since 1970.
    first_new_at: The time of the first entry after the change, or of a drift's newest entry, in seconds since 1970.
    entries_since: The number of entries after the change, or of a drift's entries.
    changed: Facts that differ between the two entries; null unless both contain facts.
    unknown: Facts that only one of the two entries contains.
    """

    figure: str
    change_share: float
    last_old_at: float
    first_new_at: float
    entries_since: _FromOne
    changed: list[ChangedFactPart] | None
    unknown: list[str]


class BimodalPart(DocumentPart, frozen=True, kw_only=True):
    """A figure that alternates between two levels."""

    figure: str
    low: float
    high: float


class HistoryDocument(DocumentPart, frozen=True, kw_only=True):
    """The development of a machine over time. null means unknown. Keys may be added, but are not removed.

    doubt: Why the entries may be another machine's; in that case nothing is judged.
    damaged_lines: The numbers of the file's damaged lines, which are ignored.
    entries_needed: The history is judged if it has more entries than this; otherwise `moves`, `departures`, `drifts`,
        `apart`, `bimodal` and `unjudged` are null.
    other_machines: The number of other machines with entries in the same file.
    accepted: null if no state was ever accepted.
    thinned_out: The number of omitted older entries; kept entries of the same time represent them.
    entries: Entries that can be compared with the newest one of these CPUs, oldest first; empty if there are none.
    moves: Figures that changed to another level and stayed there, the newest move first.
    departures: Figures whose current level is not the usual level (the level with the most entries).
    drifts: Figures at their usual level that change a little with each entry.
    apart: Figures whose newest entries differ from the current level, but are too few to form a new one.
    bimodal: Figures that alternate between two levels.
    unjudged: Figures with too few entries to judge.
    """

    schema: SchemaNumber
    doubt: str | None
    damaged_lines: list[_FromOne]
    entries_needed: _FromOne
    other_machines: Count
    accepted: AcceptancePart | None
    thinned_out: Count
    entries: list[EntryPart]
    moves: list[MovePart] | None
    departures: list[MovePart] | None
    drifts: list[MovePart] | None
    apart: list[MovePart] | None
    bimodal: list[BimodalPart] | None
    unjudged: list[str] | None
