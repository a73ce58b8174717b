"""The report of a series for people: what matters most first, and nothing that a terminal would obey."""

from __future__ import annotations

import os
import re
import signal
import subprocess

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.surfaces.reports.run.formats import render_series
from noisewatch.surfaces.reports.run.options import SeriesOptions
from tests.judgement.judging import quiet_calibration
from tests.surfaces.reports.run.running import ran, words
from tests.surfaces.reports.run.written_series import (
    UNDISTURBED,
    UNKNOWN,
    disturbed_by,
    rendered,
    stacked,
    timed,
    written_series,
)
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_SERIES = timed(written_series(*[UNDISTURBED] * 3, disturbed_by("hog"), UNKNOWN), [1.0, 1.1, 1.2, 1.9, 1.0])


def _places(report: str, *parts: str) -> list[int]:
    assert all(part in report for part in parts)
    return [report.index(part) for part in parts]


def test_it_says_in_this_order_whether_to_trust_it_the_figures_who_it_was_what_helps_and_when() -> None:
    report = rendered("text", _SERIES)
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
def test_a_run_far_from_the_others_has_its_own_number(has_two: bool, number: int) -> None:
    """Runs that were disturbed, and those of the other command, count in it."""
    count = 40 if has_two else 20
    verdicts = [disturbed_by("hog") if at in (0, 2) else UNDISTURBED for at in range(count)]
    seconds = [2.0 if at + 1 == number else 1 + at * 7 % 10 / 1000 for at in range(count)]
    report = rendered("text", timed(written_series(*verdicts, has_two=has_two), seconds))
    assert f"far from the others: run {number}\n" in report


def test_a_result_that_is_refused_says_so_in_the_second_line() -> None:
    report = rendered("text", written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN))
    assert "no result" in report.splitlines()[1]


def test_what_is_no_result_has_no_interval_and_nothing_that_is_worked_out_of_one() -> None:
    verdicts = [UNDISTURBED] * 2 + [disturbed_by("hog")] * 8
    refused = timed(written_series(*verdicts), [1 + at / 100 for at in range(10)])
    for form in ("text", "markdown", "github"):
        report = " ".join(rendered(form, refused).split())
        assert "undisturbed runs" in report
        assert "1.045 s ± 0.030 s (10 runs, CV 2.9%" in report.replace("%25", "%")
        for word in ("interval", "varies", "later runs"):
            assert word not in report, (form, word)
    assert "interval of the mean" in rendered("text", _SERIES)


def test_a_series_that_was_cut_short_says_so_at_the_top() -> None:
    report = rendered("text", replace(_SERIES, ended_by=signal.SIGINT))
    assert "ended by SIGINT" in "".join(report.splitlines()[:4])


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "github"])
def test_a_machine_that_nobody_compared_is_unknown(form: str) -> None:
    """A calibration after the series was requested, and failed."""
    series = replace(_SERIES, options=replace(_SERIES.options, calibration_s=1.0), opening=quiet_calibration())
    why = "not calibrated after the series: no memory"
    said = rendered(form, replace(series, not_calibrated="after the series: no memory"))
    assert f"whether the machine is what it was is unknown: {why}" in " ".join(said.split())
    assert "what it was" not in rendered(form, replace(series, closing=quiet_calibration()))
    assert "what it was" not in rendered(form, replace(series, ended_by=signal.SIGINT))


def test_the_first_line_tells_how_many_runs_were_repeated() -> None:
    series = written_series(*[UNDISTURBED] * 9)
    assert rendered("text", series).splitlines()[0].endswith("· 9 runs")
    wanted = replace(series, options=replace(series.options, runs=5))
    assert rendered("text", wanted).splitlines()[0].endswith("· 9 runs (5 wanted, 4 repeated)")


def test_a_command_against_itself_says_what_it_does_not_see() -> None:
    series = written_series(*[UNDISTURBED] * 8, has_two=True)
    report = rendered("text", replace(series, options=replace(series.options, against=None, is_aa=True)))
    said = " ".join(report.split())
    assert "does not see the layout floor: both run the same file" in said
    assert report.index("layout floor") < report.index("undisturbed runs")


@pytest.mark.parametrize("width", [1, 20, 80, 140])
def test_its_lines_fit_but_for_names_figures_and_commands(width: int) -> None:
    report = render_series("text", _SERIES, SeriesOptions(width=width))
    assert max(map(len, report.splitlines())) <= max(width, 26)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_nothing_that_a_terminal_obeys(name: str) -> None:
    series = written_series(UNDISTURBED, disturbed_by(name), argv=(name, name))
    for width in (20, 80, 140):
        lines = render_series("text", series, SeriesOptions(width=width)).split("\n")
        assert all(line.isprintable() for line in lines)


