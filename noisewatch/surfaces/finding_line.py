"""The gate's answers as a frame carries them: those that a reader has to know of, in words."""

from __future__ import annotations

from dataclasses import dataclass

# What a finding does to the verdict: the first two decide it.
FAILED, UNANSWERED, WARNED, OPEN, NOTED, PASSED, LEFT_OUT = GRAVEST_FIRST = (
    "failed", "unanswered", "warned", "open", "noted", "passed", "left out",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A check that did not pass. `gravity` is what that does to the verdict, `fix` a command, or what to do."""

    id: str
    gravity: str
    said: str
    fix: str | None = None
    is_command: bool = True
