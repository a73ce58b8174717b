"""The method that attributes disturbances, shown for a series and for each run that used another one."""

from __future__ import annotations

from dataclasses import replace

from noisewatch.kinds import Tracer
from noisewatch.operations.run.series import RunSeries
from noisewatch.operations.run.tracing import TraceLevel
from noisewatch.surfaces.reports.run.receipt import header_of, repetition_of
from tests.surfaces.reports.run.written_series import UNDISTURBED, rendered, written_series
from tests.written.trace_windows import traced

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


def _words(form: str, series: RunSeries) -> str:
    return " ".join(rendered(form, series).split())


def test_text_and_markdown_say_it_with_the_runs_whose_trace_was_lost() -> None:
    for form in ("text", "markdown"):
        said = _words(form, _traced())
        assert f"attribution: kernel trace; of runs 3-4 counters, because {_LOST}" in said


def test_without_a_trace_they_say_why() -> None:
    series = replace(written_series(UNDISTURBED), level=TraceLevel(Tracer.NONE, "tracefs is not mounted"))
    for form in ("text", "markdown"):
        assert "attribution: counters, because tracefs is not mounted" in _words(form, series)


def test_the_receipt_has_it_in_the_header_and_in_each_line() -> None:
    series = _traced()
    attribution = header_of(series, identifies=False)["attribution"]
    assert (attribution["trace"], attribution["no_trace_reason"]) == ("events", "none")
    lines = [repetition_of(each) for each in series.repetitions]
    assert [line["attributed_by"] for line in lines] == ["trace"] * 2 + ["counters"] * 2 + ["trace"] * 6
    assert [line["no_trace_reason"] for line in lines[1:3]] == ["none", _LOST]
    untraced = header_of(replace(series, level=TraceLevel(Tracer.NONE, "no root")), identifies=False)["attribution"]
    assert (untraced["trace"], untraced["no_trace_reason"]) == ("none", "no root")
