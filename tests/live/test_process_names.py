"""The process of a hog on this host, as the reports of each command show it: `pytest -m live`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.noise import CPU, LOOP, noise

pytestmark = pytest.mark.live

_NOISEWATCH = [sys.executable, "-m", "noisewatch"]
_WORK = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]


def _output(*arguments: str | Path) -> str:
    command = [*_NOISEWATCH, arguments[0], "--cpus", CPU, *arguments[1:]]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=120).stdout


def test_preflight_shows_the_command_of_a_hog_and_a_file_only_with_identify() -> None:
    with noise(LOOP) as hog:
        text = _output("preflight", "--no-calibration", "-v")
        plain, whole = (
            _output("preflight", "--no-calibration", "--format", "json", *more) for more in ([], ["--identify"])
        )
    assert f"(pid {hog.pid}): {sys.executable}" in " ".join(text.split())
    assert LOOP not in plain
    culprits = [culprit for finding in json.loads(whole)["findings"] for culprit in finding["culprits"]]
    commands = {culprit["process"]["command"] for culprit in culprits if culprit["pid"] == hog.pid}
    assert len(commands) == 1
    assert LOOP in commands.pop()


def test_trace_lists_the_command_of_a_hog() -> None:
    with noise(LOOP) as hog:
        lines = _output("trace", "--duration", "1").splitlines()
    assert [line for line in lines if line.startswith("python") and f"(pid {hog.pid})" in line and " -c " in line]


def test_series_lists_the_command_of_a_hog(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with noise(LOOP) as hog:
        text = _output("run", "--runs", "3", "--calibration", "0", "--output", receipt, "--", *_WORK)
    assert [line for line in text.splitlines() if f"(pid {hog.pid})" in line and f"{sys.executable} -c" in line]
    assert LOOP not in receipt.read_text()
    footer = json.loads(receipt.read_text().splitlines()[-1])
    (culprit,) = [culprit for culprit in footer["culprits"] if hog.pid in culprit["pids"]]
    assert culprit["process"]["name"].startswith("python")
    assert "command" not in culprit["process"]
