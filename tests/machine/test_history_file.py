"""The history file of a host's measurements: appending, reading back, damaged files, files of other programs."""

from __future__ import annotations

import fcntl
import os
import pwd
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from noisewatch.errors import UsageError
from noisewatch.machine.history_file import append_entry, read_store, usual_path


def _entry(number: int, **others: Any) -> dict[str, Any]:
    return {"kind": "test", "number": number, **others}


def _numbers(path: Path) -> list[int]:
    return [entry["number"] for entry in read_store(path).entries]


def test_entries_are_read_in_the_order_of_appending(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.jsonl"
    assert read_store(path).entries == []
    for number in range(3):
        append_entry(path, _entry(number, name="a\nb"))
    assert _numbers(path) == [0, 1, 2]
    assert len(path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("torn", [b'{"number": 1, "na', b"\xff\x00", b"[" * 100_000, b"7", b'{"number": 1}', b"\n\n"])
def test_torn_line_is_skipped_and_the_next_one_is_complete(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "history.jsonl"
    append_entry(path, _entry(0))
    path.write_bytes(path.read_bytes() + torn)
    append_entry(path, _entry(2))
    assert _numbers(path) == [0, 2]


def test_many_threads_may_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    threads = [threading.Thread(target=append_entry, args=(path, _entry(number))) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_numbers(path)) == list(range(20))


def test_unselected_lines_are_skipped_and_the_newest_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for number in range(4):
        append_entry(path, _entry(number))
    with path.open("a") as file:
        file.write("torn\n")
    lines: list[bytes] = []

    def is_selected(line: bytes) -> bool:
        lines.append(line)
        return b"1" not in line

    store = read_store(path, is_selected)
    assert [entry["number"] for entry in store.entries] == [0, 2, 3]
    assert (store.numbers, store.damaged) == ([1, 3, 4], [5])
    assert lines[1] == b"torn"


def test_append_to_a_full_disk_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_entry(path, _entry(0))
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(UsageError, match="file too large"):
            append_entry(path, _entry(1, text="x" * 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before, "not even the part that fitted"


def test_two_processes_may_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    program = (
        "import sys; from pathlib import Path; from noisewatch.machine.history_file import append_entry\n"
        "for number in range(40):\n"
        "    append_entry(Path(sys.argv[1]), {'kind': 'test', 'number': number, 'text': 'x' * 5000})"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert sorted(_numbers(path)) == sorted([*range(40), *range(40)])
    assert read_store(path).damaged == []


@pytest.mark.parametrize("foreign", [b"# notes\n", b"root:x:0:0::/root:/bin/sh\n", b'[1]\n{"a": 1}\n7\n', b"{}", b"\0"])
def test_file_of_another_program_is_neither_read_nor_changed(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(foreign)
    for touch in (read_store, lambda path: append_entry(path, _entry(1))):
        with pytest.raises(UsageError, match="not a history of noisewatch"):
            touch(path)
    assert path.read_bytes() == foreign


@pytest.mark.parametrize("empty", [b"", b"\n", b" \n\n"])
def test_empty_file_is_a_new_history(tmp_path: Path, empty: bytes) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(empty)
    append_entry(path, _entry(1))
    assert _numbers(path) == [1]


def test_unreadable_or_unwritable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        read_store(tmp_path)
    with pytest.raises(UsageError, match="is a directory"):
        append_entry(tmp_path, _entry(1))
    with pytest.raises(UsageError, match="not a directory"):
        append_entry(Path(os.devnull) / "folder" / "history.jsonl", _entry(1))


def test_pipe_or_device_is_an_error_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull), Path("/dev/zero")):
        with pytest.raises(UsageError, match="not a regular file"):
            read_store(path)
        with pytest.raises(UsageError, match="not a regular file"):
            append_entry(path, _entry(1))


def test_append_to_a_locked_file_is_an_error_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_entry(path, _entry(0))
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="keeps it locked"):
            append_entry(path, _entry(1))
    assert _numbers(path) == [0]


def test_default_path_is_the_machines_for_root_and_otherwise_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert usual_path() == Path("/var/lib/noisewatch/history.jsonl")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert usual_path() == Path("/state/noisewatch/history.jsonl")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert usual_path() == Path("/home/somebody/.local/state/noisewatch/history.jsonl")


def test_user_without_a_home_has_to_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(pwd, "getpwuid", raise_unknown)
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="--history: no home directory is known"):
        usual_path()
