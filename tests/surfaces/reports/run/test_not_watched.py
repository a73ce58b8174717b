"""What verdicts cannot cover, for a series and for a single run, and the method that attributes disturbances."""

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
from noisewatch.surfaces.cli.commands.run import OneRun
from noisewatch.surfaces.reports.run.receipt import header_of, repetition_of
from tests.surfaces.reports.consumers import workflow_command
from tests.surfaces.reports.run.running import read
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, rendered, written_series
from tests.written.trace_windows import traced

_CLOCK = replace(UNDISTURBED, unwatched=(Unwatched("the clock", "no look came"),))
_MACHINE = "the clock of CPUs 2-3"  # nothing was calibrated
_RUNS = "the clock in runs 2-3: no look came"


def _series() -> RunSeries:
    return written_series(UNDISTURBED, _CLOCK, _CLOCK)


def _words(form: str, series: RunSeries) -> str:
    return " ".join(rendered(form, series).split())


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_for_people_list_it_for_the_machine_and_for_some_runs(form: str) -> None:
    told = _words(form, _series())
    assert f"not watched: {_MACHINE}" in told
    assert f"not watched: {_RUNS}" in told


def test_the_receipt_has_it_in_the_header_and_in_each_line() -> None:
    document = read(rendered("json", _series()))
    assert _MACHINE in document["attribution"]["not_watched"][0]
    lines = [each["not_watched"] for each in document["repetitions"]]
    assert lines == [[], ["the clock: no look came"], ["the clock: no look came"]]


def test_junit_has_it_among_the_properties_of_each_suite() -> None:
    report = ElementTree.fromstring(rendered("junit", _series()))
    told = [each.get("value", "") for each in report.iter("property") if each.get("name") == "not watched"]
    assert [(_MACHINE in each, _RUNS in each) for each in told] == [(True, True)]


def test_github_is_told_in_the_notice() -> None:
    level, _, told = workflow_command(rendered("github", _series()).splitlines()[0])
    assert (level, _MACHINE in told, _RUNS in told) == ("notice", True, True)


def test_pyperf_shows_it_as_metadata_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_text(rendered("pyperf", _series()))
    (benchmark,) = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    told = str(benchmark.get_metadata()["noisewatch_not_watched"])
    assert (_MACHINE in told, _RUNS in told) == (True, True)
    assert json.loads(file.read_text())["metadata"]["noisewatch_not_watched"] == told


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (UNDISTURBED, f"undisturbed, 1 s (not watched: {_MACHINE})"),
        (_CLOCK, f"undisturbed, 1 s (not watched: {_MACHINE}, the clock)"),
        (UNKNOWN, "unknown, 1 s: the counters stood still"),
    ],
    ids=["machine", "run", "unknown"],
)
def test_a_single_run_says_in_its_line_what_it_may_have_met_all_the_same(
    verdict: RepetitionVerdict, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series, shown = written_series(verdict), OneRun()
    shown.on_begin(
        RunBeginning(
            options=series.options,
            seed=1,
            machine=series.machine,
            opening=None,
            level=series.level,
            own_cost=series.own_cost,
        )
    )
    shown.on_repetition(series.repetitions[0])
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"noisewatch run: {words}")


_LOST = "events on CPU 2 were lost"


def _traced() -> RunSeries:
    """Ten runs; the trace of the third and the fourth was lost."""
    series = written_series(*[UNDISTURBED] * 10)
    repetitions = tuple(
        replace(
            each,
            repetition=replace(each.repetition, trace=_LOST)
            if each.repetition.number in (3, 4)
            else traced(each.repetition),
        )
        for each in series.repetitions
    )
    return replace(series, level=TraceLevel(Tracer.EVENTS, None), repetitions=repetitions)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_for_people_name_the_method_and_the_runs_whose_trace_was_lost(form: str) -> None:
    assert f"attribution: kernel trace; of runs 3-4 counters, because {_LOST}" in _words(form, _traced())
    series = replace(written_series(UNDISTURBED), level=TraceLevel(Tracer.NONE, "tracefs is not mounted"))
    assert "attribution: counters, because tracefs is not mounted" in _words(form, series)


def test_the_receipt_has_the_method_in_the_header_and_in_each_line() -> None:
    series = _traced()
    attribution = header_of(series, identifies=False).attribution
    assert (attribution.trace, attribution.no_trace_reason) == ("events", "none")
    lines = [repetition_of(each) for each in series.repetitions]
    assert [line.attributed_by for line in lines] == ["trace"] * 2 + ["counters"] * 2 + ["trace"] * 6
    assert [line.no_trace_reason for line in lines[1:3]] == ["none", _LOST]
    untraced = header_of(replace(series, level=TraceLevel(Tracer.NONE, "no root")), identifies=False).attribution
    assert (untraced.trace, untraced.no_trace_reason) == ("none", "no root")
