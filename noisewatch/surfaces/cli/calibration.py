"""What `calibrate` and `preflight` share: the budget, and a recording made on the way."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from noisewatch.errors import UsageError
from noisewatch.judgement.noise_floor import Budget
from noisewatch.kernel.calibration import CalibrationWish
from noisewatch.machine import Machine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.surfaces.output import opened_output

_NO_INTERVAL_S = 1.0  # a recording made on the way has two moments or one; a replay shows each for so long


def budget_of(arguments: Namespace) -> Budget:
    """What the options say of the benchmark to come."""
    return Budget(arguments.at, arguments.samples, arguments.max_cv, arguments.max_inflation)


def calibration_wish(arguments: Namespace, seconds: float) -> CalibrationWish:
    """What the options say of the calibration."""
    return CalibrationWish(seconds, arguments.realtime, getattr(arguments, "workload", ()), arguments.tracer)


@contextmanager
def recorded(machine: Machine, path: str | None) -> Iterator[Machine]:
    """The machine, which also writes what it is asked to `path`. Raises UsageError where that cannot be written."""
    if path is None:
        yield machine
        return
    if not machine.is_live:
        raise UsageError("only this host can be recorded")
    with opened_output(path) as sink:
        recorder = Recorder(machine, sink, _NO_INTERVAL_S)
        yield recorder
        recorder.close()
