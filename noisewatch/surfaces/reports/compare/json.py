"""A comparison as JSON. Later versions only add keys; null means unbounded or unknown."""

from __future__ import annotations

import json
import math
from typing import Any

from noisewatch import __version__
from noisewatch.documents.document import SCHEMA
from noisewatch.judgement.comparison import (
    ComparedFigure,
    ComparedSide,
    FindingDifference,
    FindingState,
    KnownAlone,
    SideComparison,
)
from noisewatch.surfaces.reports.compare.text import answer_of
from noisewatch.surfaces.reports.machine.json import listed


def json_of_comparison(comparison: SideComparison) -> str:
    """Return the document of `compare --format json`."""
    return json.dumps(_comparison(comparison), indent=1, allow_nan=False) + "\n"


def _comparison(comparison: SideComparison) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "noisewatch": __version__,
        "answer": answer_of(comparison),
        "outcome": comparison.outcome,
        "exit_status": comparison.exit_status,
        "before": _side(comparison.before, comparison.only_before),
        "after": _side(comparison.after, comparison.only_after),
        "other_machines": comparison.are_other_machines,
        "facts": [
            {"class": fact.of_class, "name": fact.name, "before": fact.before, "after": fact.after}
            for fact in comparison.facts
        ],
        "findings": [_finding(finding) for finding in comparison.findings],
        "figures": [_figure(figure) for figure in comparison.figures],
        "significance": comparison.significance if comparison.figures else None,
        "undecided": list(comparison.undecided),
        "unknown_on_both": list(comparison.unknown_on_both),
        "remarks": list(comparison.remarks),
    }


def _side(side: ComparedSide, alone: KnownAlone) -> dict[str, Any]:
    return {
        "file": side.name,
        "kind": side.kind,
        "target": listed(side.target),
        "against": listed(side.against),
        "profile": side.profile,
        "known_alone": {
            "parts": list(alone.parts),
            "facts": list(alone.facts),
            "findings": list(alone.checks),
            "figures": list(alone.figures),
        },
    }


def _finding(finding: FindingDifference) -> dict[str, Any]:
    return {
        "id": finding.check_id,
        "blocks": finding.blocks,
        "before": _state(finding.before),
        "after": _state(finding.after),
    }


def _state(state: FindingState) -> dict[str, Any]:
    return {
        "status": state.status,
        "severity": state.severity,
        "said": state.said,
        "reason": state.reason,
        "answered_by": state.answered_by,
    }


def _figure(figure: ComparedFigure) -> dict[str, Any]:
    return {
        "figure": figure.name,
        "cpu": figure.cpu,
        "unit": figure.traits.unit,
        "before": figure.before.value,
        "after": figure.after.value,
        "ratio": figure.ratio.value,
        "ratio_interval": [_finite(end) for end in figure.ratio.interval],
        "differs": figure.differs,
        "least_shown_ratio": _finite(figure.least_shown),
        "test": figure.test,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
