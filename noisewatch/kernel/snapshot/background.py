"""What the machine does beside running tasks: counters that are read in every snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.cpus import CpuSet
from noisewatch.kernel.frequency.cooling import read_cooling_states
from noisewatch.kernel.frequency.hwmon import Sensors, read_celsius
from noisewatch.kernel.frequency.throttling import Throttling, read_throttling
from noisewatch.kernel.memory.counters import Memory, read_memory
from noisewatch.kernel.memory.limits import MemoryLimits, read_memory_limits
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.settings import Settings
from noisewatch.kernel.system.disks import Disk, read_disks
from noisewatch.kernel.system.hardware_errors import HardwareErrors, read_hardware_errors
from noisewatch.kernel.tasks.load_average import LoadAverage, read_load_average


@dataclass(frozen=True, slots=True)
class Background:
    """None is unknown, in all of them."""

    memory: Memory
    throttling: Throttling
    cooling_states: Mapping[str, int | None]  # by path, of the devices that the settings name
    memory_limits: MemoryLimits
    load_average: LoadAverage | None
    disks: Mapping[str, Disk] | None
    hardware_errors: HardwareErrors
    celsius_by_path: Mapping[str, float | None]  # of the sensors that interrupt no target CPU when they are asked


def read_background(reader: Reader, target: CpuSet, settings: Settings, sensors: Sensors) -> Background:
    """The counters now; those of single CPUs for the target CPUs alone. What there is to be read, `settings` know."""
    return Background(
        memory=read_memory(reader),
        throttling=read_throttling(reader, target, settings.topology),
        cooling_states=read_cooling_states(reader, settings.cooling),
        memory_limits=read_memory_limits(reader),
        load_average=read_load_average(reader),
        disks=read_disks(reader),
        hardware_errors=read_hardware_errors(reader, settings.error_counters),
        celsius_by_path=read_celsius(reader, sensors, target, settings.topology),
    )
