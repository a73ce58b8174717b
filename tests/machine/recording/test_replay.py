"""Replays of recordings, which equal the recorded machine at every moment."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import KEY_FRAME_EVERY, Recorder
from noisewatch.machine.recording.replay import Recording
from tests.machine.recording.recorded import HEADER, frame, lines_of, packed, recorded, replayed, written
from tests.replacing import replace
from tests.written import Files, WrittenMachine, without
from tests.written.quiet_machine import process, quiet_files


def _comparable(snapshot: Snapshot) -> Snapshot:
    """Less what a recording leaves out on purpose: whose machine it was."""
    return replace(snapshot, machine_name="", platform=replace(snapshot.platform, host=None))


def _moments(count: int) -> list[dict[str, str]]:
    return [quiet_files(float(second)) for second in range(count)]


def _assert_replayed(root: Path, moments: list[dict[str, str]]) -> None:
    content, snapshots = recorded(*moments)
    again = replayed(Recording(written(root, content)))
    assert len(again) == len(moments)
    assert list(map(_comparable, again)) == list(map(_comparable, snapshots))


def test_every_moment_of_a_recording_is_replayed_as_it_was(tmp_path: Path) -> None:
    _assert_replayed(tmp_path, _moments(5))


def test_settings_that_are_read_again_are_replayed_as_they_were(tmp_path: Path) -> None:
    _assert_replayed(tmp_path, _moments(25))


def test_a_replay_goes_on_behind_a_key_frame(tmp_path: Path) -> None:
    _assert_replayed(tmp_path, _moments(KEY_FRAME_EVERY + 3))


def test_a_cpu_that_goes_offline_is_replayed(tmp_path: Path) -> None:
    moments = _moments(3)
    moments[1] |= {"/sys/devices/system/cpu/online": "0-2\n", "/sys/devices/system/cpu/offline": "3\n"}
    _assert_replayed(tmp_path, moments)


def test_processes_that_come_and_go_are_replayed(tmp_path: Path) -> None:
    moments = _moments(4)
    moments[1] |= process(900, "visitor", 1, 5_000)
    moments[2] |= process(900, "visitor", 1, 9_000) | process(901, "guest", 0, 1)
    _assert_replayed(tmp_path, moments)


def test_a_table_that_gains_and_loses_rows_is_replayed(tmp_path: Path) -> None:
    moments = _moments(3)
    moments[1]["/proc/interrupts"] += " 99: 1 2 3 4 IO-APIC 9-edge late\n"
    _assert_replayed(tmp_path, moments)


def test_a_file_that_appears_and_disappears_is_replayed(tmp_path: Path) -> None:
    moments = _moments(3)
    moments[1]["/proc/schedstat"] = "version 15\ncpu0 0 0 0 0 0 0 281793214 16002335 366\n"
    _assert_replayed(tmp_path, moments)


def test_a_name_that_is_no_text_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    moments = [files | process(900, "b\udcff\x1b[2J\u2028", 1, 5_000) for files in _moments(2)]
    _assert_replayed(tmp_path, moments)


def test_absent_stays_absent_and_unreadable_stays_unreadable_in_a_replay(tmp_path: Path) -> None:
    failed = {"text /gone": ["no such file", True], "text /shut": ["permission denied", False]}
    recording = Recording(written(tmp_path, packed([HEADER, frame(failed=failed)])))
    with pytest.raises(Absent, match="/gone: no such file"):
        recording.read_bytes("/gone")
    with pytest.raises(Unreadable, match="/shut: permission denied") as caught:
        recording.read_bytes("/shut")
    assert not isinstance(caught.value, Absent)


def test_what_was_never_asked_is_unknown_in_a_replay(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path, packed([HEADER, frame()])))
    with pytest.raises(Unreadable, match="not in the recording") as caught:
        recording.list_names("/proc")
    assert not isinstance(caught.value, Absent)


def test_modes_and_answers_are_replayed(tmp_path: Path) -> None:
    read = {"mode /x": 0o444, "ask pin to CPUs [2]": {"granted": [2]}}
    recording = Recording(written(tmp_path, packed([HEADER, frame(read=read)])))
    assert recording.mode("/x") == 0o444
    assert recording.ask("pin to CPUs [2]", lambda: "never asked") == {"granted": [2]}


def test_the_recorders_own_processes_are_known_in_a_replay(tmp_path: Path) -> None:
    content, snapshots = recorded(quiet_files())
    assert Recording(written(tmp_path, content)).own_pids == snapshots[0].own_pids == {700}


def test_the_cpus_that_were_asked_for_are_the_target_of_a_replay_until_others_are(tmp_path: Path) -> None:
    path = tmp_path / "machine.nw"
    machine = LiveMachine()
    with path.open("wb") as sink:
        for asked in (None, frozenset({0})):
            sink.seek(0)
            recorder = Recorder(machine, sink, interval_s=1.0)
            recorded = read_snapshot(recorder, SnapshotOptions(asked)).target
            recorder.close()
            assert read_snapshot(Recording(str(path)), SnapshotOptions()).target == recorded
    assert (recorded.cpus, recorded.chosen_by) == (frozenset({0}), "as requested")
    assert read_snapshot(Recording(str(path)), SnapshotOptions(frozenset({5}))).target.cpus == {5}


def test_a_recording_is_not_this_host(tmp_path: Path) -> None:
    content, _ = recorded(quiet_files())
    assert not Recording(written(tmp_path, content)).is_live


def test_the_time_of_a_replay_is_the_time_of_the_recording(tmp_path: Path) -> None:
    content, snapshots = recorded(*_moments(3))
    times = [snapshot.taken_at_ns for snapshot in replayed(Recording(written(tmp_path, content)))]
    assert times == [snapshot.taken_at_ns for snapshot in snapshots]
    assert len(set(times)) == 3


def test_only_rows_that_changed_are_stored() -> None:
    before = quiet_files()
    after = dict(before)
    after["/proc/interrupts"] = after["/proc/interrupts"].replace("NMI:          0", "NMI:          1")
    content, _ = recorded(before, after)
    change = lines_of(content)[2]
    assert change["read"] == {}
    assert [(question, list(rows)) for question, rows in change["rows"].items()] == [("text /proc/interrupts", ["3"])]


def test_a_frame_of_a_machine_that_stands_still_is_small() -> None:
    content, _ = recorded(*[quiet_files()] * 3)
    still = lines_of(content)[3]
    assert (still["read"], still["rows"], still["failed"]) == ({}, {}, {})


def test_every_sixtieth_frame_is_a_key_frame() -> None:
    content, _ = recorded(*[quiet_files()] * (2 * KEY_FRAME_EVERY + 1))
    frames = lines_of(content)[1:]
    assert [number for number, each in enumerate(frames) if each["key"]] == [0, 60, 120]


def test_a_key_frame_holds_what_was_last_asked_long_before(tmp_path: Path) -> None:
    content, snapshots = recorded(*[quiet_files()] * (KEY_FRAME_EVERY + 1))
    header, *frames = lines_of(content)
    recording = Recording(written(tmp_path, packed([header, frames[-1]])))
    alone = read_snapshot(recording, SnapshotOptions())
    assert alone.platform.cpu_model == snapshots[0].platform.cpu_model == "A Processor @ 3.00GHz"
    assert alone.irqs == snapshots[0].irqs


def test_a_key_frame_forgets_processes_that_ended_long_before() -> None:
    moments: list[Files] = [quiet_files() | process(900, "visitor", 1, 5_000)]
    moments += [quiet_files()] * (2 * KEY_FRAME_EVERY)
    content, _ = recorded(*moments)
    keys = [each for each in lines_of(content)[1:] if each["key"]]
    mentions = [any("/proc/900/" in question for question in each["read"]) for each in keys]
    assert (mentions[0], mentions[-1]) == (True, False)


def test_a_key_frame_alone_tells_all_processes_that_live(tmp_path: Path) -> None:
    content, snapshots = recorded(*[quiet_files()] * (KEY_FRAME_EVERY + 1))
    header, *frames = lines_of(content)
    recording = Recording(written(tmp_path, packed([header, frames[-1]])))
    assert read_snapshot(recording, SnapshotOptions(), TaskReader(asks_all_affinities=True)).tasks == snapshots[0].tasks


def test_what_a_key_frame_does_not_mention_is_no_longer_known(tmp_path: Path) -> None:
    frames = [frame(read={"text /a": "a"}), frame(2, key=False), frame(3, key=True)]
    recording = Recording(written(tmp_path, packed([HEADER, *frames])))
    assert recording.advance()
    assert recording.read_bytes("/a") == b"a"
    assert recording.advance()
    with pytest.raises(Unreadable, match="not in the recording"):
        recording.read_bytes("/a")


def test_an_answer_of_nothing_is_an_answer(tmp_path: Path) -> None:
    sink = io.BytesIO()
    recorder = Recorder(WrittenMachine(answers={"name of process 9": None}), sink, interval_s=1.0)
    for work in (lambda: None, lambda: recorder.ask("name of process 9", dict)):
        recorder.begin_snapshot()
        recorder.within_deadline(work)
    recorder.close()
    recording = Recording(written(tmp_path, sink.getvalue()))
    assert recording.advance()
    assert recording.ask("name of process 9", dict) is None


def test_a_recording_of_a_machine_without_any_file_is_a_recording(tmp_path: Path) -> None:
    content, _ = recorded(without(quiet_files(), "/proc", "/sys"))
    (snapshot,) = replayed(Recording(written(tmp_path, content)))
    assert (snapshot.interrupts, snapshot.cpu_time, snapshot.tasks) == (None, None, None)
