"""A fixture that runs `noisewatch compare`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.reports.compare.documents import Compare, written
from tests.surfaces.running import Ran, Run


@pytest.fixture
def compare(run: Run, tmp_path: Path) -> Compare:
    """Return a function that compares two documents, or two lists of lines."""

    def run_compare(before: object, after: object, *options: str) -> Ran:
        files = written(tmp_path / "before", before), written(tmp_path / "after", after)
        return run("compare", *files, *options)

    return run_compare
