"""A running machine of the lab, which executes shell commands one after the other."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests import CHECKOUT
from tests.lab.machine import Variant, lab_command

_BOOT_TIMEOUT_S = 180.0
_COMMAND_TIMEOUT_S = 300.0
_BIN = Path(__file__).with_name("bin")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command."""

    status: int
    out: str
    err: str


class LabFailed(Exception):
    """The machine did not boot, or does not answer."""


class Lab:
    """A machine as a context manager. It shares the scratch folder with this host."""

    def __init__(self, variant: Variant, image: Path) -> None:
        self.variant = variant
        self._folder = tempfile.TemporaryDirectory(prefix="noisewatch-lab-")
        self.scratch = Path(self._folder.name)
        self._count = 0
        self._console = open(self.scratch / "console", "wb")  # noqa: SIM115 - closed with the machine
        self._process = subprocess.Popen(
            lab_command(variant, image, self.scratch),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._console,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        try:
            self._expect("ready", _BOOT_TIMEOUT_S)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(self, command: str, timeout_s: float = _COMMAND_TIMEOUT_S) -> Result:
        """Run a command with the checkout's virtual environment.

        Raise LabFailed if it does not end in time, or if the machine has ended.
        """
        self._count += 1
        script, out, err = (self.scratch / f"{self._count}.{kind}" for kind in ("sh", "out", "err"))
        script.write_text(
            f"export PATH={sys.prefix}/bin:{_BIN}:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=xterm-256color\n"
            f"export LANG=C.UTF-8 TMPDIR={self.scratch} PYTHONPATH={CHECKOUT}\ncd {self.scratch}\n{command}\n"
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{self._count}\n")
        except OSError as error:
            raise LabFailed(f"the machine is gone: {self._failure_report()}") from error
        status = self._expect(str(self._count), timeout_s)
        return Result(int(status), out.read_text(errors="replace"), err.read_text(errors="replace"))

    def do(self, command: str) -> str:
        """Return the output of a command that must succeed."""
        result = self.run(command)
        assert result.status == 0, f"{command}: {result}"
        return result.out

    def start(self, command: str) -> int:
        """Start a command in the background, and return its PID. Its output goes to a log in the scratch folder."""
        log = self.scratch / f"background-{self._count}.log"
        return int(self.do(f"setsid sh -c {_quote('exec ' + command)} </dev/null >{log} 2>&1 & echo $!"))

    def stop(self, pid: int, name: str = "KILL") -> None:
        """End a process of `start` and its process group, and wait for its end."""
        self.run(f"kill -{name} -{pid} 2>/dev/null; while [ -d /proc/{pid} ]; do sleep 0.1; done")

    def read(self, path: str) -> str:
        return self.do(f"cat {path}").strip()

    def write(self, path: str, value: str | int) -> None:
        self.do(f"echo {value} > {path}")

    def preflight(self, options: str = "--sample 2 --no-calibration", group: str | None = None) -> dict[str, Any]:
        """Return the report of `noisewatch preflight --format json`, run in the cgroup `group` if one is given.

        The lab represents bare metal, so the profile is not that of a virtual machine.
        """
        enter = f"echo $$ > {group}/cgroup.procs; " if group is not None else ""
        profile = "" if "--profile" in options else "--profile micro"
        result = self.run(f"{enter}exec noisewatch preflight {options} {profile} --format json")
        assert result.out, f"preflight {options} printed nothing: {result}"
        report: dict[str, Any] = json.loads(result.out)
        assert report["exit_status"] == result.status
        return report

    def show(self) -> dict[str, Any]:
        """Return the output of `noisewatch show --format json`."""
        machine: dict[str, Any] = json.loads(self.do("noisewatch show --format json"))
        return machine

    def close(self) -> None:
        """Shut the machine down, and kill it if it does not stop."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._console.close()
        self._folder.cleanup()

    def _expect(self, word: str, timeout_s: float) -> str:
        """Return the rest of the next line, which must begin with `word`."""
        assert self._process.stdout is not None
        timer = threading.Timer(timeout_s, os.killpg, (self._process.pid, signal.SIGKILL))
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        first, _, rest = line.strip().partition(" ")
        if first != word:
            raise LabFailed(f"waited {timeout_s:g} s for {word!r}, got {line!r}: {self._failure_report()}")
        return rest

    def _failure_report(self) -> str:
        names = (f"{self._count}.sh", f"{self._count}.out", f"{self._count}.err", "console")
        paths = [self.scratch / name for name in names if (self.scratch / name).exists()]
        texts = [f"{path.name}: {path.read_text(errors='replace')[-1000:]}" for path in paths]
        status = self._process.poll()
        return "\n".join([*texts, "QEMU runs" if status is None else f"QEMU ended with status {status}"])


def _quote(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"
