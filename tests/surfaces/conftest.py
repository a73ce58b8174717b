"""The command line, run in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.surfaces.cli import main
from tests.surfaces.running import Ran, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`noisewatch` with the given arguments, on 100 columns of a terminal with all signs."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")

    def noisewatch(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        status = main([str(each) for each in arguments])
        said = capsys.readouterr()
        return Ran(status, said.out, said.err)

    return noisewatch
