"""The gate's answers as a frame carries them: those that a reader has to know of, in words."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.judgement.terms import Gravity


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
    gravity: Gravity
    said: str
    fix: str | None = None
    is_command: bool = True
