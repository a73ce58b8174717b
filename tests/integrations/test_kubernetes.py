"""The condition that the node problem detector sets for each verdict, and the init container of the Job."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.gate import NOT_INSTALLED, STABLE, UNKNOWN, UNSTABLE, WRONG, Gate, run_as
from tests.integrations.node_problem_detector import Condition, Detector

_FOLDER = "/etc/noisewatch"
_LINE = "UNSTABLE, 1 fail (1 blocking): tasks-on-target: hog (pid 900): 99.2% of CPU 2"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """The files for Kubernetes on a stable machine."""
    return Gate.of("kubernetes", tmp_path)


def _monitor(gate: Gate, **settings: object) -> dict[str, Any]:
    text = (gate.folder / "noisewatch-monitor.json").read_text()
    monitor: dict[str, Any] = json.loads(text.replace(_FOLDER, str(gate.folder)))
    monitor["pluginConfig"] |= settings
    return monitor


def _job(gate: Gate) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((gate.folder / "benchmark-job.yaml").read_text())
    return job


def _run_init_container(gate: Gate) -> int:
    (container,) = _job(gate)["spec"]["template"]["spec"]["initContainers"]
    return run_as(container["command"], {}, gate.folder, path=f"{gate.folder}:/usr/bin:/bin").returncode


@pytest.mark.parametrize(
    ("status", "output", "condition"),
    [
        (STABLE, "STABLE: CPU 2", Condition("False", "NoisewatchVerdict", "STABLE: nothing that blocks")),
        (UNSTABLE, _LINE, Condition("True", "MachineIsNoisy", _LINE)),
        (UNKNOWN, "UNKNOWN: no file", Condition("Unknown", "NoisewatchVerdict", "UNKNOWN: no file")),
        (WRONG, "UNKNOWN: no such option", Condition("Unknown", "NoisewatchVerdict", "UNKNOWN: no such option")),
        (
            NOT_INSTALLED,
            "",
            Condition("Unknown", "NoisewatchVerdict", "UNKNOWN: noisewatch failed (status 127)"),
        ),
        (UNSTABLE, "", Condition("Unknown", "NoisewatchVerdict", "UNKNOWN: noisewatch failed (status 1)")),
        (STABLE, "", Condition("Unknown", "NoisewatchVerdict", "UNKNOWN: noisewatch failed (status 0)")),
    ],
)
def test_a_node_has_the_condition_of_its_verdict(gate: Gate, status: int, output: str, condition: Condition) -> None:
    gate.set_verdict(status, f"{output}\n")
    detector = Detector(_monitor(gate))
    detector.check()
    assert detector.condition == condition


def test_a_node_has_no_condition_before_its_first_check(gate: Gate) -> None:
    assert Detector(_monitor(gate)).condition is None
    assert Detector(_monitor(gate, skip_initial_status=False)).condition is not None


def test_a_condition_ends_with_its_cause_and_names_the_latest_culprit(gate: Gate) -> None:
    detector = Detector(_monitor(gate))
    for status, output, expected in [
        (UNSTABLE, "UNSTABLE: hog (pid 900)", "UNSTABLE: hog (pid 900)"),
        (UNSTABLE, "UNSTABLE: hog (pid 900)", "UNSTABLE: hog (pid 900)"),
        (UNSTABLE, "UNSTABLE: sort (pid 77)", "UNSTABLE: sort (pid 77)"),
        (STABLE, "STABLE: CPU 2", "STABLE: nothing that blocks"),
    ]:
        gate.set_verdict(status, output)
        detector.check()
        assert detector.condition is not None
        assert detector.condition.message == expected
    assert detector.changes == 3


def test_a_plugin_that_takes_too_long_is_unknown(gate: Gate) -> None:
    gate.write("noisewatch", "#!/bin/sh\nsleep 600\n")
    assert Detector(_monitor(gate, timeout="0.2s")).run()[0] == "Unknown"


def test_a_missing_plugin_is_refused_at_the_start(gate: Gate) -> None:
    (gate.folder / "noisewatch-plugin").unlink()
    with pytest.raises(AssertionError):
        Detector(_monitor(gate))


def test_options_come_from_the_monitor_and_from_no_file(gate: Gate) -> None:
    Detector(_monitor(gate)).check()
    assert gate.call[1:] == [
        "preflight", "--no-config", "--format", "problem-detector", "--sample", "1", "--no-calibration",
    ]  # fmt: skip


@pytest.mark.parametrize("status", [STABLE, UNSTABLE, UNKNOWN, WRONG])
def test_the_init_container_has_the_status_of_noisewatch(gate: Gate, status: int) -> None:
    gate.set_verdict(status)
    assert _run_init_container(gate) == status
    assert "--no-config" in gate.call


def test_the_init_container_judges_the_cpus_that_it_may_use(gate: Gate) -> None:
    allowed = os.sched_getaffinity(0)
    try:
        for cpu in sorted(allowed)[:2]:
            os.sched_setaffinity(0, {cpu})
            assert _run_init_container(gate) == STABLE
            assert gate.call[-2:] == ["--cpus", str(cpu)]
    finally:
        os.sched_setaffinity(0, allowed)


def test_only_a_wrong_option_ends_the_job(gate: Gate) -> None:
    job = _job(gate)["spec"]
    pod = job["template"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == [WRONG]
    assert rule["onExitCodes"]["containerName"] == pod["initContainers"][0]["name"]
    assert pod["restartPolicy"] == "Never"
    assert pod["initContainers"][0]["resources"] == pod["containers"][0]["resources"]
