"""Deliberate noise on this host: `pytest -m live`. Needs two CPUs, the last of which no other process uses."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from noisewatch.kernel.device_events import DeviceListener, listen
from tests.live.noise import CHILDREN, CPU, LOOP, noise

pytestmark = pytest.mark.live


def _preflight() -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), "--no-calibration"]
    ran = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    return ran.returncode, json.loads(ran.stdout)


def _culprits(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        culprit for found in report["findings"] if found["id"] == "tasks-on-target" for culprit in found["culprits"]
    ]


def test_a_busy_loop_is_named_with_its_pid_and_share() -> None:
    with noise(LOOP) as process:
        status, report = _preflight()
    (culprit,) = [each for each in _culprits(report) if each["pid"] == process.pid]
    assert (status, report["verdict"], culprit["kind"]) == (1, "unstable", "thread")
    assert culprit["share"] == pytest.approx(1, abs=0.1)


def test_without_it_nothing_is_blamed() -> None:
    assert [each for each in _culprits(_preflight()[1]) if each["share"] > 0.05] == []


def test_a_loop_of_short_lived_children_is_not_lost() -> None:
    with noise(CHILDREN) as process:
        status, report = _preflight()
    blamed = [each for each in _culprits(report) if each["pid"] == process.pid or each["kind"] == "unexplained"]
    assert status == 1
    assert sum(each["share"] for each in blamed) > 0.7


def test_a_monitor_whose_terminal_is_gone_ends_and_does_not_spin() -> None:
    parent, child = pty.openpty()
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "noisewatch"],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(child)
    os.read(parent, 1 << 16)  # something has been drawn
    os.close(parent)
    assert process.wait(timeout=20) != 0


def test_a_busy_loop_takes_half_of_the_calibrations_time_and_makes_the_machine_unstable() -> None:
    options = ["--sample", "0", "--calibration", "2", "--at", "10ms", "--format", "json"]
    with noise(LOOP):
        ran = subprocess.run(
            [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), *options],
            capture_output=True,
            text=True,
            check=False,
        )
    report = json.loads(ran.stdout)
    (cpu,) = report["calibration"]["cpus"]
    (floor,) = [each for each in report["findings"] if each["id"] == "noise-floor-above-budget"]
    assert (ran.returncode, report["verdict"], floor["status"], floor["cpus"]) == (1, "unstable", "fail", [CPU])
    assert floor["evidence"]["dominated_by"] in {"interruptions", "throughput"}  # a host may take more than the loop
    assert cpu["waited_share"] == pytest.approx(0.5, abs=0.1)
    assert cpu["waited_share"] - 0.05 <= cpu["stolen_share"] <= 0.75  # for a hypervisor's part nobody waits here


def test_a_recording_keeps_the_calibration_and_gives_the_same_verdict(tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    preflight = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), "--format", "json"]
    live = subprocess.run(
        [*preflight, "--sample", "1", "--calibration", "1", "--record", recording],
        capture_output=True,
        text=True,
        check=False,
    )
    again = subprocess.run([*preflight, "--replay", recording], capture_output=True, text=True, check=False)
    one, other = json.loads(live.stdout), json.loads(again.stdout)
    assert other["calibration"] == one["calibration"]
    assert other["noise_floor"] == one["noise_floor"]
    assert (again.returncode, other["verdict"]) == (live.returncode, one["verdict"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have the kernel say something of a device")
def test_what_the_kernel_says_of_a_device_is_heard() -> None:
    listener = listen()
    assert isinstance(listener, DeviceListener), listener
    Path("/sys/devices/system/cpu/cpu0/uevent").write_text("change")
    until, said = time.monotonic() + 5, []
    while "CPU 0 changed" not in said and time.monotonic() < until:
        said += [each.text for each in listener.read()]
        time.sleep(0.05)
    assert "CPU 0 changed" in said
