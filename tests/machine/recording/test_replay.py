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
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.recorder import KEY_FRAME_EVERY, Recorder
from noisewatch.machine.recording.replay import Recording
from tests.machine.recording.recorded import HEADER, frame, lines_of, outcome, packed, recorded, replayed, written
from tests.plumbing.any_json import ANY_JSON
from tests.written import SECOND_NS, Files, WrittenMachine, without
from tests.written.quiet_machine import process, quiet_files

_NOTHING_READ = EarlierSnapshots()


def _comparable(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without what a recording leaves out on purpose, whose machine it was, and without caches."""
    return replace(snapshot, machine_name="", platform=replace(snapshot.platform, host=None), earlier=_NOTHING_READ)


def _moments(count: int) -> list[dict[str, str]]:
    return [quiet_files(float(second)) for second in range(count)]


def _assert_replayed(root: Path, moments: list[dict[str, str]]) -> None:
    content, snapshots = recorded(*moments)
    again = replayed(Recording(written(root, content)))
    assert len(again) == len(moments)
    assert list(map(_comparable, again)) == list(map(_comparable, snapshots))


@pytest.mark.parametrize("count", [5, 25, KEY_FRAME_EVERY + 3], ids=["few", "settings twice", "behind a key frame"])
def test_every_moment_of_a_recording_is_replayed_as_it_was(tmp_path: Path, count: int) -> None:
    _assert_replayed(tmp_path, _moments(count))


_OFFLINE = {"/sys/devices/system/cpu/online": "0-2\n", "/sys/devices/system/cpu/offline": "3\n"}
_ROW = {"/proc/interrupts": quiet_files()["/proc/interrupts"] + " 99: 1 2 3 4 IO-APIC 9-edge late\n"}
_FILE = {"/proc/schedstat": "version 15\ncpu0 0 0 0 0 0 0 281793214 16002335 366\n"}


@pytest.mark.parametrize("changes", [_OFFLINE, _ROW, _FILE], ids=["an offline CPU", "a row", "a file"])
def test_what_comes_and_goes_is_replayed(tmp_path: Path, changes: Files) -> None:
    moments = _moments(3)
    moments[1] |= changes
    _assert_replayed(tmp_path, moments)


def test_processes_that_come_and_go_are_replayed(tmp_path: Path) -> None:
    moments = _moments(4)
    moments[1] |= process(900, "visitor", 1, 5_000)
    moments[2] |= process(900, "visitor", 1, 9_000) | process(901, "guest", 0, 1)
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
    """A recording of four moments of a machine with few files."""
    many = ("/sys/devices/system/cpu/cpu1", "/sys/devices/system/cpu/cpu2", "/sys/devices/system/cpu/cpu3")
    moments = [without(quiet_files(second) | process(900, "b\udcff", 1, 5), *many) for second in (0.0, 1.0, 2.0, 3.0)]
    return recorded(*moments)[0]


def test_a_whole_recording_is_not_damaged(tmp_path: Path) -> None:
    assert outcome(tmp_path, _small()) == (MOMENTS, None)


def test_a_recording_cut_anywhere_is_replayed_up_to_the_cut_or_refused(tmp_path: Path) -> None:
    content = _small()
    outcomes = [outcome(tmp_path, content[:size]) for size in range(0, len(content), 53)]
    counts = [count for count, _ in (*outcomes, outcome(tmp_path, content))]
    assert set(counts) == set(range(MOMENTS + 1))
    assert counts == sorted(counts)
    assert [size for size, (_, damage) in enumerate(outcomes) if not damage] == []


def test_a_flipped_bit_in_the_file_is_damage_or_a_refusal(tmp_path: Path) -> None:
    content = _small()
    flipped = []
    for at in range(10, len(content), 59):  # behind gzip's own header, most of which is not checked
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        flipped.append(outcome(tmp_path, bytes(damaged)))
    assert len(flipped) > 100
    # A few bits of gzip's mean nothing: then all of it is replayed.
    assert [number for number, (count, damage) in enumerate(flipped) if not damage and count < MOMENTS] == []


def test_a_flipped_bit_in_the_text_of_a_recording_never_ends_in_a_traceback(tmp_path: Path) -> None:
    text = gzip.decompress(_small())
    outcomes = []
    for at in range(0, len(text), 397):
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
@given(frames=st.lists(_FRAMES | ANY_JSON, max_size=4))
def test_frames_of_any_shape_are_replayed_or_refused(tmp_path: Path, frames: list[Any]) -> None:
    path = written(tmp_path, packed([HEADER, frame(read={"text /a": "x\ny\n", "mode /a": 1}), *frames]))
    assert _use(Recording(path)) >= 1


@_HYPOTHESIS
@given(header=ANY_JSON | st.fixed_dictionaries({"noisewatch_recording": st.just(1), "own_pids": ANY_JSON}))
def test_a_header_of_any_shape_is_accepted_or_refused(tmp_path: Path, header: Any) -> None:
    count, refusal = outcome(tmp_path, packed([header, frame()]))
    assert count == 1 or refusal


_NO_GZIP = [b"", b"cpu 1 2 3\n", b"\x1f\x8b", b"\x1f\x8b\x08\x00rubbish", bytes(64)]
_OTHERS: list[list[Any]] = [[], ["text"], [{}], [{"name": 1}, frame()], [5], [None]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content, r"recording\.nwr: ") for content in _NO_GZIP),
        *((packed(lines), "not a recording of noisewatch") for lines in _OTHERS),
        (packed([HEADER]), "contains no snapshot"),
        *(
            (
                packed([{**HEADER, "noisewatch_recording": version}, frame()]),
                f"recorded in format {version}, this noisewatch reads format 1",
            )
            for version in (0, 2, "1", None)
        ),
    ],
)
def test_a_file_that_is_no_recording_of_this_format_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Recording(written(tmp_path, content))


@pytest.mark.parametrize(("name", "words"), [("", "is a directory"), ("missing", "no such file")])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Recording(str(tmp_path / name))


@pytest.mark.parametrize("aside", [7, None, [], {"text /proc/stat": "x"}, "x"], ids=str)
def test_an_answer_between_frames_that_is_none_is_damage(tmp_path: Path, aside: Any) -> None:
    content = packed([HEADER, frame(), {"aside": aside}, frame(2)])
    count, damage = outcome(tmp_path, content)
    assert count == 1
    assert "answers between two frames" in (damage or "")
