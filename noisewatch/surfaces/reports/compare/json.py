"""A comparison as JSON."""

from __future__ import annotations

from noisewatch import __version__
from noisewatch.documents.comparison import (
    ComparedFigurePart,
    CompareDocument,
    DifferentFindingPart,
    KnownAlonePart,
    SidePart,
    StatePart,
)
from noisewatch.documents.document import SCHEMA, fill_part, to_json
from noisewatch.documents.history import ChangedFactPart
from noisewatch.judgement.comparison import ComparedFigure, FindingDifference, OnlyOnOneSide, SideComparison
from noisewatch.judgement.record import MachineRecord
from noisewatch.surfaces.reports.compare.text import answer_of


def json_of_comparison(comparison: SideComparison) -> str:
    """Return the document of `compare --format json`."""
    document = fill_part(
        CompareDocument,
        comparison,
        schema=SCHEMA,
        noisewatch=__version__,
        answer=answer_of(comparison),
        before=_side(comparison.before, comparison.only_before),
        after=_side(comparison.after, comparison.only_after),
        other_machines=comparison.are_other_machines,
        facts=[fill_part(ChangedFactPart, fact) for fact in comparison.facts],
        findings=[_finding(finding) for finding in comparison.findings],
        figures=[_figure(figure) for figure in comparison.figures],
        significance=comparison.significance if comparison.figures else None,
    )
    return to_json(document, indent=1)


def _side(side: MachineRecord, alone: OnlyOnOneSide) -> SidePart:
    return fill_part(
        SidePart,
        side,
        file=side.source,
        target=None if side.target is None else sorted(side.target),
        against=None if side.against is None else sorted(side.against),
        known_alone=fill_part(KnownAlonePart, alone, findings=alone.checks),
    )


def _finding(finding: FindingDifference) -> DifferentFindingPart:
    return DifferentFindingPart(
        id=finding.check_id,
        blocks=finding.blocks,
        by_profile=finding.is_by_profile,
        before=fill_part(StatePart, finding.before),
        after=fill_part(StatePart, finding.after),
    )


def _figure(figure: ComparedFigure) -> ComparedFigurePart:
    """Return the figure; ends of the interval that are infinite become null."""
    return fill_part(
        ComparedFigurePart,
        figure,
        figure=figure.name,
        unit=figure.traits.unit,
        before=figure.before.value,
        after=figure.after.value,
        ratio=figure.ratio.value,
        ratio_interval=list(figure.ratio.interval),
        least_shown_ratio=figure.detectable_ratio,
    )
