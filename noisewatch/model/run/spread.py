"""The threads of a command that were to get a CPU each (`noisewatch run --spread`), and what was done with them."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class SpreadThread:
    """A thread that was pinned to `cpu`, unpinned again (None), or left unpinned for the `reason`."""

    tid: int
    name: str
    cpu: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SpreadThreads:
    """The numbers of pinned threads and of threads left unpinned, over a repetition."""

    pinned: int
    left_by_reason: Mapping[str, int]