def test_colour_only_repeats_what_signs_and_words_say() -> None:
    plain = render_series("text", _SERIES, SeriesOptions())
    coloured = render_series("text", _SERIES, SeriesOptions(in_colour=True))
    assert "\x1b[1;35m!" in coloured
    without = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert without == plain.splitlines()


def test_a_pipe_gets_no_colour_and_an_encoding_without_them_no_blocks() -> None:
    command = words("--runs", "3", "--", "true")
    said = subprocess.run(
        command,
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "TERM": "xterm-256color"},
    ).stdout.decode()
    assert "\x1b" not in said
    assert "time of each run" in said
    assert not set("│└─┬█▲•") & set(said[said.index("time of each run") :])


def test_markdown_has_the_culprits_what_helps_and_the_picture() -> None:
    report = rendered("markdown", _SERIES)
    assert "| hog (pid 900) | 50 ms | 1 | CPU 2 |" in report
    picture = report[report.index("```text\ntime of each run") :]
    assert "▲" in picture
    assert picture.index("```", 5) > picture.index("after")


def test_of_one_run_there_is_no_picture() -> None:
    assert (
        "time of each run" not in ran("--runs", "1", "--format", "text", "--output", "/dev/stdout", "--", "true").stdout
    )


def test_what_would_have_placed_its_threads_better_is_a_line_to_be_copied() -> None:
    report = render_series("text", stacked(_SERIES), SeriesOptions(width=40, identifies=True))
    assert "    instead: noisewatch run --cpus 2-3 --spread -- /opt/secret/sort --key" in report.splitlines()


def test_of_two_commands_the_second_line_counts_the_runs_of_both() -> None:
    report = rendered("text", written_series(UNDISTURBED, disturbed_by("hog"), UNKNOWN, UNDISTURBED, has_two=True))
    assert report.splitlines()[1].startswith("2 of 4 runs undisturbed, 1 disturbed, 1 unknown; mostly by hog")


@pytest.mark.parametrize("is_aa", [False, True])
def test_a_difference_is_no_result_where_too_few_pairs_were_undisturbed(is_aa: bool) -> None:
    """Noise that comes with one of the two alone looks like a difference between them."""

    def said(*verdicts: RepetitionVerdict) -> str:
        series = written_series(*verdicts, has_two=True)
        against = None if is_aa else series.options.against
        return " ".join(
            rendered("text", replace(series, options=replace(series.options, against=against, is_aa=is_aa))).split()
        )

    hit = disturbed_by("hog")
    names = "A (sort) and B (sort)" if is_aa else "A (sort) and B (other)"
    report = said(*[UNDISTURBED, hit] * 4)
    assert f"{names}: no result, as 0 of 4 pairs undisturbed are too few (minimum 50%) A: " in report
    assert "more time" not in report
    assert "can be shown" not in report
    in_turn = [UNDISTURBED, hit, hit, UNDISTURBED] * 2 + [UNDISTURBED] * 4
    assert f"{names}: no result, as 2 of 6 pairs undisturbed are too few (minimum 50%) A: " in said(*in_turn)
    assert "no result" not in said(*[UNDISTURBED] * 6, hit, UNDISTURBED)


@pytest.mark.parametrize("against", [("/opt/secret/other",), ("/opt/old/sort", "--key")])
def test_of_two_commands_letters_tell_which_is_which_wherever_they_are_named(against: tuple[str, ...]) -> None:
    series = written_series(*[UNDISTURBED] * 7, disturbed_by("hog"), has_two=True)
    series = replace(series, options=replace(series.options, against=against))
    other = os.path.basename(against[0])
    report = rendered("text", series)
    assert re.search(rf"A \(sort\) took .* time than B \({other}\) in 3 pairs", " ".join(report.split()))
    assert [line.split() for line in report.splitlines() if " disturbed  " in line][-1][:2] == ["B:", "8"]
    assert "\nA: sort\n" in report
    assert f"\nB: {other}\n" in report
    assert "| B: 8 |" in rendered("markdown", series)
    assert "title=noisewatch%3A B%3A run 8::" in rendered("github", series)


@pytest.mark.parametrize("form", ["text", "markdown", "github"])
def test_one_run_is_told_as_one(form: str) -> None:
    report = rendered(form, written_series(disturbed_by("hog")))
    assert "0 of 1 run undisturbed" in report
    assert "1 runs" not in report
    assert "each run" not in rendered(form, written_series(UNDISTURBED, statuses=(1,)))
