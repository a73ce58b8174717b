"""The gate's answers as a frame carries them: those that a reader has to know of, in words."""

from __future__ import annotations

from dataclasses import dataclass

# What a finding does to the verdict: the first two decide it.
FAILED, UNANSWERED, WARNED, OPEN, NOTED, PASSED, LEFT_OUT = GRAVEST_FIRST = (
    "failed", "unanswered", "warned", "open", "noted", "passed", "left out",
)  # fmt: skip


_LABELS = {"fail": "fail", "warn": "warn", "unknown": "unknown", "pass": "pass", "not-applicable": "n/a"}


def label_of(status: str, gravity: str) -> str:
    """The status in a word, in capitals where it decides the verdict."""
    label = _LABELS.get(status, status)
    return label.upper() if gravity in (FAILED, UNANSWERED) else label


def style_of_label(label: str) -> str:
    """The style's name for a label."""
    return {"FAIL": "grave", "WARN": "grave", "fail": "notable", "warn": "notable"}.get(label, "unknown")


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A check that did not pass. `gravity` is what that does to the verdict, `fix` a command, or what to do.

    `status` and `weight` are the finding's: how it was answered, and what that weighs.
    """

    id: str
    status: str
    weight: str
    gravity: str
    said: str
    fix: str | None = None
    is_command: bool = True
