"""The kernel's trace; and a test that fails says who else was at work meanwhile: on a busy host it may be theirs."""

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
_MOST = 5
_LEAST_SHARE = 0.02


@pytest.fixture(scope="module")
def tracefs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the mount point of tracefs, and mount it for the tests of a module if it is not mounted."""
    if os.geteuid() != 0:
        pytest.skip("tracing is for root")
    found = find_tracefs(Path(MOUNTS).read_text())
    place = found or tmp_path_factory.mktemp("tracefs")
    if found is None and subprocess.run(["mount", "-t", "tracefs", "tracefs", place], check=False).returncode:
        pytest.skip("this kernel has no tracefs")
    yield place
    if found is None:
        subprocess.run(["umount", "--lazy", place], check=True)  # another noisewatch may have found it, and be using it


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
    """The CPU time of each process that neither runs these tests nor was started by them."""
    tests = {os.getpid(), *(each.pid for each in psutil.Process().children(recursive=True))}
    found = psutil.process_iter(["name", "cpu_times"])
    return {each: sum(each.info["cpu_times"][:2]) for each in found if each.pid not in tests and each.info["cpu_times"]}


def _others_since(begin_s: float, before: dict[psutil.Process, float]) -> str:
    elapsed_s = time.monotonic() - begin_s
    shares = {
        each: (seconds - before.get(each, 0.0)) / elapsed_s
        for each, seconds in _seconds_of_others().items()
        if each in before or each.create_time() > time.time() - elapsed_s
    }
    most = sorted((each for each in shares if shares[each] > _LEAST_SHARE), key=shares.__getitem__, reverse=True)
    lines = [f"{each.info['name']} (pid {each.pid}): {shares[each]:.0%} of a CPU" for each in most[:_MOST]]
    return "\n".join(lines) or "nobody"
