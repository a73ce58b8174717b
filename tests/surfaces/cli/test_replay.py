"""Recordings in place of a machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from noisewatch.judgement.case import NOT_READ_AFTER
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.sampling import sample_frames
from tests.surfaces.running import SETTINGS, Run, record
from tests.written.quiet_machine import loaded_files, process, quiet_files, stat_file

_SAMPLED = ("preflight", "--no-calibration")  # predicting the noise of a calibration takes long
_MOMENTS = [quiet_files(3.0 * number) for number in range(5)]


def _truncate(path: Path, share: float) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: round(len(content) * share)])
    return path


def test_a_quiet_recording_is_stable(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:2], loaded_files(), calibrated_after=2)
    result = run("preflight", "--replay", recording)
    assert (result.status, result.err) == (0, "")
    assert "3 s sample" in result.out


def test_a_recording_that_ends_with_its_calibration_is_unknown(run: Run, tmp_path: Path) -> None:
    result = run("preflight", "--replay", record(tmp_path / "machine.nw", *_MOMENTS[:2]))
    assert (result.status, result.err) == (3, "")
    assert NOT_READ_AFTER in result.words


def test_the_whole_recording_is_the_sample(run: Run, tmp_path: Path) -> None:
    result = run(*_SAMPLED, "--format", "json", "--replay", record(tmp_path / "machine.nw", *_MOMENTS))
    assert result.json["sample_seconds"] == 12.0


def test_a_long_recording_notes_when_its_settings_were_read(run: Run, tmp_path: Path) -> None:
    short, long = (
        record(tmp_path / f"{count}.nw", *(quiet_files(3.0 * number) for number in range(count))) for count in (5, 12)
    )
    assert "33 s sample, settings read after it" in run(*_SAMPLED, "--replay", long).words
    assert "settings read after it" not in run(*_SAMPLED, "--replay", short).words


def test_one_snapshot_is_not_a_sample(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", _MOMENTS[0])
    result = run(*_SAMPLED, "--replay", recording)
    assert result.status == 3
    assert "shorter than 0.5 s" in result.out
    assert run(*SETTINGS, "--replay", recording).status == 0


@pytest.mark.parametrize("command", ["preflight", "trace"])
def test_a_hog_that_ended_before_the_last_snapshot_is_named(command: str, run: Run, tmp_path: Path) -> None:
    moments = [dict(moment) for moment in _MOMENTS]
    for number, ran_ns in ((1, 0), (2, 2_000_000_000)):
        moments[number] |= process(900, "hog", 3, ran_ns, allowed="0-3")
    for number, ticks in enumerate((0, 0, 200, 200, 200)):
        moments[number]["/proc/stat"] = stat_file({3: ticks}, 300 * number)
    result = run(command, "--replay", record(tmp_path / "machine.nw", *moments))
    assert re.search(r"hog (\[900\]|\(pid 900\))", result.words)
    assert "unattributed" not in result.words


def _disturbed_moments(counts: tuple[int | None, ...]) -> list[dict[str, str]]:
    """Return moments with processes that began and ended, and a device with these counts on CPU 2 (None: none)."""
    moments = [dict(moment) for moment in _MOMENTS]
    for number, (moment, count) in enumerate(zip(moments, counts, strict=True)):
        row = "" if count is None else f" 26: 0 0 {count} 0 PCI-MSIX-0000:00:06.0 0-edge eth1-rx-0\n"
        moment["/proc/interrupts"] = moment["/proc/interrupts"].replace("NMI:", f"{row}NMI:")
        moment["/proc/stat"] = stat_file({2: min(number, 3) * 100, 3: min(number, 3) * 50}, 300 * number)
    for number in (1, 2, 3):
        moments[number] |= process(900, "make", 2, number * 1_000, allowed="2", children=number * 100)
        moments[number] |= process(901, "pool", 3, number * 1_000, allowed="3", busy=number * 50)
    return moments


@pytest.mark.parametrize("counts", [(None, 0, 90_000, None, None), (50, 50, 90_050, 0, 0)])
def test_preflight_names_whom_the_monitor_names(counts: tuple[int | None, ...], run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_disturbed_moments(counts))
    result = run(*_SAMPLED, "--format", "json", "--replay", recording)
    culprits = [culprit for finding in result.json["findings"] for culprit in finding.get("culprits", ())]
    frames = sample_frames(Recording(str(recording)), SnapshotOptions(), 3.0)
    lines = [line for frame in frames for line in frame.culprits if line.cpu in (2, 3)]
    shown = {(line.cpu, line.name) for line in lines if line.stolen_ns_per_s > 10_000_000}
    assert shown == {(2, "26 eth1-rx-0"), (2, "children of make"), (3, "ended threads of pool")}
    assert shown <= {(culprit["cpu"], culprit["name"]) for culprit in culprits}
    assert result.status == 1


def test_a_hog_in_the_last_snapshot_is_named(run: Run, tmp_path: Path) -> None:
    last = quiet_files(12.0) | process(900, "hog", 3, 3_000_000_000, allowed="0-3")
    last["/proc/stat"] = stat_file({3: 300}, 1200)
    result = run(*_SAMPLED, "--replay", record(tmp_path / "machine.nw", *_MOMENTS[:4], last))
    assert result.status == 1
    assert "hog [900] takes" in result.words


def test_show_uses_the_last_snapshot(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:3])
    totals = run("show", "--format", "json", "--replay", recording).json["interrupts"]["total_by_cpu"]
    assert totals == {"0": 9600 + 2 * 600, "1": 9200 + 660, "2": 123, "3": 123}


@pytest.mark.parametrize("command", ["preflight", "show"])
def test_a_damaged_recording_is_reported_on_stderr(run: Run, tmp_path: Path, command: str) -> None:
    recording = _truncate(record(tmp_path / "machine.nw", *_MOMENTS, calibration=None), 0.97)
    result = run(command, "--replay", recording, *(["--no-calibration"] if command == "preflight" else []))
    assert result.status == 0
    assert "damaged after" in result.err
    assert str(recording) in result.err
    assert result.err.count("\n") == 1


def test_the_picture_of_a_damaged_recording_names_the_damage(run: Run, tmp_path: Path) -> None:
    result = run("--replay", _truncate(record(tmp_path / "machine.nw", *_MOMENTS), 0.95))
    assert result.status == 0
    assert "damaged after" in result.out + result.err


@pytest.mark.parametrize("share", [number / 20 for number in range(20)])
def test_a_truncated_recording_gives_an_answer_or_one_line(run: Run, tmp_path: Path, share: float) -> None:
    result = run("preflight", "--replay", _truncate(record(tmp_path / "machine.nw", *_MOMENTS), share))
    assert result.status in (0, 2, 3)
    assert result.err.count("\n") == 1
    assert "machine.nw: " in result.err


def test_a_recording_can_be_replayed_to_the_same_answer(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS)
    first = run("preflight", "--format", "json", "--replay", recording)
    assert run("preflight", "--format", "json", "--replay", recording) == first


def test_snapshots_before_the_sample_do_not_count(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS[:4], sampled_after=[1])
    assert run(*_SAMPLED, "--format", "json", "--replay", recording).json["sample_seconds"] == 6.0


def test_the_last_of_several_samples_counts(run: Run, tmp_path: Path) -> None:
    hog = process(900, "hog", 3, 180_000_000, allowed="0-3") | {"/proc/stat": stat_file({3: 18}, 1200)}
    moments = (*_MOMENTS[:4], _MOMENTS[4] | hog)  # 6% of the last sample, and 1.5% of the whole recording
    recording = record(tmp_path / "machine.nw", *moments, sampled_after=[1, 3])
    result = run(*_SAMPLED, "--format", "json", "--replay", recording)
    (busy,) = [finding for finding in result.json["findings"] if finding["id"] == "target-cpu-busy"]
    assert (result.json["sample_seconds"], busy["status"], busy["measured"]) == (3.0, "fail", pytest.approx(0.06))


def test_an_earlier_calibration_is_skipped_with_its_sample(run: Run, tmp_path: Path) -> None:
    recording = record(tmp_path / "machine.nw", *_MOMENTS, sampled_after=[1, 4], calibrated_after=3)
    assert "shorter than 0.5 s" in run(*_SAMPLED, "--replay", recording).out
    recording = record(tmp_path / "machine.nw", *_MOMENTS, sampled_after=[1, 3], calibrated_after=2)
    assert run(*_SAMPLED, "--format", "json", "--replay", recording).json["sample_seconds"] == 3.0
