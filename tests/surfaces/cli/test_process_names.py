"""The processes of culprits in the reports of `preflight` and `trace`, and in the frames of the monitor."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.recording.privacy import IDENTITY
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.tui.app.export import window_reports
from tests.surfaces.running import Run, record
from tests.surfaces.tui.framing import model_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, crowd, process, quiet_files, stat_file
from tests.written.trace import written_trace

_ID = 64 * "c"
_HOG = {"name": "hog", "command": ["/opt/hog", "--token", "x"], "cgroup": "0::/system.slice/hog.service\n"}
_SERVER = {"name": "server", "command": ["/bin/server"], "cgroup": f"0::/system.slice/docker-{_ID}.scope\n"}
_ANSWERS = {IDENTITY.format(901, 1001): _HOG, IDENTITY.format(600, 700): _SERVER}
_SAMPLED = ("preflight", "--no-calibration", "--replay")


def _moments() -> list[dict[str, str]]:
    """Return two moments, between which a process and a thread of another process run on CPU 2."""
    moments = []
    for at, (hog_ms, worker_ms) in enumerate(((0, 0), (900, 600))):
        files = quiet_files(3.0 * at) | process(901, "hog", 2, hog_ms * 1_000_000, allowed="0-3")
        files |= crowd(600, "server", [0, 2], "0-3")
        folder = "/proc/600/task/601"
        files[f"{folder}/stat"] = files[f"{folder}/stat"].replace("server", "tokio-rt-worker")
        files[f"{folder}/schedstat"] = files[f"{folder}/schedstat"].replace("0 ", f"{worker_ms * 1_000_000} ", 1)
        moments.append(files)
    moments[1]["/proc/stat"] = stat_file({2: 150}, 300)
    return moments


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return record(tmp_path / "machine.nw", *_moments(), trace=written_trace(), asides=_ANSWERS)


def test_preflight_names_process_unit_and_container_without_arguments_from_a_recording(
    run: Run, recording: Path
) -> None:
    words = run(*_SAMPLED, recording, "-v").words
    assert "hog (pid 901): hog (arguments not recorded)" in words
    assert "server (pid 600), thread tokio-rt-worker (601)" in words
    assert "docker cccccccccccc" in words
    assert "hog.service" in words
    assert "token" not in words
    assert "runs hog (arguments not recorded) · hog.service" in run(*_SAMPLED, recording).words


def test_json_of_preflight_has_the_process(run: Run, recording: Path) -> None:
    findings = {finding["id"]: finding for finding in run(*_SAMPLED, recording, "--format", "json").json["findings"]}
    hog, worker = findings["tasks-on-target"]["culprits"]
    assert hog["process"] == {"name": "hog", "unit": "hog.service", "runtime": None, "container": None, "pod": None}
    assert (worker["name"], worker["process"]["name"]) == ("tokio-rt-worker", "server")
    assert (worker["process"]["runtime"], worker["process"]["container"]) == ("docker", 12 * "c")


def test_json_of_preflight_has_arguments_only_with_identify(run: Run, recording: Path) -> None:
    texts = [run(*_SAMPLED, recording, "--format", "json", *more).out for more in ((), ("--identify",))]
    assert ["arguments not recorded" in text for text in texts] == [False, True]


@pytest.mark.parametrize("form", ["markdown", "github", "junit", "nagios", "jsonl"])
def test_files_for_publication_have_no_commands(run: Run, recording: Path, form: str) -> None:
    assert "arguments not recorded" not in run(*_SAMPLED, recording, "--format", form).out


def test_trace_lists_processes(run: Run, tmp_path: Path) -> None:
    traced = record(tmp_path / "counted.nw", *_moments(), asides=_ANSWERS)
    lines = run("trace", "--cpus", "2", "--replay", traced).out.splitlines()
    assert any("server (pid 600), thread tokio-rt-worker (601)" in line for line in lines)
    at = next(at for at, line in enumerate(lines) if line.startswith("process "))
    assert [line.split(maxsplit=3)[3] for line in lines[at + 1 : at + 3]] == [
        "hog.service          hog (arguments not recorded)",
        "docker cccccccccccc  server",
    ]


def test_a_name_that_the_kernel_has_cut_is_whole_in_all_reports(run: Run, tmp_path: Path) -> None:
    """Thread 601 has the name of its process, whose main thread does not run on a target CPU."""
    moments = [
        {path: re.sub("server|tokio-rt-worker", "averylongprogra", text) for path, text in files.items()}
        for files in _moments()
    ]
    server = {"name": "averylongprogra", "command": ["/bin/averylongprogramname"], "cgroup": "0::/\n"}
    answers = _ANSWERS | {IDENTITY.format(600, 700): server}
    recording = record(tmp_path / "long.nw", *moments, asides=answers)
    for arguments in ((*_SAMPLED, recording, "-v"), ("trace", "--cpus", "2", "--replay", recording)):
        words = run(*arguments).words
        assert "averylongprogramname (pid 600, thread 601)" in words
        assert "averylongprogra " not in words


def test_older_recording_has_no_processes(run: Run, tmp_path: Path) -> None:
    older = record(tmp_path / "older.nw", *_moments())
    assert "runs" not in run(*_SAMPLED, older).words
    findings = run(*_SAMPLED, older, "--format", "json").json["findings"]
    assert [culprit for finding in findings for culprit in finding["culprits"] if "process" in culprit] == []


def test_frames_have_the_processes_of_their_culprits() -> None:
    machine = WrittenMachine(*_moments(), answers={**ANSWERS, **_ANSWERS})
    machine.is_live = True
    frames = sample_frames(machine, SnapshotOptions(), 3.0, sleep=lambda _: machine.advance())
    first, second = next(frames), next(frames)
    assert first.processes == ()
    assert [(process.pid, process.command, process.surroundings) for process in second.processes] == [
        (600, "/bin/server", "docker cccccccccccc"),
        (901, "/opt/hog --token x", "hog.service"),
    ]
    worker = next(line for line in second.culprits if line.name == "tokio-rt-worker")
    assert worker.label == "server [600/601], thread tokio-rt-worker"
    reports = window_reports(model_of(first, second), 1)
    assert "--token" not in "".join(reports.values())
    assert json.loads(reports["json"])["processes"][1] == {"pid": 901, "surroundings": "hog.service"}
