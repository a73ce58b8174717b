"""Calibrations of CPUs that the scheduler hides, of CPUs that go offline, and of a killed noisewatch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.expected import ISOLATED_CPUS
from tests.lab.lab import Lab

_ONLINE = "/sys/devices/system/cpu/cpu7/online"
_SPINNERS = "pgrep -f noisewatch.machine.spinning.calibration"


def _cpus_in(lab: Lab, report: str) -> dict[int, dict[str, Any]]:
    return {cpu["cpu"]: cpu for cpu in json.loads((lab.scratch / report).read_text())["calibration"]["cpus"]}


@pytest.mark.lab_core
def test_isolated_cpus_are_calibrated_though_the_scheduler_hides_them(isolated: Lab) -> None:
    assert isolated.do("nproc") == "4\n"
    isolated.do("noisewatch calibrate --duration 6 --format json --output whole.json")
    cpus = _cpus_in(isolated, "whole.json")
    assert sorted(cpus) == ISOLATED_CPUS
    assert all(cpu["trouble"] == "none" and cpu["gaps_per_s"] is not None for cpu in cpus.values()), cpus


def test_a_killed_parent_leaves_no_spinner_behind(isolated: Lab) -> None:
    pid = isolated.start("noisewatch calibrate --duration 300")
    isolated.do(f"until [ $({_SPINNERS} | wc -l) -ge {1 + len(ISOLATED_CPUS)} ]; do sleep 0.2; done; sleep 5")
    isolated.do(f"kill -KILL {pid}")
    isolated.do(f"for poll in $(seq 50); do {_SPINNERS} >/dev/null || exit 0; sleep 0.1; done; exit 1")


def test_a_cpu_that_goes_offline_in_the_middle_is_reported(isolated: Lab) -> None:
    pid = isolated.start("noisewatch calibrate --duration 15 --format json --output offline.json")
    isolated.do(f"until [ $({_SPINNERS} | wc -l) -ge {1 + len(ISOLATED_CPUS)} ]; do sleep 0.2; done; sleep 2")
    try:
        isolated.write(_ONLINE, 0)
        isolated.do(f"while [ -d /proc/{pid} ]; do sleep 0.2; done")
    finally:
        isolated.write(_ONLINE, 1)
    cpus = _cpus_in(isolated, "offline.json")
    assert "offline" in cpus[7]["trouble"]
    assert [cpu for cpu in ISOLATED_CPUS if cpus[cpu]["trouble"] == "none"] == [2, 3, 6]
