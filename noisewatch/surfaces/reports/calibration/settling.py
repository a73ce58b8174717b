"""The result of warming up until the clock was stable, as a line and as JSON."""

from __future__ import annotations

from typing import Any

from noisewatch.model.calibration.settling import SettledCpu, Settling
from noisewatch.turbo import LEAST_S

_SAME = 0.005  # a share: clocks shown in three digits do not differ by less


def settling_line(settling: Settling) -> str:
    """Return a line such as `settled after 27 s: 4.40 → 2.10 GHz on CPU 3 (worked for 53 s)`."""
    slowest, worked = settling.slowest, f"worked for {settling.seconds} s"
    if slowest is None:
        return "not settled: not all of the CPUs could be measured"
    moved = _moved(slowest)
    if settling.after_s is not None:
        after = f"after {settling.after_s} s" if settling.after_s else "at once"
        return f"settled {after}: {moved} ({worked})"
    if settling.seconds < LEAST_S:
        return f"not settled: {moved} ({worked}, and a turbo budget may last for {LEAST_S} s)"
    return f"not settled in time: {moved}, and the clock may still move ({worked})"


def _moved(cpu: SettledCpu) -> str:
    """Return from which clock to which the CPU moved, or by which ratio if the frequency itself is unknown."""
    is_same = abs(cpu.last / cpu.first - 1) < _SAME
    if cpu.is_khz:
        last = f"{cpu.last / 1e6:.2f} GHz on CPU {cpu.cpu}"
        return last if is_same else f"{cpu.first / 1e6:.2f} → {last}"
    return (
        f"the same speed on CPU {cpu.cpu}" if is_same else f"{cpu.last / cpu.first:.0%} of the speed on CPU {cpu.cpu}"
    )


def describe_settling(settling: Settling | None) -> dict[str, Any] | None:
    """Return `settling` of the JSON document, or None if it was not requested. `speed_ratio` is last by first speed."""
    if settling is None:
        return None
    return {
        "is_level": settling.is_level,
        "settled_after_s": settling.after_s,
        "worked_s": settling.seconds,
        "cpus": [
            {
                "cpu": each.cpu,
                "settled_after_s": each.after_s,
                "first_khz": each.first if each.is_khz else None,
                "last_khz": each.last if each.is_khz else None,
                "speed_ratio": each.last / each.first,
            }
            for each in settling.cpus
        ],
    }
