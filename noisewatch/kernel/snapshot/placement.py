"""What a plan of target CPUs reads in addition to a snapshot, and nothing else needs.

    /sys/devices/system/cpu/cpuN/acpi_cppc/highest_perf      166

The firmware's own scale of how fast a core can be. Where the kernel has no ranking of it (topology.py), each CPU is
interrupted once to read it.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.target import PinTrial, read_pin_trial
from noisewatch.kernel.cpus.topology import CPUS, read_core_ranking
from noisewatch.kernel.memory.nodes import MemoryNodes, read_nodes
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.device_place import DevicePlace, read_device_names, read_device_place
from noisewatch.machine import Machine
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class PlacementReadings:
    """The readings for a plan. None is unknown; `reason_by_path` has the reasons."""

    nodes: MemoryNodes
    pin_trial: PinTrial  # with all online CPUs
    core_ranking: Mapping[int, int]  # of all that are ranked
    highest_performance: Mapping[int, int]  # asked for where none is
    device: DevicePlace | None  # None: none was asked for
    reason_by_path: Mapping[str, str]


def read_placement(machine: Machine, online: CpuSet, device: DevicePlace | None = None) -> PlacementReadings:
    """Return the readings now."""
    return machine.within_deadline(lambda: _read(Reader(machine), online, device))


def find_device(machine: Machine, name: str) -> DevicePlace | list[str]:
    """Return the device's place, or the names of all devices if there is no such device."""
    reader = Reader(machine)
    place = read_device_place(reader, name)
    return read_device_names(reader) if place is None else place


def _read(reader: Reader, online: CpuSet, device: DevicePlace | None) -> PlacementReadings:
    ranking = read_core_ranking(reader, online)
    return PlacementReadings(
        nodes=read_nodes(reader),
        pin_trial=read_pin_trial(reader, online) if online else PinTrial(None, None),
        core_ranking=ranking,
        highest_performance={} if ranking else _read_highest_performance(reader, online),
        device=device,
        reason_by_path=reader.reason_by_path,
    )


def _read_highest_performance(reader: Reader, cpus: CpuSet) -> Mapping[int, int]:
    paths = {cpu: f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf" for cpu in sorted(cpus)}
    told = {cpu: reader.parsed(path, parse_count, expected=False) for cpu, path in paths.items()}
    return {cpu: highest for cpu, highest in told.items() if highest}
