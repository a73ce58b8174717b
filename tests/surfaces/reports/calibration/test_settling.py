"""The line that reports whether the clocks have settled."""

from __future__ import annotations

import pytest

from noisewatch.kernel.calibration import CpuSpeeds
from noisewatch.model.calibration.settling import settling_of
from noisewatch.surfaces.reports.calibration.json import describe_settling
from noisewatch.surfaces.reports.calibration.text import settling_line

_TURBO = (10_000,) * 27 + (21_000,) * 16


@pytest.mark.parametrize(
    ("times", "cycles", "line"),
    [
        (_TURBO, 44_000, "settled after 27 s: 4.40 → 2.10 GHz on CPU 3 (worked for 43 s)"),
        (_TURBO, None, "settled after 27 s: 48% of the first speed on CPU 3 (worked for 43 s)"),
        ((10_000,) * 50, 44_000, "settled at once: 4.40 GHz on CPU 3 (worked for 50 s)"),
        ((10_000,) * 50, None, "settled at once: the same speed on CPU 3 (worked for 50 s)"),
        (
            (10_000,) * 20,
            44_000,
            "not settled: 4.40 GHz on CPU 3 (worked for 20 s, and a turbo budget may last for 42 s)",
        ),
        (
            tuple(range(10_000, 22_000, 100)),
            44_000,
            "not settled in time: 4.40 → 2.05 GHz on CPU 3, and the clock may still move (worked for 120 s)",
        ),
        ((), None, "not settled: not all CPUs could be measured"),
    ],
)
def test_line_shows_the_settling_time_and_both_clocks(times: tuple[int, ...], cycles: int | None, line: str) -> None:
    assert settling_line(settling_of([CpuSpeeds(3, times, cycles)])) == line


def test_json_lists_each_cpu() -> None:
    description = describe_settling(settling_of([CpuSpeeds(3, _TURBO, 40_000)]))
    assert description is not None
    assert (description.is_level, description.settled_after_s, description.worked_s) == (True, 27, 43)
    assert description.cpus[0].first_khz == 4_000_000
    assert describe_settling(None) is None
