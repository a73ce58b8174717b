"""Writes to files of this host, reported as they happen."""

from __future__ import annotations

from pathlib import Path

from noisewatch.machine.file_changes import FileChanges
from tests.plumbing.waiting import wait_until


def test_a_write_by_anybody_is_reported_until_it_is_closed(tmp_path: Path) -> None:
    file, other = tmp_path / "state", tmp_path / "other"
    file.write_text("THAWED\n")
    other.write_text("\n")
    noted: list[str] = []
    changes = FileChanges(noted.append)
    assert changes.watch(str(file))
    assert changes.watch(str(file))
    other.write_text("1\n")
    with file.open("r+") as opened:
        opened.write("FROZEN\n")
    wait_until(lambda: bool(noted))
    changes.close()
    assert noted == [str(file)]


def test_a_file_that_comes_again_is_watched_again(tmp_path: Path) -> None:
    file = tmp_path / "state"
    noted: list[str] = []
    changes = FileChanges(noted.append)

    def is_written_and_reported() -> bool:
        changes.watch(str(file))
        file.write_text("\n")
        return bool(noted)

    file.write_text("\n")
    wait_until(is_written_and_reported)
    file.unlink()
    noted.clear()
    file.write_text("\n")
    wait_until(is_written_and_reported)
    changes.close()


def test_a_file_that_is_not_there_is_not_watched(tmp_path: Path) -> None:
    noted: list[str] = []
    changes = FileChanges(noted.append)
    assert not changes.watch(str(tmp_path / "none"))
    changes.close()
