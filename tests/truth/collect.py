"""One case: a calibration, benchmarks by pyperf, a calibration; all pinned to one CPU."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path
from typing import Any

from noisewatch.machine.spinning.calibration.buffer import plan_slots
from noisewatch.machine.spinning.calibration.run import Calibrating, calibrate
from noisewatch.machine.spinning.loops import NATIVE

STATEMENTS = (
    "sum(range(1000))",
    "[str(number) for number in range(50)]",
    "sorted(number * 7919 % 1009 for number in range(200))",
    "{number: (number, number + 1) for number in range(100)}",
    "for number in range(500): number ^ 3",
)
Loops = dict[str, dict[int, int]]  # by statement and ms
_VALUES = 5  # in each process
_PROCESSES_BY_MS = {1: 20, 10: 20, 100: 6}


def loops_for(statement: str) -> dict[int, int]:
    """How often the statement runs in a sample of so many milliseconds, without noise."""
    once_s = min(timeit.repeat(statement, number=100, repeat=50)) / 100
    return {ms: max(round(ms / 1e3 / once_s), 1) for ms in _PROCESSES_BY_MS}


def collect(cpu: int, repetition: int, seconds: float, core: str, loops: Loops) -> dict[str, Any]:
    """The raw calibrations before and after, and the samples in between, in seconds by how long they were to last."""
    statement = STATEMENTS[repetition % len(STATEMENTS)]
    before = _calibrated(cpu, seconds, core)
    samples = {
        str(ms): _benchmarked(cpu, statement, count, _PROCESSES_BY_MS[ms]) for ms, count in loops[statement].items()
    }
    return {"before": before, "after": _calibrated(cpu, seconds, core), "statement": statement, "samples_s": samples}


def _calibrated(cpu: int, seconds: float, core: str) -> dict[str, Any]:
    slots = plan_slots([cpu], {}, {}, round(seconds * 1e9), core == NATIVE)
    return calibrate(Calibrating(slots, core=core), lambda progress: None)


def _benchmarked(cpu: int, statement: str, loops: int, processes: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "benchmark.json"
        command = [sys.executable, "-m", "pyperf", "timeit", "-q", f"--affinity={cpu}", "--output", str(output)]
        command += ["-p", str(processes), "-n", str(_VALUES), "-w", "1", "-l", str(loops), statement]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (benchmark,) = json.loads(output.read_text())["benchmarks"]
    return [value * loops for run in benchmark["runs"] for value in run.get("values", [])]


def loops_of_all() -> Loops:
    """For each statement, measured while nothing else runs."""
    time.sleep(1)
    return {statement: loops_for(statement) for statement in STATEMENTS}
