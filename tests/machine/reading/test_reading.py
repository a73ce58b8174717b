"""Files that are read again in one call: both cores say the same, and only what changed."""

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


def test_the_environment_declines_the_compiled_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, PYTHON)
    assert load_reading() is python_reading


@pytest.mark.parametrize("core", _CORES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.tuples(st.none() | _TEXTS, _TEXTS), min_size=3, max_size=3))
def test_only_what_says_something_else_comes_back(
    core: ModuleType, descriptors: list[int], contents: list[tuple[bytes | None, bytes]]
) -> None:
    kept = []
    for descriptor, (before, now) in zip(descriptors, contents, strict=True):
        _write(descriptor, now)
        kept.append((descriptor, before))
    assert core.reread(kept, _progress(), _LARGEST) == [
        (at, now) for at, (before, now) in enumerate(contents) if now != before
    ]


@pytest.mark.parametrize("core", _CORES)
def test_a_file_that_grew_and_one_that_was_cut_come_back_whole(core: ModuleType, descriptors: list[int]) -> None:
    contents = [b"x" * 300_000, b"y"]
    for descriptor, content in zip(descriptors, contents, strict=False):
        _write(descriptor, content)
    kept = [(descriptors[0], b"x" * 10), (descriptors[1], b"y" * 300_000)]
    assert core.reread(kept, _progress(), _LARGEST) == list(enumerate(contents))


@pytest.mark.parametrize("core", _CORES)
def test_what_cannot_be_read_has_its_error_and_the_others_are_read(core: ModuleType, descriptors: list[int]) -> None:
    reading, writing = os.pipe()
    _write(descriptors[0], b"now")
    _write(descriptors[1], b"x" * 11)
    kept = [(reading, b""), (descriptors[1], b""), (descriptors[0], b"before")]
    assert core.reread(kept, _progress(), 10) == [(0, errno.ESPIPE), (1, errno.EFBIG), (2, b"now")]
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("core", _CORES)
def test_files_that_are_not_open_are_read_at_their_paths(core: ModuleType, tmp_path: Path) -> None:
    path, missing, folder = (os.fsencode(tmp_path / name) for name in ("file", "missing", "folder"))
    Path(os.fsdecode(path)).write_text("now")
    Path(os.fsdecode(folder)).mkdir()
    kept = [(path, b"now"), (path, b"before"), (missing, b"before"), (missing, None), (path, None), (folder, None)]
    expected = [(1, b"now"), (2, errno.ENOENT), (4, b"now"), (5, errno.EISDIR)]
    open_count = len(os.listdir("/proc/self/fd"))
    assert core.reread(kept, _progress(), _LARGEST) == expected
    assert len(os.listdir("/proc/self/fd")) == open_count


@pytest.mark.parametrize("core", _CORES)
def test_the_progress_says_which_file_and_since_when(core: ModuleType, descriptors: list[int]) -> None:
    progress = _progress()
    core.reread([(descriptor, b"") for descriptor in descriptors], progress, _LARGEST)
    assert progress[AT] == 2
    assert progress[SINCE_NS] > 0


@pytest.mark.parametrize("core", _CORES)
def test_who_was_given_up_reads_nothing_more(core: ModuleType, descriptors: list[int]) -> None:
    progress = _progress()
    progress[IS_GIVEN_UP] = 1
    _write(descriptors[0], b"now")
    assert core.reread([(descriptors[0], b"before")], progress, _LARGEST) == []


@given(_TEXTS, _TEXTS)
def test_both_find_the_same_lines_changed(before: bytes, after: bytes) -> None:
    first, *others = (each.changed_lines(before, after) for each in _CORES)
    assert all(each == first for each in others)
    if first is not None:
        assert {number: after[begin:end] for number, begin, end in first} == {
            number: new
            for number, (old, new) in enumerate(zip(before.split(b"\n"), after.split(b"\n"), strict=True))
            if old != new
        }


_WORDS = st.lists(st.sampled_from(["0", "17", "9" * 18, "9" * 19, "1x", "-1", "x:", "edge"]), max_size=5)
_BLANK = st.sampled_from([" ", "   ", "\t", "\x0b", ""])


@given(_WORDS, _BLANK, st.integers(0, 4))
def test_both_find_the_same_counts_and_what_stands_behind_them(words: list[str], blank: str, count: int) -> None:
    text = f"LOC:{blank}{(blank or ' ').join(words)}{blank}".encode()
    first, *others = (each.counts(text, 4, len(text), count) for each in _CORES)
    assert all(each == first for each in others)
    wanted = text[4:].decode().split(None, count)
    if len(wanted) < count or not all(word.isdecimal() and len(word) <= 18 for word in wanted[:count]):
        assert first is None
    else:
        behind = wanted[count] if len(wanted) > count else ""
        assert first == (tuple(map(int, wanted[:count])), len(text) - len(behind))
