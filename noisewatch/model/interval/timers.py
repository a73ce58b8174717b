"""Timer interrupts that come too often to be the kernel's tick.

A tick comes CONFIG_HZ times a second at the most. A profiler's timer (perf record -e cpu-clock), or a program that
sleeps for microseconds, arms the same timer of the CPU, and counts in the same row of /proc/interrupts.
"""

from __future__ import annotations

TIMER_INTERRUPTS = "timer interrupts"
SMALLEST_HZ, LARGEST_HZ = 100, 1000  # kernel/Kconfig.hz
_FAR_ABOVE = 1.5  # threads that sleep on the CPU add a few to its tick


def is_far_above_tick(rate_per_s: float, hz: int | None) -> bool:
    """Whether timer interrupts come too often to be the tick; where `hz` is not known, the largest that there is."""
    return rate_per_s > _FAR_ABOVE * (hz or LARGEST_HZ)
