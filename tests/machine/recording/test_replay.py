"""Replays of recordings, which equal the recorded machine at every moment."""

from __future__ import annotations

import gzip
import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.errors import Absent, Unreadable, UsageError
from noisewatch.kernel.reader import EarlierSnapshots
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.machine_lock import PATH as LOCK
from noisewatch.kernel.tasks.machine_lock import MachineLock, Owner
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import KEY_FRAME_EVERY, Recorder
from noisewatch.machine.recording.replay import Recording
from tests.machine.recording.recordings import HEADER, frame, lines_of, outcome, pack, record, replay, write_recording
from tests.plumbing.any_json import ANY_JSON
from tests.written import SECOND_NS, Files, WrittenMachine, without
from tests.written.quiet_machine import process, quiet_files, stat_line

_NOTHING_READ = EarlierSnapshots()


def _comparable(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without caches and without the name of the machine, which recordings omit."""
    return replace(snapshot, machine_name="", platform=replace(snapshot.platform, host=None), earlier=_NOTHING_READ)


def _moments(count: int) -> list[dict[str, str]]:
    return [quiet_files(float(second)) for second in range(count)]


def _assert_replayed(root: Path, moments: list[dict[str, str]]) -> None:
    content, snapshots = record(*moments)
    replayed = replay(Recording(write_recording(root, content)))
    assert len(replayed) == len(moments)
    assert list(map(_comparable, replayed)) == list(map(_comparable, snapshots))


@pytest.mark.parametrize("count", [5, 25, KEY_FRAME_EVERY + 3], ids=["few", "settings twice", "behind a key frame"])
def test_every_moment_of_a_recording_is_replayed(tmp_path: Path, count: int) -> None:
    _assert_replayed(tmp_path, _moments(count))


_OFFLINE = {"/sys/devices/system/cpu/online": "0-2\n", "/sys/devices/system/cpu/offline": "3\n"}
_ROW = {"/proc/interrupts": quiet_files()["/proc/interrupts"] + " 99: 1 2 3 4 IO-APIC 9-edge late\n"}
_FILE = {"/proc/schedstat": "version 15\ncpu0 0 0 0 0 0 0 281793214 16002335 366\n"}


@pytest.mark.parametrize("changes", [_OFFLINE, _ROW, _FILE], ids=["an offline CPU", "a row", "a file"])
def test_temporary_changes_are_replayed(tmp_path: Path, changes: Files) -> None:
    moments = _moments(3)
    moments[1] |= changes
    _assert_replayed(tmp_path, moments)


def test_temporary_processes_are_replayed(tmp_path: Path) -> None:
    moments = _moments(4)
    moments[1] |= process(900, "visitor", 1, 5_000)
    moments[2] |= process(900, "visitor", 1, 9_000) | process(901, "guest", 0, 1)
    _assert_replayed(tmp_path, moments)


class _Busy(WrittenMachine):
    """A machine on which process 900 runs while a snapshot is taken: its time grows by 0.1 s with each reading."""

    _ticks = 100

    def read_bytes(self, path: str) -> bytes:
        content = super().read_bytes(path)
        if path != "/proc/900/stat":
            return content
        self._ticks += 10
        return stat_line(900, "gate", 1, busy=self._ticks).encode()


def test_process_that_owns_the_lock_and_runs_is_replayed(tmp_path: Path) -> None:
    """The owner's stat is read twice: with the threads, and to compare its start time with the lock's."""
    owner = Owner(900, 1000, 4026531836, "gate")
    moments = [files | process(900, "gate", 1, 5_000 * number) for number, files in enumerate(_moments(3))]
    content, snapshots = record(*(files | {LOCK: owner.line()} for files in moments), machine_of=_Busy)
    assert [snapshot.machine_lock for snapshot in snapshots] == [MachineLock(owner, True, False)] * 3
    replayed = replay(Recording(write_recording(tmp_path, content)))
    assert list(map(_comparable, replayed)) == list(map(_comparable, snapshots))


def test_name_that_is_not_text_is_replayed_exactly(tmp_path: Path) -> None:
    moments = [files | process(900, "b\udcff\x1b[2J\u2028", 1, 5_000) for files in _moments(2)]
    _assert_replayed(tmp_path, moments)


def test_absent_stays_absent_and_unreadable_stays_unreadable_in_a_replay(tmp_path: Path) -> None:
    failed = {"text /gone": ["no such file", True], "text /shut": ["permission denied", False]}
    recording = Recording(write_recording(tmp_path, pack([HEADER, frame(failed=failed)])))
    with pytest.raises(Absent, match="/gone: no such file"):
        recording.read_bytes("/gone")
    with pytest.raises(Unreadable, match="/shut: permission denied") as caught:
        recording.read_bytes("/shut")
    assert not isinstance(caught.value, Absent)


def test_unread_file_is_unknown_in_a_replay(tmp_path: Path) -> None:
    recording = Recording(write_recording(tmp_path, pack([HEADER, frame()])))
    with pytest.raises(Unreadable, match="not in the recording") as caught:
        recording.list_names("/proc")
    assert not isinstance(caught.value, Absent)


def test_modes_and_answers_are_replayed(tmp_path: Path) -> None:
    read = {"mode /x": 0o444, "ask pin to CPUs [2]": {"granted": [2]}}
    recording = Recording(write_recording(tmp_path, pack([HEADER, frame(read=read)])))
    assert recording.mode("/x") == 0o444
    assert recording.ask("pin to CPUs [2]", lambda: "never asked") == {"granted": [2]}


def test_own_processes_of_the_recorder_are_known_in_a_replay(tmp_path: Path) -> None:
    content, snapshots = record(quiet_files())
    assert Recording(write_recording(tmp_path, content)).own_pids == snapshots[0].own_pids == {700}


def test_requested_cpus_are_the_target_of_a_replay_unless_others_are_requested(tmp_path: Path) -> None:
    path = tmp_path / "machine.nw"
    machine = LiveMachine()
    with path.open("wb") as sink:
        for requested in (None, frozenset({0})):
            sink.seek(0)
            recorder = Recorder(machine, sink, interval_s=1.0)
            target = read_snapshot(recorder, SnapshotOptions(requested)).target
            recorder.close()
            assert read_snapshot(Recording(str(path)), SnapshotOptions()).target == target
    assert (target.cpus, target.chosen_by) == (frozenset({0}), "as requested")
    assert read_snapshot(Recording(str(path)), SnapshotOptions(frozenset({5}))).target.cpus == {5}


def test_recording_is_not_this_host(tmp_path: Path) -> None:
    content, _ = record(quiet_files())
    assert not Recording(write_recording(tmp_path, content)).is_live


def test_time_of_a_replay_is_that_of_the_recording(tmp_path: Path) -> None:
    content, snapshots = record(*_moments(3))
    times = [snapshot.taken_at_ns for snapshot in replay(Recording(write_recording(tmp_path, content)))]
    assert times == [snapshot.taken_at_ns for snapshot in snapshots]
    assert len(set(times)) == 3


def test_only_changed_rows_are_stored() -> None:
    before = quiet_files()
    after = dict(before)
    after["/proc/interrupts"] = after["/proc/interrupts"].replace("NMI:          0", "NMI:          1")
    content, _ = record(before, after)
    change = lines_of(content)[2]
    assert change["read"] == {}
    assert [(question, list(rows)) for question, rows in change["rows"].items()] == [("text /proc/interrupts", ["3"])]


def test_frame_of_an_unchanged_machine_is_small() -> None:
    content, _ = record(*[quiet_files()] * 3)
    still = lines_of(content)[3]
    assert (still["read"], still["rows"], still["failed"]) == ({}, {}, {})


def test_every_sixtieth_frame_is_a_key_frame() -> None:
    content, _ = record(*[quiet_files()] * (2 * KEY_FRAME_EVERY + 1))
    frames = lines_of(content)[1:]
    assert [number for number, content_frame in enumerate(frames) if content_frame["key"]] == [0, 60, 120]


def test_key_frame_contains_answers_from_long_before(tmp_path: Path) -> None:
    content, snapshots = record(*[quiet_files()] * (KEY_FRAME_EVERY + 1))
    header, *frames = lines_of(content)
    recording = Recording(write_recording(tmp_path, pack([header, frames[-1]])))
    alone = read_snapshot(recording, SnapshotOptions())
    assert alone.platform.cpu_model == snapshots[0].platform.cpu_model == "A Processor @ 3.00GHz"
    assert alone.irqs == snapshots[0].irqs


def test_key_frame_omits_processes_that_ended_long_before() -> None:
    moments: list[Files] = [quiet_files() | process(900, "visitor", 1, 5_000)]
    moments += [quiet_files()] * (2 * KEY_FRAME_EVERY)
    content, _ = record(*moments)
    keys = [key_frame for key_frame in lines_of(content)[1:] if key_frame["key"]]
    mentions = [any("/proc/900/" in question for question in key_frame["read"]) for key_frame in keys]
    assert (mentions[0], mentions[-1]) == (True, False)


def test_key_frame_contains_all_living_processes(tmp_path: Path) -> None:
    content, snapshots = record(*[quiet_files()] * (KEY_FRAME_EVERY + 1))
    header, *frames = lines_of(content)
    recording = Recording(write_recording(tmp_path, pack([header, frames[-1]])))
    assert read_snapshot(recording, SnapshotOptions(), TaskReader(asks_all_affinities=True)).tasks == snapshots[0].tasks


def test_answer_missing_from_a_key_frame_is_forgotten(tmp_path: Path) -> None:
    frames = [frame(read={"text /a": "a"}), frame(2, key=False), frame(3, key=True)]
    recording = Recording(write_recording(tmp_path, pack([HEADER, *frames])))
    assert recording.advance()
    assert recording.read_bytes("/a") == b"a"
    assert recording.advance()
    with pytest.raises(Unreadable, match="not in the recording"):
        recording.read_bytes("/a")


def test_null_is_an_answer(tmp_path: Path) -> None:
    sink = io.BytesIO()
    recorder = Recorder(WrittenMachine(answers={"name of process 9": None}), sink, interval_s=1.0)
    for work in (lambda: None, lambda: recorder.ask("name of process 9", dict)):
        recorder.begin_snapshot()
        recorder.within_deadline(work)
    recorder.close()
    recording = Recording(write_recording(tmp_path, sink.getvalue()))
    assert recording.advance()
    assert recording.ask("name of process 9", dict) is None


def test_recording_of_a_machine_without_files_is_a_recording(tmp_path: Path) -> None:
    content, _ = record(without(quiet_files(), "/proc", "/sys"))
    (snapshot,) = replay(Recording(write_recording(tmp_path, content)))
    assert (snapshot.interrupts, snapshot.cpu_time, snapshot.tasks) == (None, None, None)


MOMENTS = 4

_QUESTIONS = st.sampled_from(["text /a", "names /a", "mode /a", "ask a", "text /b", "other"])
_FRAMES = st.fixed_dictionaries(
    {
        "now_ns": ANY_JSON,
        "key": st.booleans(),
        "read": st.dictionaries(_QUESTIONS, ANY_JSON | st.just("1\n2\n"), max_size=3),
        "rows": st.dictionaries(_QUESTIONS, st.dictionaries(st.sampled_from(["0", "1", "9"]), ANY_JSON), max_size=2),
        "failed": st.dictionaries(_QUESTIONS, ANY_JSON | st.just(["no such file", True]), max_size=2),
    }
)
_HYPOTHESIS = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _small() -> bytes:
    """Return a recording of four moments of a machine with few files."""
    many = ("/sys/devices/system/cpu/cpu1", "/sys/devices/system/cpu/cpu2", "/sys/devices/system/cpu/cpu3")
    moments = [without(quiet_files(second) | process(900, "b\udcff", 1, 5), *many) for second in (0.0, 1.0, 2.0, 3.0)]
    return record(*moments)[0]


def test_complete_recording_is_not_damaged(tmp_path: Path) -> None:
    assert outcome(tmp_path, _small()) == (MOMENTS, None)


def test_truncated_recording_is_replayed_up_to_its_end_or_refused(tmp_path: Path) -> None:
    content = _small()
    outcomes = [outcome(tmp_path, content[:size]) for size in range(0, len(content), 53)]
    counts = [count for count, _ in (*outcomes, outcome(tmp_path, content))]
    assert set(counts) == set(range(MOMENTS + 1))
    assert counts == sorted(counts)
    assert [size for size, (_, damage) in enumerate(outcomes) if not damage] == []


def test_flipped_bit_in_the_file_is_damage_or_refused(tmp_path: Path) -> None:
    content = _small()
    flipped = []
    for at in range(10, len(content), 59):  # behind gzip's own header, most of which is not checked
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        flipped.append(outcome(tmp_path, bytes(damaged)))
    assert len(flipped) > 100
    # A few bits of gzip have no meaning: then all of it is replayed.
    assert [number for number, (count, damage) in enumerate(flipped) if not damage and count < MOMENTS] == []


def test_flipped_bit_in_the_text_of_a_recording_never_raises_another_error(tmp_path: Path) -> None:
    text = gzip.decompress(_small())
    outcomes = []
    for at in range(0, len(text), 397):
        damaged = bytearray(text)
        damaged[at] ^= 1 << at % 7
        outcomes.append(outcome(tmp_path, gzip.compress(bytes(damaged), compresslevel=0)))
    assert len(outcomes) > 50


def test_trailing_rubbish_is_damage(tmp_path: Path) -> None:
    count, damage = outcome(tmp_path, _small() + b"rubbish")
    assert count == MOMENTS
    assert damage is not None


def test_damage_mentions_the_number_of_replayed_snapshots(tmp_path: Path) -> None:
    _, damage = outcome(tmp_path, pack([HEADER, frame(1), frame(2), "no frame"]))
    assert damage is not None
    assert damage.startswith("damaged after 2 snapshots: ")


def test_nothing_is_replayed_after_damage(tmp_path: Path) -> None:
    recording = Recording(write_recording(tmp_path, pack([HEADER, frame(1), "no frame", frame(3)])))
    assert not recording.advance()
    assert not recording.advance()
    assert recording.now_ns() == 1


@pytest.mark.parametrize("now_ns", [float("inf"), float("nan"), "soon", None, [], {}])
def test_frame_without_a_time_is_damage(tmp_path: Path, now_ns: Any) -> None:
    recording = Recording(write_recording(tmp_path, pack([HEADER, frame(1), {**frame(), "now_ns": now_ns}])))
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
def test_inconsistent_frame_is_damage(tmp_path: Path, part: dict[str, Any]) -> None:
    answers = {"text /known": "1\n2\n", "mode /known": 292, "names /known": ["a"]}
    recording = Recording(
        write_recording(tmp_path, pack([HEADER, frame(read=answers), frame(SECOND_NS, key=False, **part)]))
    )
    assert not recording.advance()
    assert recording.damage is not None


def _use(recording: Recording) -> int:
    """Read everything of the recording until it ends or is damaged. Return the number of moments."""
    for _ in range(9):
        for read in (recording.read_bytes, recording.list_names, recording.mode):
            with suppress(Unreadable):
                read("/a")
        if not recording.advance():
            break
    return recording.frame_count


@_HYPOTHESIS
@given(frames=st.lists(_FRAMES | ANY_JSON, max_size=4))
def test_frames_of_any_shape_are_replayed_or_refused(tmp_path: Path, frames: list[Any]) -> None:
    path = write_recording(tmp_path, pack([HEADER, frame(read={"text /a": "x\ny\n", "mode /a": 1}), *frames]))
    assert _use(Recording(path)) >= 1


@_HYPOTHESIS
@given(header=ANY_JSON | st.fixed_dictionaries({"noisewatch_recording": st.just(1), "own_pids": ANY_JSON}))
def test_header_of_any_shape_is_accepted_or_refused(tmp_path: Path, header: Any) -> None:
    count, refusal = outcome(tmp_path, pack([header, frame()]))
    assert count == 1 or refusal


_NO_GZIP = [b"", b"cpu 1 2 3\n", b"\x1f\x8b", b"\x1f\x8b\x08\x00rubbish", bytes(64)]
_OTHERS: list[list[Any]] = [[], ["text"], [{}], [{"name": 1}, frame()], [5], [None]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content, r"recording\.nwr: ") for content in _NO_GZIP),
        *((pack(lines), "not a recording of noisewatch") for lines in _OTHERS),
        (pack([HEADER]), "contains no snapshot"),
        *(
            (
                pack([{**HEADER, "noisewatch_recording": version}, frame()]),
                f"recorded in format {version}, but this noisewatch reads format 1",
            )
            for version in (0, 2, "1", None)
        ),
    ],
)
def test_file_that_is_no_recording_of_this_format_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Recording(write_recording(tmp_path, content))


@pytest.mark.parametrize(("name", "words"), [("", "is a directory"), ("missing", "no such file")])
def test_missing_file_or_folder_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Recording(str(tmp_path / name))


@pytest.mark.parametrize("answers", [7, None, [], {"text /proc/stat": "x"}, "x"], ids=str)
def test_malformed_answers_between_frames_are_damage(tmp_path: Path, answers: Any) -> None:
    content = pack([HEADER, frame(), {"aside": answers}, frame(2)])
    count, damage = outcome(tmp_path, content)
    assert count == 1
    assert "answers between two frames" in (damage or "")
