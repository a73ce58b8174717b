"""The time of day of each interval and event."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.system.clock import TIME_OF_DAY, TimeOfDay, read_time_of_day
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.tui.state.history import WallTimes
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.running import record
from tests.surfaces.tui.framing import SECOND_NS, frame, model_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files

_NOON_S = 1_700_049_600  # 2023-11-15 12:00:00 in UTC


def _recording(path: Path, answer: Json) -> Recording:
    machine = WrittenMachine(
        quiet_files(), quiet_files(3.0), answers={**ANSWERS, TIME_OF_DAY: answer}, seconds_between=3.0
    )
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=3.0)
        first = read_snapshot(recorder, SnapshotOptions())
        machine.advance()
        read_snapshot(recorder, SnapshotOptions(), previous=first)
        recorder.close()
    return Recording(str(path))


def test_a_recording_keeps_the_local_time_of_the_machine(tmp_path: Path) -> None:
    recording = _recording(tmp_path / "machine.nw", [_NOON_S * SECOND_NS, 7200])
    frames = list(sample_frames(recording, SnapshotOptions(), 1.0))
    assert {(interval.wall_ns, interval.ahead_s) for interval in frames} == {(_NOON_S * SECOND_NS, 7200)}
    model = model_of(*frames)
    assert (model.wall_clock(frames[-1]), model.wall_clock()) == ("14:00:00", "14:00:00")
    assert model.wall_clock(frames[-1].taken_at_ns - SECOND_NS) == "13:59:59"


def test_an_old_recording_has_no_wall_clock(tmp_path: Path) -> None:
    recording = Recording(str(record(tmp_path / "machine.nw", quiet_files(), quiet_files(3.0))))
    frames = list(sample_frames(recording, SnapshotOptions(), 1.0))
    model = model_of(*frames)
    assert [interval.wall_ns for interval in frames] == [None, None]
    assert (model.wall_clock(frames[-1]), model.wall_clock(frames[-1].taken_at_ns)) == (None, None)


@pytest.mark.parametrize(
    "answer", [None, 5, [], [1], ["1", 0], [-1, 0], [1 << 70, 0], [1, 90_000], {"wall_ns": 1}, [1.5, 0]]
)
def test_an_invalid_time_is_unknown(answer: Json) -> None:
    assert read_time_of_day(WrittenMachine(answers={TIME_OF_DAY: answer})) is None


def test_this_host_has_a_time_of_day() -> None:
    time_of_day = read_time_of_day(LiveMachine())
    assert isinstance(time_of_day, TimeOfDay)
    assert time_of_day.wall_ns > _NOON_S * SECOND_NS


def test_a_moment_between_two_frames_has_a_time_as_well() -> None:
    times = WallTimes()
    for second in (100, 101, 102):
        times.add(frame(second=second, wall_ns=(_NOON_S + second) * SECOND_NS, ahead_s=0))
    assert times.at(100 * SECOND_NS + SECOND_NS // 2) == "12:01:40"
    assert times.at(50 * SECOND_NS) == "12:00:50"


def test_setting_the_clock_changes_only_later_times() -> None:
    times = WallTimes()
    times.add(frame(second=100, wall_ns=(_NOON_S + 100) * SECOND_NS, ahead_s=0))
    times.add(frame(second=101, wall_ns=(_NOON_S + 3701) * SECOND_NS, ahead_s=0))
    times.add(frame(second=102, wall_ns=(_NOON_S + 3702) * SECOND_NS, ahead_s=3600))
    assert [times.at(second * SECOND_NS) for second in (99, 101, 102)] == ["12:01:39", "13:01:41", "14:01:42"]


def test_frames_without_a_time_give_no_wall_clock() -> None:
    model = model_of(frame(second=1))
    assert (model.wall_clock(SECOND_NS), model.wall_clock(), ScreenModel().wall_clock()) == (None, None, None)
