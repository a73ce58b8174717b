"""The history of a host, shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.reports.history.store import History, written
from tests.surfaces.running import Ran, Run


@pytest.fixture
def history(run: Run, tmp_path: Path) -> History:
    """`noisewatch history` of these lines, or of the file at a path."""

    def shown(lines: list[Any] | str | Path, *options: str) -> Ran:
        path = written(tmp_path, lines) if isinstance(lines, list) else lines
        ran = run("history", *options, "--file", path)
        assert ran.status == 0
        return ran

    return shown
