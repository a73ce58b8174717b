"""Runs helper processes of noisewatch in an interpreter that loads no more than they need."""

from __future__ import annotations

import os
import subprocess
import sys

import noisewatch

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(noisewatch.__file__)))


def bare_interpreter(module: str, *arguments: str) -> list[str]:
    """Return the command that calls the module's `main`; its `sys.argv[1:]` are the arguments."""
    boot = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", boot, _ROOT, *arguments]


def end_host(host: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Close the standard input of the `host` process, which ends it and its children; kill it after a timeout."""
    if host.stdin is not None:
        host.stdin.close()
    try:
        host.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        host.kill()  # its children notice its end
