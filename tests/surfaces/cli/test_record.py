"""`record` writes a recording of this host that replays anywhere."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from noisewatch.judgement.case import NOT_READ_AFTER
from tests.surfaces.running import NOISEWATCH, Run


def _record(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `record` in a separate process, because it moves itself off the target CPUs."""
    command = [*NOISEWATCH, "record", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _near(plan: Any) -> tuple[object, ...]:
    """Return the answer on the device's node and the reason, from a plan as JSON."""
    (criterion,) = [criterion for criterion in plan["criteria"] if criterion["id"] == "near-device"]
    return criterion["status"], criterion["said"], criterion["reason"], criterion["evidence"]


def test_a_recording_of_this_host_replays(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    result = _record(recording, "--duration", "0.8", "--interval", "0.2")
    assert (result.returncode, result.stdout) == (0, "")
    match = re.search(r"^(.*): (\d+) snapshots in ([\d.]+) s, ([\d.]+) kB; (.*)$", result.stderr, re.MULTILINE)
    assert match is not None
    assert (match[1], int(match[2]), match[5]) == (str(recording), 5, f"noisewatch --replay {recording}")
    assert float(match[3]) >= 0.8
    assert float(match[4]) == pytest.approx(recording.stat().st_size / 1e3, abs=0.51)
    show = run("show", "--format", "json", "--replay", recording)
    assert (show.status, show.err) == (0, "")
    assert show.json["machine"]["is_live"] is False
    assert len(show.json["cpus"]["online"]) > 0
    verdict = run("preflight", "--format", "json", "--replay", recording)
    assert verdict.status in (0, 1, 3)
    assert verdict.json["sample_seconds"] >= 0.5
    for device in os.listdir("/sys/class/net"):
        live, plan = (run("plan", "--near", device, "--format", "json", *of) for of in ((), ("--replay", recording)))
        assert _near(plan.json) == _near(live.json)


def test_a_snapshot_follows_the_calibration_so_that_a_replay_judges_both_times(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    result = _record(recording, "--duration", "0.6", "--interval", "0.2", "--calibration", "0.5")
    assert (result.returncode, result.stdout) == (0, "")
    assert "5 snapshots" in result.stderr
    verdict = run("preflight", "--format", "json", "--replay", recording)
    evidence = {finding["id"]: finding["evidence"] for finding in verdict.json["findings"]}
    assert evidence["device-interrupts-on-target"]["while_calibrating_per_s_by_cpu"]
    assert [finding["id"] for finding in verdict.json["findings"] if finding.get("reason") == NOT_READ_AFTER] == []


def test_a_duration_of_zero_records_one_snapshot(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    assert _record(recording, "--duration", "0").returncode == 0
    assert "shorter than 0.5 s" in run("preflight", "--replay", recording).out


@pytest.mark.parametrize("place", ["none/host.nw", "", "/dev/full"])
def test_a_file_that_cannot_be_written_is_reported_in_one_line(tmp_path: Path, place: str) -> None:
    result = _record(tmp_path / place, "--duration", "0")
    assert result.returncode == 2
    assert [line for line in result.stderr.splitlines() if "Traceback" in line] == []
    assert f"noisewatch: {tmp_path / place}: " in result.stderr


def test_only_this_host_can_be_recorded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    result = run("record", tmp_path / "x.nw", "--sysroot", tmp_path)
    assert (result.status, result.err) == (2, "noisewatch: only this host can be recorded\n")
    assert not (tmp_path / "x.nw").exists()


@pytest.mark.parametrize("command", [["record"], ["preflight", "--sample", "0.5", "--no-calibration", "--record"]])
def test_only_recordings_and_empty_files_are_overwritten(tmp_path: Path, command: list[str]) -> None:
    notes, recording = tmp_path / "notes.txt", tmp_path / "host.nw"
    notes.write_text("precious\n")
    result = subprocess.run([*NOISEWATCH, *command, notes], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 2
    message = f"{notes}: not a recording of noisewatch, so it is not overwritten; name another file"
    assert result.stderr == f"noisewatch: {message}\n"
    assert notes.read_text() == "precious\n"
    recording.touch()
    for _ in range(2):  # over an empty file, and over a recording
        assert _record(recording, "--duration", "0").returncode == 0
