"""Frames sampled from machines."""

from __future__ import annotations

import gc
import os
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.own_process import STAT
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Role
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations import sampling
from noisewatch.operations.frame.frame import Frame, encode_frame, stable_fields
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.operations.sampling import sample_frames
from tests.judgement.judging import finding
from tests.operations.listening import SilentListener
from tests.surfaces.running import quiet_tree, record
from tests.surfaces.tui.framing import model_of, screen
from tests.written import Files, WrittenMachine
from tests.written.quiet.tasks import own_stat
from tests.written.quiet_machine import ANSWERS, CPUS, process, quiet_files, stat_file

_MOMENTS = [quiet_files(3.0 * number) for number in range(4)]


def _replay(tmp_path: Path, *moments: Files) -> list[Frame]:
    recording = Recording(str(record(tmp_path / "machine.nw", *moments)))
    return list(sample_frames(recording, SnapshotOptions(), 1.0))


class _Host(WrittenMachine):
    is_live = True


def test_the_first_interval_begins_with_the_given_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    host = _Host(*_MOMENTS)
    task_reader = TaskReader()
    begun = task_reader, read_snapshot(host, SnapshotOptions(), task_reader)
    host.advance()
    first, second = islice(sample_frames(host, SnapshotOptions(), 3.0, lambda _: None, begun=begun), 2)
    assert (first.taken_at_ns, first.seconds) == (begun[1].taken_at_ns, 0.0)
    assert second.seconds == pytest.approx((second.taken_at_ns - first.taken_at_ns) / 1e9) == 3.0


def test_the_first_interval_begins_when_threads_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    host = _Host(*_MOMENTS)
    task_reader = TaskReader()
    read = replace(read_snapshot(host, SnapshotOptions(), task_reader), taken_at_ns=99_700_000_000)
    begun = task_reader, replace(read, tasks_lag_ns=200_000_000)
    slept: list[float] = []
    frames = sample_frames(host, SnapshotOptions(), 3.0, slept.append, begun=begun)
    assert next(frames).taken_at_ns == read.taken_at_ns
    next(frames)
    assert slept == [pytest.approx(0.4)]  # half a second from 99.9 s


def _roles(frame: Frame) -> dict[int, str]:
    return {line.cpu: line.role for line in frame.cpus}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_recording_has_a_frame_for_each_moment_and_the_last_is_marked(tmp_path: Path, count: int) -> None:
    frames = _replay(tmp_path, *_MOMENTS[:count])
    assert [frame.is_last for frame in frames] == [False] * (count - 1) + [True]
    assert [frame.taken_at_ns for frame in frames] == [(1 + 3 * number) * 10**9 for number in range(count)]


def test_only_a_thread_that_moved_is_an_estimate(tmp_path: Path) -> None:
    moments = [
        quiet_files(3.0 * at)
        | process(900, "hopper", 2, at * 500_000_000, allowed="0-3")
        | process(901, "stayer", 3, at * 500_000_000, allowed="0-3")
        | {"/proc/900/sched": f"se.nr_migrations : {2 + 50 * at}\n", "/proc/901/sched": "se.nr_migrations : 2\n"}
        | {"/proc/stat": stat_file({0: 6 * at, 2: 50 * at, 3: 50 * at}, 300 * at)}
        for at in range(1, 4)
    ]
    last = _replay(tmp_path, *moments)[-1]
    marks = {
        line.name: line.is_estimate for line in last.culprits if line.kind == "thread" and line.role == Role.TARGET
    }
    assert marks == {"hopper": True, "stayer": False}


def test_frames_leave_no_reference_cycles(tmp_path: Path) -> None:
    frames = sample_frames(Recording(str(record(tmp_path / "machine.nw", *_MOMENTS))), SnapshotOptions(), 1.0)
    fields = stable_fields(next(frames))
    gc.collect()
    gc.disable()
    try:
        for frame in islice(frames, len(_MOMENTS) - 2):
            encode_frame(frame, fields)
            fields = stable_fields(frame)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_first_frame_has_no_rates_and_no_verdict(tmp_path: Path) -> None:
    first, second = _replay(tmp_path, *_MOMENTS[:2])
    assert (first.seconds, first.verdict, first.culprits) == (0.0, None, ())
    assert {line.stolen_ns_per_s for line in first.cpus} == {None}
    assert (second.seconds, second.verdict) == (3.0, "stable")


