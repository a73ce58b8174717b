"""GitHub's hook and action, started as the runner starts them, where noisewatch is a program of the test."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.gate import NOT_IN_TIME, STABLE, STARTS, UNKNOWN, UNSTABLE, WRONG, Gate, run_as

_HOOK = "noisewatch-job-started.sh"
_ANNOTATION = "::error title=noisewatch%3A tasks-on-target::hog (pid 900)\n"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A stable machine."""
    return Gate.of("github", tmp_path)


def _start(gate: Gate, job: str = "bench") -> subprocess.CompletedProcess[str]:
    """Run the hook as ScriptHandler.cs does: `bash -e FILE`, in the workspace of the job."""
    workspace = gate.folder / "workspace"
    workspace.mkdir(exist_ok=True)
    return run_as(["/bin/bash", "-e", gate.folder / _HOOK], {"GITHUB_JOB": job}, workspace)


@pytest.mark.parametrize(("status", "on_unknown", "starts"), STARTS)
def test_a_job_starts_where_the_machine_is_known_to_be_quiet(
    gate: Gate, status: int, on_unknown: str, starts: bool
) -> None:
    gate.judged(status, _ANNOTATION)
    gate.set(f"on_unknown={on_unknown}")
    ended = _start(gate)
    assert ended.returncode == (0 if starts else 1)
    assert ended.stdout.startswith(_ANNOTATION)
    assert ("the job does not start" in ended.stdout) == (not starts)


def test_a_noisewatch_that_takes_too_long_fails_the_job(gate: Gate) -> None:
    gate.write("noisewatch", "#!/bin/sh\nsleep 600\n")
    gate.set("at_most=0.2")
    ended = _start(gate)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "no verdict after 0.2 s" in ended.stdout


@pytest.mark.parametrize(("job", "is_judged"), [("bench", True), ("bench-2", True), ("perf", True), ("lint", False)])
def test_only_jobs_that_need_quiet_are_looked_at(gate: Gate, job: str, is_judged: bool) -> None:
    gate.set('jobs="bench* perf"')
    gate.judged(UNSTABLE)
    ended = _start(gate, job)
    assert ended.returncode == (1 if is_judged else 0)
    assert bool(gate.asked) == is_judged
    assert ("not judged" in ended.stdout) == (not is_judged)


def test_nothing_in_the_workspace_decides(gate: Gate) -> None:
    _start(gate)
    assert gate.asked[:3] == ["/", "preflight", "--no-config"]


def test_without_its_settings_no_job_starts(gate: Gate) -> None:
    (gate.folder / "noisewatch-settings").unlink()
    assert _start(gate).returncode != 0
    assert gate.asked == []


def _steps(gate: Gate) -> list[dict[str, Any]]:
    action = yaml.safe_load((gate.folder / "action" / "action.yml").read_text())
    steps: list[dict[str, Any]] = action["runs"]["steps"]
    return steps


def _run_step(gate: Gate, step: dict[str, Any], inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the step as the runner does for `shell: bash`, with the expressions of inputs replaced."""
    assert step["shell"] == "bash"
    script = gate.write("step.sh", step["run"])
    named = {key: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")] for key, value in step["env"].items()}
    variables = {"RUNNER_TEMP": str(gate.folder / "temp"), **named}
    command: list[str | Path] = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", script]
    return run_as(command, variables, gate.folder, path=f"{gate.folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("status", "on_unknown", "ends"),
    [
        (STABLE, "fail", 0),
        (UNSTABLE, "run", 1),
        (UNKNOWN, "fail", 1),
        (UNKNOWN, "run", 0),
        (WRONG, "run", 2),
        (NOT_IN_TIME, "run", 4),
    ],
)
def test_the_action_ends_as_the_machine_is(gate: Gate, status: int, on_unknown: str, ends: int) -> None:
    programs = gate.folder / "temp" / "noisewatch" / "bin"
    programs.mkdir(parents=True)
    gate.judged(status)
    (programs / "noisewatch").symlink_to(gate.folder / "noisewatch")
    ran = _run_step(gate, _steps(gate)[1], {"options": "--profile shared", "on-unknown": on_unknown})
    assert (ran.returncode, ran.stdout) == (ends, "told\n")
    assert gate.asked[1:5] == ["preflight", "--no-config", "--format", "github"]
    assert gate.asked[-2:] == ["--profile", "shared"]


def _installed(gate: Gate, install: str) -> list[str]:
    """The words after `python3` of the command that installs."""
    made = f'printf "%s\\n" "$@" >>{gate.folder}/installed; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"'
    gate.write("python3", f"#!/bin/sh\n{made}\n")
    assert _run_step(gate, _steps(gate)[0], {"install": install}).returncode == 0
    return (gate.folder / "installed").read_text().splitlines()


def test_the_action_installs_what_it_is_given_and_no_words_in_it_are_run(gate: Gate) -> None:
    assert _installed(gate, "a b.whl; touch evil")[-4:] == ["pip", "install", "--quiet", "a b.whl; touch evil"]
    assert not (gate.folder / "evil").exists()


def test_the_action_installs_the_wheel_that_the_workflow_names(gate: Gate) -> None:
    wheel = "tools/noisewatch-9.9-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    (gate.folder / "tools").mkdir()
    for name in (wheel, wheel.replace("x86_64", "aarch64"), "tools/noisewatch-9.9-py3-none-any.whl"):
        (gate.folder / name).write_text("")
    workflow = yaml.safe_load((gate.folder / "workflow.yml").read_text())
    (install,) = [each["with"]["install"] for each in workflow["jobs"]["benchmark"]["steps"] if "with" in each]
    assert _installed(gate, install)[-2:] == ["--quiet", wheel]


def test_the_workflow_gives_the_action_what_it_needs(gate: Gate) -> None:
    workflow = yaml.safe_load((gate.folder / "workflow.yml").read_text())
    action = yaml.safe_load((gate.folder / "action" / "action.yml").read_text())
    (uses,) = [each for each in workflow["jobs"]["benchmark"]["steps"] if each.get("uses", "").startswith("./")]
    assert uses["with"].keys() <= action["inputs"].keys()
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= uses["with"].keys()
