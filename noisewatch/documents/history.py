"""The document of `noisewatch history --format json`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from noisewatch.documents.document import Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import FactsPart

FactClassName = Literal["identity", "hardware", "firmware", "kernel", "settings", "surroundings"]
_FromOne = Annotated[int, Meta(ge=1)]


class ChangedFactPart(DocumentPart, frozen=True, kw_only=True, rename={"of_class": "class"}):
    """A fact that differs."""

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
    """A calibration that is remembered.

    at: Seconds since 1970.
    core: What measured: native or python.
    figures: By name: works in ns, clocks in kHz, gaps per second, noise floors as CV.
    facts: What the machine was, by class and name; null: could not be read then.
    """

    at: float
    cpus: Cpus
    core: str
    figures: dict[str, float]
    facts: FactsPart


class MovePart(DocumentPart, frozen=True, kw_only=True):
    """A change of a figure.

    change_share: 0.04 is 4% more.
    last_old_at: Seconds since 1970.
    first_new_at: Seconds since 1970.
    changed: Facts that differ between the two entries; null: not both know what the machine was.
    unknown: Facts that only one of the two entries knows.
    """

    figure: str
    change_share: float
    last_old_at: float
    first_new_at: float
    entries_since: _FromOne
    changed: list[ChangedFactPart] | None
    unknown: list[str]


class BimodalPart(DocumentPart, frozen=True, kw_only=True):
    """A figure that comes and goes between two levels."""

    figure: str
    low: float
    high: float


class HistoryDocument(DocumentPart, frozen=True, kw_only=True):
    """The development of a machine. null could not be known. Keys carry units and are only ever added.

    doubt: Why the entries may be another machine's: then nothing is judged.
    damaged_lines: Lines of the file that count for nothing.
    entries_needed: With more entries than these the newest one is judged; until then all that is judged is null.
    other_machines: Whose entries are in the same file.
    accepted: null: never.
    thinned_out: Older entries that others of their time stand for.
    entries: Those that can be compared with the newest of these CPUs, the oldest first; empty where there is none.
    moves: Figures that came to another level and stayed there, the newest move first.
    departures: Figures whose level now is not the usual one, the one with the most entries.
    drifts: Figures that neither moved nor departed, but went a little farther with each entry.
    apart: Figures of which the newest entries lie apart, too few of them to be a level.
    bimodal: Figures that come and go between two levels.
    unjudged: Figures that too few entries have.
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
