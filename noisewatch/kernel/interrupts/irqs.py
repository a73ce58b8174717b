"""Each IRQ's allowed and effective CPUs, and its device: /proc/irq and udev.

    /proc/irq/default_smp_affinity          3          (mask of the CPUs allowed to new IRQs)
    /proc/irq/36/smp_affinity_list          0-1        (allowed CPUs)
    /proc/irq/36/effective_affinity_list    1          (CPUs in use; Linux 4.13)
    /proc/irq/36/smp_affinity               mode 0644: user space may move it; 0444: the kernel manages it (Linux 6.12)

https://docs.kernel.org/core-api/irq/irq-affinity.html

    /sys/bus/pci/devices/0000:00:02.0/msi_irqs/36   →  modalias pci:v00001AF4d00001001…  →  Virtio block device (vda)

Names come from udev's hardware database (hwdb.bin in the package udev). If udevd does not run, devices have no
properties, but the database can still be queried by modalias. Without the database, the driver's name is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_cpu_mask, parse_nonempty_cpu_list
from noisewatch.errors import Unreadable
from noisewatch.kernel.interrupts.table import Interrupts, kind_of
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.release import release_number
from noisewatch.kinds import Kind
from noisewatch.patterns import regex
from noisewatch.text import clean

FOLDER = "/proc/irq"
DEFAULT = f"{FOLDER}/default_smp_affinity"
_MODE_IS_EXACT_SINCE = (6, 12)
_WRITABLE = 0o200
# The actions follow the chip, its hardware number and the trigger, if these are reported:
# `PCI-MSIX-0000:00:02.0 1-edge eth0`, `GICv3 27 Level arch_timer`, `MIPS 7 timer`, `xen-percpu -virq timer0`.
_HARDWARE = tuple(
    regex(rf"(?:^|\s)(?:{form})(?=\s|$)")
    for form in (r"\d+\s+(?:Edge|Level|None)", r"\S*-(?:edge|level|fasteoi)", r"\d*-[a-z]+", r"\d+")
)
_QUESTION = "devices by irq"
_MODEL = "ID_MODEL_FROM_DATABASE"
_NAMED_CHILDREN = ("block", "net")


class Irq(Struct, frozen=True):
    """One IRQ. None means unknown; Linux before 4.13 does not report `effective` CPUs."""

    irq: int
    allowed: CpuSet | None
    effective: CpuSet | None
    movable: bool | None
    actions: tuple[str, ...]
    device: str | None  # `none` if no driver uses the IRQ
    kind: Kind = Kind.IRQ  # not always a device's: a CPU's own interrupts may be numbered too

    @property
    def is_managed(self) -> bool | None:
        """Whether it is a device's IRQ whose CPUs only the kernel chooses; None means unknown."""
        if _is_fixed(self.actions, self.kind):
            return False
        return None if self.movable is None else not self.movable


class Irqs(Struct, frozen=True):
    """All IRQs, and the CPUs allowed to new IRQs (None: unknown)."""

    default_allowed: CpuSet | None
    by_number: Mapping[int, Irq]


def read_irqs(
    reader: Reader, interrupts: Interrupts | None, release: str | None, previous: Irqs | None = None
) -> Irqs | None:
    """Return the IRQs, or None if /proc/irq cannot be listed. Devices are only read again if IRQs have changed."""
    names = reader.names_or_none(FOLDER)
    if names is None:
        return None
    rows = {row.irq: row.description for row in interrupts.rows} if interrupts is not None else {}
    irqs = {
        number: _read_irq(reader, number, rows.get(number, ""), release)
        for number in sorted(int(name) for name in names if is_count(name))
    }
    return Irqs(reader.parse(DEFAULT, parse_cpu_mask), _add_devices(reader, irqs, previous))


def _read_irq(reader: Reader, number: int, description: str, release: str | None) -> Irq:
    actions = parse_actions(description) or _read_actions(reader, number)
    allowed, effective = _read_affinity(reader, number)
    kind = kind_of(str(number), description or ", ".join(actions))
    movable = False if _is_fixed(actions, kind) else _read_movable(reader, number, release)
    return Irq(
        irq=number, allowed=allowed, effective=effective, movable=movable, actions=actions, device=None, kind=kind
    )


def _is_fixed(actions: tuple[str, ...], kind: Kind) -> bool:
    """Return whether the IRQ belongs to a CPU or the PC itself, and so cannot be moved."""
    return actions in _KERNELS_OWN or kind != Kind.IRQ


def _add_devices(reader: Reader, irqs: Mapping[int, Irq], previous: Irqs | None) -> Mapping[int, Irq]:
    previous_irqs = previous.by_number if previous is not None else {}
    if _drivers(irqs) == _drivers(previous_irqs) and any(irq.device is not None for irq in previous_irqs.values()):
        return {number: replace(irq, device=previous_irqs[number].device) for number, irq in irqs.items()}
    devices = read_devices(reader)
    return {number: replace(irq, device=_device(devices, number, irq.actions)) for number, irq in irqs.items()}


def _drivers(irqs: Mapping[int, Irq]) -> dict[int, tuple[str, ...]]:
    return {number: irq.actions for number, irq in irqs.items()}


_KERNELS_OWN = (("timer",), ("cascade",))  # on PCs: writing their affinity fails, whatever the file's mode


