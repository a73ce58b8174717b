"""Facts about limits of the target CPUs and their packages: power, clocks, and the CPU quota.

A fact is `none` if the kernel reports no such limit, and None if that is unknown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noisewatch.model.history.grouped import grouped, grouped_by_name

if TYPE_CHECKING:
    from noisewatch.kernel.frequency.limits import UncoreDomain
    from noisewatch.kernel.frequency.powercap import PowerLimit
    from noisewatch.kernel.snapshot.snapshot import Snapshot

ENERGY_BIAS, POWER_LIMITS, UNCORE_CLOCK = "energy bias", "power limits", "uncore clock"
FIRMWARE_CLOCK, CPU_QUOTA = "clock limit of the firmware", "CPU quota"
_NONE = "none"


def limit_settings(snapshot: Snapshot) -> dict[str, str | None]:
    """Return the limits of the target CPUs, by the names of the facts."""
    return {
        ENERGY_BIAS: _energy_bias(snapshot),
        POWER_LIMITS: _power_limits(snapshot),
        UNCORE_CLOCK: _uncore_clock(snapshot),
        FIRMWARE_CLOCK: _firmware_clock(snapshot),
    }


def cpu_quota(snapshot: Snapshot) -> str | None:
    """Return the quota of the cgroups above this process: `0.5 CPUs`."""
    share = snapshot.cgroup.cpu_quota_share
    return None if share is None else _NONE if math.isinf(share) else f"{share:g} CPUs"


def _energy_bias(snapshot: Snapshot) -> str | None:
    from noisewatch.kernel.snapshot.hardware import bias_path  # with all that a snapshot reads

    known = snapshot.hardware.energy_bias
    paths = {cpu: bias_path(cpu) for cpu in sorted(snapshot.target.cpus)}
    return grouped((cpu, _NONE if path in known.absent else known.word(path)) for cpu, path in paths.items())


def _power_limits(snapshot: Snapshot) -> str | None:
    """Return `125 W`, or the limits by zone if they differ: `125 W (intel-rapl:0), off (intel-rapl-mmio:0)`."""
    limits = snapshot.hardware.power_limits
    if limits.zones is None or limits.unread is not None:
        return _NONE if limits.has_none else None
    return grouped_by_name({zone.path.split("/")[-2]: _power(zone) for zone in limits.zones})


def _power(zone: PowerLimit) -> str | None:
    if zone.is_enabled is None or (zone.is_enabled and zone.limit_uw is None):
        return None
    return f"{(zone.limit_uw or 0) / 1e6:g} W" if zone.is_enabled else "off"


def _uncore_clock(snapshot: Snapshot) -> str | None:
    """Return `400000 to 4000000 kHz`, or the clocks by domain if they differ."""
    uncore = snapshot.hardware.uncore
    if uncore.domains is None or not uncore.is_complete:
        return _NONE if uncore.is_absent else None
    return grouped_by_name({domain.path.split("/")[-1]: _clock(domain) for domain in uncore.domains})


def _clock(domain: UncoreDomain) -> str | None:
    if domain.min_khz is None or domain.max_khz is None:
        return None
    return f"{domain.min_khz} to {domain.max_khz} kHz"


def _firmware_clock(snapshot: Snapshot) -> str | None:
    """Return the clock limit of the firmware; `none` if the kernel does not report one."""
    caps = snapshot.settings.caps
    limits = {cpu: caps[cpu].limit_khz if cpu in caps else 0 for cpu in sorted(snapshot.target.cpus)}
    return grouped((cpu, None if khz is None else f"{khz} kHz" if khz else _NONE) for cpu, khz in limits.items())
