"""A recorder writes whole frames only, and none for an abandoned snapshot."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from noisewatch.errors import Absent, Unreadable
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from tests.machine.recording.recordings import lines_of, write_recording
from tests.plumbing.waiting import reading_threads, wait_until
from tests.written import WrittenMachine


def _frames(sink: io.BytesIO) -> list[dict[str, Any]]:
    return lines_of(sink.getvalue())[1:]


def _recorder(machine: WrittenMachine | LiveMachine) -> tuple[Recorder, io.BytesIO]:
    sink = io.BytesIO()
    return Recorder(machine, sink, interval_s=1.0), sink


def test_recorder_answers_like_the_machine() -> None:
    recorder, _ = _recorder(WrittenMachine({"/proc/stat": "cpu"}, own_pids=[7], modes={"/proc/stat": 0o400}))
    assert recorder.read_bytes("/proc/stat") == b"cpu"
    assert recorder.list_names("/proc") == ["stat"]
    assert recorder.mode("/proc/stat") == 0o400
    assert (recorder.own_pids, recorder.is_live, recorder.name) == (frozenset({7}), False, "a written machine")


def test_error_of_the_machine_is_recorded_and_raised() -> None:
    recorder, sink = _recorder(WrittenMachine({}))

    def read() -> None:
        recorder.begin_snapshot()
        with pytest.raises(Unreadable):
            recorder.read_bytes("/proc/stat")

    recorder.within_deadline(read)
    recorder.close()
    assert _frames(sink)[0]["failed"] == {"text /proc/stat": ["no such file", True]}


class _Rereading(WrittenMachine):
    """A machine that rereads files, as this host does."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        contents = [self._content(path) for path, _ in files]
        return [(at, content) for at, content in enumerate(contents) if content != files[at][1]]

    def _content(self, path: str) -> bytes | None:
        try:
            return self.read_bytes(path)
        except Absent:
            return None


def test_reread_files_are_recorded_whether_they_have_changed_or_not() -> None:
    recorder, sink = _recorder(_Rereading({"/a": "new", "/b": "b"}))
    answers: list[tuple[int, bytes | None]] = []

    def read() -> None:
        recorder.begin_snapshot()
        answers.extend(recorder.reread([("/a", b"old"), ("/b", b"b"), ("/never", None), ("/left", b"x")]))

    recorder.within_deadline(read)
    recorder.close()
    assert answers == [(0, b"new"), (3, None)]
    assert _frames(sink)[0]["read"] == {"text /a": "new", "text /b": "b"}


def test_first_frame_contains_what_is_read_in_addition() -> None:
    machine = WrittenMachine({"/a": "a", "/more": "m"})
    sink = io.BytesIO()
    recorder = Recorder(machine, sink, interval_s=1.0, read_more=lambda machine: machine.read_bytes("/more"))

    def read() -> None:
        recorder.begin_snapshot()
        recorder.read_bytes("/a")

    for _ in range(2):
        recorder.within_deadline(read)
    recorder.close()
    first, second = _frames(sink)
    assert first["read"] == {"text /a": "a", "text /more": "m"}
    assert second["read"] == {}
    assert machine.reads.count("/more") == 1


def test_restarted_snapshot_leaves_one_frame() -> None:
    recorder, sink = _recorder(WrittenMachine({"/a": "a", "/b": "b"}))

    def read() -> None:
        recorder.begin_snapshot()
        recorder.read_bytes("/a")
        recorder.begin_snapshot()
        recorder.read_bytes("/b")

    recorder.within_deadline(read)
    recorder.close()
    assert [frame["read"] for frame in _frames(sink)] == [{"text /b": "b"}]


def test_killed_recorder_leaves_all_whole_frames(tmp_path: Path) -> None:
    recorder, sink = _recorder(WrittenMachine({"/a": "a"}))
    for _ in range(5):
        recorder.within_deadline(recorder.begin_snapshot)
    recording = Recording(write_recording(tmp_path, sink.getvalue()))
    moments = 1
    while recording.advance():
        moments += 1
    assert moments == recorder.frame_count == 5
    assert recording.damage is not None
    recorder.close()


def test_closed_recorder_leaves_its_sink_open() -> None:
    recorder, sink = _recorder(WrittenMachine({}))
    recorder.close()
    assert not sink.closed


def test_equal_moments_make_equal_bytes() -> None:
    contents = set()
    for _ in range(2):
        recorder, sink = _recorder(WrittenMachine({"/a": "a"}))
        recorder.within_deadline(recorder.begin_snapshot)
        recorder.close()
        contents.add(sink.getvalue())
    assert len(contents) == 1


def test_header_has_format_processes_and_interval() -> None:
    sink = io.BytesIO()
    Recorder(WrittenMachine(own_pids=[9, 8]), sink, interval_s=0.5).close()
    header = json.loads(gzip.decompress(sink.getvalue()))
    assert header["noisewatch_recording"] == 1
    assert (header["own_pids"], header["interval_s"]) == ([8, 9], 0.5)


def test_late_answer_is_not_written_into_a_later_frame(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    recorder, sink = _recorder(LiveMachine(deadline_s=0.1))

    def read() -> None:
        recorder.begin_snapshot()
        with pytest.raises(Unreadable):
            recorder.read_bytes(pipe)

    recorder.within_deadline(read)
    wait_until(lambda: reading_threads() == 1)  # the abandoned thread
    recorder.begin_snapshot()
    with suppress(BrokenPipeError):  # the thread may open the pipe without reading it
        Path(pipe).write_text("too late")  # only now does the abandoned thread continue
    wait_until(lambda: reading_threads() == 0)
    recorder.within_deadline(lambda: None)
    recorder.close()
    assert [frame["read"] for frame in _frames(sink)] == [{}, {}]


def test_answer_between_snapshots_is_known_in_all_moments(tmp_path: Path) -> None:
    machine = WrittenMachine({"/proc/stat": "cpu"}, {"/proc/stat": "cpu 2"}, answers={"calibration": {"core": "x"}})
    recorder, sink = _recorder(machine)
    for _ in range(70):  # past a key frame
        recorder.begin_snapshot()
        recorder.within_deadline(lambda: recorder.read_bytes("/proc/stat"))
        if not sink.closed and recorder.frame_count == 2:
            assert recorder.ask("calibration", dict) == {"core": "x"}
    recorder.close()
    recording = Recording(write_recording(tmp_path, sink.getvalue()))
    recording.go_to_end()
    assert recording.ask("calibration", dict) == {"core": "x"}
    assert recording.frame_count == 70
    assert sum("aside" in line for line in lines_of(sink.getvalue())) == 1


def test_command_of_a_calibration_is_recorded_without_folder_and_arguments() -> None:
    recorder, sink = _recorder(
        WrittenMachine({}, answers={"calibration": {"command": ["/home/me/bench", "--token", "x"]}})
    )
    recorder.ask("calibration", dict)
    recorder.close()
    assert lines_of(sink.getvalue())[1:] == [{"aside": {"ask calibration": {"command": ["bench"]}}}]


def test_unanswered_question_between_snapshots_is_not_written() -> None:
    recorder, sink = _recorder(WrittenMachine({}))
    with pytest.raises(Unreadable):
        recorder.ask("calibration", dict)
    recorder.close()
    assert len(lines_of(sink.getvalue())) == 1
