"""What is read once, when a run begins, because reading it interrupts the CPU in question.

The background is what the machine does in parallel with tasks: counters that are read in every snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CPUS, CpuPlace
from noisewatch.kernel.frequency.cpufreq import own_folder
from noisewatch.kernel.frequency.heat import ThermalThrottling, read_cooling_states, read_throttling
from noisewatch.kernel.frequency.hwmon import Sensors, read_celsius, read_sensors
from noisewatch.kernel.frequency.limits import Uncore, read_uncore
from noisewatch.kernel.frequency.powercap import PowerLimits, read_power_limits
from noisewatch.kernel.frequency.supply_voltage import SupplyVoltage, read_supply_voltage
from noisewatch.kernel.memory.counters import Memory, read_memory
from noisewatch.kernel.memory.limits import MemoryLimits, read_memory_limits
from noisewatch.kernel.numbers import integer_from, parse_khz
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.knobs import Knobs, read_knobs
from noisewatch.kernel.snapshot.settings import Settings
from noisewatch.kernel.system.disks import Disk, read_disks
from noisewatch.kernel.system.hardware_errors import HardwareErrors, read_hardware_errors
from noisewatch.kernel.system.pressure import LoadAverage, read_load_average
from noisewatch.records import dataclass

_MOST_BIAS = 15  # four bits


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware's state when the run began. None is unknown."""

    energy_bias: Knobs  # of the target CPUs: 0 performance, 6 normal, 15 power saving
    sensors: Sensors
    power_limits: PowerLimits
    uncore: Uncore
    driver_khz: Knobs  # of the target CPUs: the clock as their driver reads it off the hardware


def bias_path(cpu: int) -> str:
    """Return the file with the CPU's energy performance bias."""
    return f"{CPUS}/cpu{cpu}/power/energy_perf_bias"


def driver_clock_path(cpu: int) -> str:
    """Return the file with the CPU's clock as its driver reads it; intel_pstate and amd-pstate-epp have none."""
    return f"{own_folder(cpu)}/cpuinfo_cur_freq"


def read_hardware(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> Hardware:
    """Read the hardware of the target CPUs and their packages."""
    places = [topology.get(cpu) for cpu in target]
    known = [place.package for place in places if place is not None and place.package is not None]
    unplaced = [cpu for cpu in sorted(target) if cpu not in topology or topology[cpu].package is None]
    packages = frozenset() if unplaced else frozenset(known)
    hardware = Hardware(
        energy_bias=read_knobs(reader, dict.fromkeys(map(bias_path, sorted(target)), integer_from(0, _MOST_BIAS))),
        sensors=read_sensors(reader, packages),
        power_limits=read_power_limits(reader, packages),
        uncore=read_uncore(reader, packages),
        driver_khz=read_knobs(reader, dict.fromkeys(map(driver_clock_path, sorted(target)), parse_khz)),
    )
    return _without_package(hardware, f"{CPUS}/cpu{unplaced[0]}/topology/physical_package_id") if unplaced else hardware


def _without_package(found: Hardware, path: str) -> Hardware:
    """Return the hardware marked as incomplete, as the unknown package of a target CPU may report nothing."""
    return replace(
        found,
        sensors=replace(found.sensors, unread=found.sensors.unread or path),
        power_limits=replace(found.power_limits, unread=found.power_limits.unread or path),
        uncore=replace(found.uncore, is_complete=False),
    )


@dataclass(frozen=True, slots=True)
class Background:
    """The machine's counters in parallel with tasks. None is unknown in all fields."""

    memory: Memory
    throttling: ThermalThrottling
    cooling_states: Mapping[str, int | None]  # by path, of the devices that the settings name
    memory_limits: MemoryLimits
    load_average: LoadAverage | None
    disks: Mapping[str, Disk] | None
    hardware_errors: HardwareErrors
    supply_voltage: SupplyVoltage
    celsius_by_path: Mapping[str, float | None]  # of the sensors that interrupt no target CPU when they are asked


def read_background(reader: Reader, target: CpuSet, settings: Settings, sensors: Sensors) -> Background:
    """Return the counters now; per-CPU ones only for target CPUs. `settings` contain what there is to read."""
    return Background(
        memory=read_memory(reader),
        throttling=read_throttling(reader, target, settings.topology),
        cooling_states=read_cooling_states(reader, settings.cooling),
        memory_limits=read_memory_limits(reader),
        load_average=read_load_average(reader),
        disks=read_disks(reader),
        hardware_errors=read_hardware_errors(reader, settings.error_counters),
        supply_voltage=read_supply_voltage(reader, settings.voltage_alarm),
        celsius_by_path=read_celsius(reader, sensors, target, settings.topology),
    )
