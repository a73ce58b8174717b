"""A history as JSON: shares, ns, kHz and gaps per second; times are seconds since 1970."""

from __future__ import annotations

import json
import math
from typing import Any

from noisewatch.judgement.history.development import Development, FigureMove
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.facts import FactDifference
from noisewatch.model.history.shifts import LEAST_BEFORE
from noisewatch.operations.history.view import HistoryView

SCHEMA = 1


def json_of_history(view: HistoryView) -> str:
    """Return all entries that are comparable with the newest one of these CPUs, and the moves between them."""
    development = view.development or Development()
    is_judged = view.past.doubt is None and len(development.entries) > LEAST_BEFORE
    described = {
        "schema": SCHEMA,
        "doubt": view.past.doubt,
        "damaged_lines": list(view.past.damaged),
        "entries_needed": LEAST_BEFORE,
        "other_machines": view.past.other_machines,
        "accepted": _accepted(view.past),
        "thinned_out": view.past.thinned_out,
        "entries": [_entry(entry) for entry in development.entries],
        "moves": [_move(move) for move in development.moves] if is_judged else None,
        "departures": [_move(move) for move in development.departures] if is_judged else None,
        "drifts": [_move(move) for move in development.drifts] if is_judged else None,
        "apart": [_move(move) for move in development.apart] if is_judged else None,
        "bimodal": [
            {
                "figure": alternation.figure,
                "low": math.exp(alternation.modes.low),
                "high": math.exp(alternation.modes.high),
            }
            for alternation in development.alternations
        ]
        if is_judged
        else None,
        "unjudged": list(development.unjudged) if is_judged else None,
    }
    return json.dumps(described, indent=1, allow_nan=False) + "\n"


def _accepted(past: Past) -> dict[str, Any] | None:
    if past.acceptance is None:
        return None
    return {"at": past.acceptance.at_s, "why": past.acceptance.why, "entries_before": past.accepted}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "at": entry.at_s,
        "cpus": sorted(entry.cpus),
        "core": entry.core,
        "figures": dict(entry.figures),
        "facts": {str(of_class): dict(facts) for of_class, facts in entry.facts.items()},
    }


def _move(move: FigureMove) -> dict[str, Any]:
    return {
        "figure": move.figure,
        "change_share": move.change,
        "last_old_at": move.last_old.at_s,
        "first_new_at": move.first_new.at_s,
        "entries_since": move.after.count,
        "changed": [_difference(difference) for difference in move.changed] if move.has_facts else None,
        "unknown": list(move.unknown),
    }


def _difference(difference: FactDifference) -> dict[str, str]:
    return {
        "class": difference.of_class,
        "name": difference.name,
        "before": difference.before,
        "after": difference.after,
    }
