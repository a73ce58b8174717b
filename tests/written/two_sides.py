"""A made-up machine whose CPUs 2-3 are isolated and whose CPUs 0-1 are shared, calibrated; for pictures.

    python -m tests.written.two_sides FILE.nw

records it. CPUs 2-3 have hardly more than the tick; on CPUs 0-1 threads run as well, sometimes for milliseconds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.surfaces.running import record
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet_machine import quiet_files

_SECONDS = 10.0
_TICK_NS = 4_000_000
Gap = tuple[int, int, int, int]


def _gaps(
    rng: Random, tick_ns: Callable[[], float], others: tuple[tuple[float, float, float, int], ...]
) -> tuple[Gap, ...]:
    """Return ticks and other gaps. `others`: rate per second, median length (ns), spread, and number of switches."""
    gaps = [(at, round(tick_ns()), 0, 0) for at in range(0, round(_SECONDS * 1e9), _TICK_NS)]
    for rate, median_ns, spread, switches in others:
        for _ in range(round(rate * _SECONDS)):
            length_ns = round(median_ns * math.exp(rng.gauss(0, spread)))
            gaps.append((round(rng.random() * _SECONDS * 1e9), max(length_ns, 1_000), switches, 0))
    kept: list[Gap] = []
    for gap in sorted(gaps):
        if not kept or gap[0] > kept[-1][0] + kept[-1][1]:
            kept.append(gap)
    return tuple(kept)


def record_two_sides(path: Path) -> Path:
    """Write the recording."""
    rng = Random(3)
    isolated = _gaps(rng, lambda: rng.gauss(5_500, 700), ((9, 2_200, 0.3, 0), (1, 26_000, 0.35, 1)))
    shared = _gaps(
        rng, lambda: rng.lognormvariate(9.4, 0.5), ((160, 3_000, 0.5, 0), (140, 60_000, 1.3, 1), (9, 4e6, 0.7, 1))
    )
    quiet = written_calibration((2, 3), _SECONDS, lambda at: round(WORK_NS * rng.gauss(1, 0.0006)), isolated)
    busy = written_calibration((0, 1), _SECONDS, lambda at: round(WORK_NS * rng.lognormvariate(0.05, 0.06)), shared)
    calibration = {**quiet, "cpus": [*busy["cpus"], *quiet["cpus"]]}
    return record(path, quiet_files(), quiet_files(3.0), calibration=calibration, calibrated_after=1)


if __name__ == "__main__":
    record_two_sides(Path(sys.argv[1]))
