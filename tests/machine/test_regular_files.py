"""Files named by the user are refused at once if they are not regular files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.machine.regular_files import read_small


def test_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2048)
    assert read_small(path, 2048, "a list") == b"x" * 2048
    with pytest.raises(UsageError, match=f"{path}: larger than 1 KiB, so not a list"):
        read_small(path, 1024, "a list")


def test_irregular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match=f"{path}: not a regular file, so not a list"):
            read_small(path, 1024, "a list")


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such file"):
        read_small(tmp_path / "none", 1024, "a list")
