"""The description of the machine wanted: its file, its recording and its replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.wanted import parse_description
from noisewatch.operations.wanted import read_description, read_wanted
from tests.written import WrittenMachine

_GIVEN = parse_description(b"[hardware]\nnodes = 1\n", "machine.toml")
_OTHER = parse_description(b"[hardware]\nnodes = 2\n", "other.toml")


def _record(path: Path, is_given: bool) -> Recording:
    with path.open("wb") as sink:
        recorder = Recorder(LiveMachine(), sink, 1.0)
        assert read_wanted(recorder, _GIVEN if is_given else None) == (_GIVEN if is_given else None)
        read_snapshot(recorder, SnapshotOptions())
        recorder.close()
    return Recording(str(path))


def test_a_replay_uses_the_recorded_description_unless_another_one_is_given(tmp_path: Path) -> None:
    recording = _record(tmp_path / "r.nw", is_given=True)
    description = read_wanted(recording, None)
    assert description is not None
    assert (description.facts, description.text) == (_GIVEN.facts, _GIVEN.text)
    assert description.file == f"{tmp_path}/r.nw (description)"
    assert read_wanted(recording, _OTHER) == _OTHER


def test_a_recording_or_a_copy_may_have_no_description(tmp_path: Path) -> None:
    assert read_wanted(_record(tmp_path / "r.nw", is_given=False), None) is None
    assert read_wanted(WrittenMachine(), None) is None
    assert read_wanted(WrittenMachine(), _GIVEN) == _GIVEN


@pytest.mark.parametrize("answer", [7, None, "[hardware]\nnodes = 1.5\n"])
def test_a_damaged_description_in_a_recording_is_an_error(answer: object) -> None:
    with pytest.raises(UsageError, match="a written machine"):
        read_wanted(WrittenMachine(answers={"machine wanted": answer}), None)


def test_a_large_file_is_not_a_description(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(_GIVEN.text)
    assert read_description(str(path)).facts == _GIVEN.facts
    path.write_text(_GIVEN.text + "#" * (1 << 16))
    with pytest.raises(UsageError, match="larger than 64 KiB, so not a description of a machine"):
        read_description(str(path))
