"""Real engines, started by a test and ended with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

_SEARCH_PATH = os.pathsep.join((os.defpath, "/usr/local/sbin", "/usr/sbin", "/sbin"))
_END_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.2  # of the state of an engine, which is slow to query


def program(name: str) -> str:
    """Return the path of the program, or skip the test if it is not installed."""
    path = shutil.which(name, path=_SEARCH_PATH)
    if path is None:
        pytest.skip(f"{name} is not installed: tests/fleet/set_up")
    return path


@contextmanager
def run_engine(
    command: list[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process with its output in a file; terminate it at the end, and kill it after a timeout."""
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env={**os.environ, **(environment or {})}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
