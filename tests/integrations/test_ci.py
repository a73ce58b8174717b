"""The gates of CI engines, started as each engine starts them, where noisewatch is a program of the test."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.gate import (
    NOT_IN_TIME,
    NOT_INSTALLED,
    STABLE,
    STARTS,
    UNKNOWN,
    UNSTABLE,
    WRONG,
    Gate,
    run_as,
)

Result = subprocess.CompletedProcess[str]

_BUILD, _SYSTEM = 41, 42  # exit statuses that GitLab's runner chooses: "it can change in any release"
_RUNNER = {"BUILD_FAILURE_EXIT_CODE": str(_BUILD), "SYSTEM_FAILURE_EXIT_CODE": str(_SYSTEM)}
_RETRIED_STATUS = 75
# Buildkite's internal/job/hook/wrapper.go, with `env` in place of `buildkite-agent env dump`.
_WRAPPER = """#!/bin/bash
env >"{0}/before"
. "{0}/environment"
export BUILDKITE_HOOK_EXIT_STATUS=$?
export BUILDKITE_HOOK_WORKING_DIR="${{PWD}}"
env >"{0}/after"
exit $BUILDKITE_HOOK_EXIT_STATUS
"""


def _start_github(gate: Gate, job: str = "bench") -> Result:
    """Run the hook as ScriptHandler.cs does: `bash -e FILE`, in the workspace of the job."""
    workspace = gate.folder / "workspace"
    workspace.mkdir(exist_ok=True)
    return run_as(["/bin/bash", "-e", gate.folder / "noisewatch-job-started.sh"], {"GITHUB_JOB": job}, workspace)


def _start_gitlab(gate: Gate, job: str = "bench", *own: str | Path) -> Result:
    """Run the prepare stage of the custom executor, which may start a stage of the user's `own`."""
    command = [gate.folder / "noisewatch-prepare", *own]
    return run_as(command, {**_RUNNER, "CUSTOM_ENV_CI_JOB_NAME": job}, gate.folder)


def _start_buildkite(gate: Gate, job: str = "bench") -> Result:
    """Source the environment hook as the agent does."""
    hook = gate.folder / "environment"
    hook.write_text(hook.read_text().replace("/etc/noisewatch/buildkite", str(gate.folder)))
    wrapper = gate.write("wrapper", _WRAPPER.format(gate.folder))
    return run_as([wrapper], {"BUILDKITE_PIPELINE_SLUG": "engine", "BUILDKITE_STEP_KEY": job}, gate.folder)


@dataclass(frozen=True, slots=True)
class _Engine:
    """An engine, the status that keeps a job away, and patterns of jobs, of which the second one matches `bench`."""

    name: str
    start: Callable[[Gate, str], Result]
    refused: int
    jobs: str


_ENGINES = [
    _Engine("github", _start_github, 1, "perf bench*"),
    _Engine("gitlab", _start_gitlab, _SYSTEM, "perf* bench*"),
    _Engine("buildkite", _start_buildkite, _RETRIED_STATUS, "other/* */bench*"),
]
_with_every_engine = pytest.mark.parametrize("engine", _ENGINES, ids=lambda engine: engine.name)


@_with_every_engine
@pytest.mark.parametrize(("status", "on_unknown", "starts"), STARTS)
def test_a_job_starts_if_the_verdict_and_on_unknown_allow_it(
    tmp_path: Path, engine: _Engine, status: int, on_unknown: str, starts: bool
) -> None:
    gate = Gate.of(engine.name, tmp_path)
    gate.set_verdict(status, "hog (pid 900)\n")
    gate.set(f"on_unknown={on_unknown}")
    result = engine.start(gate, "bench")
    assert result.returncode == (0 if starts else engine.refused)
    assert "hog (pid 900)\n" in result.stdout
    assert ("the job does not start" in result.stdout) == (not starts)
    assert gate.call[:3] == ["/", "preflight", "--no-config"], "nothing in the folder of the job decides"


