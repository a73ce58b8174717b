"""The profile that judges a machine if the user named none: by what the machine is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from noisewatch.judgement.case import kind_of_guest
from noisewatch.judgement.rules import CONFIDENCE_IN, SHARED, Rules

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot


def rules_for(rules: Rules, snapshot: Snapshot) -> Rules:
    """Return the rules with the profile that the machine needs, and the confidence that the profile needs.

    A container on bare metal where the machine's settings are visible is judged by them; one that hides them is a
    guest.
    """
    kind = kind_of_guest(snapshot) if not rules.is_profile_given else None
    if kind is not None:
        rules = replace(rules, profile=SHARED, profile_reason=kind)
    if rules.budget.confidence is None and rules.profile in CONFIDENCE_IN:
        rules = replace(rules, budget=replace(rules.budget, confidence=CONFIDENCE_IN[rules.profile]))
    return rules
