"""What several commands do with the parsed command line: options objects, a recording on the way, last remarks."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noisewatch.machine import Machine
from noisewatch.operations.machines import MachineOptions, require_free
from noisewatch.surfaces.output import opened_output

if TYPE_CHECKING:
    from noisewatch.judgement.noise.floor import Budget
    from noisewatch.kernel.calibration import CalibrationOptions


def machine_options(arguments: Namespace) -> MachineOptions:
    """Which machine, and which CPUs on it, the command line names."""
    return MachineOptions(sysroot=arguments.sysroot, replay=arguments.replay, cpus=arguments.cpus)


def budget_of(arguments: Namespace) -> Budget:
    """What the options say of the benchmark to come."""
    from noisewatch.judgement.noise.floor import Budget  # the monitor imports this module, and shows a picture first

    return Budget(arguments.at, arguments.samples, arguments.max_cv, arguments.max_inflation)


def calibration_options(arguments: Namespace, seconds: float) -> CalibrationOptions:
    """What the options say of the microbenchmark."""
    from noisewatch.kernel.calibration import CalibrationOptions

    return CalibrationOptions(seconds, arguments.realtime, getattr(arguments, "workload", ()), arguments.tracer)


@contextmanager
def recorded_to(path: str | None, machine: Machine) -> Iterator[Machine]:
    """The machine, which also writes what it is asked to `path`. Raises UsageError where that cannot be written."""
    if path is None:
        yield machine
        return
    require_free(path)
    from noisewatch.operations.record import recorded  # with the sampler, which nothing else here needs

    with opened_output(path) as sink, recorded(machine, sink) as source:
        yield source


def report_damage(machine: Machine) -> None:
    """Says on standard error where a replay ended before its recording did."""
    damage = getattr(machine, "damage", None)
    if damage is not None:
        print(f"noisewatch: {machine.name}: {damage}; replayed up to there", file=sys.stderr)
