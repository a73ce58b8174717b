"""Devices added, removed or changed on this host: events from udev if it runs, else from the kernel (uevents).

    offline  cpu  cpu7          change  power_supply  AC          add  usb  1-2

https://docs.kernel.org/admin-guide/abi-testing-files.html, and pyudev's Monitor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from noisewatch.text import clean

_UDEV_RUNS = "/run/udev/control"  # if this file is missing, udev sends no events
_NOUNS = {
    "cpu": "CPU",
    "thermal": "heat sensor",
    "power_supply": "power supply",
    "usb": "USB device",
    "net": "network interface",
    "block": "disk",
    "pci": "PCI device",
    "drm": "graphics card",
}
_MOST_AT_ONCE = 100
_TEXT_BY_ACTION = {
    "add": "was added",
    "remove": "was removed",
    "change": "changed",
    "online": "came online",
    "offline": "went offline",
    "bind": "got its driver",
    "unbind": "lost its driver",
    "move": "was renamed",
}
_MODELS = ("ID_MODEL_FROM_DATABASE", "ID_MODEL")  # from udev; the kernel reports no model
_STATES = ("POWER_SUPPLY_ONLINE", "POWER_SUPPLY_STATUS")


class DeviceEvent(Struct, frozen=True):
    """A device event: its text, such as `CPU 7 went offline`, and its subsystem, such as `cpu`."""

    subsystem: str
    text: str


class DeviceListener(Struct, frozen=True):
    """A listener for device events from udev or the kernel."""

    _monitor: Any
    _last_text: dict[str, str] = {}  # by device

    def fileno(self) -> int:
        """Return a descriptor that is readable when there are events."""
        return int(self._monitor.fileno())

    def read(self) -> list[DeviceEvent]:
        """Return the events since the last call. Repeated changes are left out: a battery reports each percent."""
        return list(self._read())

    def _read(self) -> Iterator[DeviceEvent]:
        for _ in range(_MOST_AT_ONCE):
            device = self._monitor.poll(timeout=0)
            if device is None:
                return
            name, text = f"{device.subsystem}/{device.sys_name}", _text(device)
            if self._last_text.get(name) != text or device.action != "change":
                yield DeviceEvent(str(device.subsystem), text)
            self._last_text[name] = text
            if device.action == "remove":
                del self._last_text[name]


def _text(device: Any) -> str:
    change = _TEXT_BY_ACTION.get(device.action or "", str(device.action))
    state = next((str(device.properties[key]) for key in _STATES if key in device.properties), None)
    if device.subsystem == "power_supply" and device.action == "change" and state is not None:
        change = "is now " + {"0": "without power", "1": "with power"}.get(state, state.lower())
    return clean(f"{_device_name(device)} {change}")


def _device_name(device: Any) -> str:
    """Return the device's name: `CPU 7`, `network interface eth0`, `USB device 1-2 (Optical Mouse)`."""
    if device.subsystem == "cpu":
        return f"CPU {device.sys_name.removeprefix('cpu')}"
    noun = _NOUNS.get(device.subsystem, device.subsystem)
    if device.subsystem == "thermal" and device.sys_name.startswith("cooling_device"):
        noun = "cooling device"
    model = next((device.properties[key] for key in _MODELS if key in device.properties), None)
    return f"{noun} {device.sys_name}" + (f" ({model})" if model else "")


def listen() -> DeviceListener | str:
    """Start listening for device events, or return why that is impossible."""
    try:
        import pyudev

        source = "udev" if os.path.exists(_UDEV_RUNS) else "kernel"
        monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source)
        for subsystem in _NOUNS:
            monitor.filter_by(subsystem)
        monitor.start()
    except (ImportError, OSError) as error:  # pyudev needs libudev.so.1, and a socket that containers may not have
        return clean(str(error))
    return DeviceListener(monitor)
