"""A history as JSON: shares, ns, kHz and gaps per second; times are seconds since 1970."""

from __future__ import annotations

import math
from collections.abc import Iterable

from noisewatch.documents.document import SCHEMA, fill_part, to_json
from noisewatch.documents.history import (
    AcceptancePart,
    BimodalPart,
    ChangedFactPart,
    EntryPart,
    HistoryDocument,
    MovePart,
)
from noisewatch.documents.machine import FactsPart
from noisewatch.judgement.history.development import Development, FigureMove
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.shifts import LEAST_BEFORE
from noisewatch.operations.history import HistoryView


def json_of_history(view: HistoryView) -> str:
    """Return the document of `history --format json`: entries comparable with the newest one, and their moves."""
    development = view.development or Development()
    is_judged = view.past.doubt is None and len(development.entries) > LEAST_BEFORE
    document = HistoryDocument(
        schema=SCHEMA,
        doubt=view.past.doubt,
        damaged_lines=list(view.past.damaged),
        entries_needed=LEAST_BEFORE,
        other_machines=view.past.other_machines,
        accepted=_acceptance_part(view.past),
        thinned_out=view.past.thinned_out,
        entries=[_entry(entry) for entry in development.entries],
        moves=_moves(development.moves) if is_judged else None,
        departures=_moves(development.departures) if is_judged else None,
        drifts=_moves(development.drifts) if is_judged else None,
        apart=_moves(development.apart) if is_judged else None,
        bimodal=[
            BimodalPart(
                figure=alternation.figure, low=math.exp(alternation.modes.low), high=math.exp(alternation.modes.high)
            )
            for alternation in development.alternations
        ]
        if is_judged
        else None,
        unjudged=list(development.unjudged) if is_judged else None,
    )
    return to_json(document, indent=1)


def _acceptance_part(past: Past) -> AcceptancePart | None:
    if past.acceptance is None:
        return None
    return AcceptancePart(at=past.acceptance.at_s, why=past.acceptance.why, entries_before=past.accepted)


def _entry(entry: Entry) -> EntryPart:
    return EntryPart(
        at=entry.at_s,
        cpus=sorted(entry.cpus),
        core=entry.core,
        figures={str(figure): value for figure, value in entry.figures.items()},
        facts=FactsPart(**{of_class: dict(facts) for of_class, facts in entry.facts.items()}),
    )


def _moves(moves: Iterable[FigureMove]) -> list[MovePart]:
    return [
        MovePart(
            figure=move.figure,
            change_share=move.change,
            last_old_at=move.last_old.at_s,
            first_new_at=move.first_new.at_s,
            entries_since=move.after.count,
            changed=[fill_part(ChangedFactPart, fact) for fact in move.changed] if move.has_facts else None,
            unknown=list(move.unknown),
        )
        for move in moves
    ]
