"""The device behind each IRQ, by the name people know it by: udev, the only user of pyudev.

    /sys/bus/pci/devices/0000:00:02.0/msi_irqs/36   →  modalias pci:v00001AF4d00001001…  →  Virtio block device (vda)

The names come from udev's hardware database (hwdb.bin of the package udev). Where no udevd runs, the properties are
empty, but the database can still be asked by modalias. Without it the driver's name has to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.text import clean

_QUESTION = "devices by irq"
_MODEL = "ID_MODEL_FROM_DATABASE"
_NAMED_CHILDREN = ("block", "net")


def read_devices(reader: Reader) -> Mapping[int, str] | None:
    """The name of the device behind each IRQ that has one; None where it cannot be asked."""
    answer = reader.ask(_QUESTION, _devices_by_irq)
    if not isinstance(answer, dict):
        return None
    return {int(irq): clean(name) for irq, name in answer.items() if is_count(irq) and isinstance(name, str)}


def _devices_by_irq() -> dict[str, str]:
    try:
        import pyudev
    except ImportError as error:  # pyudev needs libudev.so.1
        raise OSError(None, f"udev is not available: {error}") from error
    context = pyudev.Context()
    database = _HardwareDatabase(context)
    named: dict[str, str] = {}
    for device in context.list_devices(subsystem="pci"):
        irqs = list(_irqs_of(device.sys_path))
        if irqs:
            named.update(dict.fromkeys(irqs, _name_of(context, device, database)))
    return named


def _irqs_of(folder: str) -> Iterator[str]:
    """The numbers of its message-signalled interrupts, or of its pin."""
    try:
        yield from os.listdir(f"{folder}/msi_irqs")
    except OSError:
        with open(f"{folder}/irq", encoding="ascii") as file:
            pin = file.read().strip()
        if pin not in ("", "0", "255"):  # 255: none, by the PCI specification
            yield pin


def _name_of(context: Any, device: Any, database: _HardwareDatabase) -> str:
    model = device.properties.get(_MODEL) or database.model(device.properties.get("MODALIAS", ""))
    name = model or device.driver or f"PCI {device.properties.get('PCI_ID', device.sys_name)}"
    children = sorted(
        child.sys_name
        for subsystem in _NAMED_CHILDREN
        for child in context.list_devices(subsystem=subsystem, parent=device)
        if child.device_type != "partition"
    )
    return f"{name} ({', '.join(children)})" if children else name


class _HardwareDatabase:
    """udev's hwdb by modalias. pyudev binds the functions, but shows no public class for them."""

    def __init__(self, context: Any) -> None:
        self._library = getattr(context, "_libudev", None)
        self._handle = self._library.udev_hwdb_new(context) if self._library is not None else None

    def model(self, modalias: str) -> str | None:
        """The model's name; None where the database has none, or is not installed."""
        library = self._library
        if library is None or not self._handle or not modalias:
            return None
        entry = library.udev_hwdb_get_properties_list_entry(self._handle, modalias.encode(), 0)
        while entry:
            if library.udev_list_entry_get_name(entry).decode() == _MODEL:
                return str(library.udev_list_entry_get_value(entry).decode("utf-8", "replace"))
            entry = library.udev_list_entry_get_next(entry)
        return None
