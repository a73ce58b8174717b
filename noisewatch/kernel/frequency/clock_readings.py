"""Readings only for the open clock screen and for recordings: idle states, slowed time, heat and power.

    /sys/devices/system/cpu/cpuN/thermal_throttle/{core,package}_throttle_total_time_ms   30911    (Linux 5.6)
    …/{core,package}_power_limit_count                                                    7

These counters of Intel processors are the kernel's own: reading them wakes no CPU. Cores and packages are read every
five seconds.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.frequency.heat import CPUS, ThermalThrottling
from noisewatch.kernel.frequency.limits import Uncore
from noisewatch.kernel.frequency.packages import PackageReadings, read_packages
from noisewatch.kernel.frequency.residency import StateTime, read_state_times
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader
from noisewatch.records import dataclass

PACKAGES_LAST_NS = 4_900_000_000  # five intervals; no wake-up is exact
_WHATS = ("core", "package")


@dataclass(frozen=True, slots=True)
class Slowed:
    """Slowed time of a core or a package since boot. None is unknown, or not counted by this processor."""

    slowed_ms: int | None
    power_limit_count: int | None


@dataclass(frozen=True, slots=True)
class ClockReadings:
    """The readings. `slowed_by_cpu` has as keys the CPU that is read, and `core` or `package`."""

    states_by_cpu: Mapping[int, tuple[StateTime, ...] | None]
    slowed_by_cpu: Mapping[tuple[int, str], Slowed]
    packages: PackageReadings
    packages_before: PackageReadings | None  # the reading before that one


def slowed_path(cpu: int, what: str, counter: str = "throttle_total_time_ms") -> str:
    """Return the path of a counter of the CPU's core or package."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_{counter}"


def read_clock_readings(
    reader: Reader,
    now_ns: int,
    target: CpuSet,
    online: CpuSet,
    topology: Mapping[int, CpuPlace],
    throttling: ThermalThrottling,
    uncore: Uncore,
    previous: ClockReadings | None = None,
    most_cpus: int | None = None,
) -> ClockReadings:
    """Return the readings now.

    `throttling` has the CPUs to ask for their cores and packages. Idle states are read for at most `most_cpus`, target
    CPUs first.
    """
    wanted = [*sorted(target & online), *sorted(online - target)]
    packages = _still_valid(previous, now_ns) or read_packages(reader, now_ns, target, topology, uncore)
    asked = {
        (cpu, what)
        for what, counts in zip(_WHATS, (throttling.count_by_core_cpu, throttling.count_by_package_cpu), strict=True)
        for cpu, count in counts.items()
        if count is not None
    }
    return ClockReadings(
        states_by_cpu=read_state_times(
            reader, wanted[:most_cpus], previous.states_by_cpu if previous is not None else None
        ),
        slowed_by_cpu={(cpu, what): _read_slowed(reader, cpu, what) for cpu, what in sorted(asked)},
        packages=packages,
        packages_before=_before(packages, previous),
    )


def _still_valid(previous: ClockReadings | None, now_ns: int) -> PackageReadings | None:
    is_fresh = previous is not None and 0 <= now_ns - previous.packages.read_at_ns < PACKAGES_LAST_NS
    return previous.packages if previous is not None and is_fresh else None


def _before(packages: PackageReadings, previous: ClockReadings | None) -> PackageReadings | None:
    if previous is None:
        return None
    return previous.packages_before if packages is previous.packages else previous.packages


def _read_slowed(reader: Reader, cpu: int, what: str) -> Slowed:
    return Slowed(
        slowed_ms=reader.parsed(slowed_path(cpu, what), parse_count),
        power_limit_count=reader.parsed(slowed_path(cpu, what, "power_limit_count"), parse_count, expected=False),
    )
