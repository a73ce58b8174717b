"""Affinities, devices and actions of IRQs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from noisewatch.kernel.interrupts.irqs import (
    Irq,
    Irqs,
    _HardwareDatabase,
    _name_of,
    parse_actions,
    read_devices,
    read_irqs,
)
from noisewatch.kernel.interrupts.table import parse_interrupts
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from tests.written import Files, WrittenMachine, reading

IRQ = {
    "/proc/irq/default_smp_affinity": "ff,ffffffff\n",
    "/proc/irq/24/smp_affinity": "f\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
}


def _read(
    files: Files, *, mode: int = 0o644, release: str | None = "6.12.0", answers: Mapping[str, Json] | None = None
) -> Irqs:
    machine = WrittenMachine(files, modes={"/proc/irq/24/smp_affinity": mode}, answers=answers)
    irqs = read_irqs(Reader(machine), None, release)
    assert irqs is not None
    return irqs


def test_irq_has_an_allowed_and_an_effective_affinity() -> None:
    irq = _read(IRQ).by_number[24]
    assert (irq.allowed, irq.effective) == (frozenset({0, 1, 2, 3}), frozenset({2}))


def test_default_affinity_is_read_from_its_mask() -> None:
    assert _read(IRQ).default_allowed == frozenset(range(40))


def test_missing_effective_affinity_has_no_reason() -> None:
    reader = reading({path: text for path, text in IRQ.items() if "effective" not in path})
    irqs = read_irqs(reader, None, "4.4")
    assert irqs is not None
    assert irqs.by_number[24].effective is None
    assert [path for path in reader.reason_by_path if "effective" in path] == []


def test_effective_affinity_may_be_empty() -> None:
    assert _read(IRQ | {"/proc/irq/24/effective_affinity_list": "\n"}).by_number[24].effective == frozenset()


@pytest.mark.parametrize("text", ["", "rubbish\n", "3,\n"])
def test_malformed_default_mask_is_unknown(text: str) -> None:
    assert _read(IRQ | {"/proc/irq/default_smp_affinity": text}).default_allowed is None


def test_irqs_are_numbers_in_order() -> None:
    files = IRQ | {"/proc/irq/3/spurious": "", "/proc/irq/100/spurious": "", "/proc/irq/prof_cpu_mask": "f\n"}
    assert list(_read(files).by_number) == [3, 24, 100]


@pytest.mark.parametrize(("action", "is_read_again"), [("eth0", False), ("nvme0", True)])
def test_devices_are_read_again_only_if_an_irq_has_another_driver(action: str, is_read_again: bool) -> None:
    before = _read(IRQ | {"/proc/irq/24/eth0/x": ""}, answers={"devices by irq": {"24": "an old name"}})
    files = IRQ | {f"/proc/irq/24/{action}/x": "", "/proc/irq/24/effective_affinity_list": "3\n"}
    reader = Reader(WrittenMachine(files, answers={"devices by irq": {"24": "a new name"}}))
    after = read_irqs(reader, None, "6.12", before)
    assert after is not None
    assert after.by_number[24].device == ("a new name" if is_read_again else "an old name")
    assert after.by_number[24].effective == frozenset({3})


def test_machine_without_the_folder_is_unknown_with_its_reason() -> None:
    reader = reading({})
    assert read_irqs(reader, None, "6.12") is None
    assert reader.reason_by_path == {"/proc/irq": "no such file"}


@pytest.mark.parametrize(
    ("mode", "release", "movable"),
    [
        (0o644, "6.12.0", True),
        (0o444, "6.12.0", False),
        (0o644, "6.11.9", None),
        (0o444, "6.11.9", False),
        (0o644, "5.4", None),
        (0o600, "7.0", True),
        (0o644, None, None),
    ],
)
def test_mode_shows_whether_an_irq_is_movable_on_new_kernels(
    mode: int, release: str | None, movable: bool | None
) -> None:
    assert _read(IRQ, mode=mode, release=release).by_number[24].movable is movable


@pytest.mark.parametrize("name", ["timer", "cascade"])
def test_irqs_of_the_kernel_are_not_movable(name: str) -> None:
    table = parse_interrupts(f"CPU0\n 24: 1 IO-APIC 2-edge {name}\n".encode())
    irqs = read_irqs(reading(IRQ), table, "6.12")
    assert irqs is not None
    assert irqs.by_number[24].movable is False


def test_irq_without_a_mode_may_be_movable() -> None:
    files = {path: text for path, text in IRQ.items() if not path.endswith("/smp_affinity")}
    assert _read(files).by_number[24].movable is None


def test_device_is_named_by_udev() -> None:
    irqs = _read(IRQ | {"/proc/irq/9/spurious": ""}, answers={"devices by irq": {"24": "NVMe\x1b[2J (nvme0n1)"}})
    assert (irqs.by_number[24].device, irqs.by_number[9].device) == ("NVMe·[2J (nvme0n1)", "none")


def test_devices_are_unknown_without_udev() -> None:
    assert _read(IRQ).by_number[24].device is None


@pytest.mark.parametrize("answer", [[], "text", 5, {"x": "NVMe"}, {"24": None}, {"24": ["a"]}], ids=str)
def test_malformed_answer_about_devices_is_ignored(answer: Json) -> None:
    assert set(_read(IRQ, answers={"devices by irq": answer}).by_number) == {24}


def test_actions_are_read_from_the_table_of_interrupts() -> None:
    table = parse_interrupts(b"CPU0\n 24: 1 IO-APIC 16-fasteoi vmwgfx, snd\x1b_ens1371\n")
    irqs = read_irqs(reading(IRQ), table, "6.12")
    assert irqs is not None
    assert irqs.by_number[24].actions == ("vmwgfx", "snd·_ens1371")


def test_actions_are_read_from_folders_without_the_table() -> None:
    files = IRQ | {"/proc/irq/24/eth0-rx\x1b/handler": "", "/proc/irq/24/node": "0\n", "/proc/irq/24/spurious": ""}
    assert _read(files).by_number[24].actions == ("eth0-rx·",)


def test_irq_without_files_is_unknown() -> None:
    assert _read({"/proc/irq/24/spurious": ""}).by_number[24] == Irq(
        irq=24, allowed=None, effective=None, movable=None, actions=(), device=None
    )


@pytest.mark.parametrize(
    ("description", "actions"),
    [
        ("PCI-MSIX-0000:00:04.0   0-edge      eth0-rx-0", ["eth0-rx-0"]),
        ("IR-PCI-MSI-0000:17:00.0    0-edge      PCIe PME", ["PCIe PME"]),
        ("PCI-MSI 327680-edge      xhci_hcd", ["xhci_hcd"]),
        ("PCI-MSI-edge      nvme0q0", ["nvme0q0"]),
        ("IO-APIC    2-edge      timer", ["timer"]),
        ("IO-APIC-fasteoi   acpi", ["acpi"]),
        ("IO-APIC   16-fasteoi   vmwgfx, snd_ens1371", ["vmwgfx", "snd_ens1371"]),
        ("IR-IO-APIC   14-fasteoi   INT34C5:00", ["INT34C5:00"]),
        ("DMAR-MSI    5-edge      dmar5", ["dmar5"]),
        ("HPET-MSI    3-edge      hpet3", ["hpet3"]),
        ("Hyper-V PCIe MSI 2113929216-edge      nvme0q0", ["nvme0q0"]),
        ("intel-gpio   17  ELAN0000:00", ["ELAN0000:00"]),
        ("VMD-MSI    3  nvme1q3", ["nvme1q3"]),
        ("GICv3  27 Level     arch_timer", ["arch_timer"]),
        ("GIC-0  29 Edge      twd", ["twd"]),
        ("ITS-MSI 524288 Edge      nvme0q0", ["nvme0q0"]),
        ("ITS-MSI 81920 Edge      ena-mgmnt@pci:0000:00:05.0", ["ena-mgmnt@pci:0000:00:05.0"]),
        ("ARMH0061:00   3 Edge      ACPI:Event", ["ACPI:Event"]),
        ("bcm2836-timer   1 Edge      arch_timer", ["arch_timer"]),
        ("ARMCTRL-level   1 Edge      3f00b880.mailbox", ["3f00b880.mailbox"]),
        ("SiFive PLIC  10 Edge      ttyS0", ["ttyS0"]),
        ("MIPS   7  timer", ["timer"]),
        ("MIPS GIC  63  eth0", ["eth0"]),
        ("xen-percpu    -virq      timer0", ["timer0"]),
        ("xen-percpu-virq      timer0", ["timer0"]),
        ("xen-dyn-event     eth0", ["eth0"]),
        ("xen-pirq-ioapic-edge  i8042", ["i8042"]),
        ("Phys-irq  uhci_hcd:usb3, libata, peth0", ["uhci_hcd:usb3", "libata", "peth0"]),
        ("XT-PIC    timer", ["timer"]),
        ("IO-APIC   16-fasteoi", []),
        ("GICv3  27 Level", []),
        ("PCI-MSI 327680-edge", []),
        ("dummy", []),
        ("", []),
    ],
)
def test_actions_are_parsed_after_chip_number_and_trigger(description: str, actions: list[str]) -> None:
    assert parse_actions(" ".join(description.split())) == tuple(actions)


def test_hardware_database_is_unmapped_after_devices_are_named() -> None:
    read_devices(Reader(LiveMachine()))
    assert "hwdb.bin" not in Path("/proc/self/maps").read_text()


def test_device_is_named_with_the_disks_and_interfaces_below_it() -> None:
    device = SimpleNamespace(
        properties={"ID_MODEL_FROM_DATABASE": "Fast SSD"}, sys_path="/sys/devices/pci0000:00/0000:00:01"
    )
    children = [
        ("/sys/devices/pci0000:00/0000:00:01/nvme/nvme1/nvme1n1", "nvme1n1"),
        ("/sys/devices/pci0000:00/0000:00:01/nvme/nvme0/nvme0n1", "nvme0n1"),
        ("/sys/devices/pci0000:00/0000:00:010/net/eth0", "eth0"),
        ("/sys/devices/virtual/net/lo", "lo"),
    ]
    assert _name_of(device, _HardwareDatabase(None), children) == "Fast SSD (nvme0n1, nvme1n1)"


_WITHOUT = """
import ctypes.util
ctypes.util.find_library = lambda name: None
from noisewatch.kernel.interrupts.irqs import read_devices
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
print(read_devices(Reader(LiveMachine())))
"""


def test_devices_are_unknown_without_the_library_of_udev() -> None:
    process = subprocess.run([sys.executable, "-c", _WITHOUT], check=False, capture_output=True, text=True, timeout=60)
    assert (process.stdout, process.stderr) == ("None\n", "")
