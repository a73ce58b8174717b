"""A comparison as JSON. Later versions only add keys; null means unbounded or unknown."""

from __future__ import annotations

import json
import math
from typing import Any

from noisewatch import __version__
from noisewatch.judgement.comparison import (
    ComparedFigure,
    ComparedSide,
    FindingDifference,
    FindingState,
    KnownAlone,
    SideComparison,
)
from noisewatch.surfaces.reports.compare.text import answer_of
from noisewatch.surfaces.reports.machine.json import SCHEMA, listed


def json_of_comparison(found: SideComparison) -> str:
    """Return the document of `compare --format json`."""
    return json.dumps(_comparison(found), indent=1, allow_nan=False) + "\n"


def _comparison(found: SideComparison) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "noisewatch": __version__,
        "answer": answer_of(found),
        "outcome": found.outcome,
        "exit_status": found.exit_status,
        "before": _side(found.before, found.only_before),
        "after": _side(found.after, found.only_after),
        "other_machines": found.are_other_machines,
        "facts": [
            {"class": each.of_class, "name": each.name, "before": each.before, "after": each.after}
            for each in found.facts
        ],
        "findings": [_finding(each) for each in found.findings],
        "figures": [_figure(each) for each in found.figures],
        "significance": found.significance if found.figures else None,
        "undecided": list(found.undecided),
        "unknown_on_both": list(found.unknown_on_both),
        "remarks": list(found.remarks),
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


def _finding(found: FindingDifference) -> dict[str, Any]:
    return {
        "id": found.check_id,
        "blocks": found.blocks,
        "before": _state(found.before),
        "after": _state(found.after),
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
