"""The times and gaps of a set of CPUs, for a comparison with another set."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from noisewatch.cpus import CpuSet
from noisewatch.model.calibration.figures import Calibration


def work_times(calibration: Calibration, cpus: CpuSet) -> list[float]:
    """Return the times (ns) of the pieces of interpreted work, or of the workload's runs, on these CPUs."""
    return [
        float(length)
        for samples in calibration.samples.cpus
        if samples.cpu in cpus and samples.trouble is None
        for length in (samples.commands if calibration.samples.command else samples.interpreted).length_ns
    ]


def gap_lengths(calibration: Calibration, cpus: CpuSet) -> list[float]:
    """Return the lengths (ns) of the gaps on these CPUs."""
    return [
        float(length)
        for samples in calibration.samples.cpus
        if samples.cpu in cpus and samples.trouble is None
        for length in samples.gaps.length_ns
    ]


def summary(times: Sequence[float]) -> tuple[float, float, float] | None:
    """Return median, standard deviation and maximum; None for fewer than two times."""
    if len(times) < 2:
        return None
    return statistics.median(times), statistics.stdev(times), max(times)
