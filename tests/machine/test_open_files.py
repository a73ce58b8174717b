"""Files that are kept open between readings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from noisewatch.machine.open_files import OpenFiles, read_file


def _open_count() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_file_that_changes_is_read_as_it_is_each_time(tmp_path: Path) -> None:
    files, path = OpenFiles(), tmp_path / "file"
    contents = []
    for number in range(4):
        path.write_text(f"reading {number}")
        contents.append(files.read(str(path)))
    assert contents == [b"reading 0", b"reading 1", b"reading 2", b"reading 3"]


def test_only_what_is_read_again_is_kept_open(tmp_path: Path) -> None:
    files, path = OpenFiles(), tmp_path / "file"
    path.write_text("text")
    before = _open_count()
    files.read(str(path))
    assert _open_count() == before
    files.read(str(path))
    files.read(str(path))
    assert _open_count() == before + 1


def test_no_more_than_some_are_kept_open(tmp_path: Path) -> None:
    files, before = OpenFiles(), _open_count()
    for number in range(300):
        (tmp_path / str(number)).write_text("text")
        files.read(f"{tmp_path}/{number}")
        files.read(f"{tmp_path}/{number}")
    assert _open_count() == before + 256


def test_the_file_of_a_process_that_ended_is_gone_though_it_is_kept_open() -> None:
    files = OpenFiles()
    with subprocess.Popen(["sleep", "60"]) as child:
        path = f"/proc/{child.pid}/schedstat"
        assert len([files.read(path) for _ in range(3)]) == 3
        child.kill()
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        files.read(path)


def test_a_large_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 3_000_001)
    files = OpenFiles()
    assert {len(files.read(str(path))) for _ in range(3)} == {3_000_001}
    assert len(read_file(str(path))) == 3_000_001


def test_a_missing_file_is_missing_each_time(tmp_path: Path) -> None:
    files = OpenFiles()
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            files.read(str(tmp_path / "missing"))
