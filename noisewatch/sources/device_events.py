"""Devices that come, go or change on this host, as the kernel tells it (uevents), or udev where it runs.

    remove  cpu  cpu7          change  power_supply  AC          add  usb  1-2

https://docs.kernel.org/admin-guide/abi-testing-files.html, and pyudev's Monitor.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from noisewatch.sources.names import clean

_UDEV_RUNS = "/run/udev/control"  # without it nobody would ever say anything as udev
_SUBSYSTEMS = ("cpu", "thermal", "power_supply", "usb", "net", "block", "pci", "drm")
_MOST_AT_ONCE = 100
_SAID = {"add": "was added", "remove": "was removed", "change": "changed", "online": "came online"}


@dataclass(frozen=True, slots=True)
class DeviceListener:
    """What is said from the moment on that it was made. `says` is who tells: udev, or the kernel itself."""

    says: str
    _monitor: Any

    def fileno(self) -> int:
        """Readable when there is something to read."""
        return int(self._monitor.fileno())

    def read(self) -> list[str]:
        """`cpu cpu7 was removed`: what was said since the last time."""
        found = []
        for _ in range(_MOST_AT_ONCE):
            device = self._monitor.poll(timeout=0)
            if device is None:
                break
            said = _SAID.get(device.action or "", str(device.action))
            found.append(clean(f"{device.subsystem} {device.sys_name} {said}"))
        return found


def listen() -> DeviceListener | str:
    """Begins to listen; why not, where that cannot be."""
    try:
        import pyudev

        source = "udev" if os.path.exists(_UDEV_RUNS) else "kernel"
        monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source)
        for subsystem in _SUBSYSTEMS:
            monitor.filter_by(subsystem)
        monitor.start()
    except (ImportError, OSError) as error:  # pyudev needs libudev.so.1, and a socket that containers may not have
        return clean(str(error))
    return DeviceListener(source, monitor)
