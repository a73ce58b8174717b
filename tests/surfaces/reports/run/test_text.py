"""The text report of a series: the most important lines first, and no control characters."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from itertools import takewhile

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.operations.run.conclusion import conclude
from noisewatch.surfaces.reports.run.formats import render_series
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.sentences import headline_of
from tests.judgement.judging import quiet_calibration
from tests.surfaces.reports.run.running import ran, words
from tests.surfaces.reports.run.written_series import (
    UNDISTURBED,
    UNKNOWN,
    disturbed_by,
    render,
    stacked,
    timed,
    written_series,
)
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_SERIES = timed(written_series(*[UNDISTURBED] * 3, disturbed_by("hog"), UNKNOWN), [1.0, 1.1, 1.2, 1.9, 1.0])


def _places(report: str, *parts: str) -> list[int]:
    assert all(part in report for part in parts)
    return [report.index(part) for part in parts]


def test_report_has_verdict_figures_culprits_fixes_and_runs_in_this_order() -> None:
    report = render("text", _SERIES)
    places = _places(
        report,
        "3 of 5 runs undisturbed, 1 disturbed, 1 unknown; mostly by hog (pid 900), 50 ms in 1 run",
        "undisturbed runs  1.10 s ± 0.10 s",
        "all runs",
        "varies",
        "\nwho",
        "\nfixes",
        "taskset -c 0-1 COMMAND",
        "\nrun ",
        "time of each run",
    )
    assert places == sorted(places)


@pytest.mark.parametrize(("has_two", "number"), [(False, 10), (True, 19)])
def test_outlier_is_named_by_its_number(has_two: bool, number: int) -> None:
    """The number also counts disturbed runs and runs of the other command."""
    count = 40 if has_two else 20
    verdicts = [disturbed_by("hog") if at in (0, 2) else UNDISTURBED for at in range(count)]
    seconds = [2.0 if at + 1 == number else 1 + at * 7 % 10 / 1000 for at in range(count)]
    report = " ".join(render("text", timed(written_series(*verdicts, has_two=has_two), seconds)).split())
    assert f"run {number} took 99" in report
    assert "% longer than the others: no disturbance was seen" in report
    assert "--warmup" not in report


def test_refused_result_is_stated_in_the_second_line() -> None:
    report = render("text", written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN))
    assert "no result" in report.splitlines()[1]


def test_refused_result_has_no_interval_and_no_conclusion_from_one() -> None:
    verdicts = [UNDISTURBED] * 2 + [disturbed_by("hog")] * 8
    refused = timed(written_series(*verdicts), [1 + at / 100 for at in range(10)])
    for form in ("text", "markdown", "github"):
        report = " ".join(render(form, refused).split())
        assert "undisturbed runs" in report
        assert "1.045 s ± 0.030 s (10 runs, CV 2.9%" in report.replace("%25", "%")
        for word in ("interval", "varies", "later runs"):
            assert word not in report, (form, word)
    assert "interval of the mean" in render("text", _SERIES)


def test_signal_that_ended_the_series_is_named_at_the_top() -> None:
    report = render("text", replace(_SERIES, ended_by=signal.SIGINT))
    assert "ended by SIGINT" in "".join(report.splitlines()[:4])


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "github"])
def test_change_of_the_machine_is_unknown_if_the_last_calibration_failed(form: str) -> None:
    """The calibration after the series was requested but failed."""
    series = replace(_SERIES, options=replace(_SERIES.options, calibration_s=1.0), opening=quiet_calibration())
    why = "not calibrated after the series: no memory"
    report = render(form, replace(series, not_calibrated="after the series: no memory"))
    assert f"cannot tell whether the machine changed: {why}" in " ".join(report.split())
    assert "what it was" not in render(form, replace(series, closing=quiet_calibration()))
    assert "what it was" not in render(form, replace(series, ended_by=signal.SIGINT))


def test_first_line_counts_the_repeated_runs() -> None:
    series = written_series(*[UNDISTURBED] * 9)
    assert render("text", series).splitlines()[0].endswith("· 9 runs")
    requested = replace(series, options=replace(series.options, runs=5))
    assert render("text", requested).splitlines()[0].endswith("· 9 runs (5 requested, 4 repeated)")


def test_comparison_of_a_command_with_itself_mentions_the_layout() -> None:
    series = written_series(*[UNDISTURBED] * 8, has_two=True)
    report = render("text", replace(series, options=replace(series.options, against=None, is_aa=True)))
    text = " ".join(report.split())
    assert "does not show the effect of the memory layout: both sides run the same file" in text
    assert report.index("effect of the memory") < report.index("undisturbed runs")


@pytest.mark.parametrize("width", [1, 20, 80, 140])
def test_lines_fit_except_for_names_figures_and_commands(width: int) -> None:
    report = render_series("text", _SERIES, SeriesOptions(width=width))
    assert max(map(len, report.splitlines())) <= max(width, 26)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_name_is_printed_without_control_characters(name: str) -> None:
    series = written_series(UNDISTURBED, disturbed_by(name), argv=(name, name))
    for width in (20, 80, 140):
        lines = render_series("text", series, SeriesOptions(width=width)).split("\n")
        assert all(line.isprintable() for line in lines)


def test_colour_does_not_change_the_text() -> None:
    plain = render_series("text", _SERIES, SeriesOptions())
    coloured = render_series("text", _SERIES, SeriesOptions(in_colour=True))
    assert "\x1b[1;35m!" in coloured
    without = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert without == plain.splitlines()


def test_all_rows_of_a_wrapped_headline_have_its_colour() -> None:
    rows = render_series("text", _SERIES, SeriesOptions(in_colour=True, width=40)).splitlines()
    headline = rows[[row.startswith("\x1b") for row in rows].index(True) :]
    painted = list(takewhile(lambda row: row.startswith("\x1b"), headline))
    plain = [re.sub(r"\x1b\[[\d;]*m", "", row) for row in painted]
    assert len(painted) > 1
    assert " ".join(plain) == headline_of(conclude(_SERIES))


def test_pipe_gets_no_colour_and_latin_1_no_block_characters() -> None:
    command = words("--runs", "3", "--", "true")
    output = subprocess.run(
        command,
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "TERM": "xterm-256color"},
    ).stdout.decode()
    assert "\x1b" not in output
    assert "time of each run" in output
    assert not set("│└─┬█▲•") & set(output[output.index("time of each run") :])


def test_markdown_has_the_culprits_and_the_picture() -> None:
    report = render("markdown", _SERIES)
    assert "| hog (pid 900) | 50 ms | 1 | CPU 2 |" in report
    picture = report[report.index("```text\ntime of each run") :]
    assert "▲" in picture
    assert picture.index("```", 5) > picture.index("after")


def test_one_run_has_no_picture() -> None:
    assert (
        "time of each run" not in ran("--runs", "1", "--format", "text", "--output", "/dev/stdout", "--", "true").stdout
    )


def test_placement_advice_is_a_command_to_copy() -> None:
    report = render_series("text", stacked(_SERIES), SeriesOptions(width=40, identifies=True))
    assert "    instead: noisewatch run --cpus 2-3 --spread -- /opt/secret/sort --key" in report.splitlines()


def test_second_line_counts_the_runs_of_both_commands() -> None:
    report = render("text", written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN, UNDISTURBED, has_two=True))
    assert report.splitlines()[1].startswith("2 of 4 runs undisturbed, 1 disturbed, 1 unknown; mostly by hog")


@pytest.mark.parametrize("is_aa", [False, True])
def test_difference_is_refused_if_too_few_pairs_were_undisturbed(is_aa: bool) -> None:
    """Noise during only one of the commands looks like a difference between them."""

    def report_words(*verdicts: RepetitionVerdict) -> str:
        series = written_series(*verdicts, has_two=True)
        against = None if is_aa else series.options.against
        return " ".join(
            render("text", replace(series, options=replace(series.options, against=against, is_aa=is_aa))).split()
        )

    disturbed = disturbed_by("hog")
    names = "A (sort) and B (sort)" if is_aa else "A (sort) and B (other)"
    report = report_words(*[UNDISTURBED, disturbed] * 4)
    assert f"{names}: no result, because only 0 of 4 pairs are undisturbed (minimum 50%) A: " in report
    assert "more time" not in report
    assert "can be shown" not in report
    in_turn = [UNDISTURBED, disturbed, disturbed, UNDISTURBED] * 2 + [UNDISTURBED] * 4
    assert f"{names}: no result, because only 2 of 6 pairs are undisturbed (minimum 50%) A: " in report_words(*in_turn)
    assert "no result" not in report_words(*[UNDISTURBED] * 6, disturbed, UNDISTURBED)


@pytest.mark.parametrize("against", [("/opt/secret/other",), ("/opt/old/sort", "--key")])
def test_two_commands_are_marked_with_letters_everywhere(against: tuple[str, ...]) -> None:
    series = written_series(*[UNDISTURBED] * 7, disturbed_by("hog"), has_two=True)
    series = replace(series, options=replace(series.options, against=against))
    other = os.path.basename(against[0])
    report = render("text", series)
    assert re.search(rf"A \(sort\) took .* time than B \({other}\) in 3 pairs", " ".join(report.split()))
    assert [line.split() for line in report.splitlines() if " disturbed  " in line][-1][:2] == ["B:", "8"]
    assert "\nA: sort\n" in report
    assert f"\nB: {other}\n" in report
    assert "| B: 8 |" in render("markdown", series)
    assert "title=noisewatch%3A B%3A run 8::" in render("github", series)


@pytest.mark.parametrize("form", ["text", "markdown", "github"])
def test_one_run_is_in_the_singular(form: str) -> None:
    report = render(form, written_series(disturbed_by("hog")))
    assert "0 of 1 run undisturbed" in report
    assert "1 runs" not in report
    assert "each run" not in render(form, written_series(UNDISTURBED, statuses=(1,)))
