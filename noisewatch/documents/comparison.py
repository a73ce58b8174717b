"""The document of `noisewatch compare --format json`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.document import Count, DocumentPart, SchemaNumber
from noisewatch.documents.history import ChangedFactPart
from noisewatch.judgement.terms import Severity, Status


class KnownAlonePart(DocumentPart, frozen=True, kw_only=True):
    """The facts, findings and figures that only one of the two sides contains.

    parts: What the other side lacks altogether: facts, checks, figures, or all figures of one condition, such as
        `figures under load`.
    """

    parts: list[str]
    facts: list[str]
    findings: list[str]
    figures: list[str]


class SidePart(DocumentPart, frozen=True, kw_only=True):
    """One of the two compared files.

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
    """A check whose answers on the two sides differ.

    by_profile: Whether both sides observed the same, and only their profiles judge it differently.
    """

    id: str
    blocks: bool
    by_profile: bool | UnsetType = UNSET
    before: StatePart
    after: StatePart


class ComparedFigurePart(DocumentPart, frozen=True, kw_only=True):
    """A figure that was measured on both sides.

    cpu: null if the figure is of all target CPUs or, with `(--against)` in its name, of all --against CPUs.
    differs: Whether the difference is significant, and at least as large as the smallest change that counts.
    least_shown_ratio: The smallest change that would have counted as a difference, as a ratio above 1.
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

    null means unknown or unbounded. Keys may be added, but are not removed.

    noisewatch: The version of noisewatch that compared the files.
    answer: A sentence for people, not for programs.
    outcome: The result of the comparison, which depends only on differences that block.
    other_machines: Whether the board or the CPU model differs.
    findings: Checks whose statuses differ, or that block on one side only, for example because their severities differ;
        blocking differences first.
    figures: All figures that were compared, different or not. If one CPU's speed changed differently from the mean of
        all CPUs, the figure of that CPU follows.
    significance: The significance level of each figure's test, so that all tests together have 0.05 (Bonferroni).
    undecided: Blocking checks (or `checks`, if a side has none at all), figures and groups of figures (such as
        `speeds`) that allow no conclusion: a side did not answer or measure them, the sides measured them differently,
        or they are too noisy to compare.
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
