"""One case in detail: how fast its kind of work was in the calibration, and in each benchmark sample after it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kinds import Work
from noisewatch.model.calibration.timeline import SERIES_OF
from tests.truth.workloads import VALUES

_STEP_NS = 500_000_000


def detail_lines(case: dict[str, Any], sample_ms: int) -> Iterator[str]:
    """Yield one line for the calibration and one for the benchmark, whose samples are grouped by process.

    The times of each line are relative to their median.
    """
    (cpu,) = parse_calibration(case["before"]).cpus
    (series,) = SERIES_OF[Work(case["work"])]
    samples = cpu.samples_of(series)
    by_step: dict[int, list[int]] = {}
    for start_ns, length_ns in zip(samples.start_ns, samples.length_ns, strict=True):
        by_step.setdefault(start_ns // _STEP_NS, []).append(length_ns)
    median_ns = statistics.median(samples.length_ns)
    before = (f"{statistics.median(lengths_ns) / median_ns:.2f}" for _, lengths_ns in sorted(by_step.items()))
    yield f"    before, by half seconds:   {' '.join(before)}"
    times = case["samples_s"][str(sample_ms)]
    median_s = statistics.median(times)
    after = [f"{time / median_s:.2f}" for time in times]
    processes = (" ".join(after[at : at + VALUES]) for at in range(0, len(after), VALUES))
    yield f"    measured, by processes:    {' | '.join(processes)}"
