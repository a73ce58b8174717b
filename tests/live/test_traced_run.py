"""A series of repetitions with the kernel's trace of this host: `pytest -m live`. Needs root and tracefs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.hog_in_a_run import BUSY, IDLE, SEVENTH, run_with_a_hog
from tests.live.noise import CPU, LOOP, noise
from tests.live.tracing import instances_of
from tests.plumbing.receipts import lines_of
from tests.plumbing.waiting import children_of, wait_until

pytestmark = pytest.mark.live

_RUN = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--calibration", "0"]
_MIN_SHARE = 0.8  # some kernels do not report all switches, which on a busy host leaves unknowns
_FORKS = "i=0; while [ $i -lt 300 ]; do /bin/true & i=$((i+1)); done; wait"
_DAEMON = "setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' & /bin/true"


def _run(folder: Path, runs: int, work: str, *options: str) -> list[dict[str, Any]]:
    """Run a series, and return the lines of its receipt."""
    receipt = folder / "receipt.jsonl"
    command = [*_RUN, "--runs", str(runs), "--output", str(receipt), *options, "--", "sh", "-c", work]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in receipt.read_text().splitlines()]


def _names(repetitions: list[dict[str, Any]]) -> set[str]:
    return {reason["name"] for repetition in repetitions for reason in repetition["reasons"]}


@pytest.mark.parametrize("work", [BUSY, IDLE])
def test_the_trace_names_a_hog_in_its_repetition(tracefs: Path, work: str, tmp_path: Path) -> None:
    series = run_with_a_hog(tmp_path, work, "--calibration", "0")
    assert SEVENTH in series.numbers_of("disturbed")
    sources = [line["attributed_by"] for line in series.repetitions]
    assert sources.count("trace") >= _MIN_SHARE * len(sources), [line["no_trace_reason"] for line in series.repetitions]
    assert series.blamed == [SEVENTH]


@pytest.mark.parametrize("work", [_FORKS, _DAEMON], ids=["forks", "daemon"])
def test_short_lived_children_belong_to_the_command(tracefs: Path, work: str, tmp_path: Path) -> None:
    header, *repetitions, _ = _run(tmp_path, 3, work)
    assert (header["attribution"]["trace"], header["attribution"]["no_trace_reason"]) == ("events", "none")
    blamed = [reason for reason in repetitions[0]["reasons"] if reason["kind"] == "foreign"]
    assert not [reason for reason in blamed if reason["name"].startswith(("sh", "true"))]


def test_disk_writes_for_the_command_belong_to_it(tracefs: Path, tmp_path: Path) -> None:
    target = tmp_path / "written"
    work = f"dd if=/dev/zero of={target} bs=64k count=100 oflag=dsync 2>/dev/null"
    repetitions = _run(tmp_path, 3, work)[1:-1]
    assert not [name for name in _names(repetitions) if "flush" in name or "jbd2" in name or "BLOCK" in name]


def test_many_short_repetitions_are_attributed_by_the_trace(tracefs: Path, tmp_path: Path) -> None:
    repetitions = _run(tmp_path, 200, ":")[1:-1]
    sources = [line["attributed_by"] for line in repetitions]
    assert len(sources) == 200
    assert sources.count("trace") >= _MIN_SHARE * len(sources), {line["no_trace_reason"] for line in repetitions}
    traced = [line for line in repetitions if line["attributed_by"] == "trace"]
    assert [text for line in traced for text in line["unknowns"] if text.startswith("the command's end was seen")] == []


def test_a_permanent_hog_is_named_in_each_repetition(tracefs: Path, tmp_path: Path) -> None:
    with noise(LOOP) as process:
        repetitions = _run(tmp_path, 5, "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")[1:-1]
    pids = [{reason["pid"] for reason in line["reasons"]} for line in repetitions]
    assert [process.pid in blamed for blamed in pids] == [True] * 5


def test_without_permission_to_trace_counters_are_used_and_the_reason_is_shown(tracefs: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    result = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *_RUN, "--runs", "2", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode and "ermission" in result.stderr:
        pytest.skip("the user nobody cannot read this checkout")
    text = " ".join(result.stdout.split())  # a long path is wrapped
    assert "attribution: counters, because" in text
    assert "permission denied" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_trace_instance(tracefs: Path, number: signal.Signals) -> None:
    command = ["env", "--default-signal=INT", *_RUN, "--runs", "100", "--", "sleep", "0.2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(instances_of(tracefs, process.pid)) == 2 and len(children_of(process.pid)) == 2, 30.0)
    os.kill(process.pid, number)
    errors = process.communicate()[1]
    assert "Traceback" not in errors
    wait_until(lambda: instances_of(tracefs, process.pid) == [], 0.0 if number != signal.SIGKILL else 5.0)


def test_each_move_of_a_thread_between_two_samples_is_counted(tracefs: Path, tmp_path: Path) -> None:
    """The thread moves for about 50 ms, in which noisewatch reads its CPU at most once."""
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        pytest.skip("takes two CPUs")
    receipt = tmp_path / "receipt.jsonl"
    run = [*_RUN, "--cpus", ",".join(map(str, cpus)), "--runs", "5", "--output", str(receipt)]
    hops = f"import os\nfor hop in range(20):\n os.sched_setaffinity(0, [{cpus}[hop % 2]])\n sum(range(100_000))"
    subprocess.run([*run, "--", sys.executable, "-S", "-c", hops], stdout=subprocess.DEVNULL, check=True)
    placements = [repetition["placement"] for repetition in lines_of(receipt, "repetition")]
    moves = [placement["threads"][0]["moves"] for placement in placements if placement["source"] == "trace"]
    assert moves, placements
    assert all(count >= 19 for count in moves)
