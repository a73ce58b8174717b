"""Calibrating a machine that has been looked at: which CPUs, and from where."""

from __future__ import annotations

from noisewatch.errors import CannotMeasure
from noisewatch.machine import Machine
from noisewatch.machine.calibrator.run import Watch
from noisewatch.sources.calibration import CalibrationSamples, CalibrationWish, read_calibration
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.snapshot import Snapshot

_NO_CPUS = "there is no target CPU to calibrate"


def calibrate_cpus(
    machine: Machine, snapshot: Snapshot, cpus: CpuSet, wish: CalibrationWish, watch: Watch
) -> CalibrationSamples | str:
    """The calibration; the reason where there is none. This process should have moved aside before."""
    if not cpus:
        return _NO_CPUS
    try:
        return read_calibration(machine, cpus, snapshot.topology, wish, watch)
    except CannotMeasure as error:
        return str(error)
