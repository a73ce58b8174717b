"""A series of repetitions on this host, with a hog in one of them: `pytest -m live`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.hog_in_a_run import BUSY, IDLE, SEVENTH, run_with_a_hog

pytestmark = pytest.mark.live


@pytest.mark.parametrize("work", [BUSY, IDLE])
def test_the_repetition_with_a_hog_is_found_and_the_hog_is_named(work: str, tmp_path: Path) -> None:
    found = run_with_a_hog(tmp_path, work, "--calibration", "0")
    assert found.blamed == [SEVENTH]
