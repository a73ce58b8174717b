"""Runs of commands (`noisewatch run`) in a frame: their status, and the CPU time of their commands."""

from __future__ import annotations

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class RepetitionLine:
    """One repetition, or several short ones (from `number` to `last`), as judged by its run; times in ns."""

    number: int
    last: int
    command: int | None  # 0, or 1 for the other one of two; None of both
    began_ns: int
    ended_ns: int
    outcome: str  # undisturbed, disturbed, unknown, failed or cut short
    said: str  # why


@dataclass(frozen=True, slots=True)
class RunLine:
    """The status of one run: repetition `number` is running since `since_ns`, if `stage` is running.

    `repetitions` are those that no earlier frame contained.
    """

    id: str
    stage: str  # calibrating, waiting, running or ended
    programs: tuple[str, ...]
    cpus: tuple[int, ...]
    number: int | None
    wanted: int
    since_ns: int
    counts: tuple[int, ...]  # of each outcome, in that order
    share_by_cpu: tuple[tuple[int, float], ...]  # the command's share, if it had any
    repetitions: tuple[RepetitionLine, ...] = ()
