"""The stages of GitLab's custom executor, started as the runner starts them, where noisewatch is the test's."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.integrations.gate import STABLE, STARTS, UNSTABLE, Gate, run_as

_BUILD, _SYSTEM = 41, 42  # of the runner's choice: "it can change in any release"
_RUNNER = {"BUILD_FAILURE_EXIT_CODE": str(_BUILD), "SYSTEM_FAILURE_EXIT_CODE": str(_SYSTEM)}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A stable machine."""
    return Gate.of("gitlab", tmp_path)


def _prepare(gate: Gate, *arguments: str | Path, job: str = "bench") -> subprocess.CompletedProcess[str]:
    command = [gate.folder / "noisewatch-prepare", *arguments]
    return run_as(command, {**_RUNNER, "CUSTOM_ENV_CI_JOB_NAME": job}, gate.folder)


@pytest.mark.parametrize(("status", "on_unknown", "starts"), STARTS)
def test_a_noisy_machine_is_a_failure_of_the_system(gate: Gate, status: int, on_unknown: str, starts: bool) -> None:
    gate.judged(status, "hog (pid 900)\n")
    gate.set(f"on_unknown={on_unknown}")
    ended = _prepare(gate)
    assert ended.returncode == (0 if starts else _SYSTEM)
    assert ended.stdout.startswith("hog (pid 900)\n")
    assert ("the job does not start" in ended.stdout) == (not starts)


@pytest.mark.parametrize(("status", "runs", "ends"), [(STABLE, True, 7), (UNSTABLE, False, _SYSTEM)])
def test_a_prepare_stage_of_ones_own_runs_on_a_quiet_machine_and_decides(
    gate: Gate, status: int, runs: bool, ends: int
) -> None:
    own = gate.write("own", f'#!/bin/sh\nprintf "%s\\n" "$@" >{gate.folder}/ran\nexit 7\n')
    gate.judged(status)
    assert _prepare(gate, own, "two words", "*").returncode == ends
    assert (gate.folder / "ran").exists() == runs
    if runs:
        assert (gate.folder / "ran").read_text() == "two words\n*\n"


@pytest.mark.parametrize(("job", "is_judged"), [("bench", True), ("bench of all", True), ("lint", False)])
def test_only_jobs_that_need_quiet_are_looked_at(gate: Gate, job: str, is_judged: bool) -> None:
    gate.set('jobs="perf* bench*"')
    gate.judged(UNSTABLE)
    ended = _prepare(gate, job=job)
    assert ended.returncode == (_SYSTEM if is_judged else 0)
    assert bool(gate.asked) == is_judged
    assert ("not judged" in ended.stdout) == (not is_judged)


def test_nothing_in_the_folder_of_the_job_decides(gate: Gate) -> None:
    _prepare(gate)
    assert gate.asked[:3] == ["/", "preflight", "--no-config"]


def test_without_its_settings_no_job_starts(gate: Gate) -> None:
    (gate.folder / "noisewatch-settings").unlink()
    assert _prepare(gate).returncode not in (0, _BUILD)
    assert gate.asked == []


def _run_stage(gate: Gate, script: str) -> subprocess.CompletedProcess[str]:
    """Programs in the folder of the gate come first."""
    command: list[str | Path] = [gate.folder / "noisewatch-run", gate.write("script", script), "step_script"]
    return run_as(command, _RUNNER, gate.folder, path=f"{gate.folder}:/usr/bin:/bin")


@pytest.fixture
def as_user(gate: Gate) -> None:
    """Make `id` report that the runner was started by a user other than root."""
    gate.write("id", "#!/bin/sh\necho 1000\n")


@pytest.fixture
def as_root(gate: Gate) -> None:
    """The runner is started by root, and `runuser` tells who is to be what, and is given what to run."""
    gate.write("id", '#!/bin/sh\n[ "$1" != nobody-here ] || exit 1\necho 0\n')
    gate.write("runuser", f'#!/bin/sh\necho "$1 $2" >{gate.folder}/became\nshift 3\nexec "$@"\n')


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(("script", "ends"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_script_that_fails_is_a_failure_of_the_build(gate: Gate, script: str, ends: int) -> None:
    assert _run_stage(gate, f"{script}\n").returncode == ends


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(("script", "ends"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_runner_of_root_runs_scripts_as_the_user_of_the_settings(gate: Gate, script: str, ends: int) -> None:
    assert _run_stage(gate, f"echo ran\n{script}\n").returncode == ends
    assert (gate.folder / "became").read_text() == "-u gitlab-runner\n"
    gate.set("user=builder")
    assert _run_stage(gate, "echo ran\n").stdout == "ran\n"
    assert (gate.folder / "became").read_text() == "-u builder\n"


@pytest.mark.usefixtures("as_root")
def test_nothing_runs_as_root_where_the_user_does_not_exist(gate: Gate) -> None:
    gate.set("user=nobody-here")
    ran = _run_stage(gate, "echo ran\n")
    assert (ran.returncode, ran.stdout) == (_SYSTEM, "")


def test_no_script_runs_without_the_settings(gate: Gate) -> None:
    (gate.folder / "noisewatch-settings").unlink()
    ran = _run_stage(gate, "echo ran\n")
    assert ran.returncode not in (0, _BUILD)
    assert ran.stdout == ""


def test_the_lines_of_its_configuration_name_what_ships(gate: Gate) -> None:
    runner = tomllib.loads((gate.folder / "config.toml.lines").read_text())
    assert {Path(runner["runners"]["custom"][key]).name for key in ("prepare_exec", "run_exec")} == {
        "noisewatch-prepare", "noisewatch-run",
    }  # fmt: skip
    assert (runner["limit"], runner["executor"]) == (1, "custom")
    assert runner["builds_dir"]
    assert runner["cache_dir"]


def test_the_job_is_tried_again_for_the_runner_alone(gate: Gate) -> None:
    job = yaml.safe_load((gate.folder / "gitlab-ci.yml").read_text())["benchmark"]
    assert job["retry"]["when"] == "runner_system_failure"
