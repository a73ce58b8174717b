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

Ended = subprocess.CompletedProcess[str]

_BUILD, _SYSTEM = 41, 42  # of GitLab's runner's choice: "it can change in any release"
_RUNNER = {"BUILD_FAILURE_EXIT_CODE": str(_BUILD), "SYSTEM_FAILURE_EXIT_CODE": str(_SYSTEM)}
_TRIED_AGAIN = 75
# Buildkite's internal/job/hook/wrapper.go, with `env` in place of `buildkite-agent env dump`.
_WRAPPER = """#!/bin/bash
env >"{0}/before"
. "{0}/environment"
export BUILDKITE_HOOK_EXIT_STATUS=$?
export BUILDKITE_HOOK_WORKING_DIR="${{PWD}}"
env >"{0}/after"
exit $BUILDKITE_HOOK_EXIT_STATUS
"""


def _start_github(gate: Gate, job: str = "bench") -> Ended:
    """Run the hook as ScriptHandler.cs does: `bash -e FILE`, in the workspace of the job."""
    workspace = gate.folder / "workspace"
    workspace.mkdir(exist_ok=True)
    return run_as(["/bin/bash", "-e", gate.folder / "noisewatch-job-started.sh"], {"GITHUB_JOB": job}, workspace)


def _start_gitlab(gate: Gate, job: str = "bench", *own: str | Path) -> Ended:
    """Run the prepare stage of the custom executor, which may start one's `own`."""
    command = [gate.folder / "noisewatch-prepare", *own]
    return run_as(command, {**_RUNNER, "CUSTOM_ENV_CI_JOB_NAME": job}, gate.folder)


def _start_buildkite(gate: Gate, job: str = "bench") -> Ended:
    """Source the environment hook as the agent does."""
    hook = gate.folder / "environment"
    hook.write_text(hook.read_text().replace("/etc/noisewatch/buildkite", str(gate.folder)))
    wrapper = gate.write("wrapper", _WRAPPER.format(gate.folder))
    return run_as([wrapper], {"BUILDKITE_PIPELINE_SLUG": "engine", "BUILDKITE_STEP_KEY": job}, gate.folder)


@dataclass(frozen=True, slots=True)
class _Engine:
    """An engine, the status that keeps a job away, and patterns of jobs, of which the second one matches `bench`."""

    name: str
    start: Callable[[Gate, str], Ended]
    refused: int
    jobs: str


_ENGINES = [
    _Engine("github", _start_github, 1, "perf bench*"),
    _Engine("gitlab", _start_gitlab, _SYSTEM, "perf* bench*"),
    _Engine("buildkite", _start_buildkite, _TRIED_AGAIN, "other/* */bench*"),
]
_each_engine = pytest.mark.parametrize("engine", _ENGINES, ids=lambda engine: engine.name)


@_each_engine
@pytest.mark.parametrize(("status", "on_unknown", "starts"), STARTS)
def test_a_job_starts_where_the_machine_is_known_to_be_quiet(
    tmp_path: Path, engine: _Engine, status: int, on_unknown: str, starts: bool
) -> None:
    gate = Gate.of(engine.name, tmp_path)
    gate.judged(status, "hog (pid 900)\n")
    gate.set(f"on_unknown={on_unknown}")
    ended = engine.start(gate, "bench")
    assert ended.returncode == (0 if starts else engine.refused)
    assert "hog (pid 900)\n" in ended.stdout
    assert ("the job does not start" in ended.stdout) == (not starts)
    assert gate.asked[:3] == ["/", "preflight", "--no-config"], "nothing in the folder of the job decides"


@_each_engine
@pytest.mark.parametrize(("job", "is_judged"), [("bench", True), ("bench-2", True), ("", False), ("lint", False)])
def test_only_jobs_that_need_quiet_are_looked_at(tmp_path: Path, engine: _Engine, job: str, is_judged: bool) -> None:
    gate = Gate.of(engine.name, tmp_path)
    gate.set(f'jobs="{engine.jobs}"')
    gate.judged(UNSTABLE)
    ended = engine.start(gate, job)
    assert ended.returncode == (engine.refused if is_judged else 0)
    assert bool(gate.asked) == is_judged
    assert ("not judged" in ended.stdout) == (not is_judged)