def test_a_frame_has_the_judged_time_of_at_least_five_seconds_if_possible(tmp_path: Path) -> None:
    assert [frame.judged_s for frame in _replay(tmp_path, *_MOMENTS)] == [None, 3.0, 6.0, 6.0]


def test_a_copied_tree_has_one_frame_marked_as_last(unchanged_tree: Path) -> None:
    frames = list(sample_frames(CopiedTree(str(unchanged_tree)), SnapshotOptions(), 1.0))
    assert [(frame.is_last, frame.seconds) for frame in frames] == [(True, 0.0)]
    assert frames[0].target == (2, 3)


def test_work_between_two_ticks_is_a_culprit_and_in_the_header(tmp_path: Path) -> None:
    rows = [f"version 15\ncpu2 0 0 0 0 0 0 {number * 900_000_000} 0 {number * 600}\n" for number in range(3)]
    last = _replay(tmp_path, *({**_MOMENTS[at], "/proc/schedstat": row} for at, row in enumerate(rows)))[-1]
    (row,) = [line for line in last.cpus if line.cpu == 2]
    assert row.busy_share == pytest.approx(0.3)
    assert (last.culprits[0].kind, last.culprits[0].stolen_ns_per_s) == ("unexplained", 300_000_000)
    assert "worst CPU 2: 300 ms/s" in screen(model_of(last))[1]


def test_a_hog_on_a_target_cpu_is_the_first_culprit(tmp_path: Path) -> None:
    hogged = [
        _MOMENTS[number]
        | process(900, "hog", 2, number * 1_500_000_000, allowed="0-3")
        | {"/proc/stat": stat_file({2: 150 * number}, 300 * number)}
        for number in range(3)
    ]
    last = _replay(tmp_path, *hogged)[-1]
    first = last.culprits[0]
    assert (first.name, first.pid, first.cpu, first.kind, first.role) == ("hog", 900, 2, "thread", Role.TARGET)
    assert first.stolen_ns_per_s == 500_000_000
    assert last.verdict == "unstable"
    assert "tasks-on-target" in last.failed


def test_roles_are_target_sibling_and_housekeeping(tmp_path: Path) -> None:
    pairs = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    tree = CopiedTree(str(quiet_tree(tmp_path, pairs)))
    (frame,) = sample_frames(tree, SnapshotOptions(frozenset({2})), 1.0)
    assert _roles(frame) == {0: Role.SIBLING, 1: Role.HOUSEKEEPING, 2: Role.TARGET, 3: Role.HOUSEKEEPING}


def test_an_offline_cpu_has_a_line(tmp_path: Path) -> None:
    offline = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/offline": "1\n", f"{CPUS}/cpu1/online": "0\n"}
    (frame,) = sample_frames(CopiedTree(str(quiet_tree(tmp_path, offline))), SnapshotOptions(), 1.0)
    assert _roles(frame) == {0: Role.HOUSEKEEPING, 1: Role.OFFLINE, 2: Role.TARGET, 3: Role.TARGET}
    assert frame.online_count == 3


def test_an_offline_target_cpu_has_a_line(tmp_path: Path) -> None:
    offline = {f"{CPUS}/online": "0-2\n", f"{CPUS}/offline": "3\n"}
    (frame,) = sample_frames(CopiedTree(str(quiet_tree(tmp_path, offline))), SnapshotOptions(frozenset({3})), 1.0)
    assert _roles(frame)[3] == Role.OFFLINE


def test_an_unreadable_interrupt_table_makes_the_noise_unknown(tmp_path: Path) -> None:
    after = {path: text for path, text in _MOMENTS[1].items() if path != "/proc/interrupts"}
    last = _replay(tmp_path, _MOMENTS[0], after)[-1]
    assert {line.interrupts_per_s for line in last.cpus} == {None}
    assert {line.stolen_ns_per_s for line in last.cpus} == {None}


def test_a_damaged_recording_has_a_remark_in_its_last_frame(tmp_path: Path) -> None:
    path = record(tmp_path / "machine.nw", *_MOMENTS)
    path.write_bytes(path.read_bytes()[:-60])
    last = list(sample_frames(Recording(str(path)), SnapshotOptions(), 1.0))[-1]
    assert last.is_last
    assert "damaged after" in (last.remark or "")


