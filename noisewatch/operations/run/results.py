"""The file that a benchmark tool wrote while it was watched: each of its runs marked by what the machine did then."""

from __future__ import annotations

import os
import time
from dataclasses import field
from typing import BinaryIO

from noisewatch import __version__
from noisewatch.errors import UsageError
from noisewatch.judgement.case import Case
from noisewatch.judgement.run.benchmark_runs import MarkedRun, WatchedCommand, mark_run
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.judging import floors_of
from noisewatch.operations.run.pyperf_file import PyperfFile, read_pyperf_file, write_filtered
from noisewatch.operations.run.series import RunSeries
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class MarkedResults:
    """`marked` are the runs that have values, in order."""

    file: PyperfFile = field(repr=False)
    marked: tuple[MarkedRun, ...]

    @property
    def undisturbed(self) -> list[MarkedRun]:
        return [each for each in self.marked if each.verdict.outcome == RunOutcome.UNDISTURBED]

    def write_undisturbed(self, output: BinaryIO) -> None:
        """The file with these runs alone. Raises TooFewUndisturbed."""
        write_filtered(self.file, [each.run for each in self.undisturbed], __version__, output)


def refuse_same_file(results: str, filtered: str) -> None:
    """Raises UsageError where one is the other: what was measured is not to be written over."""
    is_same = os.path.realpath(results) == os.path.realpath(filtered)
    if is_same or (os.path.exists(results) and os.path.exists(filtered) and os.path.samefile(results, filtered)):
        raise UsageError(f"--filtered {filtered}: that is the file of --results")


def mark_results(path: str, series: RunSeries) -> MarkedResults:
    """Reads the file and marks its runs. Raises Unreadable and Malformed."""
    booted_wall_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    file = read_pyperf_file(path, booted_wall_ns)
    watched = WatchedCommand(
        repetitions=[(each.repetition, each.placement) for each in series.repetitions],
        siblings=Case(series.machine).siblings,
        floors=floors_of(series.opening),
        khz_by_cpu=calibrated_khz(series.opening),
    )
    return MarkedResults(file, tuple(mark_run(run, watched) for run in file.runs if run.value_count))
