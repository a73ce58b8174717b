"""A value derived from many files is derived again only if a file or the argument has changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import NOT_ASKED, EarlierSnapshots, Reader, Spared
from tests.written import Files, WrittenMachine, without

_FOLDER = "/sys/devices/system/cpu/cpu1"
_MISSING = "/proc/missing"
_ASKS_A_CPU = f"{_FOLDER}/power/energy_perf_bias"
_FILES = {f"{_FOLDER}/a": "1\n", f"{_FOLDER}/wrong": "word\n", _ASKS_A_CPU: "6\n", "/proc/sys/x": "1\n"}


class _Rereading(WrittenMachine):
    """A machine whose `reread` returns changed files only, as this host's does."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        current = self._moments[self._at]
        contents = [(at, current[path].encode() if path in current else None) for at, (path, _) in enumerate(files)]
        return [(at, content) for at, content in contents if content != files[at][1]]


class _Maker:
    """A list that is derived from several files in each snapshot, and a count of how often it was derived."""

    def __init__(self, *moments: Files) -> None:
        self.times = 0
        self.reasons: dict[str, str] = {}
        self._machine, self._earlier = _Rereading(*moments), EarlierSnapshots()

    def make(self, argument: int = 0, spared: Spared | None = None, asks_before: bool = False) -> list[object]:
        """Return the list for the next snapshot."""
        reader = Reader(self._machine, self._earlier)
        reader.spared = spared
        if asks_before:
            reader.text_or_none(f"{_FOLDER}/a")
        value = reader.make_or_reuse("it", argument, lambda: self._derive(reader))
        reader.end()
        self.reasons = reader.reason_by_path
        if self._machine.has_next:
            self._machine.advance()
        return value

    def _derive(self, reader: Reader) -> list[object]:
        self.times += 1
        values = [reader.parse(path, parse_count) for path in (f"{_FOLDER}/a", f"{_FOLDER}/wrong", _MISSING)]
        return [*values, reader.parse(_ASKS_A_CPU, parse_count), reader.names_or_none(_FOLDER)]


_BEFORE = [1, None, None, 6, ["a", "power", "wrong"]]


@pytest.mark.parametrize("asks_before", [False, True])
def test_value_of_unchanged_files_is_not_derived_again(asks_before: bool) -> None:
    maker = _Maker(_FILES)
    assert [maker.make(asks_before=asks_before) for _ in range(3)] == [_BEFORE] * 3
    assert maker.times == 1


def test_reasons_for_unknown_values_are_repeated() -> None:
    maker = _Maker(_FILES)
    reasons = [(maker.make(), maker.reasons)[1] for _ in range(2)]
    assert reasons[0].keys() == {f"{_FOLDER}/wrong", _MISSING}
    assert reasons[0] == reasons[1]


@pytest.mark.parametrize("asks_before", [False, True])
@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (_FILES | {f"{_FOLDER}/a": "7\n"}, [7, *_BEFORE[1:]]),
        (_FILES | {f"{_FOLDER}/wrong": "3\n"}, [1, 3, *_BEFORE[2:]]),
        (_FILES | {_MISSING: "5\n"}, [1, None, 5, *_BEFORE[3:]]),
        (_FILES | {f"{_FOLDER}/other": "5\n"}, [1, None, None, 6, ["a", "other", "power", "wrong"]]),
        (without(_FILES, _ASKS_A_CPU), [1, None, None, None, ["a", "wrong"]]),
        ({"/proc/sys/x": "1\n"}, [None] * 5),
        (_FILES | {_ASKS_A_CPU: "6"}, [1, None, None, None, ["a", "power", "wrong"]]),
    ],
    ids=["changed", "mended", "came", "listed", "gone", "hidden", "cut"],
)
def test_value_of_changed_files_is_derived_again(after: Files, expected: object, asks_before: bool) -> None:
    maker = _Maker(_FILES, after)
    assert [maker.make(), maker.make(asks_before=asks_before), maker.make()] == [_BEFORE, expected, expected]
    assert maker.times == 2


def test_value_of_another_argument_is_derived_again() -> None:
    maker = _Maker(_FILES)
    maker.make()
    maker.make(argument=1)
    assert maker.times == 2


def test_newly_spared_cpu_is_not_asked_again() -> None:
    maker = _Maker(_FILES)
    maker.make()
    assert maker.make(spared=Spared({1}, (6, 1))) == [1, None, None, None, _BEFORE[-1]]
    assert maker.reasons[_ASKS_A_CPU] == NOT_ASKED


def test_known_absence_is_doubted_if_its_folder_is_hidden_later() -> None:
    machine, earlier = _Rereading(_FILES, without(_FILES, "/proc/sys/x")), EarlierSnapshots()
    before = Reader(machine, earlier)
    assert before.text_or_none(_MISSING, expected=False) is None
    assert before.make_or_reuse("it", None, lambda: before.is_absent(_MISSING))
    machine.advance()
    after = Reader(machine, earlier)
    assert not after.make_or_reuse("it", None, lambda: after.is_absent(_MISSING))
    assert after.reason_by_path[_MISSING] == "no such file, and /proc/sys shows no files"
