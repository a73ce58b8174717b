"""The reports of `noisewatch run` in each format, parsed as their consumers parse them."""

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
    render,
    stacked,
    written_series,
)
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_FORMS = ("text", "json", "markdown", "junit", "github", "pyperf")


def _read_json(report: str) -> list[str]:
    document = read(report)
    return [reason["name"] for repetition in document["repetitions"] for reason in repetition["reasons"]]


_READERS: Mapping[str, Callable[[str], list[str]]] = {
    "json": _read_json,
    "markdown": read_markdown,
    "junit": read_junit,
    "github": read_github,
}


@pytest.mark.parametrize("form", _READERS)
def test_hostile_names_break_no_format(form: str) -> None:
    for name in HOSTILE_NAMES:
        verdicts = [UNDISTURBED, disturbed_by(name), UNKNOWN]
        series = written_series(*verdicts, argv=(name, name))
        for identifies in (False, True):
            assert _READERS[form](render(form, series, identifies))


@pytest.mark.parametrize("form", _FORMS)
def test_arguments_and_folders_are_shown_only_with_identify(form: str) -> None:
    series = stacked(written_series(UNDISTURBED, UNDISTURBED, has_two=True))
    report = render(form, series)
    assert "sort" in report
    assert "other" in report
    assert "secret" not in report
    assert "--key" not in report
    assert "--key" in render(form, series, identifies=True)


@pytest.mark.parametrize("form", _READERS)
def test_culprit_of_a_disturbed_run_is_named(form: str) -> None:
    texts = _READERS[form](render(form, written_series(UNDISTURBED, disturbed_by("hog"))))
    assert any("hog" in text for text in texts)


def _junit_results(series: RunSeries) -> dict[str, list[str]]:
    report = ElementTree.fromstring(render("junit", series))
    return {case.get("name", ""): [child.tag for child in case] for case in report.iter("testcase")}


def test_junit_has_a_case_for_each_repetition_and_only_the_undisturbed_pass() -> None:
    assert _junit_results(written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN)) == {
        "repetition 1": [],
        "repetition 2": ["failure"],
        "repetition 3": ["error"],
    }


def test_junit_has_a_suite_for_each_of_two_commands() -> None:
    series = written_series(*[UNDISTURBED] * 4, has_two=True)
    report = ElementTree.fromstring(render("junit", series))
    assert [suite.get("name") for suite in report] == ["noisewatch.run.a", "noisewatch.run.b"]
    assert [suite.get("tests") for suite in report] == ["2", "2"]


@pytest.mark.parametrize("series", [{"ended_by": signal.SIGINT}, {"failed": 2, "statuses": (0, 3)}], ids=str)
def test_incomplete_series_is_an_error(series: dict[str, object]) -> None:
    cut = written_series(UNDISTURBED, UNDISTURBED, **series)  # type: ignore[arg-type]
    assert _junit_results(cut)["series"] == ["error"]
    assert "error" in {workflow_command(line)[0] for line in render("github", cut).splitlines()}
    assert "ended" in render("markdown", cut)


def test_failed_repetition_is_an_error() -> None:
    assert _junit_results(written_series(UNDISTURBED, UNDISTURBED, statuses=(3, -9))) == {
        "repetition 1": ["error"],
        "repetition 2": ["error"],
    }


def test_github_has_a_summary_and_a_warning_for_each_run_that_was_not_undisturbed() -> None:
    series = written_series(UNDISTURBED, UNDISTURBED, disturbed_by("hog"), UNKNOWN)
    commands = [workflow_command(line) for line in render("github", series).splitlines()]
    assert [(level, properties["title"]) for level, properties, _ in commands] == [
        ("notice", "noisewatch: 2 of 4 runs undisturbed"),
        ("warning", "noisewatch: run 3"),
        ("warning", "noisewatch: run 4"),
    ]


def test_github_report_of_many_runs_keeps_to_the_limit_of_annotations() -> None:
    report = render("github", written_series(*[disturbed_by("hog")] * 40))
    assert any("run 40" in text for text in read_github(report))
    assert any("no result, because 0% is too few" in text for text in read_github(report))
    assert len(report.splitlines()) == 11


