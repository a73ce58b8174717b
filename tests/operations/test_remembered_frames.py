"""Frames of changing machines, made with remembered answers, equal those made without them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.replay import Recording
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.frame.frame import NO_FIELDS, decode_frame, encode_frame, stable_fields
from noisewatch.operations.frame.making import frame_of
from tests import MACHINES
from tests.written.many_cpus import record_many_cpus


def _snapshots(path: Path) -> Iterator[Snapshot]:
    recording, task_reader = Recording(str(path)), TaskReader()
    before = read_snapshot(recording, SnapshotOptions(), task_reader)
    yield before
    while recording.advance():
        before = read_snapshot(recording, SnapshotOptions(), task_reader, before)
        yield before


def _assert_frames_are_current(path: Path) -> None:
    remembered = Remembered()
    sent = received = NO_FIELDS
    for before, after in pairwise(_snapshots(path)):
        interval = interval_between(before, after)
        case = Case(after, interval, starts_benchmark=False, remembered=remembered)
        verdict, fresh = judge(case, remembered=remembered), judge(Case(after, interval, starts_benchmark=False))
        assert (verdict.verdict, verdict.findings) == (fresh.verdict, fresh.findings)
        frame = frame_of(after, interval, verdict, has_answers=True, remembered=remembered, sampler_cpu_s=None)
        assert frame == frame_of(after, interval, fresh, has_answers=True, sampler_cpu_s=None)
        decoded = decode_frame(encode_frame(frame, sent), received)
        assert decoded == frame
        sent, received = stable_fields(frame), stable_fields(decoded)


@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.nw")))
def test_frames_of_a_recorded_machine_are_current(name: str) -> None:
    _assert_frames_are_current(MACHINES / f"{name}.nw")


def test_frames_are_current_after_noise_hotplug_and_other_governors(tmp_path: Path) -> None:
    _assert_frames_are_current(record_many_cpus(4, tmp_path / "4.nw", 108))
