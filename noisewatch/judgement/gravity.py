"""What a finding does to the verdict."""

from __future__ import annotations

from enum import StrEnum


class Gravity(StrEnum):
    """The gravest first; the first two decide the verdict."""

    FAILED = "failed"
    UNANSWERED = "unanswered"
    WARNED = "warned"
    OPEN = "open"
    NOTED = "noted"
    PASSED = "passed"
    LEFT_OUT = "left out"


_DECIDING = (Gravity.FAILED, Gravity.UNANSWERED)
_LABELS = {"not-applicable": "n/a"}


def label_of(status: str, gravity: str) -> str:
    """The status in a word, in capitals where it decides the verdict."""
    label = _LABELS.get(status, status)
    return label.upper() if gravity in _DECIDING else label
