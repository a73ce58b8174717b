"""Files that are kept open between readings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from noisewatch.machine.reading.kept_files import KeptFiles, ReadProgress, read_file


def _open_count() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_changing_file_is_read_anew_each_time(tmp_path: Path) -> None:
    files, path = KeptFiles(("/",)), tmp_path / "file"
    contents = []
    for number in range(4):
        path.write_text(f"reading {number}")
        contents.append(files.read(str(path)))
    assert contents == [b"reading 0", b"reading 1", b"reading 2", b"reading 3"]


def test_only_files_that_are_read_again_are_kept_open(tmp_path: Path) -> None:
    files, path = KeptFiles(("/",)), tmp_path / "file"
    path.write_text("text")
    before = _open_count()
    files.read(str(path))
    assert _open_count() == before
    files.read(str(path))
    files.read(str(path))
    assert _open_count() == before + 1


def test_number_of_files_kept_open_is_bounded(tmp_path: Path) -> None:
    files, before = KeptFiles(("/",), most=20), _open_count()
    for number in range(30):
        (tmp_path / str(number)).write_text("text")
        files.read(f"{tmp_path}/{number}")
        files.read(f"{tmp_path}/{number}")
    assert _open_count() == before + 20


def test_file_of_an_ended_process_is_missing_although_it_is_open() -> None:
    files = KeptFiles(("/",))
    with subprocess.Popen(["sleep", "60"]) as child:
        path = f"/proc/{child.pid}/schedstat"
        assert len([files.read(path) for _ in range(3)]) == 3
        child.kill()
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        files.read(path)


def test_large_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 3_000_001)
    files = KeptFiles(("/",))
    assert {len(files.read(str(path))) for _ in range(3)} == {3_000_001}
    assert len(read_file(str(path))) == 3_000_001


def test_missing_file_is_missing_each_time(tmp_path: Path) -> None:
    files = KeptFiles(("/",))
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            files.read(str(tmp_path / "missing"))


def test_files_are_reread_together_except_excluded_ones(tmp_path: Path) -> None:
    files, paths = KeptFiles(("/",)), [str(tmp_path / name) for name in "abcd"]
    for path in paths:
        Path(path).write_text("before")
    for path in (*paths[:2], *paths[:3]):
        files.read(path)
    for path in (paths[1], paths[3]):
        Path(path).write_text("after!")
    known = [(path, b"before") for path in paths]
    expected = [(1, b"after!"), (2, None), (3, b"after!")]
    assert sorted(files.reread(known, ReadProgress())) == expected
    assert sorted(files.reread(known[:3], ReadProgress(), skipped={paths[1]})) == [(1, None), (2, None)]


def test_file_that_is_not_kept_is_opened_and_closed_for_rereading(tmp_path: Path) -> None:
    files, before = KeptFiles(("/",), most=0), _open_count()
    path, missing = tmp_path / "file", str(tmp_path / "missing")
    path.write_text("text")
    known = [(str(path), b"text"), (str(path), b"before"), (missing, b"text"), (missing, None), (str(path), None)]
    for _ in range(3):
        assert sorted(files.reread(known, ReadProgress())) == [(1, b"text"), (2, None), (4, b"text")]
    assert _open_count() == before


def test_file_of_an_ended_process_is_closed() -> None:
    files, before = KeptFiles(), _open_count()
    with subprocess.Popen(["sleep", "60"]) as child:
        path = f"/proc/{child.pid}/schedstat"
        for _ in range(2):
            files.read(path)
        child.kill()
    assert files.reread([(path, b"")], ReadProgress()) == [(0, None)]
    assert _open_count() == before


def test_file_that_may_be_replaced_is_not_kept(tmp_path: Path) -> None:
    files, path = KeptFiles(), tmp_path / "file"
    path.write_text("before")
    assert {files.read(str(path)) for _ in range(3)} == {b"before"}
    (tmp_path / "other").write_text("after")
    (tmp_path / "other").rename(path)
    assert files.read(str(path)) == b"after"


def test_file_that_was_not_read_recently_makes_room_for_another(tmp_path: Path) -> None:
    files, before = KeptFiles(("/",), most=1), _open_count()
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        Path(path).write_text("text")
    for _ in range(2):
        files.read(paths[0])
    for _ in range(20):
        files.begin_snapshot()
        files.read(paths[1])
    assert _open_count() == before + 1
    assert sorted(files.reread([(path, b"before") for path in paths], ReadProgress())) == [(0, b"text"), (1, b"text")]


def test_all_files_are_closed_with_their_owner(tmp_path: Path) -> None:
    files, before = KeptFiles(("/",)), _open_count()
    for name in "ab":
        (tmp_path / name).write_text("text")
        files.read(str(tmp_path / name))
        files.read(str(tmp_path / name))
    assert _open_count() == before + 2
    del files
    assert _open_count() == before
