"""Each gate as its runner starts it, on this host: it stays shut while a hog runs on the target CPU, and names it."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.fleet.hog import JUDGED, UNSAMPLED, UNWATCHED, hog, unknown_machine
from tests.fleet.shipped import STARTS, write_shipped
from tests.integrations.gate import run_as
from tests.integrations.node_problem_detector import Detector

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("aside")]


@dataclass(frozen=True, slots=True)
class Gate:
    """How a runner starts it, its folder being $HERE, and how it ends on a noisy and on an unknown machine."""

    name: str
    command: tuple[str, ...]
    refused: int
    refused_unknown: int

    def run(self, folder: Path, options: str, on_unknown: str = "fail") -> subprocess.CompletedProcess[str]:
        """Run the gate in a clean environment, with these options in its settings."""
        write_shipped(self.name, folder)
        with (folder / "noisewatch-settings").open("a") as settings:
            settings.write(f'options="{options}" on_unknown={on_unknown}\n')
        for hook in folder.glob("environment"):
            hook.write_text(hook.read_text().replace("/etc/noisewatch/buildkite", str(folder)))
        return run_as(list(self.command), {"SYSTEM_FAILURE_EXIT_CODE": "2", "HERE": str(folder)}, folder)


_SHELL = ("/bin/sh", "-c")
_GATES = [
    Gate("github", (*_SHELL, 'exec bash -e "$HERE/noisewatch-job-started.sh"'), 1, 1),
    Gate("gitlab", (*_SHELL, 'exec "$HERE/noisewatch-prepare"'), 2, 2),
    Gate("buildkite", ("/bin/bash", "-c", '. "$HERE/environment"'), 75, 75),
    Gate("jenkins", (*_SHELL, 'exec "$HERE/noisewatch-gate"'), 1, 1),
]


@pytest.mark.parametrize("gate", _GATES, ids=lambda gate: gate.name)
def test_a_gate_is_shut_while_a_hog_runs_and_names_it(gate: Gate, tmp_path: Path) -> None:
    with hog() as process:
        ended = gate.run(tmp_path, JUDGED)
    assert ended.returncode == gate.refused
    assert f"(pid {process.pid})" in ended.stdout


@pytest.mark.parametrize("gate", _GATES, ids=lambda gate: gate.name)
def test_a_gate_is_open_on_a_quiet_machine_and_shut_on_an_unknown_one(gate: Gate, tmp_path: Path) -> None:
    assert gate.run(tmp_path, UNWATCHED).returncode == 0
    ended = gate.run(tmp_path, unknown_machine(tmp_path))
    assert ended.returncode == gate.refused_unknown
    assert "no such file" in " ".join(ended.stdout.split())


@pytest.mark.parametrize("gate", _GATES, ids=lambda gate: gate.name)
def test_a_wait_that_ends_unknown_is_an_unknown_verdict(gate: Gate, tmp_path: Path) -> None:
    waited = f"{UNSAMPLED} --wait 0.1"
    assert gate.run(tmp_path, waited).returncode == gate.refused_unknown
    assert gate.run(tmp_path, waited, on_unknown="run").returncode == 0


def _detector(folder: Path, options: str) -> Detector:
    text = (write_shipped("kubernetes", folder) / "noisewatch-monitor.json").read_text()
    monitor = json.loads(text.replace("/etc/noisewatch", str(folder)))
    monitor["rules"][0]["args"] = shlex.split(options)
    return Detector(monitor)


def test_a_node_has_a_condition_that_names_the_hog_in_80_bytes(tmp_path: Path) -> None:
    detector = _detector(tmp_path, JUDGED)
    with hog() as process:
        detector.check()
    assert detector.condition is not None
    assert detector.condition.status == "True"
    assert f"(pid {process.pid})" in detector.condition.message
    assert len(detector.condition.message.encode()) <= 80


@pytest.mark.parametrize(("is_known", "status"), [(True, "False"), (False, "Unknown")])
def test_a_node_without_noise_has_none(tmp_path: Path, is_known: bool, status: str) -> None:
    detector = _detector(tmp_path, UNWATCHED if is_known else unknown_machine(tmp_path))
    detector.check()
    assert detector.condition is not None
    assert detector.condition.status == status


def test_an_init_container_fails_while_a_hog_runs(tmp_path: Path) -> None:
    job = yaml.safe_load((write_shipped("kubernetes", tmp_path) / "benchmark-job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["initContainers"]
    (tmp_path / "noisewatch").write_text(f'#!/bin/sh\nexec {STARTS} "$@"\n')
    (tmp_path / "noisewatch").chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    *shell, script = container["command"]
    with hog() as process:
        ended = run_as([*shell, f"{script} {JUDGED}"], {}, tmp_path, path=path)
    assert ended.returncode == 1
    assert f"(pid {process.pid})" in ended.stdout
    assert run_as([*shell, f"{script} {UNWATCHED}"], {}, tmp_path, path=path).returncode == 0


def test_a_runner_of_root_runs_a_job_of_gitlab_as_somebody_else(tmp_path: Path) -> None:
    write_shipped("gitlab", tmp_path)
    with (tmp_path / "noisewatch-settings").open("a") as settings:
        settings.write("user=nobody\n")
    script = tmp_path / "script"  # as the runner writes it: for its own user, in a folder of that
    script.write_text('id -un\necho "${TMPDIR-none}"\nexit 3\n')
    script.chmod(0o700)
    variables = {"TMPDIR": str(tmp_path), "BUILD_FAILURE_EXIT_CODE": "41"}
    ended = run_as([tmp_path / "noisewatch-run", script], variables, tmp_path, path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert (ended.returncode, ended.stdout) == (41, "nobody\nnone\n")
