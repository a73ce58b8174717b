"""One run of a benchmark tool's own file: a process that measured some values, somewhere within a repetition."""

from __future__ import annotations

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class HookedRun:
    """What our own hook wrote into it, as it stands there; times are on CLOCK_MONOTONIC."""

    began_ns: int
    ended_ns: int
    verdict: str
    reasons: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """`benchmark` and `run` are places in the file, from 0 on. `length_ns` None is not told.

    `ended_wall_ns`: when its last value was known, since 1970 in UTC; several where the clock was set back that hour,
    none where that is not told. It began no earlier than its length before.
    """

    benchmark: int
    run: int
    name: str
    value_count: int  # 0 of a run that only finds the number of loops
    ended_wall_ns: tuple[int, ...]
    length_ns: int | None
    hooked: HookedRun | None = None