def test_names_of_softirqs_are_printable(tmp_path: Path) -> None:
    moments = [
        files | {"/proc/softirqs": f" CPU0 CPU1 CPU2 CPU3\n\x1b]0;x\x07: 0 0 {count} 0\n"}
        for files, count in zip(_MOMENTS[:2], (0, 3000), strict=True)
    ]
    names = [culprit.name for culprit in _replay(tmp_path, *moments)[-1].culprits]
    assert len(names) > 0
    assert [name for name in names if not name.isprintable()] == []


def test_the_monitors_own_nice_value_is_not_the_benchmarks(tmp_path: Path) -> None:
    niced = [moment | {STAT: own_stat(nice=10)} for moment in _MOMENTS[:2]]
    assert "priority-lowered" not in {line.id for line in _replay(tmp_path, *niced)[-1].findings}
    options = PreflightOptions(announced=frozenset({2, 3}), starts_benchmark=False)
    verdict = preflight(Recording(str(record(tmp_path / "niced.nw", *niced))), options, SilentListener()).verdict
    assert finding(verdict, "priority-lowered").status == Status.NOT_APPLICABLE


def test_irq_settings_are_sent_with_the_balancer_after_a_change(tmp_path: Path) -> None:
    moved = {"/proc/irq/24/smp_affinity_list": "1\n", "/proc/irq/24/effective_affinity_list": "1\n"}
    balancer = process(800, "irqbalance", 0, 5)
    frames = _replay(tmp_path, *[quiet_files(3.0 * at) | balancer | (moved if at else {}) for at in range(6)])
    settings = [(frame.irq_settings is not None, frame.irq_balancer) for frame in frames]
    assert [at for at, setting in enumerate(settings) if setting == (True, "irqbalance (pid 800)")] == [0, 4]
    assert set(settings[1:4] + settings[5:]) == {(False, None)}
    assert _replay(tmp_path, *_MOMENTS[:2])[0].irq_balancer is None


def _live_frames(monkeypatch: pytest.MonkeyPatch, *moments: Files) -> tuple[list[Frame], list[float]]:
    """Return the frames of a host at these moments, and when it was judged (s)."""
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    host = _Host(*moments, answers=ANSWERS, seconds_between=1.0)
    judged_at: list[float] = []

    def judge_and_note(case: Case, *args: Any, **options: Any) -> Verdict:
        judged_at.append((case.snapshot.taken_at_ns - first.taken_at_ns) / 1e9)
        return judge(case, *args, **options)

    monkeypatch.setattr(sampling, "judge", judge_and_note)
    frames = sample_frames(host, SnapshotOptions(), 1.0, lambda _: host.advance())
    first = next(frames)
    return [first, *islice(frames, len(moments) - 1)], judged_at


def test_an_unchanged_host_is_judged_every_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    frames, judged_at = _live_frames(monkeypatch, *[quiet_files(1.0 * at) for at in range(17)])
    assert judged_at == [1, 2, 3, 4, 5, 10, 15]
    assert {frame.verdict for frame in frames[1:]} == {"stable"}
    assert [frame.judged_s for frame in frames[5:]] == [5.0] * 12


def test_a_host_is_judged_at_once_when_a_hog_starts_and_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = [
        quiet_files(1.0 * at)
        | process(900, "hog", 2, min(max(at - 7, 0), 3) * 500_000_000, allowed="0-3")
        | {"/proc/stat": stat_file({2: 50 * min(max(at - 7, 0), 3)}, 100 * at)}
        for at in range(14)
    ]
    frames, judged_at = _live_frames(monkeypatch, *moments)
    assert {8, 11} <= set(judged_at)
    assert not {7, 9, 12} & set(judged_at)  # at 10 s the settings are read again
    assert [frame.verdict for frame in frames[7:9]] == ["stable", "unstable"]


def test_a_host_is_judged_at_once_when_the_time_of_a_target_cpu_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stable verdict must not outlive its evidence."""
    moments = [quiet_files(1.0 * at) for at in range(10)]
    for files in moments[7:]:
        rows = files["/proc/stat"].splitlines(keepends=True)
        files["/proc/stat"] = "".join(row for row in rows if not row.startswith("cpu2 "))
    frames, judged_at = _live_frames(monkeypatch, *moments)
    assert 7 in judged_at
    assert [frame.verdict for frame in frames[6:8]] == ["stable", "unknown"]
