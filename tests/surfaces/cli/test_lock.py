"""Who has the machine, by processes that lock it for each other; the limits are far above what each takes."""

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

_LIMIT_S = 60.0  # a loop without an end is found by this
_LONG = "exec sleep 600"


def _lock(path: Path, *options: str) -> str:
    return shlex.join([sys.executable, "-m", "tests.surfaces.cli.locking", str(path), *options])


def _run(script: str) -> subprocess.CompletedProcess[str]:
    """The shell stays between us and what it calls."""
    command = ["sh", "-c", f"{script}\nexit $?"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, timeout=_LIMIT_S)


@contextmanager
def _script(script: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A script that goes on, once it has signed."""
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
    ran = _run(f"{_lock(path)} || exit 9; cp {path} {tmp_path}/first; sh {inner}")
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = ran.stdout.splitlines()
    assert first.startswith("stable: locked for this run by sh (pid")
    assert second == first
    assert path.read_text() == (tmp_path / "first").read_text()


def test_a_script_that_becomes_another_program_keeps_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    renamed = tmp_path / "renamed"
    renamed.symlink_to("/bin/sh")
    ran = _run(f"{_lock(path)} && exec {renamed} -c {shlex.quote(_lock(path) + '; exit $?')}")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "locked for this run" in ran.stdout.splitlines()[-1]


def test_somebody_elses_lock_is_told_and_not_waited_for_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with _script(f"{_lock(path)} && {_LONG}", path) as other:
        signed = path.read_text()
        for options in ([], ["--wait", "0.5"], ["--ignore", "machine-locked"]):
            ran = _run(_lock(path, *options))
            assert ran.returncode == 1
            assert f"unstable: sh (pid {other.pid}) has locked the machine" in ran.stdout
            assert "waiting does not change" not in ran.stderr  # the holder's end does
            assert path.read_text() == signed


def test_a_lock_whose_holder_ends_meanwhile_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with _script(f"{_lock(path)} && {_LONG}", path) as other:
        waiting = subprocess.Popen(["sh", "-c", f"{_lock(path, '--wait', '50')}\nexit $?"], cwd=CHECKOUT)
        other.kill()  # and nobody has asked for its exit status yet: its number is still there
        assert waiting.wait(timeout=_LIMIT_S) == 0
    owner = parse_lock(path.read_text())
    assert owner is not None
    assert owner.pid == waiting.pid


@pytest.mark.parametrize("options", [["--wait", "0.1"], ["--on-unknown", "pass"]])
def test_a_file_that_another_process_holds_is_not_waited_for_without_an_end(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "lock"
    path.touch()
    begun_s = time.monotonic()
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ran = _run(_lock(path, *options))
    name = Path("/proc/self/comm").read_text().strip()
    assert ran.returncode == 3
    assert f"{path}: {name} (pid {os.getpid()}) keeps it locked (flock)" in ran.stdout
    assert time.monotonic() - begun_s < 2 * HOLD_DEADLINE_S + _LIMIT_S / 2
    assert path.read_text() == ""
