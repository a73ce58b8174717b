"""What the user names as a file and is none is refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.machine.regular_files import read_small


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2048)
    assert read_small(path, 2048, "a list") == b"x" * 2048
    with pytest.raises(UsageError, match=f"{path}: larger than 1 KiB, so not a list"):
        read_small(path, 1024, "a list")


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match=f"{path}: not a regular file, so not a list"):
            read_small(path, 1024, "a list")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such file"):
        read_small(tmp_path / "none", 1024, "a list")
