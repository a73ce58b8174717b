"""The parts of a machine that any user can read and that do not change while it runs.

    /proc/cpuinfo        cpu family 6, model 85, stepping 7, microcode 0x5003604; CPU variant, CPU revision on ARM
    /sys/class/dmi/id/{bios_version,bios_date}                            2.19.1     06/14/2023
    /sys/devices/system/edac/mc/mc0/dimm0/{size,dimm_mem_type}            16384      Registered-DDR4       (size in MB)
    /etc/machine-id      (never kept, only a key derived from it, see machine-id(5))

https://docs.kernel.org/admin-guide/abi-testing.html. Read once per run, and only to compare machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.cpuinfo import values_by_cpu
from noisewatch.kernel.cpus.topology import CpuPlace, read_cache_sizes
from noisewatch.kernel.numbers import integer_from
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.hardware_errors import CONTROLLERS
from noisewatch.kernel.system.hypervisor import DMI
from noisewatch.patterns import regex
from noisewatch.text import clean

_STEPPING = ("cpu family", "model", "stepping", "CPU variant", "CPU revision", "revision")
_CONTROLLER, _MODULE = regex(r"mc\d{1,3}"), regex(r"(?:dimm|rank)\d{1,3}")
_MOST_MODULES = 256


class Inventory(Struct, frozen=True):
    """A machine's parts as comparable text. None means unknown, `none` means known to be absent.

    Processor properties are by CPU, because sockets may differ.
    """

    stepping_by_cpu: Mapping[int, str | None]
    microcode_by_cpu: Mapping[int, str | None]
    bios: str | None
    bios_date: str | None
    caches_by_cpu: Mapping[int, str | None]  # `L1d 32K, L1i 32K, L2 1024K, L3 28160K`
    memory_modules: str | None  # `8 × 16384 MB Registered-DDR4`


def read_inventory(reader: Reader, topology: Mapping[int, CpuPlace]) -> Inventory:
    """Return the machine's parts."""
    cpuinfo = reader.text_or_none(CPUINFO)
    return Inventory(
        stepping_by_cpu=values_by_cpu(cpuinfo, _STEPPING, is_named=True),
        microcode_by_cpu=values_by_cpu(cpuinfo, ("microcode",), is_named=False),
        bios=_read_name(reader, f"{DMI}/bios_version"),
        bios_date=_read_name(reader, f"{DMI}/bios_date"),
        caches_by_cpu=_read_caches(reader, topology),
        memory_modules=_read_memory_modules(reader),
    )


def _read_name(reader: Reader, path: str) -> str | None:
    text = reader.text_or_none(path, expected=False)
    if text is None:
        return "none" if reader.is_absent(path) else None
    return clean(text.strip()) or "none"


def _read_caches(reader: Reader, topology: Mapping[int, CpuPlace]) -> Mapping[int, str | None]:
    """Return each CPU's cache sizes, read once for each kind of core and last-level cache."""
    by_place: dict[tuple[object, ...], str | None] = {}
    caches: dict[int, str | None] = {}
    for cpu, place in sorted(topology.items()):
        key = (place.kind, place.package, place.last_level_cache)
        if key not in by_place:
            by_place[key] = read_cache_sizes(reader, cpu)
        caches[cpu] = by_place[key]
    return caches


def _read_memory_modules(reader: Reader) -> str | None:
    """Return the memory modules, `none` without a driver that lists them (EDAC); most servers have a driver."""
    try:
        controllers = [name for name in reader.names(CONTROLLERS, expected=False) if _CONTROLLER.fullmatch(name)]
        folders = [
            f"{CONTROLLERS}/{controller}/{name}"
            for controller in controllers
            for name in reader.names(f"{CONTROLLERS}/{controller}", expected=False)
            if _MODULE.fullmatch(name)
        ]
    except Absent:
        return "none"
    except Unreadable:
        return None
    modules = [_module(reader, folder) for folder in folders[:_MOST_MODULES]]
    readable = [module for module in modules if module is not None]
    if len(readable) < len(modules):
        return None
    counts = Counter(module for module in readable if module)
    return ", ".join(f"{count} × {module}" for module, count in sorted(counts.items())) or "none"


def _module(reader: Reader, folder: str) -> str | None:
    """Return the module's size and type; empty for an empty slot, None if unknown."""
    size_mb = reader.parse(f"{folder}/size", integer_from(0), expected=False)
    if size_mb is None:
        return None
    return f"{size_mb} MB {_read_name(reader, f'{folder}/dimm_mem_type') or ''}".rstrip() if size_mb else ""
