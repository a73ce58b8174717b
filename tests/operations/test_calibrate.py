"""Calibrating this host for a moment, with what may go wrong meanwhile."""

from __future__ import annotations

import os
from typing import Self

from noisewatch.errors import CannotMeasure
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.calibrate import CalibrationRun, calibrate_cpus

_CPU = max(os.sched_getaffinity(0))


class _BreakingOff(TraceCollector):
    """Begins, and cannot be read then."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def drain(self) -> None:
        raise CannotMeasure("tracefs: input/output error")


def test_a_trace_that_breaks_off_leaves_the_calibration_as_it_is() -> None:
    machine = LiveMachine()
    snapshot = read_snapshot(machine, SnapshotOptions(), TaskReader())
    options = CalibrationOptions(0.5)
    run = calibrate_cpus(
        machine, snapshot, frozenset({_CPU}), options, watch=lambda progress: None, tracing=_BreakingOff
    )
    assert isinstance(run, CalibrationRun)
    assert [(each.cpu, each.trouble) for each in run.samples.cpus] == [(_CPU, None)]
    assert run.meanwhile.trace == "tracefs: input/output error"