def _device(devices: Mapping[int, str] | None, number: int, actions: tuple[str, ...]) -> str | None:
    """Return the device's name, `none` for an IRQ without actions; None for other IRQs without a PCI device."""
    if devices is None:
        return None
    return devices.get(number) or (None if actions else "none")


def _read_affinity(reader: Reader, number: int) -> tuple[CpuSet | None, CpuSet | None]:
    folder = f"{FOLDER}/{number}"
    allowed = reader.parse(f"{folder}/smp_affinity_list", parse_nonempty_cpu_list)
    effective = reader.parse(f"{folder}/effective_affinity_list", parse_cpu_list, expected=False)
    return allowed, effective


def _read_movable(reader: Reader, number: int, release: str | None) -> bool | None:
    """Return whether user space may move the IRQ, None if unknown. A writable file is proof only since Linux 6.12."""
    try:
        mode = reader.machine.mode(f"{FOLDER}/{number}/smp_affinity")
    except Unreadable:
        return None
    if not mode & _WRITABLE:
        return False
    number_of_kernel = release_number(release)
    return True if number_of_kernel is not None and number_of_kernel >= _MODE_IS_EXACT_SINCE else None


def parse_actions(description: str) -> tuple[str, ...]:
    """Return the actions in a row's description: `IO-APIC 16-fasteoi vmwgfx, snd_ens1371` has two.

    An unrequested IRQ has no action. If number and trigger are missing, the chip is a single word: `XT-PIC timer`, and
    on Xen `Dynamic-irq eth0` (2.6.18) and `xen-dyn-event eth0`.
    """
    matches = (pattern.search(description) for pattern in _HARDWARE)
    match = next((match for match in matches if match is not None), None)
    words = description[match.end() :] if match is not None else description.partition(" ")[2]
    return tuple(action.strip() for action in words.split(", ") if action.strip())


def _read_actions(reader: Reader, number: int) -> tuple[str, ...]:
    """Return an IRQ's actions from the names of the folders in /proc/irq/N."""
    file_names = {
        "smp_affinity", "smp_affinity_list", "effective_affinity", "effective_affinity_list", "affinity_hint", "node",
        "spurious",
    }  # fmt: skip
    names = reader.names_or_none(f"{FOLDER}/{number}", expected=False) or []
    return tuple(clean(name) for name in names if name not in file_names)


def read_devices(reader: Reader) -> Mapping[int, str] | None:
    """Return the device names by IRQ, or None if udev cannot be queried. IRQs without a PCI device are missing."""
    answer = reader.ask(_QUESTION, _devices_by_irq)
    if not isinstance(answer, dict):
        return None
    return {int(irq): clean(name) for irq, name in answer.items() if is_count(irq) and isinstance(name, str)}


def _devices_by_irq() -> dict[str, str]:
    try:
        import pyudev

        context = pyudev.Context()
    except ImportError as error:  # raised without libudev.so.1
        raise OSError(None, f"udev is not available: {error}") from error
    children = _named_children(context)
    named: dict[str, str] = {}
    with closing(_HardwareDatabase(context)) as database:
        for device in context.list_devices(subsystem="pci"):
            irqs = list(_irqs_of(device.sys_path))
            if irqs:
                named.update(dict.fromkeys(irqs, _name_of(device, database, children)))
    return named


def _irqs_of(folder: str) -> Iterator[str]:
    """Yield the IRQ numbers of a device's message-signalled interrupts, or else of its interrupt pin."""
    try:
        yield from os.listdir(f"{folder}/msi_irqs")
    except OSError:
        with open(f"{folder}/irq", encoding="ascii") as file:
            pin = file.read().strip()
        if pin not in ("", "0", "255"):  # 255 means no interrupt in the PCI specification
            yield pin


def _named_children(context: Any) -> list[tuple[str, str]]:
    """Return each disk's and network interface's folder and name."""
    return [
        (child.sys_path, child.sys_name)
        for subsystem in _NAMED_CHILDREN
        for child in context.list_devices(subsystem=subsystem)
        if child.device_type != "partition"
    ]


def _name_of(device: Any, database: _HardwareDatabase, children: Sequence[tuple[str, str]]) -> str:
    model = device.properties.get(_MODEL) or database.model(device.properties.get("MODALIAS", ""))
    name = model or device.driver or f"PCI {device.properties.get('PCI_ID', device.sys_name)}"
    own = sorted(child for folder, child in children if folder.startswith(f"{device.sys_path}/"))
    return f"{name} ({', '.join(own)})" if own else name


class _HardwareDatabase:
    """udev's hardware database (hwdb). pyudev binds its functions, but has no public class for them."""

    def __init__(self, context: Any) -> None:
        self._library = getattr(context, "_libudev", None)
        self._handle = self._library.udev_hwdb_new(context) if self._library is not None else None

    def close(self) -> None:
        """Free the database."""
        if self._library is not None and self._handle:
            self._library.udev_hwdb_unref(self._handle)
            self._handle = None

    def model(self, modalias: str) -> str | None:
        """Return the model's name, or None if it is not in the database, or there is no database."""
        library = self._library
        if library is None or not self._handle or not modalias:
            return None
        entry = library.udev_hwdb_get_properties_list_entry(self._handle, modalias.encode(), 0)
        while entry:
            if library.udev_list_entry_get_name(entry).decode() == _MODEL:
                return str(library.udev_list_entry_get_value(entry).decode("utf-8", "replace"))
            entry = library.udev_list_entry_get_next(entry)
        return None
