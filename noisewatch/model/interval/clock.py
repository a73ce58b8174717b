"""Computes the shares of idle states, and the power, between two readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisewatch.kernel.frequency.clock_readings import PackageReadings
    from noisewatch.kernel.frequency.idle import StateTime
    from noisewatch.kernel.frequency.powercap import Zone

_NS_PER_US = 1000
_MOST_WATTS = 10_000.0  # W of a package; a higher power means that the counter restarted
_MOST_SHARE = 1.05  # largest tolerated sum of all states' shares, because they are not read at one instant
_TRUSTED = 0.2  # largest tolerated difference between counted sleeps and idle time, as a share


def state_shares(
    before: Sequence[StateTime], after: Sequence[StateTime], length_ns: int, idle_share: float | None
) -> tuple[float, ...] | None:
    """Return the share of the interval that a CPU slept in each of its idle states, in order, or None if unknown.

    The kernel counts a sleep when it ends. If the counted sleep differs much from the idle time in /proc/stat, a sleep
    extended beyond the interval and its state is unknown.
    """
    slept = [_slept_us(old, new) for old, new in zip(before, after, strict=False)]
    valid_us = [us for us in slept if us is not None]
    if not valid_us or len(valid_us) < len(slept) or len(before) != len(after) or length_ns <= 0:
        return None
    shares = tuple(us * _NS_PER_US / length_ns for us in valid_us)
    total = sum(shares)
    is_trusted = idle_share is not None and total <= _MOST_SHARE and abs(total - idle_share) <= _TRUSTED
    return tuple(min(share, 1.0) for share in shares) if is_trusted else None


def _slept_us(before: StateTime, after: StateTime) -> int | None:
    if before.slept_us is None or after.slept_us is None or after.slept_us < before.slept_us:
        return None
    return after.slept_us - before.slept_us


def watts_of(package: int, before: PackageReadings | None, after: PackageReadings) -> float | None:
    """Return the package's mean power (W) between the readings, or None if the energy of any zone is unknown."""
    if before is None or after.read_at_ns <= before.read_at_ns:
        return None
    old = {zone.path: zone for zone in before.zones}
    seconds = (after.read_at_ns - before.read_at_ns) / 1e9
    zones = [zone for zone in after.zones if zone.package == package]
    own = [zone for zone in zones if not zone.is_firmware_zone] or zones
    watts = [_watts(old.get(zone.path), zone, seconds) for zone in own]  # one for each die
    measured = [value for value in watts if value is not None]
    return sum(measured) if measured and len(measured) == len(watts) else None


def _watts(before: Zone | None, after: Zone, seconds: float) -> float | None:
    if before is None or before.energy_uj is None or after.energy_uj is None:
        return None
    watts = used_uj(before.energy_uj, after.energy_uj, after.range_uj) / 1e6 / seconds
    return watts if 0 < watts <= _MOST_WATTS else None  # a constant counter is broken, because every package uses power


def used_uj(before: int, after: int, range_uj: int | None) -> int:
    """Return the energy (µJ) between two values of a counter that wrapped at most once."""
    return after - before if after >= before else after - before + (range_uj or 0) + 1
