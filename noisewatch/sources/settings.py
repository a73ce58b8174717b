"""What rarely changes: read at the start, when CPUs come or go, and every ten seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.sources.boot_configuration import BootConfiguration, read_boot_configuration
from noisewatch.sources.clock_source import ClockSource, read_clock_source
from noisewatch.sources.core_ranking import read_core_ranking
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.frequency import Frequency
from noisewatch.sources.hardware_errors import ErrorCounters, read_error_counters
from noisewatch.sources.interrupts import Interrupts
from noisewatch.sources.irqs import Irqs, read_irqs
from noisewatch.sources.kernel_log import KernelLog, read_kernel_log
from noisewatch.sources.knobs import Knobs, read_knobs
from noisewatch.sources.packet_steering import PacketSteering, read_packet_steering
from noisewatch.sources.power_supply import MainsPower, read_mains_power
from noisewatch.sources.reader import Reader
from noisewatch.sources.topology import CpuPlace
from noisewatch.sources.uptime import read_uptime


@dataclass(frozen=True, slots=True)
class Settings:
    """None is unknown, in all of them."""

    read_at_ns: int
    topology: Mapping[int, CpuPlace]
    irqs: Irqs | None
    clock_source: ClockSource
    mains_power: MainsPower
    frequency: Frequency
    knobs: Knobs
    packet_steering: PacketSteering
    core_ranking: Mapping[int, int]  # of the target CPUs that are ranked
    error_counters: ErrorCounters
    kernel_log: KernelLog | None
    boot_configuration: BootConfiguration
    uptime_s: float | None


def read_settings(
    reader: Reader,
    now_ns: int,
    topology: Mapping[int, CpuPlace],
    frequency: Frequency,
    interrupts: Interrupts | None,
    release: str | None,
    target: CpuSet,
) -> Settings:
    """The settings now; what is many files a CPU is read for the target CPUs alone."""
    return Settings(
        read_at_ns=now_ns,
        topology=topology,
        irqs=read_irqs(reader, interrupts, release),
        clock_source=read_clock_source(reader),
        mains_power=read_mains_power(reader),
        frequency=frequency,
        knobs=read_knobs(reader),
        packet_steering=read_packet_steering(reader),
        core_ranking=read_core_ranking(reader, target),
        error_counters=read_error_counters(reader),
        kernel_log=read_kernel_log(reader),
        boot_configuration=read_boot_configuration(reader),
        uptime_s=read_uptime(reader),
    )
