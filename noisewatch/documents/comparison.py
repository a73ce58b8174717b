"""The document of `noisewatch compare --format json`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.document import Count, DocumentPart, SchemaNumber
from noisewatch.documents.history import ChangedFactPart
from noisewatch.judgement.terms import Severity, Status


class KnownAlonePart(DocumentPart, frozen=True, kw_only=True):
    """The facts, findings and figures that only this side contains.

    parts: Whole parts: facts, checks or figures, or all figures of one condition such as `figures under load`.
    """

    parts: list[str]
    facts: list[str]
    findings: list[str]
    figures: list[str]


class SidePart(DocumentPart, frozen=True, kw_only=True):
    """One of the two files.

    against: The CPUs of `calibrate --against`.
    """

    file: str
    kind: Literal["verdict", "calibration", "recording", "run"]
    target: list[Count] | None
    against: list[Count] | None = None
    profile: str | None
    known_alone: KnownAlonePart


class StatePart(DocumentPart, frozen=True, kw_only=True):
    """The answer of a check on one side.

    answered_by: The check whose measurement replaces the unknown answer.
    """

    status: Status
    severity: Severity
    said: str
    reason: str | None
    answered_by: str | None = None


class DifferentFindingPart(DocumentPart, frozen=True, kw_only=True):
    """A check with different answers."""

    id: str
    blocks: bool
    before: StatePart
    after: StatePart


class ComparedFigurePart(DocumentPart, frozen=True, kw_only=True):
    """A figure that was measured on both sides.

    cpu: null if the figure is the mean of all target CPUs or, with `(--against)` in its name, of those CPUs.
    differs: Whether the figure differs by more than chance explains, and by enough to count.
    least_shown_ratio: The smallest change that would have been significant.
    """

    figure: str
    cpu: Count | None = None
    unit: Literal["ns", "kHz", "/s", "CV"]
    before: float
    after: float
    ratio: float
    ratio_interval: Annotated[list[float | None], Meta(min_length=2, max_length=2)]
    differs: bool
    least_shown_ratio: float | None
    test: str


class CompareDocument(DocumentPart, frozen=True, kw_only=True):
    """The result of `noisewatch compare --format json`.

    null means unknown or unbounded. Keys carry units and are only ever added.

    noisewatch: The version that compared.
    answer: For people only.
    outcome: The comparison of the blocking checks.
    other_machines: Whether the board or the CPU model differs.
    findings: Checks with different statuses, or with a severity or answering check that changes what blocks; blocking
        ones first.
    figures: All figures of both sides, different or not. A speed also has the CPU on which it changed most, if all CPUs
        together changed differently.
    significance: The level of each figure's test (Bonferroni); 0.05 for all together.
    undecided: Blocking checks and figures that only one side contains.
    unknown_on_both: Blocking checks that neither side answers, and figures that neither side measured.
    """

    schema: SchemaNumber
    noisewatch: str
    answer: str
    outcome: Literal["same", "different", "unknown"]
    exit_status: Literal[0, 1, 3]
    before: SidePart
    after: SidePart
    other_machines: bool | UnsetType = UNSET
    facts: list[ChangedFactPart]
    findings: list[DifferentFindingPart]
    figures: list[ComparedFigurePart]
    significance: float | None = None
    undecided: list[str]
    unknown_on_both: list[str] | UnsetType = UNSET
    remarks: list[str] | UnsetType = UNSET
