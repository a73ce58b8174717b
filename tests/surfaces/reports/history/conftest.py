"""A fixture that runs `noisewatch history`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.reports.history.store import History, write_history
from tests.surfaces.running import Ran, Run


@pytest.fixture
def history(run: Run, tmp_path: Path) -> History:
    """Return a function that runs `noisewatch history` on lines or on the file at a path."""

    def run_history(lines: list[Any] | str | Path, *options: str) -> Ran:
        path = write_history(tmp_path, lines) if isinstance(lines, list) else lines
        ran = run("history", *options, "--file", path)
        assert ran.status == 0
        return ran

    return run_history
