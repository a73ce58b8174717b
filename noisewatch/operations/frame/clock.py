"""Clocks, idle states, heat and power, as far as the clock screen shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class ClockGroup:
    """CPUs with the same cpufreq settings. None is unknown; `none` means that the driver has no such setting.

    The present clock and the governor of each CPU are in its CpuLine.
    """

    cpus: str  # a list: `0-3,8`
    driver: str | None
    governor: str | None
    min_khz: int | None  # scaling_min_freq: between these two ...
    max_khz: int | None  # scaling_max_freq: ... the clock may move
    hardware_min_khz: int | None  # cpuinfo_min_freq
    hardware_max_khz: int | None  # cpuinfo_max_freq, with turbo
    base_khz: int | None  # without turbo
    preference: str | None  # energy_performance_preference


@dataclass(frozen=True, slots=True)
class ClockCpu:
    """One CPU with more figures than its clock. Heat and slowdowns are its core's. None is unknown."""

    cpu: int
    awake_share: float | None = None  # of the interval, C0: not in any of the states
    idle_shares: tuple[float | None, ...] | None = None  # in the order of `idle_names`; None where it lacks the state
    celsius: float | None = None
    critical_celsius: float | None = None
    throttles: int | None = None  # for heat, since boot
    slowed_ms: int | None = None  # since boot
    power_limit_count: int | None = None  # times that the power limit was reached, since boot


@dataclass(frozen=True, slots=True)
class ClockPackage:
    """One package; `cpus` are its online CPUs. None is unknown."""

    package: int
    cpus: str
    celsius: float | None = None
    critical_celsius: float | None = None
    watts: float | None = None  # the mean of the last five seconds or more, by RAPL
    long_limit_w: float | None = None  # PL1, the lowest that is enabled
    short_limit_w: float | None = None  # PL2
    rated_w: float | None = None  # the power that it is rated for
    throttles: int | None = None  # for heat, since boot
    slowed_ms: int | None = None
    power_limit_count: int | None = None
    uncore_khz: int | None = None  # the slowest of its domains
    uncore_min_khz: int | None = None
    uncore_max_khz: int | None = None


@dataclass(frozen=True, slots=True)
class ClockSensor:
    """A sensor of the processor, by chip and label: `k10temp Tctl`. None is unknown."""

    name: str
    celsius: float | None
    critical_celsius: float | None


@dataclass(frozen=True, slots=True)
class ClockFigures:
    """All figures of the clock screen.

    `reasons` explains, by the name of a figure, why it is unknown for a target CPU or its package.
    """

    groups: tuple[ClockGroup, ...] = ()
    cpus: tuple[ClockCpu, ...] = ()
    packages: tuple[ClockPackage, ...] = ()
    sensors: tuple[ClockSensor, ...] = ()
    idle_names: tuple[str, ...] = ()  # the lightest first: POLL, C1 …
    packages_age_s: float | None = None  # since cores and packages were asked: every five seconds
    reasons: Mapping[str, str] = field(default_factory=dict)


SPARSE = (ClockCpu, ClockPackage)  # little is known of most of them: a line leaves out what is None
