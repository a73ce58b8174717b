"""Readings that only a plan of target CPUs needs: memory nodes, core ranking, and a device's place.

Recordings contain them for all devices, so that a replay can plan.

    /sys/devices/system/cpu/cpuN/acpi_cppc/highest_perf      166

This is the firmware's scale of how fast a core can be. If the kernel has no ranking (topology.py), each CPU is
interrupted once to read it.

A device's place is its memory node and the CPUs near it:

    /sys/class/net/eth0/device/numa_node            1       (-1: the firmware does not report it)
    /sys/class/net/eth0/device/local_cpulist        8-15    (only PCI devices)
    /sys/class/block/nvme0n1/…  /sys/class/infiniband/mlx5_0/…  /sys/bus/pci/devices/0000:3b:00.0/…

Only devices on PCI, or on another bus with nodes, have these files. Disks and virtio interfaces are below such a
device, so the parents of their folders are read, nearest first.
https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_nonempty_cpu_list
from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.cpus.online import read_online
from noisewatch.kernel.cpus.target import PinTrial, read_pin_trial
from noisewatch.kernel.cpus.topology import read_core_ranking, read_firmware_scale
from noisewatch.kernel.memory.nodes import MemoryNodes, read_nodes
from noisewatch.kernel.numbers import integer_from
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Machine
from noisewatch.patterns import regex
from noisewatch.text import clean

_CLASSES = ("net", "block", "nvme", "infiniband", "drm")
_PLACES = (*(f"/sys/class/{name}" for name in _CLASSES), "/sys/bus/pci/devices")
_NAME = regex(r"[\w:@-][\w.:@-]{0,63}")
_SHORT_ADDRESS = regex(r"[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_CONTROLLER = regex(r"nvme\d{1,4}")  # a controller of an NVMe namespace that has several paths
_NODE_UNKNOWN = -1
_MOST_LEVELS = 12
_MOST_PLACES = 2_000  # most devices whose places a recording contains
_MOST_BARE = 2  # so many folders in a row without a device end the search; a single one may be a class, such as `net`


class DevicePlace(Struct, frozen=True):
    """A device's place. `node` and `cpus` are None if not reported; `path` is the file with the node, or with -1.

    `unread` is why the node may be reported nevertheless: the first file that could not be read, with the reason.
    """

    name: str
    node: int | None
    cpus: CpuSet | None
    path: str | None
    unread: str | None = None


def read_device_place(reader: Reader, name: str) -> DevicePlace | None:
    """Return a device's place; None if it does not exist. `name` is an interface, a disk or a PCI address."""
    device = f"0000:{name}" if _SHORT_ADDRESS.fullmatch(name) else name
    if _NAME.fullmatch(device) is None:
        return None
    places = (place for place in _PLACES if device in (reader.names_or_none(place, expected=False) or ()))
    folder = next(places, None)
    return None if folder is None else _read_place(reader, device, f"{folder}/{device}")


def read_device_names(reader: Reader) -> list[str]:
    """Return the names of network interfaces and disks that belong to a device."""
    listed = ((place, name) for place in _PLACES[:2] for name in reader.names_or_none(place, expected=False) or ())
    return [clean(name) for place, name in listed if reader.names_or_none(f"{place}/{name}/device", expected=False)]


def _read_place(reader: Reader, name: str, folder: str) -> DevicePlace:
    silent = unread = None
    for place in _folders(reader, folder):
        path = f"{place}/numa_node"
        node = reader.parse(path, integer_from(_NODE_UNKNOWN), expected=False)
        if node is not None and node != _NODE_UNKNOWN:
            cpus = reader.parse(f"{place}/local_cpulist", parse_nonempty_cpu_list, expected=False)
            return DevicePlace(name, node, cpus, path)
        silent = path if silent is None and node is not None else silent
        unread = _unread_reason(reader, path) if unread is None and node is None else unread
    return DevicePlace(name, None, None, silent, unread)


def _unread_reason(reader: Reader, path: str) -> str | None:
    """Return why the file could not be read, or None if it certainly does not exist."""
    try:
        reader.bytes(path, expected=False)
    except Absent:
        return None
    except Unreadable as error:
        return str(error)
    return f"{path}: {reader.reason_by_path.get(path, 'malformed')}"


def _folders(reader: Reader, folder: str) -> Iterator[str]:
    """Yield the folders of the device, its controllers and its parents; the kernel resolves the paths."""
    yield f"{folder}/device"
    for name in reader.names_or_none(f"{folder}/device", expected=False) or ():
        if _CONTROLLER.fullmatch(name):
            yield f"{folder}/device/{name}/device"
    bare = 0
    for level in range(_MOST_LEVELS):
        place = folder + "/.." * level
        bare = 0 if "uevent" in (reader.names_or_none(place, expected=False) or ()) else bare + 1
        if bare == _MOST_BARE:
            return
        yield place


def read_for_replays(machine: Machine) -> None:
    """Read what a plan may need of any device, so that a recording contains it. No reading interrupts a CPU."""
    reader = Reader(machine)
    read_nodes(reader)
    read_core_ranking(reader, read_online(reader).online or frozenset())
    devices = ((place, name) for place in _PLACES for name in reader.names_or_none(place, expected=False) or ())
    for place, name in islice(devices, _MOST_PLACES):
        _read_place(reader, name, f"{place}/{name}")


class OtherDevices(Struct, frozen=True):
    """The names of network interfaces and disks, and why devices may be missing (None: all are listed)."""

    names: list[str]
    unlisted: str | None


class PlacementReadings(Struct, frozen=True):
    """The readings for a plan. None means unknown; `reason_by_path` has the reasons."""

    nodes: MemoryNodes
    pin_trial: PinTrial  # the result of pinning to all online CPUs
    core_ranking: Mapping[int, int]  # empty if the kernel ranks no CPU
    highest_performance: Mapping[int, int]  # only read if no CPU is ranked
    device: DevicePlace | None  # None: not requested
    reason_by_path: Mapping[str, str]


def read_placement(machine: Machine, online: CpuSet, device: DevicePlace | None = None) -> PlacementReadings:
    """Read everything that only plans need."""
    return machine.within_deadline(lambda: _read(Reader(machine), online, device))


def find_device(machine: Machine, name: str) -> DevicePlace | OtherDevices:
    """Return the device's place, or the other devices if there is no such device."""
    reader = Reader(machine)
    place = read_device_place(reader, name)
    if place is not None:
        return place
    reasons = (_unlisted_reason(reader, folder) for folder in _PLACES)
    return OtherDevices(read_device_names(reader), next((reason for reason in reasons if reason is not None), None))


def _unlisted_reason(reader: Reader, folder: str) -> str | None:
    """Return why the devices in the folder are unknown, or None if they are listed or there are none."""
    try:
        reader.names(folder, expected=False)
    except Absent:
        return None
    except Unreadable as error:
        return str(error)
    return None


def _read(reader: Reader, online: CpuSet, device: DevicePlace | None) -> PlacementReadings:
    ranking = read_core_ranking(reader, online)
    return PlacementReadings(
        nodes=read_nodes(reader),
        pin_trial=read_pin_trial(reader, online) if online else PinTrial(None, None),
        core_ranking=ranking,
        highest_performance={} if ranking else read_firmware_scale(reader, sorted(online), {}),
        device=device,
        reason_by_path=reader.reason_by_path,
    )
