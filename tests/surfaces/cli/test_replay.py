"""Recordings as the machine to look at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from noisewatch.judgement.case import NOT_READ_AFTER
from tests.surfaces.running import SETTINGS, Run, record
from tests.written.quiet_machine import loaded_files, process, quiet_files, stat_file

_SAMPLED = ("preflight", "--no-calibration")  # predicting the noise of a calibration takes long
_MOMENTS = [quiet_files(3.0 * number) for number in range(5)]


def _cut(path: Path, share: float) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: round(len(content) * share)])
    return path


def test_a_quiet_recording_is_stable(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:2], loaded_files(), calibrated_after=2)
    ran = run("preflight", "--replay", recording)
    assert (ran.status, ran.err) == (0, "")
    assert "3 s sample" in ran.out


def test_one_that_ends_with_its_calibration_is_unknown(run: Run, tmp_path: Path) -> None:
    ran = run("preflight", "--replay", record(tmp_path / "machine.nw", *_MOMENTS[:2]))
    assert (ran.status, ran.err) == (3, "")
    assert NOT_READ_AFTER in ran.words


def test_the_whole_recording_is_the_sample(run: Run, tmp_path: Path) -> None:
    ran = run(*_SAMPLED, "--format", "json", "--replay", record(tmp_path / "machine.nw", *_MOMENTS))
    assert ran.json["sample_seconds"] == 12.0


def test_a_long_recording_says_that_its_settings_are_those_of_its_end(run: Run, tmp_path: Path) -> None:
    short, long = (
        record(tmp_path / f"{count}.nw", *(quiet_files(3.0 * number) for number in range(count))) for count in (5, 12)
    )
    assert "33 s sample, settings read after it" in run(*_SAMPLED, "--replay", long).words
    assert "settings at its end" not in run(*_SAMPLED, "--replay", short).words


def test_one_moment_is_no_sample(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", _MOMENTS[0])
    ran = run(*_SAMPLED, "--replay", recording)
    assert ran.status == 3
    assert "shorter than 0.5 s" in ran.out
    assert run(*SETTINGS, "--replay", recording).status == 0


@pytest.mark.parametrize("command", ["preflight", "trace"])
def test_a_hog_that_has_ended_before_the_last_moment_is_named(command: str, run: Run, tmp_path: Path) -> None:
    moments = [dict(moment) for moment in _MOMENTS]
    for number, ran_ns in ((1, 0), (2, 2_000_000_000)):
        moments[number] |= process(900, "hog", 3, ran_ns, allowed="0-3")
    for number, ticks in enumerate((0, 0, 200, 200, 200)):
        moments[number]["/proc/stat"] = stat_file({3: ticks}, 300 * number)
    ran = run(command, "--replay", record(tmp_path / "machine.nw", *moments))
    assert re.search(r"hog (\[900\]|\(pid 900\))", ran.words)
    assert "unattributed" not in ran.words


def test_a_hog_in_the_last_moment_is_found(run: Run, tmp_path: Path) -> None:
    last = quiet_files(12.0) | process(900, "hog", 3, 3_000_000_000, allowed="0-3")
    last["/proc/stat"] = stat_file({3: 300}, 1200)
    ran = run(*_SAMPLED, "--replay", record(tmp_path / "machine.nw", *_MOMENTS[:4], last))
    assert ran.status == 1
    assert "hog [900] takes" in ran.words


def test_show_is_of_the_last_moment(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:3])
    totals = run("show", "--format", "json", "--replay", recording).json["interrupts"]["total_by_cpu"]
    assert totals == {"0": 9600 + 2 * 600, "1": 9200 + 660, "2": 123, "3": 123}


@pytest.mark.parametrize("command", ["preflight", "show"])
def test_a_damaged_recording_is_told_on_stderr(run: Run, tmp_path: Path, command: str) -> None:
    recording = _cut(record(tmp_path / "machine.nw", *_MOMENTS, calibration=None), 0.97)
    ran = run(command, "--replay", recording, *(["--no-calibration"] if command == "preflight" else []))
    assert ran.status == 0
    assert "damaged after" in ran.err
    assert str(recording) in ran.err
    assert ran.err.count("\n") == 1


def test_the_picture_of_a_damaged_recording_says_so(run: Run, tmp_path: Path) -> None:
    ran = run("--replay", _cut(record(tmp_path / "machine.nw", *_MOMENTS), 0.95))
    assert ran.status == 0
    assert "damaged after" in ran.out + ran.err


@pytest.mark.parametrize("share", [number / 20 for number in range(20)])
def test_a_recording_that_is_cut_anywhere_ends_in_an_answer_or_one_line(run: Run, tmp_path: Path, share: float) -> None:
    ran = run("preflight", "--replay", _cut(record(tmp_path / "machine.nw", *_MOMENTS), share))
    assert ran.status in (0, 2, 3)
    assert ran.err.count("\n") == 1
    assert "machine.nw: " in ran.err


def test_a_recording_can_be_replayed_to_the_same_answer(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS)
    first = run("preflight", "--format", "json", "--replay", recording)
    assert run("preflight", "--format", "json", "--replay", recording) == first


def test_what_came_before_the_sample_began_is_no_part_of_it(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:4], sampled_after=[1])
    assert run(*_SAMPLED, "--format", "json", "--replay", recording).json["sample_seconds"] == 6.0


def test_of_all_samples_that_somebody_waited_through_the_last_one_counts(run: Run, tmp_path: Path) -> None:
    hog = process(900, "hog", 3, 180_000_000, allowed="0-3") | {"/proc/stat": stat_file({3: 18}, 1200)}
    moments = (*_MOMENTS[:4], _MOMENTS[4] | hog)  # 6% of the last sample, and 1.5% of it all
    waited = record(tmp_path / "machine.nw", *moments, sampled_after=[1, 3])
    ran = run(*_SAMPLED, "--format", "json", "--replay", waited)
    (busy,) = [each for each in ran.json["findings"] if each["id"] == "target-cpu-busy"]
    assert (ran.json["sample_seconds"], busy["status"], busy["measured"]) == (3.0, "fail", pytest.approx(0.06))


def test_a_calibration_that_did_not_count_is_passed_by_with_its_sample(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS, sampled_after=[1, 4], calibrated_after=3)
    assert "shorter than 0.5 s" in run(*_SAMPLED, "--replay", recording).out
    recording = record(tmp_path / "machine.nw", *_MOMENTS, sampled_after=[1, 3], calibrated_after=2)
    assert run(*_SAMPLED, "--format", "json", "--replay", recording).json["sample_seconds"] == 3.0
