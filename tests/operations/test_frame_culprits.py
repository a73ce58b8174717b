"""The culprits of a frame, on a machine with more culprits than fit in it."""

from __future__ import annotations

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Role
from noisewatch.model.interval.disturbance import disturbances_of
from noisewatch.model.interval.interval import interval_between
from noisewatch.operations.frame.frame import MOST_CULPRITS
from noisewatch.operations.frame.making import frame_of
from tests.written.many_cpus import ManyCpus

_COUNT = 128


def test_a_frame_has_the_costliest_culprits_of_all_cpus() -> None:
    machine, task_reader = ManyCpus(_COUNT), TaskReader()
    before = read_snapshot(machine, SnapshotOptions(), task_reader)
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(), task_reader, before)
    interval = interval_between(before, after)
    frame = frame_of(after, interval, None, sampler_cpu_s=None)
    role_by_cpu = {line.cpu: line.role for line in frame.cpus}
    disturbances = [
        culprit for cpu in range(_COUNT) for culprit in disturbances_of(interval, cpu) if cpu in interval.load_by_cpu
    ]
    disturbances.sort(key=lambda culprit: (role_by_cpu[culprit.cpu] == Role.HOUSEKEEPING, -(culprit.stolen_ns or 0)))
    assert len(disturbances) > MOST_CULPRITS
    assert [(culprit.cpu, culprit.name, culprit.pid) for culprit in frame.culprits] == [
        (culprit.cpu, culprit.name, culprit.pid) for culprit in disturbances[:MOST_CULPRITS]
    ]
