"""The declarations as JSON."""

from __future__ import annotations

from typing import Any

from noisewatch.judgement.declaration import Check
from noisewatch.judgement.limit import Limit
from noisewatch.judgement.rules import PROFILES


def describe_check(each: Check) -> dict[str, Any]:
    """All that is declared of it."""
    return {
        "id": each.id,
        "area": each.area,
        "question": each.question,
        "severity": {profile: each.severity_under(profile) for profile in PROFILES},
        "not_asked": dict(each.not_asked_in),
        "reads": [str(path) for path in each.reads],
        "limits": [_limit(limit) for limit in each.limits],
        "why": each.why,
        "remedy": each.remedy,
        "sources": list(each.sources),
        "needs_sample": each.asks_rates,
        "needs_calibration": each.asks_calibration,
        "answered_by": each.answered_by,
        "hidden_from_guests": each.is_hidden_from_guests,
        "asks_starter": each.asks_starter,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "key": limit.key,
        "name": limit.name,
        "value": {profile: limit.under(profile) for profile in PROFILES},
        "unit": limit.unit,
        "reason": limit.reason,
        "set_by": limit.set_by,
    }
