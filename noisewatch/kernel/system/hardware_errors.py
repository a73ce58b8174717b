"""Corrected and uncorrected hardware errors in memory (EDAC) and on PCI Express (AER).

    /sys/devices/system/edac/mc/mc0/{ce_count,ue_count}              0       corrected, uncorrected; since driver load
    /sys/bus/pci_express/devices/0000:00:1c.0:pcie002                        a root port that reports errors
    /sys/bus/pci/devices/0000:00:1c.0/aer_rootport_total_err_cor     17      from all devices below (Linux 4.19)

https://docs.kernel.org/driver-api/edac.html, https://docs.kernel.org/PCI/pcieaer-howto.html. Each device also has
its own counters, in hundreds of files. The few root ports receive all devices' messages.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from noisewatch.errors import Absent, Unreadable
from noisewatch.kernel.numbers import MOST_UNSIGNED, integer_from
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

CONTROLLERS = "/sys/devices/system/edac/mc"
PORT_SERVICES = "/sys/bus/pci_express/devices"
DEVICES = "/sys/bus/pci/devices"
CORRECTED, UNCORRECTED = "ce_count", "ue_count"
PORT_TOTAL = "aer_rootport_total_err_cor"
_CONTROLLER = regex(r"mc\d{1,3}")
_AER_OF_ROOT_PORT = regex(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):pcie[0-9a-f]?02")
_MOST_CONTROLLERS = 32
_MOST_PORTS = 64
_MOST_MESSAGES = 2**63 - 1


class ErrorCounters(Struct, frozen=True):
    """The controllers and ports that count errors; None means unknown, an empty tuple means none."""

    controllers: tuple[str, ...] | None
    ports: tuple[str, ...] | None
    has_all_controllers: bool = True  # False: there are more controllers than noisewatch reads
    has_all_ports: bool = True


class HardwareErrors(Struct, frozen=True):
    """The error counts so far; None means unknown."""

    corrected_by_controller: Mapping[str, int | None]
    uncorrected_by_controller: Mapping[str, int | None]
    messages_by_port: Mapping[str, int | None]


def read_error_counters(reader: Reader) -> ErrorCounters:
    """Return the memory controllers and root ports that count errors. They come and go with their drivers."""
    controllers, services = _names(reader, CONTROLLERS), _names(reader, PORT_SERVICES)
    if controllers is not None:
        controllers = [name for name in controllers if _CONTROLLER.fullmatch(name)]
    ports = None
    if services is not None:
        ports = [match[1] for name in services if (match := _AER_OF_ROOT_PORT.fullmatch(name))]
    return ErrorCounters(
        None if controllers is None else tuple(controllers[:_MOST_CONTROLLERS]),
        None if ports is None else tuple(ports[:_MOST_PORTS]),
        has_all_controllers=controllers is None or len(controllers) <= _MOST_CONTROLLERS,
        has_all_ports=ports is None or len(ports) <= _MOST_PORTS,
    )


def _names(reader: Reader, folder: str) -> list[str] | None:
    """Return the folder's names; empty if it does not exist, as without the driver, None if unreadable."""
    try:
        return reader.names(folder, expected=False)
    except Absent:
        return []
    except Unreadable as error:
        reader.note(folder, error.reason)
        return None


def read_hardware_errors(reader: Reader, counters: ErrorCounters) -> HardwareErrors:
    """Return the current error counts."""
    controllers, ports = counters.controllers or (), counters.ports or ()

    def count(path: str, most: int) -> int | None:
        return reader.parse(path, integer_from(0, most))

    return HardwareErrors(
        {name: count(f"{CONTROLLERS}/{name}/{CORRECTED}", MOST_UNSIGNED) for name in controllers},
        {name: count(f"{CONTROLLERS}/{name}/{UNCORRECTED}", MOST_UNSIGNED) for name in controllers},
        {port: count(f"{DEVICES}/{port}/{PORT_TOTAL}", _MOST_MESSAGES) for port in ports},
    )
