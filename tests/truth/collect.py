"""One case: a calibration, then a benchmark in samples of several lengths, all pinned to one CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noisewatch.machine.spinning.calibration.buffer import plan_slots
from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate
from tests.truth.workloads import PROCESSES_BY_MS, Workload


def collect(cpu: int, workload: Workload, program: Path, once_s: float, seconds: float, core: str) -> dict[str, Any]:
    """Calibrate, then measure. Return the raw calibration, and the samples (s) by their intended length (ms)."""
    calibration = calibrate(
        Calibrating(plan_slots([cpu], {}, {}, round(seconds * 1e9)), core=core), lambda progress: None
    )
    samples: Mapping[str, list[float]] = {
        str(ms): workload.samples_s(program, cpu, ms, once_s, processes)
        for ms, processes in PROCESSES_BY_MS.items()
        if once_s <= ms / 1e3
    }
    return {"before": calibration, "work": workload.work, "workload": workload.name, "samples_s": samples}
