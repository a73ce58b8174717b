"""Reports of series with warm-ups, side commands, a load, and runs that stand out without a cause."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.conclusion import conclude, gate_of_run
from noisewatch.operations.run.load import SeriesLoad
from noisewatch.operations.run.series import RunSeries
from noisewatch.operations.run.side_commands import CONCLUDE, PREPARE, SideCommandResult
from tests.surfaces.reports.run.running import read
from tests.surfaces.reports.run.written_series import UNDISTURBED, disturbed_by, render, timed, written_series
from tests.surfaces.running import parse_json

_FORMS = ("text", "json", "markdown", "junit", "github", "pyperf")
_LOAD = SeriesLoad(2, frozenset({0, 3}), 0.5)
_FAILED = SideCommandResult(PREPARE, 2, False, "failed (status 1)", 1, {})
_LEFT = SideCommandResult(CONCLUDE, 1, True, None, 0, {812: "sle\x1bep"})


def _text(series: RunSeries, form: str = "text") -> str:
    return " ".join(render(form, series).split())


def test_warm_ups_are_in_no_statistics() -> None:
    with_them, without = (written_series(*[UNDISTURBED] * 3, warm_ups=count) for count in (2, 0))
    assert conclude(with_them) == conclude(without)
    assert render("text", with_them).splitlines()[0].endswith("· 3 runs after 2 warm-ups")
    document = read(render("json", with_them))
    assert [(line["kind"], line["number"]) for line in document["warm_ups"]] == [("warm-up", 1), ("warm-up", 2)]
    assert [line["kind"] for line in document["repetitions"]] == ["repetition"] * 3
    assert document["options"]["warmup"] == 2
    cases = ElementTree.fromstring(render("junit", with_them)).iter("testcase")
    assert [case.get("name") for case in cases] == ["repetition 1", "repetition 2", "repetition 3"]


def test_warm_ups_are_warmups_of_pyperf() -> None:
    runs = parse_json(render("pyperf", written_series(UNDISTURBED, warm_ups=2)))["benchmarks"][0]["runs"]
    assert [("values" in run, len(run.get("warmups", ()))) for run in runs] == [(False, 1), (False, 1), (True, 0)]
    assert runs[0]["metadata"]["noisewatch_reasons"] == "warm-up, so not counted"


def _first_takes(seconds: float, count: int, warm_ups: int = 0) -> RunSeries:
    return timed(
        written_series(*[UNDISTURBED] * count, warm_ups=warm_ups),
        [seconds, *[1 + at % 3 / 1000 for at in range(1, count)]],
    )


@pytest.mark.parametrize("count", [5, 12])
def test_slow_first_run_without_a_cause_is_named_with_the_remedy(count: int) -> None:
    text = _text(_first_takes(6.6, count))
    assert "run 1 took 6.6 times as long as the others: no disturbance was seen; CPU time ×" in text
    assert "--warmup 1 adds a run before it" in text
    document = read(render("json", _first_takes(6.6, count)))["footer"]["commands"][0]
    assert document["advises_warm_up"]
    assert [(outlier["repetition"], round(outlier["ratio"], 1)) for outlier in document["outliers"]] == [(1, 6.6)]


@pytest.mark.parametrize("count", [5, 12])
def test_no_warm_up_is_advised_without_need(count: int) -> None:
    assert "--warmup" not in _text(_first_takes(6.6, count, warm_ups=1))
    assert "--warmup" not in _text(_first_takes(0.2, count))
    assert "--warmup" not in _text(_first_takes(1.002, count))


def test_small_outliers_are_only_listed_unless_a_warm_up_is_advised() -> None:
    seconds = [1 + at % 3 / 1000 for at in range(12)]
    later, first = [*seconds], [*seconds]
    later[7] = first[0] = 1.05
    assert "far from the others: run 8" in _text(timed(written_series(*[UNDISTURBED] * 12), later))
    text = _text(timed(written_series(*[UNDISTURBED] * 12), first))
    assert "run 1 took 4.89% longer than the others: no disturbance was seen" in text
    assert "--warmup 1" in text


def test_first_run_that_is_not_the_slowest_needs_no_warm_up() -> None:
    seconds = [3.0, *[1 + at % 3 / 1000 for at in range(11)]]
    seconds[7] = 5.0
    text = _text(timed(written_series(*[UNDISTURBED] * 12), seconds))
    assert "run 1 took 3.0 times" in text
    assert "--warmup" not in text


def test_slow_first_run_with_a_cause_needs_no_warm_up() -> None:
    verdicts = [disturbed_by("hog"), *[UNDISTURBED] * 11]
    series = timed(written_series(*verdicts), [6.6, *[1 + at % 3 / 1000 for at in range(11)]])
    assert "took 6.6 times" not in _text(series)
    assert "--warmup" not in _text(series)


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "github", "pyperf"])
def test_load_is_in_each_report(form: str) -> None:
    series = replace(written_series(UNDISTURBED, UNDISTURBED), load=_LOAD)
    words = "under a load of 2 busy processes on CPUs 0,3, each with 50% of its CPU"
    assert words in _text(series, form).replace("%25", "%")


def test_a_single_busy_process_is_not_each() -> None:
    series = replace(written_series(UNDISTURBED), load=SeriesLoad(1, frozenset({0}), 0.5))
    assert "under a load of 1 busy process on CPU 0, with 50% of its CPU" in _text(series)


def test_receipt_has_the_load_in_header_and_footer() -> None:
    document = read(render("json", replace(written_series(UNDISTURBED), load=_LOAD)))
    assert document["load"] == {"processes": 2, "cpus": [0, 3]}
    assert document["footer"]["load"] == {"processes": 2, "cpus": [0, 3], "busy_share": 0.5, "trouble": "none"}
    assert read(render("json", written_series(UNDISTURBED)))["load"] is None


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "github"])
def test_load_that_ended_early_is_no_pass(form: str) -> None:
    series = replace(written_series(UNDISTURBED), load=replace(_LOAD, busy_share=None, trouble="it was\x1bkilled"))
    assert "the load may have been smaller than requested: it was·killed" in _text(series, form)
    assert gate_of_run(series) == RunOutcome.UNKNOWN
    assert gate_of_run(replace(series, load=_LOAD)) == RunOutcome.UNDISTURBED


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "github"])
def test_side_command_that_ended_the_series_is_named(form: str) -> None:
    series = replace(written_series(UNDISTURBED, failed=2), side_commands=(_LEFT, _FAILED), failed_side_command=_FAILED)
    text = _text(series, form)
    assert "the series ended with --prepare before run 2: failed (status 1)" in text
    assert text.count("failed (status 1)") == 1
    assert "which failed" not in text


def test_footer_has_the_side_commands() -> None:
    series = replace(written_series(UNDISTURBED, failed=2), side_commands=(_LEFT, _FAILED), failed_side_command=_FAILED)
    footer = read(render("json", series))["footer"]
    assert footer["ended"] == {"by": "failure", "repetition": 2, "side_command": "--prepare"}
    left, failed = footer["side_commands"]
    assert (left["is_warm_up"], left["left_processes"], left["left_names"]) == (True, [812], ["sle·ep"])
    assert (failed["option"], failed["repetition"], failed["trouble"]) == ("--prepare", 2, "failed (status 1)")


def test_ignored_failures_and_left_processes_are_listed() -> None:
    failures = [replace(_FAILED, number=number) for number in range(1, 6)]
    text = _text(replace(written_series(*[UNDISTURBED] * 5), side_commands=(_LEFT, *failures)))
    assert "--prepare before run 3: failed (status 1) and 2 more commands did so" in text
    assert "--conclude after warm-up 1 left running: sle·ep (pid 812)" in text


@pytest.mark.parametrize("form", _FORMS)
def test_arguments_of_side_commands_are_shown_only_with_identify(form: str) -> None:
    series = written_series(UNDISTURBED, UNDISTURBED)
    options = replace(series.options, prepare=("/opt/secret/drop", "--caches"), conclude=("/opt/secret/clean",))
    series = replace(series, options=options)
    assert "secret" not in render(form, series)
    assert "--caches" not in render(form, series)
    if form == "json":
        assert _words(series, identifies=False) == [["drop"], ["clean"]]
        assert _words(series, identifies=True) == [["/opt/secret/drop", "--caches"], ["/opt/secret/clean"]]


def _words(series: RunSeries, identifies: bool) -> Sequence[list[str]]:
    options = read(render("json", series, identifies))["options"]
    return [options["prepare"], options["conclude"]]
