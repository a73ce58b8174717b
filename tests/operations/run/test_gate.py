"""Whether what was measured may be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from noisewatch.judgement.run.benchmark_runs import MarkedRun
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.model.run.benchmark_run import BenchmarkRun
from noisewatch.operations.run.gate import gate_of_results, gate_of_series
from noisewatch.operations.run.pyperf_file import PyperfFile
from noisewatch.operations.run.results import MarkedResults
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, written_series

_DISTURBED = disturbed_by("hog")
_CASES: Sequence[tuple[list[RepetitionVerdict], RunOutcome]] = [
    ([UNDISTURBED, UNDISTURBED], RunOutcome.UNDISTURBED),
    ([UNDISTURBED, UNKNOWN], RunOutcome.UNKNOWN),
    ([UNDISTURBED, _DISTURBED], RunOutcome.DISTURBED),
    ([UNKNOWN, _DISTURBED], RunOutcome.DISTURBED),
]


@pytest.mark.parametrize(("verdicts", "outcome"), _CASES)
def test_a_known_disturbance_outranks_what_is_unknown(verdicts: list[RepetitionVerdict], outcome: RunOutcome) -> None:
    assert gate_of_series(written_series(*verdicts)) == outcome
    assert gate_of_results(_results(*verdicts)) == outcome


def test_retries_make_up_for_disturbed_repetitions() -> None:
    series = written_series(UNDISTURBED, _DISTURBED, UNDISTURBED)
    assert gate_of_series(replace(series, options=replace(series.options, runs=2))) == RunOutcome.UNDISTURBED


def test_each_of_two_commands_has_to_be_undisturbed() -> None:
    series = written_series(UNDISTURBED, _DISTURBED, UNDISTURBED, UNDISTURBED, has_two=True)
    assert gate_of_series(replace(series, options=replace(series.options, runs=2))) == RunOutcome.DISTURBED


def test_a_series_that_ended_early_is_incomplete() -> None:
    series = written_series(UNDISTURBED, ended_by=2)
    assert gate_of_series(replace(series, options=replace(series.options, runs=3))) == RunOutcome.DISTURBED


def test_a_file_without_runs_tells_nothing() -> None:
    assert gate_of_results(_results()) == RunOutcome.UNKNOWN


def _results(*verdicts: RepetitionVerdict) -> MarkedResults:
    run = BenchmarkRun(benchmark=0, run=0, name="bench", value_count=1, ended_wall_ns=(0,), length_ns=1)
    marked = tuple(MarkedRun(replace(run, run=at), verdict) for at, verdict in enumerate(verdicts))
    return MarkedResults(PyperfFile("results.json", {}, ()), marked)
