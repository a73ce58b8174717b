"""The command line, run in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from noisewatch.surfaces.cli import main
from tests.surfaces.running import Ran, Run, quiet_tree


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unchanged_tree: Path
) -> Run:
    """Run `noisewatch` with the given arguments, on a terminal of 100 columns with the full character set.

    A mapping among the arguments is a machine: the `--sysroot` of the quiet machine with these files changed, and
    without the files that are None.
    """
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    trees = {"{}": unchanged_tree}

    def words_of(argument: str | Path | Mapping[str, str | None]) -> list[str]:
        if not isinstance(argument, Mapping):
            return [str(argument)]
        if str(argument) not in trees:
            trees[str(argument)] = quiet_tree(tmp_path, argument, f"machine-{len(trees)}")
        return ["--sysroot", str(trees[str(argument)])]

    def noisewatch(*arguments: str | Path | Mapping[str, str | None]) -> Ran:
        words = [word for argument in arguments for word in words_of(argument)]
        capsys.readouterr()
        allowed = os.sched_getaffinity(0)
        status = main(words)
        os.sched_setaffinity(0, allowed)  # a command that measures has pinned this process
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return noisewatch
