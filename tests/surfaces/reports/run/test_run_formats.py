"""What `noisewatch run` writes in each format, read as its consumers read it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pyperf
import pytest
from msgspec.structs import replace

from noisewatch.errors import NothingUndisturbed
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.formats import render_series
from noisewatch.surfaces.reports.run.options import SeriesOptions
from tests.surfaces.reports.consumers import (
    read_github,
    read_junit,
    read_markdown,
    workflow_command,
)
from tests.surfaces.reports.run.running import ran, read
from tests.surfaces.reports.run.written_series import (
    UNDISTURBED,
    UNKNOWN,
    disturbed_by,
    rendered,
    stacked,
    written_series,
)
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_FORMS = ("text", "json", "markdown", "junit", "github", "pyperf")


def _read_json(report: str) -> list[str]:
    document = read(report)
    return [reason["name"] for each in document["repetitions"] for reason in each["reasons"]]


_READERS: Mapping[str, Callable[[str], list[str]]] = {
    "json": _read_json,
    "markdown": read_markdown,
    "junit": read_junit,
    "github": read_github,
}


@pytest.mark.parametrize("form", _READERS)
def test_hostile_names_are_text_and_nothing_else(form: str) -> None:
    for name in HOSTILE_NAMES:
        verdicts = [UNDISTURBED, disturbed_by(name), UNKNOWN]
        series = written_series(*verdicts, argv=(name, name))
        for identifies in (False, True):
            assert _READERS[form](rendered(form, series, identifies))


@pytest.mark.parametrize("form", _FORMS)
def test_arguments_and_folders_are_told_only_when_asked_for(form: str) -> None:
    series = stacked(written_series(UNDISTURBED, UNDISTURBED, has_two=True))
    told = rendered(form, series)
    assert "sort" in told
    assert "other" in told
    assert "secret" not in told
    assert "--key" not in told
    assert "--key" in rendered(form, series, identifies=True)


@pytest.mark.parametrize("form", _READERS)
def test_whoever_disturbed_a_run_is_named(form: str) -> None:
    told = _READERS[form](rendered(form, written_series(UNDISTURBED, disturbed_by("hog"))))
    assert any("hog" in text for text in told)


def _results(series: RunSeries) -> dict[str, list[str]]:
    report = ElementTree.fromstring(rendered("junit", series))
    return {case.get("name", ""): [child.tag for child in case] for case in report.iter("testcase")}


def test_junit_has_a_case_for_each_repetition_and_only_the_undisturbed_pass() -> None:
    assert _results(written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN)) == {
        "repetition 1": [],
        "repetition 2": ["failure"],
        "repetition 3": ["error"],
    }


def test_junit_has_a_suite_for_each_of_two_commands() -> None:
    series = written_series(*[UNDISTURBED] * 4, has_two=True)
    report = ElementTree.fromstring(rendered("junit", series))
    assert [suite.get("name") for suite in report] == ["noisewatch.run.a", "noisewatch.run.b"]
    assert [suite.get("tests") for suite in report] == ["2", "2"]


@pytest.mark.parametrize("series", [{"ended_by": signal.SIGINT}, {"failed": 2, "statuses": (0, 3)}], ids=str)
def test_a_series_that_was_cut_short_is_no_success(series: dict[str, object]) -> None:
    cut = written_series(UNDISTURBED, UNDISTURBED, **series)  # type: ignore[arg-type]
    assert _results(cut)["series"] == ["error"]
    assert "error" in {workflow_command(line)[0] for line in rendered("github", cut).splitlines()}
    assert "ended" in rendered("markdown", cut)


def test_a_repetition_that_failed_is_an_error() -> None:
    assert _results(written_series(UNDISTURBED, UNDISTURBED, statuses=(3, -9))) == {
        "repetition 1": ["error"],
        "repetition 2": ["error"],
    }


def test_github_is_told_what_it_comes_to_and_of_each_run_that_was_not_undisturbed() -> None:
    series = written_series(UNDISTURBED, UNDISTURBED, disturbed_by("hog"), UNKNOWN)
    commands = [workflow_command(line) for line in rendered("github", series).splitlines()]
    assert [(level, properties["title"]) for level, properties, _ in commands] == [
        ("notice", "noisewatch: 2 of 4 runs undisturbed"),
        ("warning", "noisewatch: run 3"),
        ("warning", "noisewatch: run 4"),
    ]


def test_github_is_told_of_many_runs_in_as_many_lines_as_it_shows() -> None:
    report = rendered("github", written_series(*[disturbed_by("hog")] * 40))
    assert any("run 40" in text for text in read_github(report))
    assert any("no result, as 0% is too few" in text for text in read_github(report))
    assert len(report.splitlines()) == 11


@pytest.mark.parametrize(
    ("changes", "is_gated", "level"),
    [({}, False, "warning"), ({}, True, "error"), ({"failed": 2}, False, "error"), ({"ended_by": 2}, False, "error")],
)
def test_github_shows_errors_only_where_the_step_fails(changes: dict[str, int], is_gated: bool, level: str) -> None:
    series = replace(written_series(disturbed_by("hog"), disturbed_by("hog")), **changes)
    report = render_series("github", series, SeriesOptions(is_gated=is_gated))
    levels = {properties["title"]: level for level, properties, _ in map(workflow_command, report.splitlines())}
    assert (levels["noisewatch: run"], levels["noisewatch: run 1"]) == (level, "warning")


def test_a_gate_that_is_only_unknown_is_no_error_of_github() -> None:
    report = render_series("github", written_series(UNKNOWN, UNKNOWN), SeriesOptions(is_gated=True))
    assert "::error" not in report
    assert "no result, as 0% is too few" in report.replace("%25", "%")


def test_markdown_of_many_runs_is_short_enough_to_be_pasted() -> None:
    report = rendered("markdown", written_series(*[disturbed_by("hog" * 100)] * 400))
    assert len(report.encode()) <= 60_000
    assert "350 more" in report


def test_pyperf_reads_the_undisturbed_values_and_the_verdict_of_each_run(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    series = written_series(UNDISTURBED, disturbed_by("hog"), UNDISTURBED, UNKNOWN)
    file.write_text(rendered("pyperf", series))
    (benchmark,) = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    assert benchmark.get_name() == "sort"
    assert benchmark.get_values() == (1.0, 1.002)
    assert benchmark.mean() == pytest.approx(1.001)
    told = [run.get_metadata() for run in benchmark.get_runs()]
    verdicts = ["undisturbed", "disturbed", "undisturbed", "unknown"]
    assert [metadata["noisewatch_verdict"] for metadata in told] == verdicts
    assert "hog" in told[1]["noisewatch_reasons"]
    assert benchmark.get_dates() is not None


def test_pyperf_tells_two_commands_apart_by_name(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    series = written_series(*[UNDISTURBED] * 4, has_two=True)
    file.write_text(rendered("pyperf", series))
    assert pyperf.BenchmarkSuite.load(str(file)).get_benchmark_names() == ["sort (a)", "other (b)"]


def test_without_a_value_there_is_no_file_for_pyperf() -> None:
    with pytest.raises(NothingUndisturbed, match=r"^pyperf: 0 of .* runs undisturbed"):
        rendered("pyperf", written_series(disturbed_by("hog"), UNKNOWN))


def test_a_file_is_written_beside_the_summary_in_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "runs.xml"
    said = ran("--runs", "2", "--format", "junit", "--output", file, "--", "true")
    assert said.returncode == 0
    assert "2 runs" in said.stdout
    read_junit(file.read_text())


def test_a_single_run_is_reported_in_a_file_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    said = ran("--format", "json", "--output", file, "--", "echo", "its own")
    assert said.stdout == "its own\n"
    assert said.stderr.count("\n") == 1
    assert [each["number"] for each in read(file.read_text())["repetitions"]] == [1]


def test_a_single_run_whose_report_has_no_room_ends_as_its_command() -> None:
    said = ran("--format", "json", "--output", "/dev/full", "--", "sh", "-c", "exit 7")
    assert said.returncode == 7
    assert said.stderr.count("no space left on device") == 1


def test_who_typed_the_command_sees_it_whole_and_who_gets_the_file_does_not(tmp_path: Path) -> None:
    file = tmp_path / "runs.txt"
    command = ("--runs", "2", "--", "sh", "-c", "true # secret")
    assert "sh -c 'true # secret'" in ran(*command).stdout
    ran("--output", file, *command)
    assert "secret" not in file.read_text()
    ran("--identify", "--output", file, *command)
    assert "secret" in file.read_text()


def test_a_workflows_step_gets_its_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    said = ran("--runs", "2", "--format", "github", "--", "true")
    assert read_github(said.stdout)
    assert "### noisewatch run" in summary.read_text()
