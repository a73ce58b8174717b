"""Buildkite's environment hook, sourced as the agent sources it, where noisewatch is a program of the test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.integrations.gate import STARTS, UNSTABLE, Gate, run_as

_REFUSED = 75
# internal/job/hook/wrapper.go, with `env` in place of `buildkite-agent env dump`.
_WRAPPER = """#!/bin/bash
env >"{0}/before"
. "{0}/environment"
export BUILDKITE_HOOK_EXIT_STATUS=$?
export BUILDKITE_HOOK_WORKING_DIR="${{PWD}}"
env >"{0}/after"
exit $BUILDKITE_HOOK_EXIT_STATUS
"""


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A stable machine."""
    made = Gate.of("buildkite", tmp_path)
    hook = (tmp_path / "environment").read_text()
    made.write("environment", hook.replace("/etc/noisewatch/buildkite", str(tmp_path)))
    made.write("wrapper", _WRAPPER.format(tmp_path))
    return made


def _hook(gate: Gate, step: str = "bench") -> subprocess.CompletedProcess[str]:
    variables = {"BUILDKITE_PIPELINE_SLUG": "engine", "BUILDKITE_STEP_KEY": step}
    return run_as([gate.folder / "wrapper"], variables, gate.folder)


@pytest.mark.parametrize(("status", "on_unknown", "starts"), STARTS)
def test_a_job_goes_on_where_the_machine_is_known_to_be_quiet(
    gate: Gate, status: int, on_unknown: str, starts: bool
) -> None:
    gate.judged(status, "hog (pid 900)\n")
    gate.set(f"on_unknown={on_unknown}")
    ended = _hook(gate)
    assert ended.returncode == (0 if starts else _REFUSED)
    assert "hog (pid 900)\n" in ended.stdout
    assert ("the job does not start" in ended.stdout) == (not starts)


def _environment(gate: Gate, when: str) -> set[str]:
    """Return the environment at this point, without the variables that the wrapper itself sets."""
    own = ("BUILDKITE_HOOK_", "_=")
    return {line for line in (gate.folder / when).read_text().splitlines() if not line.startswith(own)}


def test_the_hook_returns_to_the_agent_and_leaves_nothing_behind(gate: Gate) -> None:
    assert _hook(gate).returncode == 0
    assert _environment(gate, "after") == _environment(gate, "before")
    assert f"BUILDKITE_HOOK_WORKING_DIR={gate.folder}\n" in (gate.folder / "after").read_text()


@pytest.mark.parametrize(("step", "is_judged"), [("bench", True), ("", False), ("lint", False)])
def test_only_jobs_that_need_quiet_are_looked_at(gate: Gate, step: str, is_judged: bool) -> None:
    gate.set('jobs="*/bench* other/*"')
    gate.judged(UNSTABLE)
    ended = _hook(gate, step)
    assert ended.returncode == (_REFUSED if is_judged else 0)
    assert bool(gate.asked) == is_judged
    assert ("not judged" in ended.stdout) == (not is_judged)


def test_nothing_in_the_folder_of_the_job_decides(gate: Gate) -> None:
    _hook(gate)
    assert gate.asked[:3] == ["/", "preflight", "--no-config"]


@pytest.mark.parametrize("missing", ["noisewatch-settings", "noisewatch-gate"])
def test_without_its_files_no_job_goes_on(gate: Gate, missing: str) -> None:
    (gate.folder / missing).unlink()
    assert _hook(gate).returncode != 0
    assert gate.asked == []


def test_the_pipeline_tries_again_what_did_not_start(gate: Gate) -> None:
    (step,) = yaml.safe_load((gate.folder / "pipeline.yml").read_text())["steps"]
    assert [each["exit_status"] for each in step["retry"]["automatic"]] == [_REFUSED]
