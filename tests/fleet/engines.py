"""Real engines, started by a test and surely ended with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

_ADMINISTRATORS_TOO = os.pathsep.join((os.defpath, "/usr/local/sbin", "/usr/sbin", "/sbin"))
_ENDS_WITHIN_S = 10.0
ASKS_EVERY_S = 0.2  # an engine, which is slower than a look at a file


def program(name: str) -> str:
    """Return the path of the program, or skip the test if it is not installed."""
    found = shutil.which(name, path=_ADMINISTRATORS_TOO)
    if found is None:
        pytest.skip(f"{name} is not installed: tests/fleet/set_up")
    return found


@contextmanager
def started(
    command: list[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the foreground, whose output goes to a file; asked to end, then killed."""
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env={**os.environ, **(environment or {})}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