@_with_every_engine
@pytest.mark.parametrize(("job", "is_judged"), [("bench", True), ("bench-2", True), ("", False), ("lint", False)])
def test_only_jobs_that_need_quiet_are_judged(tmp_path: Path, engine: _Engine, job: str, is_judged: bool) -> None:
    gate = Gate.of(engine.name, tmp_path)
    gate.set(f'jobs="{engine.jobs}"')
    gate.set_verdict(UNSTABLE)
    result = engine.start(gate, job)
    assert result.returncode == (engine.refused if is_judged else 0)
    assert bool(gate.call) == is_judged
    assert ("not judged" in result.stdout) == (not is_judged)


@pytest.mark.parametrize(
    ("engine", "missing"),
    [*((engine, "noisewatch-settings") for engine in _ENGINES), (_ENGINES[-1], "noisewatch-gate")],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_no_job_starts_without_the_files_of_the_gate(tmp_path: Path, engine: _Engine, missing: str) -> None:
    gate = Gate.of(engine.name, tmp_path)
    (gate.folder / missing).unlink()
    assert engine.start(gate, "bench").returncode not in (0, _BUILD)
    assert gate.call == []


@pytest.fixture
def github(tmp_path: Path) -> Gate:
    """GitHub's hook and action on a stable machine."""
    return Gate.of("github", tmp_path)


def test_a_noisewatch_that_takes_too_long_fails_the_job(github: Gate) -> None:
    github.write("noisewatch", "#!/bin/sh\nsleep 600\n")
    github.set("at_most=0.2")
    result = _start_github(github)
    assert (result.returncode, result.stderr) == (1, "")
    assert "no verdict after 0.2 s" in result.stdout


def _steps(gate: Gate) -> list[dict[str, Any]]:
    action = yaml.safe_load((gate.folder / "action" / "action.yml").read_text())
    steps: list[dict[str, Any]] = action["runs"]["steps"]
    return steps


def _run_step(gate: Gate, step: dict[str, Any], inputs: dict[str, str]) -> Result:
    """Run the step as the runner does for `shell: bash`, with the expressions of inputs replaced."""
    assert step["shell"] == "bash"
    script = gate.write("step.sh", step["run"])
    named = {key: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")] for key, value in step["env"].items()}
    variables = {"RUNNER_TEMP": str(gate.folder / "temp"), **named}
    command: list[str | Path] = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", script]
    return run_as(command, variables, gate.folder, path=f"{gate.folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("status", "on_unknown", "expected"),
    [
        (STABLE, "fail", 0),
        (UNSTABLE, "run", 1),
        (UNKNOWN, "fail", 1),
        (UNKNOWN, "run", 0),
        (WRONG, "run", 2),
        (NOT_IN_TIME, "run", 4),
    ],
)
def test_the_action_has_the_status_of_the_verdict(github: Gate, status: int, on_unknown: str, expected: int) -> None:
    programs = github.folder / "temp" / "noisewatch" / "bin"
    programs.mkdir(parents=True)
    github.set_verdict(status)
    (programs / "noisewatch").symlink_to(github.folder / "noisewatch")
    result = _run_step(github, _steps(github)[1], {"options": "--profile shared", "on-unknown": on_unknown})
    assert (result.returncode, result.stdout) == (expected, "told\n")
    assert github.call[1:5] == ["preflight", "--no-config", "--format", "github"]
    assert github.call[-2:] == ["--profile", "shared"]


def _install(gate: Gate, install: str) -> list[str]:
    """Run the install step, and return the arguments that it gives `python3`."""
    script = f'printf "%s\\n" "$@" >>{gate.folder}/installed; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"'
    gate.write("python3", f"#!/bin/sh\n{script}\n")
    assert _run_step(gate, _steps(gate)[0], {"install": install}).returncode == 0
    return (gate.folder / "installed").read_text().splitlines()


def test_the_action_installs_its_input_and_runs_no_words_of_it(github: Gate) -> None:
    assert _install(github, "a b.whl; touch evil")[-4:] == ["pip", "install", "--quiet", "a b.whl; touch evil"]
    assert not (github.folder / "evil").exists()


def test_the_action_installs_the_wheel_that_the_workflow_names(github: Gate) -> None:
    wheel = "tools/noisewatch-9.9-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    (github.folder / "tools").mkdir()
    for name in (wheel, wheel.replace("x86_64", "aarch64"), "tools/noisewatch-9.9-py3-none-any.whl"):
        (github.folder / name).write_text("")
    workflow = yaml.safe_load((github.folder / "workflow.yml").read_text())
    (install,) = [step["with"]["install"] for step in workflow["jobs"]["benchmark"]["steps"] if "with" in step]
    assert _install(github, install)[-2:] == ["--quiet", wheel]


def test_the_workflow_gives_the_action_what_it_needs(github: Gate) -> None:
    workflow = yaml.safe_load((github.folder / "workflow.yml").read_text())
    action = yaml.safe_load((github.folder / "action" / "action.yml").read_text())
    (uses,) = [step for step in workflow["jobs"]["benchmark"]["steps"] if step.get("uses", "").startswith("./")]
    assert uses["with"].keys() <= action["inputs"].keys()
    assert {name for name, schema in action["inputs"].items() if schema.get("required")} <= uses["with"].keys()


@pytest.fixture
def gitlab(tmp_path: Path) -> Gate:
    """The stages of GitLab's custom executor on a stable machine."""
    return Gate.of("gitlab", tmp_path)


@pytest.mark.parametrize(("status", "runs", "expected"), [(STABLE, True, 7), (UNSTABLE, False, _SYSTEM)])
def test_a_users_prepare_stage_runs_on_a_quiet_machine_and_decides(
    gitlab: Gate, status: int, runs: bool, expected: int
) -> None:
    own = gitlab.write("own", f'#!/bin/sh\nprintf "%s\\n" "$@" >{gitlab.folder}/ran\nexit 7\n')
    gitlab.set_verdict(status)
    assert _start_gitlab(gitlab, "bench", own, "two words", "*").returncode == expected
    assert (gitlab.folder / "ran").exists() == runs
    if runs:
        assert (gitlab.folder / "ran").read_text() == "two words\n*\n"


def _run_stage(gate: Gate, script: str) -> Result:
    """Run a stage with the folder of the gate first in PATH."""
    command: list[str | Path] = [gate.folder / "noisewatch-run", gate.write("script", script), "step_script"]
    return run_as(command, _RUNNER, gate.folder, path=f"{gate.folder}:/usr/bin:/bin")


@pytest.fixture
def as_user(gitlab: Gate) -> None:
    """Make `id` report that the runner was started by a user other than root."""
    gitlab.write("id", "#!/bin/sh\necho 1000\n")


@pytest.fixture
def as_root(gitlab: Gate) -> None:
    """Make `id` report root, and `runuser` record the user and run the command."""
    gitlab.write("id", '#!/bin/sh\n[ "$1" != nobody-here ] || exit 1\necho 0\n')
    gitlab.write("runuser", f'#!/bin/sh\necho "$1 $2" >{gitlab.folder}/became\nshift 3\nexec "$@"\n')


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(("script", "expected"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_script_that_fails_is_a_failure_of_the_build(gitlab: Gate, script: str, expected: int) -> None:
    assert _run_stage(gitlab, f"{script}\n").returncode == expected


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(("script", "expected"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_root_runner_runs_scripts_as_the_configured_user(gitlab: Gate, script: str, expected: int) -> None:
    assert _run_stage(gitlab, f"echo ran\n{script}\n").returncode == expected
    assert (gitlab.folder / "became").read_text() == "-u gitlab-runner\n"
    gitlab.set("user=builder")
    assert _run_stage(gitlab, "echo ran\n").stdout == "ran\n"
    assert (gitlab.folder / "became").read_text() == "-u builder\n"


@pytest.mark.usefixtures("as_root")
def test_nothing_runs_as_root_where_the_user_does_not_exist(gitlab: Gate) -> None:
    gitlab.set("user=nobody-here")
    result = _run_stage(gitlab, "echo ran\n")
    assert (result.returncode, result.stdout) == (_SYSTEM, "")


def test_no_script_runs_without_the_settings(gitlab: Gate) -> None:
    (gitlab.folder / "noisewatch-settings").unlink()
    result = _run_stage(gitlab, "echo ran\n")
    assert result.returncode not in (0, _BUILD)
    assert result.stdout == ""


def test_the_gitlab_configuration_names_shipped_files(gitlab: Gate) -> None:
    runner = tomllib.loads((gitlab.folder / "config.toml.lines").read_text())
    assert {Path(runner["runners"]["custom"][key]).name for key in ("prepare_exec", "run_exec")} == {
        "noisewatch-prepare", "noisewatch-run",
    }  # fmt: skip
    assert (runner["limit"], runner["executor"]) == (1, "custom")
    assert runner["builds_dir"]
    assert runner["cache_dir"]


def test_the_gitlab_job_is_retried_for_runner_failures_only(gitlab: Gate) -> None:
    job = yaml.safe_load((gitlab.folder / "gitlab-ci.yml").read_text())["benchmark"]
    assert job["retry"]["when"] == "runner_system_failure"


@pytest.fixture
def buildkite(tmp_path: Path) -> Gate:
    """Buildkite's hook on a stable machine."""
    return Gate.of("buildkite", tmp_path)


def _environment(gate: Gate, when: str) -> set[str]:
    """Return the environment at this point, without the variables that the wrapper itself sets."""
    own = ("BUILDKITE_HOOK_", "_=")
    return {line for line in (gate.folder / when).read_text().splitlines() if not line.startswith(own)}


def test_the_hook_returns_to_the_agent_and_keeps_its_environment(buildkite: Gate) -> None:
    assert _start_buildkite(buildkite).returncode == 0
    assert _environment(buildkite, "after") == _environment(buildkite, "before")
    assert f"BUILDKITE_HOOK_WORKING_DIR={buildkite.folder}\n" in (buildkite.folder / "after").read_text()


def test_the_pipeline_retries_jobs_that_did_not_start(buildkite: Gate) -> None:
    (step,) = yaml.safe_load((buildkite.folder / "pipeline.yml").read_text())["steps"]
    assert [rule["exit_status"] for rule in step["retry"]["automatic"]] == [_RETRIED_STATUS]


@pytest.fixture
def jenkins(tmp_path: Path) -> Gate:
    """The gate of Jenkins on a stable machine; its step is run in tests/fleet."""
    return Gate.of("jenkins", tmp_path)


@pytest.mark.parametrize(
    ("status", "on_unknown", "expected"),
    [
        (STABLE, "fail", STABLE),
        (UNSTABLE, "run", UNSTABLE),
        (UNKNOWN, "fail", UNSTABLE),
        (UNKNOWN, "run", STABLE),
        (NOT_IN_TIME, "run", NOT_IN_TIME),
        (WRONG, "run", WRONG),
        (NOT_INSTALLED, "run", NOT_INSTALLED),
    ],
)
def test_jenkins_gate_has_the_status_of_the_verdict(jenkins: Gate, status: int, on_unknown: str, expected: int) -> None:
    jenkins.set_verdict(status)
    jenkins.set(f"on_unknown={on_unknown}")
    result = run_as([jenkins.folder / "noisewatch-gate"], {}, jenkins.folder)
    assert (result.returncode, result.stdout) == (expected, "told\n")


def test_options_of_the_job_come_after_those_of_the_node_and_none_from_a_file(jenkins: Gate) -> None:
    jenkins.set('options="--sample 1"')
    run_as([jenkins.folder / "noisewatch-gate", "--cpus", "2-7"], {}, jenkins.folder)
    assert jenkins.call == ["/", "preflight", "--no-config", "--on-unknown", "fail", "--sample", "1", "--cpus", "2-7"]


def test_jenkins_gate_fails_without_settings(jenkins: Gate) -> None:
    (jenkins.folder / "noisewatch-settings").unlink()
    assert run_as([jenkins.folder / "noisewatch-gate"], {}, jenkins.folder).returncode == 2
    assert jenkins.call == []
