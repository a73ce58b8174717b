"""The kernel's trace of this host, with deliberate noise: `pytest -m live`. Needs root and tracefs."""

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


def _trace(seconds: float) -> dict[str, Any]:
    return _trace_with_pid(seconds)[0]


def _trace_with_pid(seconds: float) -> tuple[dict[str, Any], int]:
    """Run `noisewatch trace` for this time, and return its answer and its PID."""
    command = [*_TRACE, "--duration", str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return json.loads(output), process.pid


def test_a_busy_loop_is_the_main_thread_and_the_tick_is_its_noise(tracefs: Path) -> None:
    with noise(LOOP) as process:
        answer = _trace(2)
    (cpu,) = answer["cpus"]
    assert (answer["by"], answer["reason"], cpu["lost_events"]) == ("trace", None, 0)
    assert (cpu["works"]["pid"], cpu["works"]["share"] > 0.5) == (process.pid, True)
    tick = next(culprit for culprit in cpu["culprits"] if culprit["kind"] == "tick")
    assert 50 < tick["rate_per_s"] < 1200
    assert 0 < tick["p50_ns"] < 1_000_000


def test_a_thread_that_wakes_up_often_is_named_with_its_times(tracefs: Path) -> None:
    with noise(_WAKES) as process:
        answer = _trace(2)
    culprits = [culprit for culprit in answer["cpus"][0]["culprits"] if culprit["pid"] == process.pid]
    assert [culprit["kind"] for culprit in culprits] == ["thread"]
    assert culprits[0]["count"] > 20
    assert culprits[0]["stolen_ns"] > 30_000_000


def test_many_short_lived_children_are_one_culprit_with_their_sum(tracefs: Path) -> None:
    with noise(CHILDREN) as process:
        answer = _trace(2)
    crowd = next(culprit for culprit in answer["cpus"][0]["culprits"] if "ended children of" in culprit["name"])
    assert (crowd["kind"], crowd["pid"], crowd["tid"]) == ("thread", process.pid, None)
    assert crowd["count"] > 50
    assert crowd["share"] > 0.02


def _calibrate(*options: str) -> dict[str, Any]:
    result = subprocess.run([*_CALIBRATE, "--duration", "4", *options], capture_output=True, check=True)
    calibration: dict[str, Any] = json.loads(result.stdout)["calibration"]
    return calibration


def test_a_calibration_has_the_culprits_of_its_gaps_from_the_trace(tracefs: Path) -> None:
    with noise(LOOP) as process:
        calibration = _calibrate()
    assert calibration["culprits_by"] == "trace"
    first = calibration["cpus"][0]["culprits"][0]
    assert (first["pid"], first["kind"], first["inferred"]) == (process.pid, "thread", False)


def test_an_untraced_calibration_infers_culprits_from_its_gaps(tracefs: Path) -> None:
    calibration = _calibrate("--tracer", "none")
    assert (calibration["culprits_by"], calibration["no_trace_reason"]) == ("gaps", "nothing was traced")
    assert all(culprit["inferred"] for culprit in calibration["cpus"][0]["culprits"])


def test_other_traces_stay_unchanged_and_no_instance_is_left(tracefs: Path) -> None:
    other = tracefs / "instances" / f"of-somebody-else-{os.getpid()}"
    other.mkdir()
    try:
        (other / "events/sched/sched_switch/enable").write_text("1")
        before = [(tracefs / name).read_text() for name in _GLOBAL]
        answer, pid = _trace_with_pid(1)
        assert answer["by"] == "trace"
        assert [(tracefs / name).read_text() for name in _GLOBAL] == before
        assert (other / "events/sched/sched_switch/enable").read_text() == "1\n"
    finally:
        (other / "events/sched/sched_switch/enable").write_text("0")
        other.rmdir()
    assert instances_of(tracefs, pid) == []


def test_consecutive_traces_use_the_same_instances(tracefs: Path) -> None:
    options = TraceOptions(machine=MachineOptions(cpus=str(CPU)), seconds=1.0)
    kept_trace, traces, inodes = KeptTrace(), [], []
    with noise(_WAKES):
        for _ in range(2):
            interval = follow(LiveMachine(), options, SilentListener(), kept_trace)
            traces.append(interval.trace)
            names = instances_of(tracefs, os.getpid())
            inodes.append({name: (tracefs / "instances" / name).stat().st_ino for name in names})
        kept_trace.close()
    first, second = (trace for trace in traces if trace is not None)
    assert second.begin_ns >= first.begin_ns + first.length_ns
    assert [cpu.lost_events for trace in (first, second) for cpu in trace.cpus] == [0, 0]
    assert second.length_ns == pytest.approx(1_000_000_000, rel=0.3)
    assert inodes[0] == inodes[1]
    assert len(inodes[0]) == 2
    assert instances_of(tracefs, os.getpid()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("command", [_TRACE, _CALIBRATE], ids=["trace", "calibrate"])
def test_an_interrupted_tracer_leaves_no_instance(tracefs: Path, command: list[str], number: signal.Signals) -> None:
    process = _tracer(tracefs, command)
    process.send_signal(number)
    errors = process.communicate()[1]
    assert "Traceback" not in errors
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: instances_of(tracefs, process.pid) == [], 0.0 if number != signal.SIGKILL else 5.0)


def test_instances_of_a_killed_noisewatch_are_removed_by_the_next_one(tracefs: Path) -> None:
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
    [(_IN_NAMESPACE, "unshare", "the host's PIDs"), (_AS_NOBODY, "ermission", "permission denied")],
    ids=["a PID namespace", "no right to trace"],
)
def test_counters_are_used_where_nothing_can_be_traced(
    tracefs: Path, prefix: list[str], refusal: str, words: str
) -> None:
    result = subprocess.run([*prefix, *_TRACE, "--duration", "1"], capture_output=True, text=True, check=False)
    if result.returncode and refusal in result.stderr:
        pytest.skip(f"{prefix[0]} cannot do that here, or other users cannot read this checkout")
    answer = json.loads(result.stdout)
    assert answer["by"] == "counters"
    assert words in answer["reason"]
