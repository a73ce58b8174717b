"""Processes that lock the machine against each other; time limits are far above what they need."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noisewatch.kernel.tasks.machine_lock import parse_lock
from noisewatch.machine.lock_file import HOLD_DEADLINE_S
from tests import CHECKOUT
from tests.plumbing.waiting import wait_until

_LIMIT_S = 60.0  # stops an endless wait
_LONG = "exec sleep 600"


def _lock(path: Path, *options: str) -> str:
    return shlex.join([sys.executable, "-m", "tests.surfaces.cli.locking", str(path), *options])


def _run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a shell that remains the parent of its commands."""
    command = ["sh", "-c", f"{script}\nexit $?"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, timeout=_LIMIT_S)


@contextmanager
def _running_script(script: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a script in the background, and yield once it has signed the lock."""
    process = subprocess.Popen(["sh", "-c", script], cwd=CHECKOUT, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: path.exists() and path.read_text() != "", _LIMIT_S)
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_script_that_locked_may_call_a_script_that_locks_and_stays_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inner = tmp_path / "inner.sh"
    inner.write_text(f"{_lock(path)}\nexit $?\n")
    result = _run(f"{_lock(path)} || exit 9; cp {path} {tmp_path}/first; sh {inner}")
    assert (result.returncode, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first.startswith("stable: locked for this run by sh (pid")
    assert second == first
    assert path.read_text() == (tmp_path / "first").read_text()


def test_a_script_that_becomes_another_program_keeps_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    renamed = tmp_path / "renamed"
    renamed.symlink_to("/bin/sh")
    result = _run(f"{_lock(path)} && exec {renamed} -c {shlex.quote(_lock(path) + '; exit $?')}")
    assert (result.returncode, result.stderr) == (0, "")
    assert "locked for this run" in result.stdout.splitlines()[-1]


def test_the_lock_of_another_process_is_named_and_not_waited_for_forever(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with _running_script(f"{_lock(path)} && {_LONG}", path) as other:
        signed = path.read_text()
        for options in ([], ["--wait", "0.5"], ["--ignore", "machine-locked"]):
            result = _run(_lock(path, *options))
            assert result.returncode == 1
            assert f"unstable: sh (pid {other.pid}) has locked the machine" in result.stdout
            assert "waiting does not change" not in result.stderr  # the end of the holder does
            assert path.read_text() == signed


def test_a_waiting_process_gets_the_lock_when_its_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with _running_script(f"{_lock(path)} && {_LONG}", path) as other:
        waiting = subprocess.Popen(["sh", "-c", f"{_lock(path, '--wait', '50')}\nexit $?"], cwd=CHECKOUT)
        other.kill()  # not reaped yet, so its pid still exists
        assert waiting.wait(timeout=_LIMIT_S) == 0
    owner = parse_lock(path.read_text())
    assert owner is not None
    assert owner.pid == waiting.pid


@pytest.mark.parametrize("options", [["--wait", "0.1"], ["--on-unknown", "pass"]])
def test_a_file_that_another_process_holds_is_not_waited_for_forever(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "lock"
    path.touch()
    start_s = time.monotonic()
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = _run(_lock(path, *options))
    name = Path("/proc/self/comm").read_text().strip()
    assert result.returncode == 3
    assert f"{path}: {name} (pid {os.getpid()}) keeps it locked (flock)" in result.stdout
    assert time.monotonic() - start_s < 2 * HOLD_DEADLINE_S + _LIMIT_S / 2
    assert path.read_text() == ""
