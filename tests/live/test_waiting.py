"""Waiting until this host is quiet, and locking it: `pytest -m live`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.machine_lock import PATH, read_machine_lock
from noisewatch.machine.live import LiveMachine
from tests.live.noise import CPU, LOOP, noise

pytestmark = pytest.mark.live

_PREFLIGHT = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), "--no-calibration", "--no-config"]
_BUSY_CHECK = ["--sample", "0.5", "--select", "target-cpu-busy", "--limit", "target-cpu-busy=50%"]
_LOCK_CHECK = ["--sample", "0", "--select", "machine-locked"]


def _preflight(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_PREFLIGHT, *options], capture_output=True, text=True, check=False)


def test_preflight_waits_until_the_noise_ends_and_names_it() -> None:
    with noise(LOOP) as process:
        threading.Timer(3, process.kill).start()
        result = _preflight(*_BUSY_CHECK, "--wait", "30")
    assert (result.returncode, result.stdout.splitlines()[-1].partition(":")[0]) == (0, "STABLE")
    assert re.search(
        rf"^noisewatch: waiting for .*python\S* on CPU {CPU}\b.* \(\d+ s left\)$", result.stderr, re.MULTILINE
    )


def test_when_the_time_runs_out_the_last_reasons_are_reported() -> None:
    with noise(LOOP):
        result = _preflight(*_BUSY_CHECK, "--wait", "2", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.returncode, report["exit_status"], report["verdict"]) == (4, 4, "unstable")
    (busy,) = [finding for finding in report["findings"] if finding["id"] == "target-cpu-busy"]
    assert (busy["status"], busy["cpus"]) == ("fail", [CPU])


def test_a_setting_that_waiting_cannot_change_is_reported_once() -> None:
    check = "default-irq-affinity-includes-target"
    result = _preflight("--sample", "0", "--select", check, "--severity", f"{check}=blocking", "--wait", "2")
    assert result.returncode == 4
    assert result.stderr.count(f"noisewatch: {check}: waiting does not change a setting") == 1


@pytest.fixture
def unlocked() -> None:
    """Skip the test if another process has locked the machine."""
    lock = read_machine_lock(Reader(LiveMachine()))
    if lock is None or not lock.is_free:
        pytest.skip("another process has locked this host")


@pytest.mark.usefixtures("unlocked")
def test_the_machine_is_locked_for_the_calling_script_until_it_ends() -> None:
    command = " ".join([*_PREFLIGHT, *_LOCK_CHECK, "--lock", ">/dev/null"])
    script = subprocess.Popen(
        ["sh", "-c", f"{command} && echo locked && read line; :"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert script.stdout is not None
    assert script.stdout.readline() == "locked\n"
    second = _preflight(*_LOCK_CHECK, "--lock")
    assert second.returncode == 1
    assert f"sh (pid {script.pid}) has locked the machine" in second.stdout
    script.communicate("\n")
    third = _preflight(*_LOCK_CHECK, "--format", "json")
    assert third.returncode == 0
    assert "a stale lock" in third.stdout


@pytest.mark.usefixtures("unlocked")
def test_an_unstable_machine_is_not_kept_locked() -> None:
    with noise(LOOP):
        assert _preflight(*_BUSY_CHECK, "--lock").returncode == 1
    assert Path(PATH).read_text() == ""
