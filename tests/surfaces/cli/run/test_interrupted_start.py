"""Ctrl-C while noisewatch is still being imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_INTERRUPTS = """
import os, signal, sys

class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
"""


def _start(folder: Path, module: str, handling: signal.Handlers) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(_INTERRUPTS.format(module=module))
    words = [sys.executable, "-m", "noisewatch", "run", "--calibration", "0", "--", "echo", "ran"]
    return subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, handling),
    )


@pytest.mark.parametrize("module", ["noisewatch.surfaces.cli", "noisewatch.errors"])
def test_it_ends_as_any_program_does(tmp_path: Path, module: str) -> None:
    ended = _start(tmp_path, module, signal.SIG_DFL)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_later_it_is_handled(tmp_path: Path) -> None:
    ended = _start(tmp_path, "noisewatch.operations.run.series", signal.SIG_DFL)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGINT, "", "")


def test_where_it_was_ignored_it_stays_ignored(tmp_path: Path) -> None:
    ended = _start(tmp_path, "noisewatch.surfaces.cli", signal.SIG_IGN)
    assert (ended.returncode, ended.stdout) == (0, "ran\n")
