"""Commands that tests run in a separate wrapper, to check its signals and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from noisewatch.machine.command import load_launching, python_launching
from noisewatch.machine.spinning.loops import NATIVE, PYTHON
from tests.plumbing.waiting import wait_until

CORES = [PYTHON] if load_launching(NATIVE) is python_launching else [NATIVE, PYTHON]
with_all_cores = pytest.mark.parametrize("core", CORES)
_WRAPPER = [sys.executable, "-m", "tests.machine.command.wrapper"]
ROOT = Path(__file__).parents[3]


def wrap(core: str, command: Iterable[str], **options: object) -> list[str]:
    """Return the command line that runs `command` in a wrapper."""
    return [*_WRAPPER, json.dumps({"core": core, **options}), *command]


def run(argv: list[str], env: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in the folder where the wrapper is found."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env=env, timeout=30, **options)


class RunningWrapper:
    """A wrapper of a shell script, as a context manager that waits until the script has printed `ready`."""

    def __init__(
        self,
        core: str,
        folder: Path,
        script: str,
        *,
        prefix: tuple[str, ...] = (),
        terminal: int | None = None,
        **options: Any,
    ) -> None:
        """Start the wrapper. `terminal` is its standard input and controlling terminal."""
        self._report, begun = folder / "report", folder / "begun"
        self._output = folder / "output"
        argv = wrap(core, ["sh", "-c", script], report=str(self._report), begun=str(begun), **options)
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [*(("setsid", "--ctty") if terminal is not None else ()), *prefix, *argv],
                cwd=ROOT,
                stdin=terminal,
                stdout=output,
                stderr=output,
                # A group of its own, but in our session: the kernel ignores SIGTSTP in an orphaned group.
                process_group=0 if terminal is None else None,
            )
        self._begun = begun

    def __enter__(self) -> RunningWrapper:
        wait_until(lambda: "ready" in self.output and bool(self.pids))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def output(self) -> str:
        """The output of the command."""
        return self._output.read_text()

    @property
    def pids(self) -> list[int]:
        """The PIDs of the commands, in the order of their start."""
        return [int(line) for line in self._begun.read_text().splitlines()] if self._begun.exists() else []

    def signal(self, number: int) -> None:
        """Send a signal to the wrapper alone."""
        os.kill(self.process.pid, number)

    def end(self) -> dict[str, Any]:
        """Wait for the end. Return the report of the last run."""
        self.process.wait(timeout=20)
        return self.reports[-1]

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of the runs, in order."""
        return [json.loads(line) for line in self._report.read_text().splitlines()]


def state_of(pid: int) -> str:
    """Return the state as in /proc/PID/stat: R, S, D, T (stopped) or Z."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
