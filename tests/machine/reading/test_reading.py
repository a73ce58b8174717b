"""Rereading of many files in one call: both cores return the same, and only changed files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisewatch.machine.reading import load_reading, python_reading
from noisewatch.machine.reading.python_reading import AT, IS_GIVEN_UP, PROGRESS_WORDS, SINCE_NS
from noisewatch.machine.spinning.loops import CHOICE, NATIVE, PYTHON

_CORES = [python_reading] if load_reading(NATIVE) is python_reading else [python_reading, load_reading(NATIVE)]
_LARGEST = 1 << 20
_TEXTS = st.lists(st.sampled_from([b"", b"LOC: 1", b"LOC: 2", b" 24: 1 2"]), max_size=6).map(b"\n".join)


def _progress() -> memoryview:
    return memoryview(bytearray(8 * PROGRESS_WORDS)).cast("q")


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    """Three open files."""
    opened = [os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in "abc"]
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, content, 0)


def test_environment_declines_the_compiled_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, PYTHON)
    assert load_reading() is python_reading


@pytest.mark.parametrize("core", _CORES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.tuples(st.none() | _TEXTS, _TEXTS), min_size=3, max_size=3))
def test_only_changed_files_are_returned(
    core: ModuleType, descriptors: list[int], contents: list[tuple[bytes | None, bytes]]
) -> None:
    kept = []
    for descriptor, (before, after) in zip(descriptors, contents, strict=True):
        _write(descriptor, after)
        kept.append((descriptor, before))
    assert core.reread(kept, _progress(), _LARGEST) == [
        (at, after) for at, (before, after) in enumerate(contents) if after != before
    ]


@pytest.mark.parametrize("core", _CORES)
def test_longer_and_truncated_files_are_returned_whole(core: ModuleType, descriptors: list[int]) -> None:
    contents = [b"x" * 300_000, b"y"]
    for descriptor, content in zip(descriptors, contents, strict=False):
        _write(descriptor, content)
    kept = [(descriptors[0], b"x" * 10), (descriptors[1], b"y" * 300_000)]
    assert core.reread(kept, _progress(), _LARGEST) == list(enumerate(contents))


@pytest.mark.parametrize("core", _CORES)
def test_unreadable_file_has_its_error_and_the_others_are_read(core: ModuleType, descriptors: list[int]) -> None:
    read_end, write_end = os.pipe()
    _write(descriptors[0], b"now")
    _write(descriptors[1], b"x" * 11)
    kept = [(read_end, b""), (descriptors[1], b""), (descriptors[0], b"before")]
    assert core.reread(kept, _progress(), 10) == [(0, errno.ESPIPE), (1, errno.EFBIG), (2, b"now")]
    os.close(read_end)
    os.close(write_end)


@pytest.mark.parametrize("core", _CORES)
def test_closed_files_are_read_at_their_paths(core: ModuleType, tmp_path: Path) -> None:
    path, missing, folder = (os.fsencode(tmp_path / name) for name in ("file", "missing", "folder"))
    Path(os.fsdecode(path)).write_text("now")
    Path(os.fsdecode(folder)).mkdir()
    kept = [(path, b"now"), (path, b"before"), (missing, b"before"), (missing, None), (path, None), (folder, None)]
    expected = [(1, b"now"), (2, errno.ENOENT), (4, b"now"), (5, errno.EISDIR)]
    open_count = len(os.listdir("/proc/self/fd"))
    assert core.reread(kept, _progress(), _LARGEST) == expected
    assert len(os.listdir("/proc/self/fd")) == open_count


@pytest.mark.parametrize("core", _CORES)
def test_progress_shows_the_current_file_and_its_start(core: ModuleType, descriptors: list[int]) -> None:
    progress = _progress()
    core.reread([(descriptor, b"") for descriptor in descriptors], progress, _LARGEST)
    assert progress[AT] == 2
    assert progress[SINCE_NS] > 0


@pytest.mark.parametrize("core", _CORES)
def test_abandoned_reading_reads_no_more_files(core: ModuleType, descriptors: list[int]) -> None:
    progress = _progress()
    progress[IS_GIVEN_UP] = 1
    _write(descriptors[0], b"now")
    assert core.reread([(descriptors[0], b"before")], progress, _LARGEST) == []


@given(_TEXTS, _TEXTS)
def test_both_cores_return_the_same_changed_lines(before: bytes, after: bytes) -> None:
    first, *others = (core.changed_lines(before, after) for core in _CORES)
    assert all(lines == first for lines in others)
    if first is not None:
        assert {number: after[begin:end] for number, begin, end in first} == {
            number: new
            for number, (old, new) in enumerate(zip(before.split(b"\n"), after.split(b"\n"), strict=True))
            if old != new
        }


_WORDS = st.lists(st.sampled_from(["0", "17", "9" * 18, "9" * 19, "1x", "-1", "x:", "edge"]), max_size=5)
_BLANK = st.sampled_from([" ", "   ", "\t", "\x0b", ""])


@given(_WORDS, _BLANK, st.integers(0, 4))
def test_both_cores_return_the_same_counts_and_end_of_counts(words: list[str], blank: str, count: int) -> None:
    text = f"LOC:{blank}{(blank or ' ').join(words)}{blank}".encode()
    first, *others = (core.counts(text, 4, len(text), count) for core in _CORES)
    assert all(counts == first for counts in others)
    fields = text[4:].decode().split(None, count)
    if len(fields) < count or not all(word.isdecimal() and len(word) <= 18 for word in fields[:count]):
        assert first is None
    else:
        rest = fields[count] if len(fields) > count else ""
        assert first == (tuple(map(int, fields[:count])), len(text) - len(rest))
