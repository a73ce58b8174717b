"""Whether the gate accepts the results of a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.benchmark_runs import MarkedRun
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.model.run.benchmark_run import BenchmarkRun
from noisewatch.model.run.layout import draw_layout
from noisewatch.operations.run.conclusion import gate_of_machine, gate_of_results, gate_of_run, gate_of_series
from noisewatch.operations.run.results import MarkedResults, PyperfFile
from noisewatch.operations.run.series import RunSeries
from tests.judgement.noise.test_steadiness import calibration
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, written_series

_DISTURBED = disturbed_by("hog")
_CASES: Sequence[tuple[list[RepetitionVerdict], RunOutcome]] = [
    ([UNDISTURBED, UNDISTURBED], RunOutcome.UNDISTURBED),
    ([UNDISTURBED, UNKNOWN], RunOutcome.UNKNOWN),
    ([UNDISTURBED, _DISTURBED], RunOutcome.DISTURBED),
    ([UNKNOWN, _DISTURBED], RunOutcome.DISTURBED),
]


@pytest.mark.parametrize(("verdicts", "outcome"), _CASES)
def test_a_known_disturbance_outranks_an_unknown_one(verdicts: list[RepetitionVerdict], outcome: RunOutcome) -> None:
    assert gate_of_series(written_series(*verdicts)) == outcome
    assert gate_of_results(_results(*verdicts)) == outcome


def test_retries_make_up_for_disturbed_repetitions() -> None:
    series = written_series(UNDISTURBED, _DISTURBED, UNDISTURBED)
    assert gate_of_series(replace(series, options=replace(series.options, runs=2))) == RunOutcome.UNDISTURBED


def test_a_share_of_undisturbed_runs_below_the_minimum_fails_the_gate() -> None:
    """Two of five runs are undisturbed, which is enough by number, but not by share."""
    series = written_series(UNDISTURBED, *[_DISTURBED] * 3, UNDISTURBED)
    options = replace(series.options, runs=2)
    assert gate_of_series(replace(series, options=options)) == RunOutcome.DISTURBED
    assert gate_of_series(replace(series, options=replace(options, min_undisturbed=0.4))) == RunOutcome.UNDISTURBED


def test_each_of_two_commands_has_to_be_undisturbed() -> None:
    series = written_series(UNDISTURBED, _DISTURBED, UNDISTURBED, UNDISTURBED, has_two=True)
    assert gate_of_series(replace(series, options=replace(series.options, runs=2))) == RunOutcome.DISTURBED


def test_halves_of_pairs_are_no_pair() -> None:
    """Each command has two undisturbed runs, but no pair has both."""
    halves = (UNDISTURBED, _DISTURBED, UNDISTURBED, _DISTURBED, _DISTURBED, UNDISTURBED, _DISTURBED, UNDISTURBED)
    series = written_series(*halves, has_two=True)
    options = replace(series.options, runs=2, min_undisturbed=0.0)
    assert gate_of_series(replace(series, options=options)) == RunOutcome.DISTURBED


def test_halves_of_layouts_are_no_layout() -> None:
    series = written_series(*[UNDISTURBED, _DISTURBED] * 4)
    layouts = [draw_layout(1, at // 2, "bench") for at in range(8)]
    judged = [
        replace(one, repetition=replace(one.repetition, layout=layout))
        for one, layout in zip(series.repetitions, layouts, strict=True)
    ]
    options = replace(series.options, runs=2, varies_layout=True)
    series = replace(series, repetitions=tuple(judged), options=options)
    assert gate_of_series(series) == RunOutcome.DISTURBED


def test_a_missing_closing_calibration_is_unknown() -> None:
    """A signal ended the series after its last repetition."""
    series = _calibrated(written_series(UNDISTURBED))
    assert gate_of_machine(series) == RunOutcome.UNDISTURBED
    assert gate_of_machine(replace(series, closing=None, ended_by=15)) == RunOutcome.UNKNOWN


def test_a_series_that_ended_early_is_incomplete() -> None:
    series = written_series(UNDISTURBED, ended_by=2)
    assert gate_of_series(replace(series, options=replace(series.options, runs=3))) == RunOutcome.DISTURBED


def _calibrated(series: RunSeries, slower: float = 0.0, moved: int | None = None, failed: str = "") -> RunSeries:
    """Return the series with an opening and a closing calibration, except for those that `failed` rules out."""
    return replace(
        series,
        options=replace(series.options, calibration_s=1.0),
        opening=None if "before" in failed else calibration(),
        closing=None if failed else calibration(slower, moved),
        not_calibrated=failed or None,
    )


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ({}, RunOutcome.UNDISTURBED),
        ({"slower": 0.03}, RunOutcome.DISTURBED),
        ({"slower": -0.03}, RunOutcome.DISTURBED),
        ({"moved": 3}, RunOutcome.UNKNOWN),
        ({"slower": 0.03, "moved": 3}, RunOutcome.DISTURBED),
        ({"failed": "after the series: no memory"}, RunOutcome.UNKNOWN),
        ({"failed": "before the series: no memory"}, RunOutcome.UNKNOWN),
    ],
    ids=str,
)
def test_a_changed_or_unknown_speed_fails_the_gate(ends: Mapping[str, Any], outcome: RunOutcome) -> None:
    series = written_series(UNDISTURBED, UNDISTURBED)
    assert gate_of_run(series) == RunOutcome.UNDISTURBED
    assert gate_of_run(_calibrated(series, **ends)) == outcome
    assert gate_of_run(_calibrated(written_series(UNDISTURBED), **ends), True, _results(UNDISTURBED)) == outcome


def test_runs_in_the_file_replace_a_single_repetition_but_not_several() -> None:
    single, several = written_series(_DISTURBED), written_series(_DISTURBED, UNDISTURBED)
    assert gate_of_run(single, True, _results(UNDISTURBED)) == RunOutcome.UNDISTURBED
    assert gate_of_run(several, True, _results(UNDISTURBED)) == RunOutcome.DISTURBED
    assert gate_of_run(written_series(UNDISTURBED), True, None) == RunOutcome.UNKNOWN


def test_a_file_without_runs_is_unknown() -> None:
    assert gate_of_results(_results()) == RunOutcome.UNKNOWN


def _results(*verdicts: RepetitionVerdict) -> MarkedResults:
    run = BenchmarkRun(benchmark=0, run=0, name="bench", value_count=1, ended_wall_ns=(0,), length_ns=1)
    marked = tuple(MarkedRun(replace(run, run=at), verdict) for at, verdict in enumerate(verdicts))
    return MarkedResults(PyperfFile("results.json", {}, ()), marked)
