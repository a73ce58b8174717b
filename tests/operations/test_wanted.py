"""The description of the machine wanted goes into a recording, and judges its replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.wanted import parse_description
from noisewatch.operations.wanted import read_description, wanted_of
from tests.written import WrittenMachine

_GIVEN = parse_description(b"[hardware]\nnodes = 1\n", "machine.toml")
_OTHER = parse_description(b"[hardware]\nnodes = 2\n", "other.toml")


def _recorded(path: Path, is_given: bool) -> Recording:
    with path.open("wb") as sink:
        recorder = Recorder(LiveMachine(), sink, 1.0)
        assert wanted_of(recorder, _GIVEN if is_given else None) == (_GIVEN if is_given else None)
        read_snapshot(recorder, SnapshotOptions())
        recorder.close()
    return Recording(str(path))


def test_a_replay_judges_by_the_description_that_was_given_then_unless_one_is_given_now(tmp_path: Path) -> None:
    recording = _recorded(tmp_path / "r.nw", is_given=True)
    then = wanted_of(recording, None)
    assert then is not None
    assert (then.facts, then.text) == (_GIVEN.facts, _GIVEN.text)
    assert then.file == f"{tmp_path}/r.nw (description)"
    assert wanted_of(recording, _OTHER) == _OTHER


def test_of_a_recording_or_a_copy_without_one_no_machine_is_asked_for(tmp_path: Path) -> None:
    assert wanted_of(_recorded(tmp_path / "r.nw", is_given=False), None) is None
    assert wanted_of(WrittenMachine(), None) is None
    assert wanted_of(WrittenMachine(), _GIVEN) == _GIVEN


@pytest.mark.parametrize("answer", [7, None, "[hardware]\nnodes = 1.5\n"])
def test_a_damaged_one_in_a_recording_is_told(answer: object) -> None:
    with pytest.raises(UsageError, match="a written machine"):
        wanted_of(WrittenMachine(answers={"machine wanted": answer}), None)


def test_a_description_is_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(_GIVEN.text)
    assert read_description(str(path)).facts == _GIVEN.facts
    path.write_text(_GIVEN.text + "#" * (1 << 16))
    with pytest.raises(UsageError, match="larger than 64 KiB, so not a description of a machine"):
        read_description(str(path))