@pytest.mark.parametrize(
    ("engine", "missing"),
    [*((engine, "noisewatch-settings") for engine in _ENGINES), (_ENGINES[-1], "noisewatch-gate")],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_without_its_files_no_job_starts(tmp_path: Path, engine: _Engine, missing: str) -> None:
    gate = Gate.of(engine.name, tmp_path)
    (gate.folder / missing).unlink()
    assert engine.start(gate, "bench").returncode not in (0, _BUILD)
    assert gate.asked == []


@pytest.fixture
def github(tmp_path: Path) -> Gate:
    """GitHub's hook and action on a stable machine."""
    return Gate.of("github", tmp_path)


def test_a_noisewatch_that_takes_too_long_fails_the_job(github: Gate) -> None:
    github.write("noisewatch", "#!/bin/sh\nsleep 600\n")
    github.set("at_most=0.2")
    ended = _start_github(github)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "no verdict after 0.2 s" in ended.stdout


def _steps(gate: Gate) -> list[dict[str, Any]]:
    action = yaml.safe_load((gate.folder / "action" / "action.yml").read_text())
    steps: list[dict[str, Any]] = action["runs"]["steps"]
    return steps


def _run_step(gate: Gate, step: dict[str, Any], inputs: dict[str, str]) -> Ended:
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
def test_the_action_ends_as_the_machine_is(github: Gate, status: int, on_unknown: str, ends: int) -> None:
    programs = github.folder / "temp" / "noisewatch" / "bin"
    programs.mkdir(parents=True)
    github.judged(status)
    (programs / "noisewatch").symlink_to(github.folder / "noisewatch")
    ran = _run_step(github, _steps(github)[1], {"options": "--profile shared", "on-unknown": on_unknown})
    assert (ran.returncode, ran.stdout) == (ends, "told\n")
    assert github.asked[1:5] == ["preflight", "--no-config", "--format", "github"]
    assert github.asked[-2:] == ["--profile", "shared"]


def _installed(gate: Gate, install: str) -> list[str]:
    """The words after `python3` of the command that installs."""
    made = f'printf "%s\\n" "$@" >>{gate.folder}/installed; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"'
    gate.write("python3", f"#!/bin/sh\n{made}\n")
    assert _run_step(gate, _steps(gate)[0], {"install": install}).returncode == 0
    return (gate.folder / "installed").read_text().splitlines()


def test_the_action_installs_what_it_is_given_and_no_words_in_it_are_run(github: Gate) -> None:
    assert _installed(github, "a b.whl; touch evil")[-4:] == ["pip", "install", "--quiet", "a b.whl; touch evil"]
    assert not (github.folder / "evil").exists()


def test_the_action_installs_the_wheel_that_the_workflow_names(github: Gate) -> None:
    wheel = "tools/noisewatch-9.9-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    (github.folder / "tools").mkdir()
    for name in (wheel, wheel.replace("x86_64", "aarch64"), "tools/noisewatch-9.9-py3-none-any.whl"):
        (github.folder / name).write_text("")
    workflow = yaml.safe_load((github.folder / "workflow.yml").read_text())
    (install,) = [each["with"]["install"] for each in workflow["jobs"]["benchmark"]["steps"] if "with" in each]
    assert _installed(github, install)[-2:] == ["--quiet", wheel]


def test_the_workflow_gives_the_action_what_it_needs(github: Gate) -> None:
    workflow = yaml.safe_load((github.folder / "workflow.yml").read_text())
    action = yaml.safe_load((github.folder / "action" / "action.yml").read_text())
    (uses,) = [each for each in workflow["jobs"]["benchmark"]["steps"] if each.get("uses", "").startswith("./")]
    assert uses["with"].keys() <= action["inputs"].keys()
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= uses["with"].keys()


@pytest.fixture
def gitlab(tmp_path: Path) -> Gate:
    """The stages of GitLab's custom executor on a stable machine."""
    return Gate.of("gitlab", tmp_path)


@pytest.mark.parametrize(("status", "runs", "ends"), [(STABLE, True, 7), (UNSTABLE, False, _SYSTEM)])
def test_a_prepare_stage_of_ones_own_runs_on_a_quiet_machine_and_decides(
    gitlab: Gate, status: int, runs: bool, ends: int
) -> None:
    own = gitlab.write("own", f'#!/bin/sh\nprintf "%s\\n" "$@" >{gitlab.folder}/ran\nexit 7\n')
    gitlab.judged(status)
    assert _start_gitlab(gitlab, "bench", own, "two words", "*").returncode == ends
    assert (gitlab.folder / "ran").exists() == runs
    if runs:
        assert (gitlab.folder / "ran").read_text() == "two words\n*\n"


def _run_stage(gate: Gate, script: str) -> Ended:
    """Programs in the folder of the gate come first."""
    command: list[str | Path] = [gate.folder / "noisewatch-run", gate.write("script", script), "step_script"]
    return run_as(command, _RUNNER, gate.folder, path=f"{gate.folder}:/usr/bin:/bin")


@pytest.fixture
def as_user(gitlab: Gate) -> None:
    """Make `id` report that the runner was started by a user other than root."""
    gitlab.write("id", "#!/bin/sh\necho 1000\n")


@pytest.fixture
def as_root(gitlab: Gate) -> None:
    """The runner is started by root, and `runuser` tells who is to be what, and is given what to run."""
    gitlab.write("id", '#!/bin/sh\n[ "$1" != nobody-here ] || exit 1\necho 0\n')
    gitlab.write("runuser", f'#!/bin/sh\necho "$1 $2" >{gitlab.folder}/became\nshift 3\nexec "$@"\n')


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(("script", "ends"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_script_that_fails_is_a_failure_of_the_build(gitlab: Gate, script: str, ends: int) -> None:
    assert _run_stage(gitlab, f"{script}\n").returncode == ends


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize(("script", "ends"), [("exit 0", 0), ("exit 3", _BUILD), ("false | true", 0)])
def test_a_runner_of_root_runs_scripts_as_the_user_of_the_settings(gitlab: Gate, script: str, ends: int) -> None:
    assert _run_stage(gitlab, f"echo ran\n{script}\n").returncode == ends
    assert (gitlab.folder / "became").read_text() == "-u gitlab-runner\n"
    gitlab.set("user=builder")
    assert _run_stage(gitlab, "echo ran\n").stdout == "ran\n"
    assert (gitlab.folder / "became").read_text() == "-u builder\n"


@pytest.mark.usefixtures("as_root")
def test_nothing_runs_as_root_where_the_user_does_not_exist(gitlab: Gate) -> None:
    gitlab.set("user=nobody-here")
    ran = _run_stage(gitlab, "echo ran\n")
    assert (ran.returncode, ran.stdout) == (_SYSTEM, "")


def test_no_script_runs_without_the_settings(gitlab: Gate) -> None:
    (gitlab.folder / "noisewatch-settings").unlink()
    ran = _run_stage(gitlab, "echo ran\n")
    assert ran.returncode not in (0, _BUILD)
    assert ran.stdout == ""


def test_the_lines_of_its_configuration_name_what_ships(gitlab: Gate) -> None:
    runner = tomllib.loads((gitlab.folder / "config.toml.lines").read_text())
    assert {Path(runner["runners"]["custom"][key]).name for key in ("prepare_exec", "run_exec")} == {
        "noisewatch-prepare", "noisewatch-run",
    }  # fmt: skip
    assert (runner["limit"], runner["executor"]) == (1, "custom")
    assert runner["builds_dir"]
    assert runner["cache_dir"]


def test_the_job_is_tried_again_for_the_runner_alone(gitlab: Gate) -> None:
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


def test_the_hook_returns_to_the_agent_and_leaves_nothing_behind(buildkite: Gate) -> None:
    assert _start_buildkite(buildkite).returncode == 0
    assert _environment(buildkite, "after") == _environment(buildkite, "before")
    assert f"BUILDKITE_HOOK_WORKING_DIR={buildkite.folder}\n" in (buildkite.folder / "after").read_text()


def test_the_pipeline_tries_again_what_did_not_start(buildkite: Gate) -> None:
    (step,) = yaml.safe_load((buildkite.folder / "pipeline.yml").read_text())["steps"]
    assert [each["exit_status"] for each in step["retry"]["automatic"]] == [_TRIED_AGAIN]


@pytest.fixture
def jenkins(tmp_path: Path) -> Gate:
    """The gate of Jenkins on a stable machine; its step is run in tests/fleet."""
    return Gate.of("jenkins", tmp_path)


@pytest.mark.parametrize(
    ("status", "on_unknown", "ends"),
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
def test_the_gate_of_jenkins_ends_as_the_machine_is(jenkins: Gate, status: int, on_unknown: str, ends: int) -> None:
    jenkins.judged(status)
    jenkins.set(f"on_unknown={on_unknown}")
    ended = run_as([jenkins.folder / "noisewatch-gate"], {}, jenkins.folder)
    assert (ended.returncode, ended.stdout) == (ends, "told\n")


def test_options_of_the_job_come_after_those_of_the_node_and_none_from_a_file(jenkins: Gate) -> None:
    jenkins.set('options="--sample 1"')
    run_as([jenkins.folder / "noisewatch-gate", "--cpus", "2-7"], {}, jenkins.folder)
    assert jenkins.asked == ["/", "preflight", "--no-config", "--on-unknown", "fail", "--sample", "1", "--cpus", "2-7"]


def test_without_its_settings_nothing_starts(jenkins: Gate) -> None:
    (jenkins.folder / "noisewatch-settings").unlink()
    assert run_as([jenkins.folder / "noisewatch-gate"], {}, jenkins.folder).returncode == 2
    assert jenkins.asked == []
