"""A process that takes a trace's instances away if the one that made them is killed.

It sleeps at the end of a pipe, in a session of its own, so that what ends a terminal's processes, or a group of them,
leaves it alone. The end of the pipe without a farewell is the other's death. Where it is killed as well, as with a
whole container, whoever comes next removes what is left (trace_instances.py).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import noisewatch
from noisewatch.errors import CannotMeasure
from noisewatch.machine.tracefs.instances import instance_path, remove_all_of

NAME = "noisewatch-wait"  # 15 bytes
_READY, _FAREWELL = b"r", b"f"
_READY_WITHIN_S = 10.0  # an interpreter without libraries takes 0.05 s
_ENDS_WITHIN_S = 2.0
_REMOVES_WITHIN_S = 10.0  # the dying process may hold its buffers open for a moment longer than the pipe
_TRY_AGAIN_S = 0.02
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from noisewatch.machine.tracefs.watcher import main; main()"


class Watcher:
    """A context manager, around all instances that this process makes meanwhile. Raises CannotMeasure."""

    def __init__(self, tracefs: Path) -> None:
        self._tracefs = tracefs
        self._owner = instance_path(tracefs, "").name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        root = str(Path(noisewatch.__file__).resolve().parent.parent)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BOOT, root, str(self._tracefs), self._owner],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotMeasure(
                f"cannot start the trace's watcher: {(error.strerror or str(error)).lower()}"
            ) from error
        if not self._is_ready(self._process):
            self._end()
            raise CannotMeasure("the trace's watcher did not start")
        return self

    @property
    def pid(self) -> int | None:
        """The process; None before and after."""
        return self._process.pid if self._process is not None else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def _is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """It is waited for: to start would be noise in what is traced."""
        said = process.stdout
        if said is None or not select.select([said], [], [], _READY_WITHIN_S)[0]:
            return False
        return said.read(1) == _READY

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):  # it has been killed
            if process.stdin is not None and remove_all_of(self._tracefs, self._owner):
                process.stdin.write(_FAREWELL)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Waits for the end of standard input; `argv` has the tracefs, and what the names of the instances begin with."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a service that is stopped tells all of its processes at once
    with suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    os.write(1, _READY)
    if os.read(0, 1) == _FAREWELL:
        return
    tracefs, owner = Path(sys.argv[2]), sys.argv[3]
    give_up_s = time.monotonic() + _REMOVES_WITHIN_S
    while not remove_all_of(tracefs, owner) and time.monotonic() < give_up_s:
        time.sleep(_TRY_AGAIN_S)
