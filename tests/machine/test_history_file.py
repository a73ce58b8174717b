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


def test_what_was_appended_is_read_back_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.jsonl"
    assert read_store(path).entries == []
    for number in range(3):
        append_entry(path, _entry(number, name="a\nb"))
    assert _numbers(path) == [0, 1, 2]
    assert len(path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("torn", [b'{"number": 1, "na', b"\xff\x00", b"[" * 100_000, b"7", b'{"number": 1}', b"\n\n"])
def test_a_torn_line_is_passed_over_and_the_next_one_is_whole(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "history.jsonl"
    append_entry(path, _entry(0))
    path.write_bytes(path.read_bytes() + torn)
    append_entry(path, _entry(2))
    assert _numbers(path) == [0, 2]


def test_many_may_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    threads = [threading.Thread(target=append_entry, args=(path, _entry(number))) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_numbers(path)) == list(range(20))


def test_lines_that_are_not_wanted_are_passed_over_and_the_newest_is_asked_of_first(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for number in range(4):
        append_entry(path, _entry(number))
    with path.open("a") as file:
        file.write("torn\n")
    asked: list[bytes] = []

    def is_wanted(line: bytes) -> bool:
        asked.append(line)
        return b"1" not in line

    store = read_store(path, is_wanted)
    assert [entry["number"] for entry in store.entries] == [0, 2, 3]
    assert (store.numbers, store.damaged) == ([1, 3, 4], [5])
    assert asked[1] == b"torn"


def test_on_a_full_disk_nothing_is_written_and_what_was_there_stays(tmp_path: Path) -> None:
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
    running = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert sorted(_numbers(path)) == sorted([*range(40), *range(40)])
    assert read_store(path).damaged == []


@pytest.mark.parametrize("foreign", [b"# notes\n", b"root:x:0:0::/root:/bin/sh\n", b'[1]\n{"a": 1}\n7\n', b"{}", b"\0"])
def test_what_somebody_else_wrote_is_neither_read_nor_touched(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(foreign)
    for touch in (read_store, lambda path: append_entry(path, _entry(1))):
        with pytest.raises(UsageError, match="not a history of noisewatch"):
            touch(path)
    assert path.read_bytes() == foreign


@pytest.mark.parametrize("empty", [b"", b"\n", b" \n\n"])
def test_an_empty_file_is_a_history_that_begins(tmp_path: Path, empty: bytes) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(empty)
    append_entry(path, _entry(1))
    assert _numbers(path) == [1]


def test_what_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        read_store(tmp_path)
    with pytest.raises(UsageError, match="is a directory"):
        append_entry(tmp_path, _entry(1))
    with pytest.raises(UsageError, match="not a directory"):
        append_entry(Path(os.devnull) / "folder" / "history.jsonl", _entry(1))


def test_a_pipe_or_a_device_is_told_and_nobody_waits_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull), Path("/dev/zero")):
        with pytest.raises(UsageError, match="not a regular file"):
            read_store(path)
        with pytest.raises(UsageError, match="not a regular file"):
            append_entry(path, _entry(1))


def test_whoever_keeps_the_file_locked_is_named_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_entry(path, _entry(0))
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="keeps it locked"):
            append_entry(path, _entry(1))
    assert _numbers(path) == [0]


def test_the_usual_place_is_the_machines_for_root_and_else_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert usual_path() == Path("/var/lib/noisewatch/history.jsonl")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert usual_path() == Path("/state/noisewatch/history.jsonl")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert usual_path() == Path("/home/somebody/.local/state/noisewatch/history.jsonl")


def test_a_user_without_a_home_has_to_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="--history: no home directory is known"):
        usual_path()
