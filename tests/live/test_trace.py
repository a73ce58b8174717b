"""The kernel's trace of this host, with noise made on purpose: `pytest -m live`. Needs root and tracefs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from noisewatch.machine.live import LiveMachine
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.trace import KeptTrace, TraceOptions, follow
from tests.live.noise import CHILDREN, CPU, LOOP, noise
from tests.live.tracing import instances_of
from tests.operations.listening import SilentListener
from tests.plumbing.waiting import children_of, wait_until

pytestmark = pytest.mark.live

_TRACE = [sys.executable, "-m", "noisewatch", "trace", "--cpus", str(CPU), "--format", "json"]
_CALIBRATE = [sys.executable, "-m", "noisewatch", "calibrate", "--cpus", str(CPU), "--format", "json"]
_GLOBAL = (
    "tracing_on",
    "current_tracer",
    "trace_clock",
    "set_event",
    "tracing_cpumask",
    "buffer_size_kb",
    "events/enable",
)

_WAKES = """\
import time
while True:
    time.sleep(0.02)
    until = time.monotonic() + 0.002
    while time.monotonic() < until:
        pass
"""


def _followed(seconds: float) -> dict[str, Any]:
    return _followed_by(seconds)[0]


def _followed_by(seconds: float) -> tuple[dict[str, Any], int]:
    """Run `noisewatch trace` for this time, and return its answer and its PID."""
    command = [*_TRACE, "--duration", str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(said), process.pid


def test_a_busy_loop_is_the_main_thread_and_the_tick_is_its_noise(tracefs: Path) -> None:
    with noise(LOOP) as process:
        answer = _followed(2)
    (cpu,) = answer["cpus"]
    assert (answer["by"], answer["reason"], cpu["lost_events"]) == ("trace", None, 0)
    assert (cpu["works"]["pid"], cpu["works"]["share"] > 0.5) == (process.pid, True)
    tick = next(each for each in cpu["culprits"] if each["kind"] == "tick")
    assert 50 < tick["rate_per_s"] < 1200
    assert 0 < tick["p50_ns"] < 1_000_000


def test_a_thread_that_comes_and_goes_is_named_with_its_times(tracefs: Path) -> None:
    with noise(_WAKES) as process:
        answer = _followed(2)
    found = [each for each in answer["cpus"][0]["culprits"] if each["pid"] == process.pid]
    assert [each["kind"] for each in found] == ["thread"]
    assert found[0]["count"] > 20
    assert found[0]["stolen_ns"] > 30_000_000


def test_a_crowd_of_children_that_come_and_go_is_one_culprit_with_their_sum(tracefs: Path) -> None:
    with noise(CHILDREN) as process:
        answer = _followed(2)
    crowd = next(each for each in answer["cpus"][0]["culprits"] if "ended children of" in each["name"])
    assert (crowd["kind"], crowd["pid"], crowd["tid"]) == ("thread", process.pid, None)
    assert crowd["count"] > 50
    assert crowd["share"] > 0.02


def _calibrated(*options: str) -> dict[str, Any]:
    ran = subprocess.run([*_CALIBRATE, "--duration", "4", *options], capture_output=True, check=True)
    calibration: dict[str, Any] = json.loads(ran.stdout)["calibration"]
    return calibration


def test_a_calibration_is_told_by_the_trace_who_made_its_gaps(tracefs: Path) -> None:
    with noise(LOOP) as process:
        calibration = _calibrated()
    assert calibration["culprits_by"] == "trace"
    first = calibration["cpus"][0]["culprits"][0]
    assert (first["pid"], first["kind"], first["inferred"]) == (process.pid, "thread", False)


def test_a_calibration_that_is_not_to_be_traced_goes_by_its_gaps(tracefs: Path) -> None:
    calibration = _calibrated("--tracer", "none")
    assert (calibration["culprits_by"], calibration["no_trace_reason"]) == ("gaps", "nothing was traced")
    assert all(each["inferred"] for each in calibration["cpus"][0]["culprits"])


def test_whatever_else_is_traced_is_left_as_it_was_and_no_instance_stays(tracefs: Path) -> None:
    other = tracefs / "instances" / f"of-somebody-else-{os.getpid()}"
    other.mkdir()
    try:
        (other / "events/sched/sched_switch/enable").write_text("1")
        before = [(tracefs / name).read_text() for name in _GLOBAL]
        answer, pid = _followed_by(1)
        assert answer["by"] == "trace"
        assert [(tracefs / name).read_text() for name in _GLOBAL] == before
        assert (other / "events/sched/sched_switch/enable").read_text() == "1\n"
    finally:
        (other / "events/sched/sched_switch/enable").write_text("0")
        other.rmdir()
    assert instances_of(tracefs, pid) == []


def test_one_stretch_follows_the_other_without_switching_anything_on_or_off(tracefs: Path) -> None:
    options = TraceOptions(machine=MachineOptions(cpus=str(CPU)), seconds=1.0)
    kept, traces, made = KeptTrace(), [], []
    with noise(_WAKES):
        for _ in range(2):
            found = follow(LiveMachine(), options, SilentListener(), kept)
            traces.append(found.trace)
            names = instances_of(tracefs, os.getpid())
            made.append({name: (tracefs / "instances" / name).stat().st_ino for name in names})
        kept.close()
    first, second = (each for each in traces if each is not None)
    assert second.begin_ns >= first.begin_ns + first.length_ns
    assert [each.lost_events for trace in (first, second) for each in trace.cpus] == [0, 0]
    assert second.length_ns == pytest.approx(1_000_000_000, rel=0.3)
    assert made[0] == made[1]
    assert len(made[0]) == 2
    assert instances_of(tracefs, os.getpid()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("command", [_TRACE, _CALIBRATE], ids=["trace", "calibrate"])
def test_a_tracer_that_is_ended_leaves_nothing(tracefs: Path, command: list[str], number: signal.Signals) -> None:
    process = _tracer(tracefs, command)
    process.send_signal(number)
    said = process.communicate()[1]
    assert "Traceback" not in said
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: instances_of(tracefs, process.pid) == [], 0.0 if number != signal.SIGKILL else 5.0)


def test_what_was_killed_with_its_watcher_is_cleared_away_by_the_next_one(tracefs: Path) -> None:
    process = _tracer(tracefs, _TRACE)
    for pid in (*children_of(process.pid), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert len(instances_of(tracefs, process.pid)) == 2
    command = [sys.executable, "-m", "noisewatch", "preflight", "--cpus", str(CPU), "--sample", "0", "--no-calibration"]
    subprocess.run(command, capture_output=True, check=False)
    assert instances_of(tracefs, process.pid) == []


def _tracer(tracefs: Path, command: list[str]) -> subprocess.Popen[str]:
    """Start a long trace that reacts to SIGINT even if the tests run as a background job, where it is ignored."""
    command = ["env", "--default-signal=INT", *command, "--duration", "30"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(instances_of(tracefs, process.pid)) == 2, 30.0)
    time.sleep(0.5)
    return process


_IN_NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]
_AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize(
    ("prefix", "refusal", "words"),
    [(_IN_NAMESPACE, "unshare", "by the host's PIDs"), (_AS_NOBODY, "ermission", "permission denied")],
    ids=["a PID namespace", "no right to trace"],
)
def test_where_nothing_can_be_traced_the_counters_have_to_do(
    tracefs: Path, prefix: list[str], refusal: str, words: str
) -> None:
    ran = subprocess.run([*prefix, *_TRACE, "--duration", "1"], capture_output=True, text=True, check=False)
    if ran.returncode and refusal in ran.stderr:
        pytest.skip(f"{prefix[0]} cannot do that here, or this checkout is not for others to read")
    answer = json.loads(ran.stdout)
    assert answer["by"] == "counters"
    assert words in answer["reason"]
