"""One run in the file of a benchmark tool: a process that measured some values, somewhere within a repetition."""

from __future__ import annotations

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class HookedRun:
    """The data that our own pyperf hook wrote into the run, unchanged; times are on CLOCK_MONOTONIC."""

    began_ns: int
    ended_ns: int
    verdict: str
    reasons: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """One run of a benchmark tool's file. `benchmark` and `run` are indices in the file, from 0.

    `length_ns` is None if the file does not contain it. `ended_wall_ns` is when the last value was known, since 1970 in
    UTC: several times if the clock was set back that hour, none if the file does not contain it. The run began no
    earlier than `length_ns` before.
    """

    benchmark: int
    run: int
    name: str
    value_count: int  # 0 of a run that only finds the number of loops
    ended_wall_ns: tuple[int, ...]
    length_ns: int | None
    hooked: HookedRun | None = None
