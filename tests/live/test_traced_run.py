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
_MOST = 0.8  # of the repetitions: some kernels do not tell of all switches, which on a busy host leaves doubts
_FORKS = "i=0; while [ $i -lt 300 ]; do /bin/true & i=$((i+1)); done; wait"
_DAEMON = "setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' & /bin/true"


def _ran(folder: Path, runs: int, work: str, *options: str) -> list[dict[str, Any]]:
    """The lines of the receipt: the header, the repetitions, the footer."""
    receipt = folder / "receipt.jsonl"
    command = [*_RUN, "--runs", str(runs), "--output", str(receipt), *options, "--", "sh", "-c", work]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in receipt.read_text().splitlines()]


def _names(repetitions: list[dict[str, Any]]) -> set[str]:
    return {reason["name"] for each in repetitions for reason in each["reasons"]}


@pytest.mark.parametrize("work", [BUSY, IDLE])
def test_the_repetition_with_a_hog_is_found_by_the_trace(tracefs: Path, work: str, tmp_path: Path) -> None:
    found = run_with_a_hog(tmp_path, work, "--calibration", "0")
    assert SEVENTH in found.numbers_of("disturbed")
    by = [each["attributed_by"] for each in found.repetitions]
    assert by.count("trace") >= _MOST * len(by), [each["no_trace_reason"] for each in found.repetitions]
    assert found.blamed == [SEVENTH]


@pytest.mark.parametrize("work", [_FORKS, _DAEMON], ids=["forks", "daemon"])
def test_what_the_command_starts_is_its_own_however_briefly_it_lives(tracefs: Path, work: str, tmp_path: Path) -> None:
    header, *repetitions, _ = _ran(tmp_path, 3, work)
    assert (header["attribution"]["trace"], header["attribution"]["no_trace_reason"]) == ("events", "none")
    blamed = [reason for reason in repetitions[0]["reasons"] if reason["kind"] == "foreign"]
    assert not [each for each in blamed if each["name"].startswith(("sh", "true"))]


def test_what_is_written_to_a_disk_for_the_command_is_its_own(tracefs: Path, tmp_path: Path) -> None:
    target = tmp_path / "written"
    work = f"dd if=/dev/zero of={target} bs=64k count=100 oflag=dsync 2>/dev/null"
    repetitions = _ran(tmp_path, 3, work)[1:-1]
    assert not [name for name in _names(repetitions) if "flush" in name or "jbd2" in name or "BLOCK" in name]


def test_many_short_repetitions_are_each_known_by_the_trace(tracefs: Path, tmp_path: Path) -> None:
    repetitions = _ran(tmp_path, 200, ":")[1:-1]
    by = [each["attributed_by"] for each in repetitions]
    assert len(by) == 200
    assert by.count("trace") >= _MOST * len(by), {each["no_trace_reason"] for each in repetitions}
    traced = [each for each in repetitions if each["attributed_by"] == "trace"]
    assert [text for each in traced for text in each["unknowns"] if text.startswith("its end was seen")] == []


def test_a_stranger_on_the_cpu_all_along_is_named_in_each_repetition(tracefs: Path, tmp_path: Path) -> None:
    with noise(LOOP) as process:
        repetitions = _ran(tmp_path, 5, "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")[1:-1]
    pids = [{reason["pid"] for reason in each["reasons"]} for each in repetitions]
    assert [process.pid in found for found in pids] == [True] * 5


def test_without_the_right_to_trace_it_says_so_and_goes_by_counters(tracefs: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *_RUN, "--runs", "2", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode and "ermission" in ran.stderr:
        pytest.skip("nobody may not read this checkout")
    told = " ".join(ran.stdout.split())  # it is wrapped where the path is long
    assert "attribution: counters, because" in told
    assert "permission denied" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_wrapper_that_is_ended_leaves_no_trace_behind(tracefs: Path, number: signal.Signals) -> None:
    command = ["env", "--default-signal=INT", *_RUN, "--runs", "100", "--", "sleep", "0.2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(instances_of(tracefs, process.pid)) == 2 and len(children_of(process.pid)) == 2, 30.0)
    os.kill(process.pid, number)
    said = process.communicate()[1]
    assert "Traceback" not in said
    wait_until(lambda: instances_of(tracefs, process.pid) == [], 0.0 if number != signal.SIGKILL else 5.0)


def test_a_thread_that_moves_between_two_looks_is_told_with_each_move(tracefs: Path, tmp_path: Path) -> None:
    """The thread moves for about 50 ms, in which noisewatch looks up its CPU at most once."""
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        pytest.skip("takes two CPUs")
    receipt = tmp_path / "receipt.jsonl"
    run = [*_RUN, "--cpus", ",".join(map(str, cpus)), "--runs", "5", "--output", str(receipt)]
    hops = f"import os\nfor hop in range(20):\n os.sched_setaffinity(0, [{cpus}[hop % 2]])\n sum(range(100_000))"
    subprocess.run([*run, "--", sys.executable, "-S", "-c", hops], stdout=subprocess.DEVNULL, check=True)
    placements = [each["placement"] for each in lines_of(receipt, "repetition")]
    told = [each["threads"][0]["moves"] for each in placements if each["source"] == "trace"]
    assert told, placements
    assert all(moves >= 19 for moves in told)
