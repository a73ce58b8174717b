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
    result = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    return result.returncode, json.loads(result.stdout)


def _culprits(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [culprit for row in report["findings"] if row["id"] == "tasks-on-target" for culprit in row["culprits"]]


def test_a_busy_loop_is_named_with_its_pid_and_share() -> None:
    with noise(LOOP) as process:
        status, report = _preflight()
    (culprit,) = [culprit for culprit in _culprits(report) if culprit["pid"] == process.pid]
    assert (status, report["verdict"], culprit["kind"]) == (1, "unstable", "thread")
    assert culprit["share"] == pytest.approx(1, abs=0.1)


def test_nothing_is_blamed_without_noise() -> None:
    assert [culprit for culprit in _culprits(_preflight()[1]) if culprit["share"] > 0.05] == []


def test_a_loop_of_short_lived_children_is_not_lost() -> None:
    with noise(CHILDREN) as process:
        status, report = _preflight()
    blamed = [row for row in _culprits(report) if row["pid"] == process.pid or row["kind"] == "unexplained"]
    assert status == 1
    assert sum(row["share"] for row in blamed) > 0.7


def test_a_monitor_ends_when_its_terminal_is_closed() -> None:
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
    os.read(parent, 1 << 16)  # wait for the first output
    os.close(parent)
    assert process.wait(timeout=20) != 0


def test_a_busy_loop_takes_half_of_the_calibrations_time_and_makes_the_machine_unstable() -> None:
    options = ["--sample", "0", "--calibration", "2", "--at", "10ms", "--format", "json"]
    with noise(LOOP):
        result = subprocess.run(
            [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), *options],
            capture_output=True,
            text=True,
            check=False,
        )
    report = json.loads(result.stdout)
    (cpu,) = report["calibration"]["cpus"]
    (floor,) = [finding for finding in report["findings"] if finding["id"] == "noise-floor-above-budget"]
    assert (result.returncode, report["verdict"], floor["status"], floor["cpus"]) == (1, "unstable", "fail", [CPU])
    # On a contended host, siblings and neighbours may cause more of the variance than the busy loop.
    assert floor["evidence"]["dominated_by"] in {"interruptions", "throughput"}
    assert cpu["waited_share"] == pytest.approx(0.5, abs=0.1)
    assert cpu["waited_share"] - 0.05 <= cpu["stolen_share"] <= 0.75  # only stolen time includes the hypervisor's


def test_a_recording_keeps_the_calibration_and_gives_the_same_verdict(tmp_path: Path) -> None:
    recording = tmp_path / "host.nw"
    preflight = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), "--format", "json"]
    live = subprocess.run(
        [*preflight, "--sample", "1", "--calibration", "1", "--record", recording],
        capture_output=True,
        text=True,
        check=False,
    )
    replay = subprocess.run([*preflight, "--replay", recording], capture_output=True, text=True, check=False)
    live_report, replay_report = json.loads(live.stdout), json.loads(replay.stdout)
    assert replay_report["calibration"] == live_report["calibration"]
    assert replay_report["noise_floor"] == live_report["noise_floor"]
    assert (replay.returncode, replay_report["verdict"]) == (live.returncode, live_report["verdict"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can trigger a device event")
def test_device_events_of_the_kernel_are_received() -> None:
    listener = listen()
    assert isinstance(listener, DeviceListener), listener
    Path("/sys/devices/system/cpu/cpu0/uevent").write_text("change")
    deadline_s, texts = time.monotonic() + 5, []
    while "CPU 0 changed" not in texts and time.monotonic() < deadline_s:
        texts += [event.text for event in listener.read()]
        time.sleep(0.05)
    assert "CPU 0 changed" in texts
