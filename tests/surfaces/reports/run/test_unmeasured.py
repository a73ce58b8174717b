"""Runs that failed or were cut short: every format lists them, and no statistics include them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from noisewatch.errors import Malformed
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kernel.tasks.run_status import OUTCOMES, parse_run_status
from noisewatch.machine.status_files import StatusFile
from noisewatch.operations.run.conclusion import conclude, gate_of_series
from noisewatch.operations.run.series import RunSeries
from noisewatch.operations.run.status import RunStatusWriter
from noisewatch.surfaces.drawing.colours import plain_row
from noisewatch.surfaces.reports.run.picture import SeriesProgress
from tests.surfaces.reports.run.running import read
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, render, timed, written_series


def _with_failures() -> RunSeries:
    """Return a series of four runs, two of which failed after a millisecond."""
    return timed(written_series(*[UNDISTURBED] * 4, statuses=(0, 3, 0, 3)), (1.0, 0.001, 1.0, 0.001))


def _cut_short() -> RunSeries:
    """Return a series of three runs; the last one caught the signal and ended with status 0."""
    series = timed(written_series(*[UNDISTURBED] * 3, ended_by=2), (1.0, 1.0, 0.1))
    *whole, last = series.repetitions
    cut = replace(last, repetition=replace(last.repetition, is_cut_short=True))
    return replace(series, repetitions=(*whole, cut))


@pytest.mark.parametrize(
    ("series", "counts"),
    [
        (_with_failures(), "2 of 4 runs undisturbed, 2 failed (status 3)"),
        (_cut_short(), "2 of 3 runs undisturbed, 1 cut short"),
    ],
    ids=["failed", "cut-short"],
)
def test_failed_and_cut_short_runs_are_in_no_statistics(series: RunSeries, counts: str) -> None:
    [command] = conclude(series).commands
    assert command.selected.of_all is not None
    assert (command.selected.of_all.count, command.selected.of_all.mean_s) == (2, 1.0)
    assert gate_of_series(replace(series, ended_by=None)) == RunOutcome.DISTURBED
    for form in ("text", "markdown", "github"):
        assert "so not counted" in render(form, series), form
        assert counts in render(form, series), form
    footer = read(render("json", series))["footer"]
    assert footer["commands"][0]["all"]["mean_s"] == 1.0
    assert footer["counts"] == footer["commands"][0]["counts"]
    assert footer["counts"]["undisturbed"] == 2
    runs = json.loads(render("pyperf", series))["benchmarks"][0]["runs"]
    assert [run["values"] for run in runs if "values" in run] == [[1.0], [1.0]]
    root = ElementTree.fromstring(render("junit", series))
    errors = [case for case in root.iter("testcase") if case.find("error") is not None and case.get("name") != "series"]
    assert len(errors) == len(series.repetitions) - 2


def test_pair_with_a_failed_run_is_ignored() -> None:
    series = written_series(*[UNDISTURBED] * 6, statuses=(0, 0, 0, 1, 0, 0), has_two=True)
    conclusion = conclude(series)
    differences = (conclusion.difference, conclusion.of_all_pairs)
    assert [difference.pairs for difference in differences if difference is not None] == [2, 2]
    assert "5 of 6 runs undisturbed, 1 failed (status 1)" in render("text", series)


def test_series_of_failed_runs_has_no_times() -> None:
    series = written_series(disturbed_by("hog"), UNDISTURBED, statuses=(1, -9))
    for form in ("text", "markdown", "github", "junit"):
        assert "median" not in render(form, series), form
    assert "0 of 2 runs undisturbed, 2 failed (signal 9/status 1): no result" in render("text", series)
    assert "not watched" not in render("text", series)
    footer = read(render("json", series))["footer"]
    assert footer["commands"][0]["all"] is None
    assert footer["counts"] == {"undisturbed": 0, "disturbed": 0, "unknown": 0, "failed": 2, "cut_short": 0}


def test_no_interval_of_times_begins_below_zero() -> None:
    series = timed(written_series(*[UNDISTURBED] * 4), (0.001, 0.03, 0.001, 0.03))
    assert "interval of the mean 0 to " in render("text", series).replace("0.0 to", "0 to").replace("\n    ", " ")


@pytest.mark.parametrize(("series", "sign"), [(_with_failures(), "× failed 2"), (_cut_short(), "/ cut short 1")])
def test_counts_in_the_picture_match_the_headline(series: RunSeries, sign: str) -> None:
    text = render("text", series)
    assert "undisturbed 2  " + sign in text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_table_marks_failed_runs(form: str) -> None:
    rows = [line.replace("|", " ").split()[:4] for line in render(form, _with_failures()).splitlines()]
    assert [row[3] for row in rows if row[:1] in (["2"], ["4"]) and row[2] == "ms"] == ["failed"] * 2


def test_progress_line_counts_failed_runs_separately() -> None:
    progress = SeriesProgress(4)
    for judged in _with_failures().repetitions:
        progress.add(judged)
    assert plain_row(progress.row(140)).startswith("4/4  • ×1.0 ms •1.0 s ×1.0 ms")
    assert "2 failed" in plain_row(progress.row(140))


def test_run_status_counts_failed_and_cut_short_runs_separately() -> None:
    status = RunStatusWriter(
        options=_with_failures().options, cpus=frozenset({2}), file=StatusFile(), owner="1 2 3 noisewatch"
    )
    for judged in (*_with_failures().repetitions, *_cut_short().repetitions):
        status.add(judged)
    (text,) = status.texts()
    parsed = parse_run_status(text)
    assert dict(zip(OUTCOMES, parsed.counts, strict=True)) == {
        "undisturbed": 4,
        "disturbed": 0,
        "unknown": 0,
        "failed": 2,
        "cut short": 1,
    }
    assert [repetition.outcome for repetition in parsed.repetitions][:2] == ["undisturbed", "failed"]


def test_older_status_with_fewer_counts_is_accepted() -> None:
    status = RunStatusWriter(options=_cut_short().options, cpus=frozenset({2}), file=StatusFile(), owner="1 2 3 nw")
    document = json.loads(status.texts()[0])
    assert parse_run_status(json.dumps(document | {"counts": [5, 1, 0]})).counts == (5, 1, 0)
    for counts in ([5, 1], [1, 1, 1, 1, 1, 1]):
        with pytest.raises(Malformed):
            parse_run_status(json.dumps(document | {"counts": counts}))