@pytest.mark.parametrize(
    ("changes", "is_gated", "level"),
    [({}, False, "warning"), ({}, True, "error"), ({"failed": 2}, False, "error"), ({"ended_by": 2}, False, "error")],
)
def test_github_shows_errors_only_if_the_step_fails(changes: dict[str, int], is_gated: bool, level: str) -> None:
    series = replace(written_series(disturbed_by("hog"), disturbed_by("hog")), **changes)
    report = render_series("github", series, SeriesOptions(is_gated=is_gated))
    levels = {properties["title"]: level for level, properties, _ in map(workflow_command, report.splitlines())}
    assert (levels["noisewatch: run"], levels["noisewatch: run 1"]) == (level, "warning")


def test_unknown_gate_is_not_an_error_for_github() -> None:
    report = render_series("github", written_series(UNKNOWN, UNKNOWN), SeriesOptions(is_gated=True))
    assert "::error" not in report
    assert "no result, because 0% is too few" in report.replace("%25", "%")


def test_markdown_of_many_runs_is_short_enough_to_be_pasted() -> None:
    report = render("markdown", written_series(*[disturbed_by("hog" * 100)] * 400))
    assert len(report.encode()) <= 60_000
    assert "350 more" in report


def test_pyperf_reads_the_undisturbed_values_and_the_verdict_of_each_run(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    series = written_series(UNDISTURBED, disturbed_by("hog"), UNDISTURBED, UNKNOWN)
    file.write_text(render("pyperf", series))
    (benchmark,) = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()
    assert benchmark.get_name() == "sort"
    assert benchmark.get_values() == (1.0, 1.002)
    assert benchmark.mean() == pytest.approx(1.001)
    metadata_of_runs = [run.get_metadata() for run in benchmark.get_runs()]
    verdicts = ["undisturbed", "disturbed", "undisturbed", "unknown"]
    assert [metadata["noisewatch_verdict"] for metadata in metadata_of_runs] == verdicts
    assert "hog" in metadata_of_runs[1]["noisewatch_reasons"]
    assert benchmark.get_dates() is not None


def test_pyperf_benchmarks_of_two_commands_have_different_names(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    series = written_series(*[UNDISTURBED] * 4, has_two=True)
    file.write_text(render("pyperf", series))
    assert pyperf.BenchmarkSuite.load(str(file)).get_benchmark_names() == ["sort (a)", "other (b)"]


def test_pyperf_report_without_a_value_is_refused() -> None:
    with pytest.raises(NothingUndisturbed, match=r"^pyperf: 0 of .* runs undisturbed"):
        render("pyperf", written_series(disturbed_by("hog"), UNKNOWN))


def test_file_is_written_in_addition_to_the_summary(tmp_path: Path) -> None:
    file = tmp_path / "runs.xml"
    result = ran("--runs", "2", "--format", "junit", "--output", file, "--", "true")
    assert result.returncode == 0
    assert "2 runs" in result.stdout
    read_junit(file.read_text())


def test_single_run_is_reported_in_the_file_only(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    result = ran("--format", "json", "--output", file, "--", "echo", "its own")
    assert result.stdout == "its own\n"
    verdict, written = result.stderr.splitlines()
    assert verdict.startswith("noisewatch run: ")
    assert written == f"noisewatch: wrote {file}"
    assert [repetition["number"] for repetition in read(file.read_text())["repetitions"]] == [1]


def test_full_disk_does_not_change_the_exit_status_of_a_single_run() -> None:
    result = ran("--format", "json", "--output", "/dev/full", "--", "sh", "-c", "exit 7")
    assert result.returncode == 7
    assert result.stderr.count("no space left on device") == 1


def test_terminal_shows_the_whole_command_and_a_file_only_with_identify(tmp_path: Path) -> None:
    file = tmp_path / "runs.txt"
    command = ("--runs", "2", "--", "sh", "-c", "true # secret")
    assert "sh -c 'true # secret'" in ran(*command).stdout
    ran("--output", file, *command)
    assert "secret" not in file.read_text()
    ran("--identify", "--output", file, *command)
    assert "secret" in file.read_text()


def test_github_step_summary_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = ran("--runs", "2", "--format", "github", "--", "true")
    assert read_github(result.stdout)
    assert "## noisewatch run" in summary.read_text()
