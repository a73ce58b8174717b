"""Disturbances that were not watched, for a series and a single run, and the method of attribution."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyperf
import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict, Unwatched
from noisewatch.kinds import Tracer
from noisewatch.operations.run.series import RunBeginning, RunSeries
from noisewatch.operations.run.tracing import TraceLevel
from noisewatch.surfaces.cli.commands.run import SingleRunReport
from noisewatch.surfaces.reports.run.receipt import header_of, repetition_of
from tests.surfaces.reports.consumers import workflow_command
from tests.surfaces.reports.run.running import read
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, render, written_series
from tests.written.trace_windows import traced

_CLOCK = replace(UNDISTURBED, unwatched=(Unwatched("the clock", "no look came"),))
_MACHINE = "the clock of CPUs 2-3"  # nothing was calibrated
_RUNS = "the clock in runs 2-3: no look came"


def _series() -> RunSeries:
    return written_series(UNDISTURBED, _CLOCK, _CLOCK)


def _words(form: str, series: RunSeries) -> str:
    return " ".join(render(form, series).split())


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_list_what_was_not_watched(form: str) -> None:
    text = _words(form, _series())
    assert f"not watched: {_MACHINE}" in text
    assert f"not watched: {_RUNS}" in text


def test_receipt_has_not_watched_in_the_header_and_in_each_line() -> None:
    document = read(render("json", _series()))
    assert _MACHINE in document["attribution"]["not_watched"][0]
    lines = [repetition["not_watched"] for repetition in document["repetitions"]]
    assert lines == [[], ["the clock: no look came"], ["the clock: no look came"]]


def test_junit_has_not_watched_as_a_property_of_each_suite() -> None:
    report = ElementTree.fromstring(render("junit", _series()))
    elements = [element for element in report.iter("property") if element.get("name") == "not watched"]
    values = [element.get("value", "") for element in elements]
    assert [(_MACHINE in value, _RUNS in value) for value in values] == [(True, True)]


def test_github_notice_lists_what_was_not_watched() -> None:
    level, _, text = workflow_command(render("github", _series()).splitlines()[0])
    assert (level, _MACHINE in text, _RUNS in text) == ("notice", True, True)


def test_pyperf_metadata_lists_what_was_not_watched(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_text(render("pyperf", _series()))
    (benchmark,) = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    text = str(benchmark.get_metadata()["noisewatch_not_watched"])
    assert (_MACHINE in text, _RUNS in text) == (True, True)
    assert json.loads(file.read_text())["metadata"]["noisewatch_not_watched"] == text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (UNDISTURBED, f"undisturbed, 1 s (not watched: {_MACHINE})"),
        (_CLOCK, f"undisturbed, 1 s (not watched: {_MACHINE}, the clock)"),
        (UNKNOWN, "unknown, 1 s: the counters stood still"),
    ],
    ids=["machine", "run", "unknown"],
)
def test_line_of_a_single_run_names_what_was_not_watched(
    verdict: RepetitionVerdict, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series, display = written_series(verdict), SingleRunReport()
    display.on_begin(
        RunBeginning(
            options=series.options,
            seed=1,
            machine=series.machine,
            opening=None,
            level=series.level,
            own_cost=series.own_cost,
        )
    )
    display.on_repetition(series.repetitions[0])
    line = " ".join(capsys.readouterr().err.split())
    assert line.startswith(f"noisewatch run: {words}")


_LOST = "events on CPU 2 were lost"


def _with_lost_traces() -> RunSeries:
    """Return ten runs; the trace of the third and the fourth was lost."""
    series = written_series(*[UNDISTURBED] * 10)
    repetitions = tuple(
        replace(
            judged,
            repetition=replace(judged.repetition, trace=_LOST)
            if judged.repetition.number in (3, 4)
            else traced(judged.repetition),
        )
        for judged in series.repetitions
    )
    return replace(series, level=TraceLevel(Tracer.EVENTS, None), repetitions=repetitions)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_name_the_method_and_the_runs_with_lost_traces(form: str) -> None:
    assert f"attribution: kernel trace; for runs 3-4 counters, because {_LOST}" in _words(form, _with_lost_traces())
    series = replace(written_series(UNDISTURBED), level=TraceLevel(Tracer.NONE, "tracefs is not mounted"))
    assert "attribution: counters, because tracefs is not mounted" in _words(form, series)


def test_the_receipt_has_the_method_in_the_header_and_in_each_line() -> None:
    series = _with_lost_traces()
    attribution = header_of(series, identifies=False).attribution
    assert (attribution.trace, attribution.no_trace_reason) == ("events", "none")
    lines = [repetition_of(repetition) for repetition in series.repetitions]
    assert [line.attributed_by for line in lines] == ["trace"] * 2 + ["counters"] * 2 + ["trace"] * 6
    assert [line.no_trace_reason for line in lines[1:3]] == ["none", _LOST]
    untraced = header_of(replace(series, level=TraceLevel(Tracer.NONE, "no root")), identifies=False).attribution
    assert (untraced.trace, untraced.no_trace_reason) == ("none", "no root")
