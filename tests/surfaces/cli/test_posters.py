"""`noisewatch screenshot --poster FILE`: posters of receipts and recordings, with the sentences of their reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.sentences import difference_sentences, headline_of, mean_words
from tests import MACHINES
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, render, timed, written_series
from tests.surfaces.running import Run, record
from tests.written.quiet_machine import quiet_files
from tests.written.receipt import paired_series
from tests.written.two_sides import record_two_sides

_CALIBRATED = MACHINES / "host-kinds.nw"
_HOG = disturbed_by("hog")


def _receipt(folder: Path, series: RunSeries) -> Path:
    path = folder / "receipt.json"
    path.write_text(render("json", series))
    return path


def _poster(run: Run, source: Path, picture: Path, *options: str) -> str:
    """Draw the poster and return its words."""
    result = run("screenshot", picture, "--poster", source, *options)
    assert (result.status, result.out) == (0, ""), result.err
    texts = re.findall(r"<text[^>]*>([^<]*)", picture.read_text())
    return " ".join(unescape(" ".join(texts)).replace("\xa0", " ").split())


def _title(folder: Path) -> str:
    match = re.search(r"<title>(.*)</title>", (folder / "poster.svg").read_text())
    assert match is not None
    return unescape(match[1])


def _band(folder: Path) -> str:
    """Return the colour of the conclusion."""
    match = re.search(r'<rect width="18" height="1080" fill="(#\w+)"', (folder / "poster.svg").read_text())
    assert match is not None
    return match[1]


_GOOD, _DOUBT, _BAD = "#4dd0e1", "#ffd166", "#ff5fa2"


@pytest.mark.parametrize(
    ("series", "colour"),
    [
        (written_series(*[UNDISTURBED] * 12), _GOOD),
        (written_series(*[UNDISTURBED] * 6, _HOG, *[UNDISTURBED] * 5), _DOUBT),
        (written_series(*[UNDISTURBED] * 6, UNKNOWN), _DOUBT),
        (written_series(*[UNDISTURBED] * 3, statuses=(0, 0, 3), failed=3), _DOUBT),
        (written_series(UNDISTURBED, ended_by=15), _DOUBT),
        (written_series(_HOG, _HOG, UNDISTURBED), _BAD),
        (written_series(UNKNOWN), _BAD),
    ],
    ids=["all undisturbed", "one disturbed", "one unknown", "one failed", "interrupted", "refused", "unknown"],
)
def test_the_title_and_the_colour_are_those_of_the_report(
    run: Run, tmp_path: Path, series: RunSeries, colour: str
) -> None:
    _poster(run, _receipt(tmp_path, series), tmp_path / "poster.svg")
    assert _title(tmp_path) == headline_of(conclude(series))
    assert _band(tmp_path) == colour


def test_the_poster_of_two_commands_has_their_difference_as_its_title(run: Run, tmp_path: Path) -> None:
    series = paired_series()
    words = _poster(run, _receipt(tmp_path, series), tmp_path / "poster.svg")
    assert _title(tmp_path) == difference_sentences(series, conclude(series))[0]
    assert headline_of(conclude(series)) in words
    assert "A: time of each run" in words
    assert "B: time of each run" in words
    assert "sort-new against sort-old" in words
    assert _title(tmp_path).startswith("A (sort-new) takes 3.34% less time than B (sort-old)")


def test_the_poster_of_a_refused_difference_has_no_difference(run: Run, tmp_path: Path) -> None:
    series = timed(written_series(*[_HOG, UNDISTURBED] * 10, has_two=True), [1.0 + 0.2 * (at % 2) for at in range(20)])
    _poster(run, _receipt(tmp_path, series), tmp_path / "poster.svg")
    assert "no result, because only 0 of 10 pairs are undisturbed" in _title(tmp_path)
    assert "more time" not in _title(tmp_path)
    assert _band(tmp_path) == _BAD


def test_a_poster_has_the_strip_the_culprits_and_the_statistics(run: Run, tmp_path: Path) -> None:
    series = written_series(*[UNDISTURBED] * 6, _HOG, *[UNDISTURBED] * 5)
    series = timed(series, [0.27 + 0.01 * at for at in range(12)])
    words = _poster(run, _receipt(tmp_path, series), tmp_path / "poster.svg")
    assert "undisturbed 11 ! disturbed 1" in words
    statistics = conclude(series).commands[0].selected.of_undisturbed
    assert statistics is not None
    assert f"undisturbed runs {mean_words(statistics)}" in words
    assert "who time runs where hog (pid 900) 50 ms 1 CPU 2" in words
    assert "sort · CPUs 2-3" in words
    assert "--key" not in words


def test_many_culprits_are_counted(run: Run, tmp_path: Path) -> None:
    verdicts = [disturbed_by(f"hog-{number}", 900 + number) for number in range(25)]
    words = _poster(run, _receipt(tmp_path, written_series(*verdicts, *[UNDISTURBED] * 30)), tmp_path / "poster.svg")
    left = re.search(r"and (\d+) more", words)
    assert left is not None
    assert len(set(re.findall(r"hog-\d+ \(pid", words))) + int(left[1]) == 25


def test_lines_and_a_whole_document_have_the_same_poster(run: Run, tmp_path: Path) -> None:
    series = written_series(*[UNDISTURBED] * 6, _HOG)
    whole = json.loads(render("json", series))
    lines = [{key: value for key, value in whole.items() if key not in ("repetitions", "warm_ups", "footer")}]
    lines = [{**lines[0], "kind": "header"}, *whole["repetitions"], whole["footer"]]
    receipt = tmp_path / "receipt.jsonl"
    receipt.write_text("".join(json.dumps(line) + "\n" for line in lines))
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    assert _poster(run, receipt, one) == _poster(run, _receipt(tmp_path, series), two)


def test_a_hostile_name_is_a_text_in_the_poster(run: Run, tmp_path: Path) -> None:
    series = written_series(disturbed_by("</text>\x1b[1m"), *[UNDISTURBED] * 3)
    document = json.loads(render("json", series))
    document["footer"]["words"]["headline"] = "</title>\x1b]0;x\x07"
    document["commands"][0]["program"] = "\u202e<b>"
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(document))
    words = _poster(run, receipt, tmp_path / "poster.svg")
    assert "</title>·]0;x·" in words
    assert "·<b>" in words
    assert not {"\x1b", "\x07", "\u202e"} & set((tmp_path / "poster.svg").read_text())


def test_the_poster_of_a_calibration_has_the_first_sentence_of_its_report(run: Run, tmp_path: Path) -> None:
    words = _poster(run, _CALIBRATED, tmp_path / "poster.svg")
    report = run("calibrate", "--replay", _CALIBRATED).words
    assert _title(tmp_path) in report
    assert _title(tmp_path).startswith("A change of ")
    assert "the noise floor of 25 samples of 100 ms, by kind of work" in words
    assert "how long each gap lasted, by cause" in words
    assert _band(tmp_path) == _BAD


def test_a_calibration_that_is_too_short_is_no_good_news(run: Run, tmp_path: Path) -> None:
    _poster(run, MACHINES / "host-calibration.nw", tmp_path / "poster.svg")
    assert "is unknown: too little was measured" in _title(tmp_path)
    assert _band(tmp_path) != _GOOD


def test_the_poster_of_a_comparison_has_its_headline(run: Run, tmp_path: Path) -> None:
    recording = record_two_sides(tmp_path / "two.nw")
    options = ("calibrate", "--replay", recording, "--cpus", "2-3", "--against", "0-1")
    poster, report = tmp_path / "poster.svg", tmp_path / "report.md"
    assert run(*options, "--format", "svg", "--poster", "--output", poster).status == 0
    assert run(*options, "--format", "markdown", "--output", report).status == 0
    assert _title(tmp_path) in report.read_text()
    assert _title(tmp_path).startswith("CPUs 2-3: 39 times quieter than CPUs 0-1")
    assert _band(tmp_path) not in (_GOOD, _DOUBT, _BAD)


def test_calibrate_draws_the_same_poster_as_screenshot(run: Run, tmp_path: Path) -> None:
    calibrate = ("calibrate", "--replay", _CALIBRATED, "--format", "svg", "--poster", "--output")
    assert run(*calibrate, tmp_path / "one.svg").status == 0
    _poster(run, _CALIBRATED, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_poster_of_a_calibration_obeys_its_budget(run: Run, tmp_path: Path) -> None:
    options = (
        "--format",
        "svg",
        "--poster",
        "--output",
        tmp_path / "poster.svg",
        "--max-cv",
        "200%",
        "--work",
        "cache",
    )
    assert run("calibrate", "--replay", _CALIBRATED, *options).status == 0
    assert _band(tmp_path) != _BAD


def test_only_a_picture_is_a_poster(run: Run) -> None:
    result = run("calibrate", "--replay", _CALIBRATED, "--poster")
    assert (result.status, "--poster: only with --format svg or png" in result.err) == (2, True)


def test_a_calibration_in_json_names_the_way_to_a_poster(run: Run, tmp_path: Path) -> None:
    run("calibrate", "--replay", _CALIBRATED, "--format", "json", "--output", tmp_path / "calibration.json")
    result = run("screenshot", tmp_path / "poster.svg", "--poster", tmp_path / "calibration.json")
    assert (result.status, "draw the poster with calibrate --format svg --poster" in result.err) == (2, True)


def test_the_title_option_is_the_line_above(run: Run, tmp_path: Path) -> None:
    series = written_series(*[UNDISTURBED] * 3)
    words = _poster(run, _receipt(tmp_path, series), tmp_path / "poster.svg", "--title", "sort, release 7")
    assert words.startswith("sort, release 7 3 of 3 runs undisturbed")


def test_equal_receipts_make_equal_bytes(run: Run, tmp_path: Path) -> None:
    receipt = _receipt(tmp_path, written_series(*[UNDISTURBED] * 6, _HOG))
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    for picture in (one, two):
        assert run("screenshot", picture, "--poster", receipt, "--theme", "light", "--scale", "0.5").status == 0
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(b"\x89PNG")


def _without_footer(document: dict[str, Any]) -> None:
    del document["footer"]


def _of_old_version(document: dict[str, Any]) -> None:
    document["noisewatch"] = "0.2.0"
    del document["footer"]["words"]


def _without_a_run(document: dict[str, Any]) -> None:
    del document["repetitions"][1]


def _without_a_time(document: dict[str, Any]) -> None:
    document["repetitions"][1]["wall_ns"] = None


def _with_a_new_reason(document: dict[str, Any]) -> None:
    document["repetitions"][1]["reasons"][0]["kind"] = "gravity"


def _with_a_number_as_headline(document: dict[str, Any]) -> None:
    document["footer"]["words"]["headline"] = 3


def _without_a_statistic(document: dict[str, Any]) -> None:
    del document["footer"]["commands"][0]["undisturbed"]["is_order_tested"]


def _of_another_schema(document: dict[str, Any]) -> None:
    document["schema"] = 2


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (_without_footer, "the receipt has no end, so the series has no result"),
        (_of_old_version, "noisewatch 0.2.0 has written this receipt without its result in words"),
        (_without_a_run, "damaged: only 2 of 3 runs are in the file"),
        (_without_a_time, "damaged in the line of run 2: Expected `int`, got `null`"),
        (_with_a_new_reason, "run 2 has a reason that this version of noisewatch does not have: 'gravity'"),
        (_with_a_number_as_headline, "damaged in the footer: Expected `str`, got `int`"),
        (_without_a_statistic, "damaged in the footer: Object missing required field `is_order_tested`"),
        (_of_another_schema, "contains schema 2, but this noisewatch draws schema 1"),
    ],
)
def test_a_receipt_without_a_result_is_refused(
    run: Run, tmp_path: Path, damage: Callable[[dict[str, Any]], None], expected: str
) -> None:
    document = json.loads(render("json", written_series(UNDISTURBED, _HOG, UNDISTURBED)))
    damage(document)
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(document))
    result = run("screenshot", tmp_path / "poster.svg", "--poster", receipt)
    assert (result.status, result.out) == (2, "")
    assert f"{receipt}: {expected}" in result.err
    assert not (tmp_path / "poster.svg").exists()


@pytest.mark.parametrize("content", ["", "no JSON\n", "[]", "{}", '{"verdict": "stable", "profile": "default"}'])
def test_a_file_of_another_kind_is_refused(run: Run, tmp_path: Path, content: str) -> None:
    other = tmp_path / "other"
    other.write_text(content)
    result = run("screenshot", tmp_path / "poster.svg", "--poster", other)
    assert (result.status, f"{other}: nothing to draw: expected a receipt (run --output FILE.jsonl" in result.err) == (
        2,
        True,
    )


def test_a_recording_without_a_calibration_is_refused(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", quiet_files(), calibration=None)
    result = run("screenshot", tmp_path / "poster.svg", "--poster", recording)
    assert (result.status, "no poster of a calibration: the recording has no calibration" in result.err) == (3, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--keys", "3"), "--keys: not with --poster"),
        (("--size", "80x24"), "--size: not with --poster"),
        (("--panel", "irqs"), "--panel: not with --poster"),
        (("--at", "3"), "--at: not with --poster"),
        (("--from", "3"), "--from: not with --poster"),
        (("--replay", "x.nw"), "--replay: not with --poster"),
        (("--cpus", "2"), "--cpus: not with a receipt, whose poster is about the target CPUs of its runs"),
    ],
)
def test_options_of_the_monitor_are_refused(run: Run, tmp_path: Path, options: tuple[str, str], expected: str) -> None:
    receipt = _receipt(tmp_path, written_series(UNDISTURBED))
    result = run("screenshot", tmp_path / "poster.svg", "--poster", receipt, *options)
    assert (result.status, expected in result.err) == (2, True), result.err


def test_a_poster_is_no_gif(run: Run, tmp_path: Path) -> None:
    receipt = _receipt(tmp_path, written_series(UNDISTURBED))
    result = run("screenshot", tmp_path / "poster.gif", "--poster", receipt)
    assert (result.status, "poster.gif: a poster is a still picture" in result.err) == (2, True)


def test_a_missing_file_or_folder_is_reported(run: Run, tmp_path: Path) -> None:
    missing = run("screenshot", tmp_path / "poster.svg", "--poster", tmp_path / "none.json")
    assert (missing.status, f"{tmp_path}/none.json: no such file or directory" in missing.err) == (2, True)
    receipt = _receipt(tmp_path, written_series(UNDISTURBED))
    folder = run("screenshot", tmp_path / "none/poster.svg", "--poster", receipt)
    assert (folder.status, "there is no folder" in folder.err) == (2, True)
