"""Gates, started as their runners do on this host: closed while a hog runs on the target CPU, which they name."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.fleet.hog import JUDGED, UNSAMPLED, UNWATCHED, hog, unknown_machine
from tests.fleet.shipped import PROGRAM, write_shipped
from tests.integrations.gate import run_as
from tests.integrations.node_problem_detector import Detector

pytestmark = [pytest.mark.fleet, pytest.mark.usefixtures("hog_cpu_free")]


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate: the command of its runner, with its folder in $HERE, and its status on noisy and unknown machines."""

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
def test_a_gate_is_closed_while_a_hog_runs_and_names_it(gate: Gate, tmp_path: Path) -> None:
    with hog() as process:
        result = gate.run(tmp_path, JUDGED)
    assert result.returncode == gate.refused
    assert f"(pid {process.pid})" in result.stdout


@pytest.mark.parametrize("gate", _GATES, ids=lambda gate: gate.name)
def test_a_gate_is_open_on_a_quiet_machine_and_closed_on_an_unknown_one(gate: Gate, tmp_path: Path) -> None:
    assert gate.run(tmp_path, UNWATCHED).returncode == 0
    result = gate.run(tmp_path, unknown_machine(tmp_path))
    assert result.returncode == gate.refused_unknown
    assert "no such file" in " ".join(result.stdout.split())


@pytest.mark.parametrize("gate", _GATES, ids=lambda gate: gate.name)
def test_a_wait_that_ends_unknown_is_an_unknown_verdict(gate: Gate, tmp_path: Path) -> None:
    options = f"{UNSAMPLED} --wait 0.1"
    assert gate.run(tmp_path, options).returncode == gate.refused_unknown
    assert gate.run(tmp_path, options, on_unknown="run").returncode == 0


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
def test_the_condition_of_a_node_without_noise_is_false_or_unknown(tmp_path: Path, is_known: bool, status: str) -> None:
    detector = _detector(tmp_path, UNWATCHED if is_known else unknown_machine(tmp_path))
    detector.check()
    assert detector.condition is not None
    assert detector.condition.status == status


def test_an_init_container_fails_while_a_hog_runs(tmp_path: Path) -> None:
    job = yaml.safe_load((write_shipped("kubernetes", tmp_path) / "benchmark-job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["initContainers"]
    (tmp_path / "noisewatch").write_text(f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
    (tmp_path / "noisewatch").chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    *shell, script = container["command"]
    with hog() as process:
        result = run_as([*shell, f"{script} {JUDGED}"], {}, tmp_path, path=path)
    assert result.returncode == 1
    assert f"(pid {process.pid})" in result.stdout
    assert run_as([*shell, f"{script} {UNWATCHED}"], {}, tmp_path, path=path).returncode == 0


def test_a_root_runner_runs_a_gitlab_job_as_the_configured_user(tmp_path: Path) -> None:
    write_shipped("gitlab", tmp_path)
    with (tmp_path / "noisewatch-settings").open("a") as settings:
        settings.write("user=nobody\n")
    script = tmp_path / "script"  # readable for the runner's user only, as the runner writes it
    script.write_text('id -un\necho "${TMPDIR-none}"\nexit 3\n')
    script.chmod(0o700)
    variables = {"TMPDIR": str(tmp_path), "BUILD_FAILURE_EXIT_CODE": "41"}
    result = run_as([tmp_path / "noisewatch-run", script], variables, tmp_path, path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert (result.returncode, result.stdout) == (41, "nobody\nnone\n")
