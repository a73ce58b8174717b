"""What became of the threads of a command that were to get a CPU each (`noisewatch run --spread`)."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class SpreadThread:
    """What was done with a thread: pinned to the CPU, let go again (None), or left where it was for the reason."""

    tid: int
    name: str
    cpu: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SpreadThreads:
    """Over a repetition: how often a thread was pinned to a CPU of its own, and how many were left where they were."""

    pinned: int
    left_by_reason: Mapping[str, int]
