"""`record` writes this host down so that it replays anywhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from noisewatch.judgement.case import NOT_READ_AFTER
from tests.surfaces.running import NOISEWATCH, Run


def _record(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `record` in a separate process, because it moves itself off the target CPUs."""
    command = [*NOISEWATCH, "record", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_recording_of_this_host_replays(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    ran = _record(recording, "--duration", "0.8", "--interval", "0.2")
    assert (ran.returncode, ran.stdout) == (0, "")
    told = re.search(r"^(.*): (\d+) snapshots in ([\d.]+) s, ([\d.]+) kB; (.*)$", ran.stderr, re.MULTILINE)
    assert told is not None
    assert (told[1], int(told[2]), told[5]) == (str(recording), 5, f"noisewatch --replay {recording}")
    assert float(told[3]) >= 0.8
    assert float(told[4]) == pytest.approx(recording.stat().st_size / 1e3, abs=0.51)
    shown = run("show", "--format", "json", "--replay", recording)
    assert (shown.status, shown.err) == (0, "")
    assert shown.json["machine"]["is_live"] is False
    assert len(shown.json["cpus"]["online"]) > 0
    judged = run("preflight", "--format", "json", "--replay", recording)
    assert judged.status in (0, 1, 3)
    assert judged.json["sample_seconds"] >= 0.5


def test_a_snapshot_follows_the_calibration_so_that_a_replay_judges_both_times(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    ran = _record(recording, "--duration", "0.6", "--interval", "0.2", "--calibration", "0.5")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "5 snapshots" in ran.stderr
    judged = run("preflight", "--format", "json", "--replay", recording)
    evidence = {each["id"]: each["evidence"] for each in judged.json["findings"]}
    assert evidence["device-interrupts-on-target"]["while_calibrating_per_s_by_cpu"]
    assert [each["id"] for each in judged.json["findings"] if each.get("reason") == NOT_READ_AFTER] == []


def test_without_time_one_moment_is_recorded(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    assert _record(recording, "--duration", "0").returncode == 0
    assert "shorter than 0.5 s" in run("preflight", "--replay", recording).out


@pytest.mark.parametrize("place", ["none/host.nw", "", "/dev/full"])
def test_a_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, place: str) -> None:
    ran = _record(tmp_path / place, "--duration", "0")
    assert ran.returncode == 2
    assert [line for line in ran.stderr.splitlines() if "Traceback" in line] == []
    assert f"noisewatch: {tmp_path / place}: " in ran.stderr


def test_only_this_host_can_be_recorded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    ran = run("record", tmp_path / "x.nw", "--sysroot", tmp_path)
    assert (ran.status, ran.err) == (2, "noisewatch: only this host can be recorded\n")
    assert not (tmp_path / "x.nw").exists()


@pytest.mark.parametrize("command", [["record"], ["preflight", "--sample", "0.5", "--no-calibration", "--record"]])
def test_only_a_recording_is_overwritten_by_one(tmp_path: Path, command: list[str]) -> None:
    notes, recording = tmp_path / "notes.txt", tmp_path / "host.nw"
    notes.write_text("precious\n")
    ran = subprocess.run([*NOISEWATCH, *command, notes], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    refused = f"{notes}: not a recording of noisewatch, so it is not overwritten; name another file"
    assert ran.stderr == f"noisewatch: {refused}\n"
    assert notes.read_text() == "precious\n"
    recording.touch()
    for _ in range(2):  # over an empty file, and over a recording
        assert _record(recording, "--duration", "0").returncode == 0
