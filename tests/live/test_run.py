"""Series on this host with a hog in one repetition, or with children and writes of the command: `pytest -m live`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.live.hog_in_a_run import BUSY, IDLE, SEVENTH, run_with_a_hog
from tests.live.noise import CPU
from tests.plumbing.privileges import NOBODY, WITH_HIDDEN_PROCESSES
from tests.plumbing.receipts import lines_of
from tests.plumbing.waiting import wait_until

pytestmark = pytest.mark.live

_NOISEWATCH = [sys.executable, "-m", "noisewatch", "run", "--cpus", str(CPU), "--calibration", "0"]
_FORKS = """
import os
for _ in range(200):
    if not os.fork():
        sum(range(20_000))
        os._exit(0)
for _ in range(200): os.wait()
"""
_WRITES = """
import os, tempfile
with tempfile.TemporaryFile(dir={folder!r}) as file:
    for _ in range(16):
        file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that all users can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("work", [BUSY, IDLE])
def test_a_hog_is_named_in_its_repetition(work: str, tmp_path: Path) -> None:
    series = run_with_a_hog(tmp_path, work, "--calibration", "0")
    assert series.blamed == [SEVENTH]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_a_hog_is_named_without_privileges(open_folder: Path) -> None:
    series = run_with_a_hog(open_folder, BUSY, "--calibration", "0", privilege=NOBODY)
    assert series.blamed == [SEVENTH]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_a_hog_is_detected_but_not_named_where_its_process_is_hidden(open_folder: Path) -> None:
    series = run_with_a_hog(open_folder, BUSY, "--calibration", "0", privilege=(*WITH_HIDDEN_PROCESSES, *NOBODY))
    assert SEVENTH in series.numbers_of("disturbed")
    assert series.blamed == []


@pytest.mark.parametrize("program", [_FORKS, _WRITES])
def test_children_and_writes_of_a_command_do_not_disturb_it(program: str, tmp_path: Path) -> None:
    """Disturbed repetitions are retried; if a hypervisor disturbs most of them, the test is skipped.

    Without a trace, the counts of two hundred processes may be too inaccurate, and the verdict is unknown.
    """
    lines = _run(
        tmp_path, "--runs", "2", "--retry", "18", "--", sys.executable, "-S", "-c", program.format(folder=str(tmp_path))
    )
    left_alone = [line for line in lines if "outside" not in {reason["noise"] for reason in line["reasons"]}]
    if len(left_alone) < len(lines) // 2:
        pytest.skip("the host took this CPU away in most of the repetitions")
    verdicts = [line["verdict"] for line in left_alone]
    if all(line["attributed_by"] == "trace" for line in left_alone):
        assert verdicts.count("undisturbed") == 2
    else:
        assert len(verdicts) - verdicts.count("disturbed") >= 2


def test_no_process_that_a_command_forks_is_blamed(tmp_path: Path) -> None:
    forker = tmp_path / "forker"
    forker.write_text(f"#!{sys.executable} -S\n{_FORKS}")
    forker.chmod(0o755)
    lines = _run(tmp_path, "--runs", "5", "--", str(forker))
    assert len(lines) == 5
    assert not [reason for line in lines for reason in line["reasons"] if "forker" in reason["name"]]


def test_killing_noisewatch_ends_its_command(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    command = [*_NOISEWATCH, "--runs", "9", "--output", str(receipt), "--", "sleep", "600"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        noisewatch = psutil.Process(process.pid)
        wait_until(lambda: any(child.name() == "sleep" for child in noisewatch.children()))
        children = noisewatch.children(recursive=True)
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children))
    (header,) = lines_of(receipt, "header")
    assert header["target"] == [CPU]


def _run(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    receipt = folder / "receipt.jsonl"
    subprocess.run([*_NOISEWATCH, "--output", str(receipt), *arguments], check=True, stdout=subprocess.DEVNULL)
    return lines_of(receipt)
