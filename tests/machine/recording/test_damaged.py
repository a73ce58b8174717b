"""A damaged recording is replayed up to the damage, or refused with a reason; nothing else ever happens."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisewatch.errors import Unreadable, UsageError
from noisewatch.machine.recording.replay import Recording
from tests.machine.recording.recorded import HEADER, frame, outcome, packed, recorded, written
from tests.written import SECOND_NS, without
from tests.written.quiet_machine import process, quiet_files

MOMENTS = 4
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_QUESTIONS = st.sampled_from(["text /a", "names /a", "mode /a", "ask a", "text /b", "other"])
_FRAMES = st.fixed_dictionaries(
    {
        "now_ns": _JSON,
        "key": st.booleans(),
        "read": st.dictionaries(_QUESTIONS, _JSON | st.just("1\n2\n"), max_size=3),
        "rows": st.dictionaries(_QUESTIONS, st.dictionaries(st.sampled_from(["0", "1", "9"]), _JSON), max_size=2),
        "failed": st.dictionaries(_QUESTIONS, _JSON | st.just(["no such file", True]), max_size=2),
    }
)
_HYPOTHESIS = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _small() -> bytes:
    """A recording of four moments of a machine with few files."""
    many = ("/sys/devices/system/cpu/cpu1", "/sys/devices/system/cpu/cpu2", "/sys/devices/system/cpu/cpu3")
    moments = [without(quiet_files(second) | process(900, "b\udcff", 1, 5), *many) for second in (0.0, 1.0, 2.0, 3.0)]
    return recorded(*moments)[0]


def test_a_whole_recording_is_not_damaged(tmp_path: Path) -> None:
    assert outcome(tmp_path, _small()) == (MOMENTS, None)


def test_a_recording_cut_anywhere_is_replayed_up_to_the_cut_or_refused(tmp_path: Path) -> None:
    content = _small()
    outcomes = [outcome(tmp_path, content[:size]) for size in range(0, len(content), 19)]
    counts = [count for count, _ in (*outcomes, outcome(tmp_path, content))]
    assert set(counts) == set(range(MOMENTS + 1))
    assert counts == sorted(counts)
    assert [size for size, (_, damage) in enumerate(outcomes) if not damage] == []


def test_a_flipped_bit_in_the_file_is_damage_or_a_refusal(tmp_path: Path) -> None:
    content = _small()
    flipped = []
    for at in range(10, len(content), 29):  # behind gzip's own header, most of which is not checked
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        flipped.append(outcome(tmp_path, bytes(damaged)))
    assert len(flipped) > 100
    # A few bits of gzip's mean nothing: then all of it is replayed.
    assert [number for number, (count, damage) in enumerate(flipped) if not damage and count < MOMENTS] == []


def test_a_flipped_bit_in_the_text_of_a_recording_never_ends_in_a_traceback(tmp_path: Path) -> None:
    text = gzip.decompress(_small())
    outcomes = []
    for at in range(0, len(text), 97):
        damaged = bytearray(text)
        damaged[at] ^= 1 << at % 7
        outcomes.append(outcome(tmp_path, gzip.compress(bytes(damaged), compresslevel=0)))
    assert len(outcomes) > 50


def test_rubbish_behind_a_recording_is_damage(tmp_path: Path) -> None:
    count, damage = outcome(tmp_path, _small() + b"rubbish")
    assert count == MOMENTS
    assert damage is not None


def test_the_damage_says_how_much_was_replayed(tmp_path: Path) -> None:
    _, damage = outcome(tmp_path, packed([HEADER, frame(1), frame(2), "no frame"]))
    assert damage is not None
    assert damage.startswith("damaged after 2 snapshots: ")


def test_behind_the_damage_nothing_is_replayed(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path, packed([HEADER, frame(1), "no frame", frame(3)])))
    assert not recording.advance()
    assert not recording.advance()
    assert recording.now_ns() == 1


@pytest.mark.parametrize("now_ns", [float("inf"), float("nan"), "soon", None, [], {}])
def test_a_frame_without_a_time_is_damage(tmp_path: Path, now_ns: Any) -> None:
    recording = Recording(written(tmp_path, packed([HEADER, frame(1), {**frame(), "now_ns": now_ns}])))
    assert not recording.advance()
    assert recording.damage is not None


@pytest.mark.parametrize(
    "part",
    [
        {"read": {"names /a": "text"}},
        {"read": {"names /a": [1]}},
        {"read": {"mode /a": "rw"}},
        {"read": {"text /a": 5}},
        {"read": {"text /a": "\ud800"}},
        {"read": {"other /a": 5}},
        {"read": []},
        {"rows": {"text /missing": {"0": "x"}}},
        {"rows": {"text /known": {"9": "x"}}},
        {"rows": {"text /known": {"x": "x"}}},
        {"rows": {"text /known": {"0": 5}}},
        {"rows": {"mode /known": {"0": "rw"}}},
        {"rows": {"names /known": {"0": "rw"}}},
        {"failed": {"text /a": "why"}},
        {"failed": {"text /a": None}},
    ],
    ids=str,
)
def test_a_frame_that_does_not_fit_is_damage(tmp_path: Path, part: dict[str, Any]) -> None:
    known = {"text /known": "1\n2\n", "mode /known": 292, "names /known": ["a"]}
    recording = Recording(written(tmp_path, packed([HEADER, frame(read=known), frame(SECOND_NS, key=False, **part)])))
    assert not recording.advance()
    assert recording.damage is not None


def _use(recording: Recording) -> int:
    """Asks for everything, as far as it goes; how many moments there were."""
    for _ in range(9):
        for read in (recording.read_bytes, recording.list_names, recording.mode):
            with suppress(Unreadable):
                read("/a")
        if not recording.advance():
            break
    return recording.frame_count


@_HYPOTHESIS
@given(frames=st.lists(_FRAMES | _JSON, max_size=4))
def test_frames_of_any_shape_are_replayed_or_refused(tmp_path: Path, frames: list[Any]) -> None:
    path = written(tmp_path, packed([HEADER, frame(read={"text /a": "x\ny\n", "mode /a": 1}), *frames]))
    assert _use(Recording(path)) >= 1


@_HYPOTHESIS
@given(header=_JSON | st.fixed_dictionaries({"noisewatch_recording": st.just(1), "own_pids": _JSON}))
def test_a_header_of_any_shape_is_accepted_or_refused(tmp_path: Path, header: Any) -> None:
    count, refusal = outcome(tmp_path, packed([header, frame()]))
    assert count == 1 or refusal


@pytest.mark.parametrize("content", [b"", b"cpu 1 2 3\n", b"\x1f\x8b", b"\x1f\x8b\x08\x00rubbish", bytes(64)])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError, match=r"recording\.nwr: "):
        Recording(written(tmp_path, content))


@pytest.mark.parametrize("lines", [[], ["text"], [{}], [{"name": 1}, frame()], [5], [None]], ids=str)
def test_a_gzip_file_of_something_else_is_refused(tmp_path: Path, lines: list[Any]) -> None:
    with pytest.raises(UsageError, match="not a recording of noisewatch"):
        Recording(written(tmp_path, packed(lines)))


def test_a_recording_without_a_moment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no snapshot at all"):
        Recording(written(tmp_path, packed([HEADER])))


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_format_is_refused_and_both_are_named(tmp_path: Path, version: Any) -> None:
    path = written(tmp_path, packed([{**HEADER, "noisewatch_recording": version}, frame()]))
    with pytest.raises(UsageError, match=f"recorded in format {version}, this noisewatch reads format 1"):
        Recording(path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        Recording(str(tmp_path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Recording(str(tmp_path / "missing"))


@pytest.mark.parametrize("aside", [7, None, [], {"text /proc/stat": "x"}, "x"], ids=str)
def test_an_answer_between_frames_that_is_none_is_damage(tmp_path: Path, aside: Any) -> None:
    content = packed([HEADER, frame(), {"aside": aside}, frame(2)])
    count, damage = outcome(tmp_path, content)
    assert count == 1
    assert "answers between two frames" in (damage or "")
