"""Shifts between the kernel's clocks, from one reading to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from noisewatch.kernel.system.clock import ClockOffsets

STEP_NS = 1_000_000  # smaller shifts may come from reading one clock after the other; slewing moves all clocks alike


class ClockShift(Struct, frozen=True):
    """The shifts between the kernel's clocks, in ns.

    `stepped_ns` is the shift of the time of day against CLOCK_MONOTONIC, from setting the clock or from a suspend.
    `suspended_ns` is the shift of CLOCK_BOOTTIME against CLOCK_MONOTONIC, which does not advance during a suspend
    (https://man7.org/linux/man-pages/man2/clock_gettime.2.html).
    """

    stepped_ns: int
    suspended_ns: int

    @property
    def is_step(self) -> bool:
        """Whether the time of day was set. A suspend does not count: it shifts CLOCK_BOOTTIME by as much."""
        return abs(self.stepped_ns) > STEP_NS and abs(self.stepped_ns - self.suspended_ns) > STEP_NS

    @property
    def is_suspend(self) -> bool:
        return self.suspended_ns > STEP_NS


def shift_between(before: ClockOffsets, after: ClockOffsets) -> ClockShift:
    """Return the shift of the clocks between the two readings."""
    return ClockShift(stepped_ns=after.wall_ns - before.wall_ns, suspended_ns=after.boot_ns - before.boot_ns)
