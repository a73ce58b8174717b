"""The kernel's trace, and for each failed test a list of other busy processes, which may be the cause."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import psutil
import pytest

from noisewatch.machine.tracefs.watcher import MOUNTS, find_tracefs

_BEFORE = pytest.StashKey[tuple[float, dict[psutil.Process, float]]]()
_MAX_LINES = 5
_MIN_SHARE = 0.02


@pytest.fixture(scope="module")
def tracefs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the mount point of tracefs, and mount it for the tests of a module if it is not mounted."""
    if os.geteuid() != 0:
        pytest.skip("tracing is for root")
    mount_point = find_tracefs(Path(MOUNTS).read_text())
    path = mount_point or tmp_path_factory.mktemp("tracefs")
    if mount_point is None and subprocess.run(["mount", "-t", "tracefs", "tracefs", path], check=False).returncode:
        pytest.skip("this kernel has no tracefs")
    yield path
    if mount_point is None:
        subprocess.run(["umount", "--lazy", path], check=True)  # another noisewatch may use it


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_BEFORE] = (time.monotonic(), _seconds_of_others())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.when == "call":
        report.sections.append(("Others meanwhile", _others_since(*item.stash[_BEFORE])))
    return report


def _seconds_of_others() -> dict[psutil.Process, float]:
    """Return the CPU time (s) of each process that is neither this one nor a descendant of it."""
    tests = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    others = (process for process in psutil.process_iter(["name", "cpu_times"]) if process.pid not in tests)
    return {process: sum(process.info["cpu_times"][:2]) for process in others if process.info["cpu_times"]}


def _others_since(begin_s: float, before: dict[psutil.Process, float]) -> str:
    elapsed_s = time.monotonic() - begin_s
    shares = {
        process: (seconds - before.get(process, 0.0)) / elapsed_s
        for process, seconds in _seconds_of_others().items()
        if process in before or process.create_time() > time.time() - elapsed_s
    }
    lines = [
        f"{process.info['name']} (pid {process.pid}): {shares[process]:.0%} of a CPU"
        for process in sorted(shares, key=shares.__getitem__, reverse=True)[:_MAX_LINES]
        if shares[process] > _MIN_SHARE
    ]
    return "\n".join(lines) or "nobody"
