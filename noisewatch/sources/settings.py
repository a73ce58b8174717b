"""What rarely changes: read at the start, when CPUs come or go, and every ten seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.sources.cgroup import Cgroup
from noisewatch.sources.cgroup_weights import CpuWeights, read_cpu_weights
from noisewatch.sources.clock_source import ClockSource, read_clock_source
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.event_sources import read_event_sources
from noisewatch.sources.frequency import Frequency
from noisewatch.sources.interrupts import Interrupts
from noisewatch.sources.irqs import Irqs, read_irqs
from noisewatch.sources.knobs import Knobs, read_knobs
from noisewatch.sources.own_process import OwnProcess, read_own_process
from noisewatch.sources.power_supply import MainsPower, read_mains_power
from noisewatch.sources.reader import Reader
from noisewatch.sources.topology import CpuPlace


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
    own: OwnProcess
    cpu_weights: CpuWeights | None
    event_sources: frozenset[str] | None


def read_settings(
    reader: Reader,
    now_ns: int,
    topology: Mapping[int, CpuPlace],
    frequency: Frequency,
    interrupts: Interrupts | None,
    release: str | None,
    target: CpuSet,
    cgroup: Cgroup,
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
        own=read_own_process(reader),
        cpu_weights=read_cpu_weights(reader, cgroup),
        event_sources=read_event_sources(reader),
    )
