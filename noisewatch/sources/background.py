"""What the machine does beside running tasks: counters that are read in every snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.hardware_errors import HardwareErrors, read_hardware_errors
from noisewatch.sources.memory import Memory, read_memory
from noisewatch.sources.reader import Reader
from noisewatch.sources.settings import Settings


@dataclass(frozen=True, slots=True)
class Background:
    """None is unknown, in all of them."""

    memory: Memory
    hardware_errors: HardwareErrors


def read_background(reader: Reader, target: CpuSet, settings: Settings) -> Background:
    """The counters now; those of single CPUs for the target CPUs alone. What there is to be read, `settings` know."""
    return Background(
        memory=read_memory(reader),
        hardware_errors=read_hardware_errors(reader, settings.error_counters),
    )
