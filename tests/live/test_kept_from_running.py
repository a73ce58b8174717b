"""Commands that are frozen or throttled between two samples: `pytest -m live`. Needs root and cgroup v1.

Other processes may run on this host, so that no test expects a quiet repetition.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.noise import CPU
from tests.plumbing.receipts import lines_of
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.live

_RUN = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--calibration", "0"]
_WORK = """
import os, time
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: pass
"""
_ENTER = _WORK + "open({group!r} + '/cgroup.procs', 'w').write(str(os.getpid()))\nwork({seconds})\n"
_FROZEN_S = 0.03
_TRACERS = ["events", "none"]


def _group(controller: str) -> Iterator[Path]:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    mount_points = [words[1] for words in mounts if words[2] == "cgroup" and controller in words[3].split(",")]
    if os.geteuid() != 0 or not mount_points:
        pytest.skip(f"cgroup v1 has no {controller} here, or this is not root")
    folder = Path(mount_points[0]) / f"noisewatch-live-{os.getpid()}"
    folder.mkdir()
    yield folder
    wait_until(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


@pytest.fixture
def freezer() -> Iterator[Path]:
    yield from _group("freezer")


@pytest.fixture
def quota() -> Iterator[Path]:
    """A group with a quota of a fifth of a CPU."""
    for folder in _group("cpu"):
        (folder / "cpu.cfs_period_us").write_text("100000")
        (folder / "cpu.cfs_quota_us").write_text("20000")
        yield folder


def _run(folder: Path, tracer: str, runs: int, program: str) -> list[dict[str, Any]]:
    receipt = folder / "receipt.jsonl"
    command = [*_RUN, "--tracer", tracer, "--runs", str(runs), "--output", str(receipt)]
    subprocess.run([*command, "--", sys.executable, "-S", "-c", program], check=True, stdout=subprocess.DEVNULL)
    return lines_of(receipt, "repetition")


@pytest.mark.parametrize("tracer", _TRACERS)
def test_a_freeze_between_two_samples_is_noticed(tracefs: Path, freezer: Path, tmp_path: Path, tracer: str) -> None:
    """A repetition that contains a whole freeze has a frozen time or an unknown, and is not undisturbed."""
    frozen: list[tuple[int, int]] = []
    is_over = threading.Event()

    def freeze_repetitions() -> None:
        while not is_over.wait(0.002):
            if (freezer / "cgroup.procs").read_text():
                time.sleep(0.03)
                begin_ns = time.monotonic_ns()
                (freezer / "freezer.state").write_text("FROZEN")
                time.sleep(_FROZEN_S)
                (freezer / "freezer.state").write_text("THAWED")
                frozen.append((begin_ns, time.monotonic_ns()))
                wait_until(lambda: is_over.is_set() or not (freezer / "cgroup.procs").read_text())

    thread = threading.Thread(target=freeze_repetitions)
    thread.start()
    try:
        repetitions = _run(tmp_path, tracer, 6, _ENTER.format(group=str(freezer), seconds=0.12))
    finally:
        is_over.set()
        thread.join()
    hit = [line for line in repetitions if any(line["began_ns"] < at[0] and at[1] < line["ended_ns"] for at in frozen)]
    assert hit
    assert [line for line in hit if line["verdict"] == "undisturbed"] == []
    silent = [line for line in hit if not line["frozen_ns"] and not line["unknowns"]]
    assert silent == [], (frozen, [(line["frozen_ns"], line["reasons"]) for line in silent])


@pytest.mark.parametrize("tracer", _TRACERS)
def test_a_quota_of_a_group_that_the_command_enters_is_noticed(
    tracefs: Path, quota: Path, tmp_path: Path, tracer: str
) -> None:
    repetitions = _run(tmp_path, tracer, 3, _ENTER.format(group=str(quota), seconds=0.08))
    for repetition in repetitions:
        kinds = {reason["kind"] for reason in repetition["reasons"]}
        assert repetition["verdict"] != "undisturbed"
        assert "quota" in kinds or repetition["unknowns"], repetition


def test_a_throttled_child_in_its_own_group_is_noticed_by_the_trace(tracefs: Path, quota: Path, tmp_path: Path) -> None:
    program = (
        _WORK + f"child = os.fork()\nif not child:\n open('{quota}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        " work(0.08)\n os._exit(0)\nos.waitpid(child, 0)\n"
    )
    repetitions = _run(tmp_path, "events", 3, program)
    assert [repetition for repetition in repetitions if repetition["verdict"] == "undisturbed"] == []


@pytest.mark.parametrize("tracer", _TRACERS)
def test_most_repetitions_of_an_undisturbed_command_are_not_delayed(tracefs: Path, tmp_path: Path, tracer: str) -> None:
    """Some repetitions may be delayed: moving a process between cgroups blocks others in the kernel for some ms."""
    repetitions = _run(tmp_path, tracer, 10, _WORK + "for _ in range(5): work(0.01); time.sleep(0.01)")
    texts = [text for repetition in repetitions for text in repetition["unknowns"]]
    delays = [text for text in texts if "held it back" in text or "waited in the kernel" in text]
    assert len(delays) < len(repetitions) // 2, delays
    assert {repetition["frozen_ns"] for repetition in repetitions} == {0}
