"""Writes to files of this host, reported as they happen."""

from __future__ import annotations

from pathlib import Path

from noisewatch.machine.file_changes import FileChanges
from tests.plumbing.waiting import wait_until


def test_write_by_any_process_is_reported_until_the_watch_is_closed(tmp_path: Path) -> None:
    file, other = tmp_path / "state", tmp_path / "other"
    file.write_text("THAWED\n")
    other.write_text("\n")
    reported: list[str] = []
    changes = FileChanges(reported.append)
    assert changes.watch(str(file))
    assert changes.watch(str(file))
    other.write_text("1\n")
    with file.open("r+") as opened:
        opened.write("FROZEN\n")
    wait_until(lambda: bool(reported))
    changes.close()
    assert reported == [str(file)]


def test_recreated_file_is_watched_again(tmp_path: Path) -> None:
    file = tmp_path / "state"
    reported: list[str] = []
    changes = FileChanges(reported.append)

    def is_written_and_reported() -> bool:
        changes.watch(str(file))
        file.write_text("\n")
        return bool(reported)

    file.write_text("\n")
    wait_until(is_written_and_reported)
    file.unlink()
    reported.clear()
    file.write_text("\n")
    wait_until(is_written_and_reported)
    changes.close()


def test_missing_file_is_not_watched(tmp_path: Path) -> None:
    reported: list[str] = []
    changes = FileChanges(reported.append)
    assert not changes.watch(str(tmp_path / "none"))
    changes.close()
