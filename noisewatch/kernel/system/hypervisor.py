"""Whether there is a hypervisor below this kernel, and which.

    /proc/cpuinfo                                 flags : … hypervisor …           (x86)
                                                  platform : pSeries, PowerNV      (POWER)
    /sys/class/dmi/id/*                           VirtualBox, Standard PC (Q35 + ICH9, 2009)
    /sys/hypervisor/type, /proc/xen/capabilities  xen, control_d                   (dom0)
    /sys/devices/system/clocksource/clocksource0/available_clocksource             tsc kvm-clock
    /sys/bus/pci/devices/*/{vendor,subsystem_vendor}   0x80ee
    /proc/device-tree/{hypervisor/compatible,compatible}   linux,kvm; linux,dummy-virt
    /proc/sysinfo                                 VM00 Control Program: KVM/Linux  (s390)
    /proc/sys/kernel/osrelease                    5.15.90.1-microsoft-standard-WSL2, 4.4.0-19041-Microsoft (WSL 1),
                                                  4.19.0-gvisor
    /proc/sys/kernel/version                      #1 SMP Sun Jan 10 15:06:54 PST 2016  (any gVisor)

A hypervisor may hide each of these signs (VirtualBox before 5, Xen's paravirtual guests and `qemu -cpu …,-hypervisor`
do not set the flag), so that the absence of all of them proves nothing. Bare metal is what says so itself: firmware
that names a machine and a maker of machines, or, on x86, a kernel that sets the processor's own clock frequencies,
which guests without the flag are not given; and on POWER the platform without a hypervisor. A sign outranks these.

WSL is recognized by the release, as systemd does (src/basic/virt.c); WSL 1 has no kernel of Linux at all. gVisor's
kernel is a program on the host, and has said the same build since 2018; the release was 4.4 or 4.4.0 before 2026
(pkg/sentry/kernel/version/version.go, before that pkg/sentry/syscalls/linux/linux64.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.cpuinfo import Flags, flags_of, is_another_architecture, value_of
from noisewatch.kernel.frequency.cpufreq import read_any_driver
from noisewatch.kernel.numbers import parse_identifier, parse_identifiers
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.clock import AVAILABLE
from noisewatch.kernel.system.firmware import DMI, UNIDENTIFIED, Firmware
from noisewatch.kernel.system.release import BUILD, RELEASE, read_build, read_release
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.text import clean

NONE, WSL, GVISOR = "none", "wsl", "gvisor"
XEN_TYPE = "/sys/hypervisor/type"
PCI = "/sys/bus/pci/devices"
_DOM0 = "/proc/xen/capabilities"
_TREE = "/proc/device-tree"
_SYSINFO = "/proc/sysinfo"
_PLACES = (DMI, XEN_TYPE, PCI, _DOM0, _TREE, _SYSINFO, AVAILABLE)
_HYPERVISOR_BY_CLOCK = {"kvm-clock": "kvm", "hyperv_clocksource": "microsoft", "xen": "xen"}
_HYPERVISOR_BY_PCI_VENDOR = {  # of devices that no machine has, https://pci-ids.ucw.cz
    "0x80ee": "virtualbox",
    "0x15ad": "vmware",
    "0x1414": "microsoft",
    "0x5853": "xen",
    "0x1b36": "qemu",
    "0x1234": "qemu",
    "0x1ab8": "parallels",
    "0xfb5d": "bhyve",
}
_VIRTIO = "0x1af4"  # also of cards that pretend to be virtio devices, as some clouds have in their bare metal
_WSL_RELEASE = regex(r"microsoft|wsl", re.IGNORECASE)
_GVISOR_BUILD = "#1 SMP Sun Jan 10 15:06:54 PST 2016"
_HYPERVISOR_BY_TREE = {"kvm": "kvm", "xen": "xen", "vmware": "vmware", "gunyah": "gunyah"}
_GUEST_BOARDS = regex(r"dummy-virt|virtio|qemu|xen|jailhouse", re.IGNORECASE)
_GUEST_PROCESSORS = regex(r"QEMU|KVM|User Mode Linux")
_PROCESSORS_OWN_DRIVERS = regex(r"intel_pstate|intel_cpufreq|amd[-_]pstate\S*|acpi-cpufreq|pcc-cpufreq|powernow-k8")


NAMED_GUESTS = {WSL: "WSL, a guest of Windows", GVISOR: "gVisor, whose kernel is a program of the host"}


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """Its name, `none` where this is bare metal, None where nobody says; and what it was concluded from."""

    name: str | None
    because: str


def read_hypervisor(reader: Reader, cpuinfo: str | None, firmware: Firmware) -> Hypervisor:
    """The hypervisor by its first sign, or the machine that tells of itself."""
    flags = flags_of(cpuinfo)
    signs = [*_signs(reader, cpuinfo, firmware, flags)]
    has_virtio = _VIRTIO in _pci_vendors(reader)
    metal = _metal(reader, cpuinfo, firmware, is_x86=bool(flags))
    named = next((sign for sign in signs if sign.name != UNIDENTIFIED), None)
    if signs:
        return named or signs[0]
    if has_virtio and metal is None:
        return Hypervisor(UNIDENTIFIED, f"{PCI}: virtio devices")
    doubt = _doubt(reader, cpuinfo, flags) or (f"{metal}, but virtio devices in {PCI}" if has_virtio else None)
    if metal is not None and doubt is None:
        return Hypervisor(NONE, metal)
    return Hypervisor(None, doubt or "no hypervisor is visible, but nothing proves that there is none")


def _signs(reader: Reader, cpuinfo: str | None, firmware: Firmware, flags: Flags) -> Iterator[Hypervisor]:
    yield from _kernel_signs(reader)  # first: WSL is a guest of Hyper-V too
    if firmware.hypervisor is not None:
        name, said = firmware.hypervisor
        yield Hypervisor(name, f"{DMI}: {said}")
    yield from _xen_signs(reader)
    for name in reader.parsed(AVAILABLE, parse_identifiers, expected=False) or ():
        for start, hypervisor in _HYPERVISOR_BY_CLOCK.items():
            if name.startswith(start):
                yield Hypervisor(hypervisor, f"{AVAILABLE}: {clean(name)}")
    vendors = _pci_vendors(reader)
    for vendor, hypervisor in _HYPERVISOR_BY_PCI_VENDOR.items():
        if vendor in vendors:
            yield Hypervisor(hypervisor, f"{PCI}: a device of vendor {vendor}")
    yield from _tree_signs(reader)
    yield from _sysinfo_signs(reader)
    yield from _cpuinfo_signs(cpuinfo, flags)


def _kernel_signs(reader: Reader) -> Iterator[Hypervisor]:
    """Yield what is known by a kernel that runs nowhere else."""
    release, build = read_release(reader) or "", read_build(reader)
    if _WSL_RELEASE.search(release):
        yield Hypervisor(WSL, f"{RELEASE}: {clean(release)}")
    if release.endswith("-gvisor"):
        yield Hypervisor(GVISOR, f"{RELEASE}: {clean(release)}")
    elif build == _GVISOR_BUILD:
        yield Hypervisor(GVISOR, f"{BUILD}: {build}")


def _xen_signs(reader: Reader) -> Iterator[Hypervisor]:
    """Also of Xen's own domain, which has the hardware and shares the CPUs as its guests do."""
    capabilities = reader.text_or_none(_DOM0, expected=False)
    if capabilities is not None and "control_d" in capabilities:
        yield Hypervisor("xen-dom0", f"{_DOM0}: control_d")
    kind = reader.parsed(XEN_TYPE, parse_identifier, expected=False)
    if kind is not None:
        yield Hypervisor(kind, XEN_TYPE)
    elif capabilities is not None:
        yield Hypervisor("xen", _DOM0)


def _pci_vendors(reader: Reader) -> frozenset[str]:
    """Who made the devices, or, as QEMU does with its copies of Intel's, lent them to a machine."""
    devices = reader.names_or_none(PCI, expected=False) or []
    paths = (f"{PCI}/{device}/{name}" for device in devices for name in ("vendor", "subsystem_vendor"))
    vendors = {reader.parsed(path, _parse_vendor, expected=False) for path in paths}
    return frozenset(vendor for vendor in vendors if vendor is not None)


def _tree_signs(reader: Reader) -> Iterator[Hypervisor]:
    path = f"{_TREE}/hypervisor/compatible"
    text = reader.text_or_none(path, expected=False)
    if text is not None:
        name = next((name for word, name in _HYPERVISOR_BY_TREE.items() if word in text), UNIDENTIFIED)
        yield Hypervisor(name, path)
    path = f"{_TREE}/compatible"
    for board in reader.parsed(path, _parse_boards, expected=False) or ():
        if _GUEST_BOARDS.search(board):
            yield Hypervisor("qemu" if "qemu" in board else UNIDENTIFIED, f"{path}: {clean(board.strip())}")
    if any(name.startswith("fw-cfg") for name in reader.names_or_none(_TREE, expected=False) or []):
        yield Hypervisor("qemu", f"{_TREE}/fw-cfg")
    path = f"{_TREE}/ibm,partition-name"
    if reader.text_or_none(path, expected=False) is not None:
        yield Hypervisor("powervm", path)


def _parse_vendor(text: str) -> str:
    stripped = text.strip().lower()
    if not re.fullmatch(r"0x[0-9a-f]{4}", stripped):
        raise Malformed("a vendor such as 0x8086", stripped)
    return stripped


def _parse_boards(text: str) -> list[str]:
    boards = [board for board in text.split("\0") if board.strip()]
    if not boards:
        raise Malformed("names of the board", text)
    return boards


def _sysinfo_signs(reader: Reader) -> Iterator[Hypervisor]:
    """What runs below a mainframe's kernel: z/VM or KVM, and at least the firmware's partitions."""
    sysinfo = reader.text_or_none(_SYSINFO, expected=False) or ""
    program = re.search(r"^VM00 Control Program:\s*(\S.*)$", sysinfo, re.MULTILINE)
    if program is not None:
        yield Hypervisor("kvm" if "KVM" in program[1] else "zvm", f"{_SYSINFO}: {clean(program[1].strip())}")
    if re.search(r"^LPAR ", sysinfo, re.MULTILINE):
        yield Hypervisor("lpar", f"{_SYSINFO}: LPAR")


def _cpuinfo_signs(cpuinfo: str | None, flags: Flags) -> Iterator[Hypervisor]:
    if value_of(cpuinfo, "platform") == "pSeries":
        is_qemu = any("qemu" in (value_of(cpuinfo, key) or "") for key in ("machine", "model"))
        yield Hypervisor("qemu" if is_qemu else "powervm", f"{CPUINFO}: platform pSeries")
    if any(own is not None and "hypervisor" in own for own in flags):
        yield Hypervisor(UNIDENTIFIED, f"{CPUINFO}: the flag `hypervisor`")
    names = (value_of(cpuinfo, key) for key in ("model name", "vendor_id", "cpu model", "cpu"))
    said = next((name for name in names if name is not None and _GUEST_PROCESSORS.search(name)), None)
    if said is not None:
        is_uml = "User Mode" in said
        yield Hypervisor("uml" if is_uml else "qemu" if "QEMU" in said else "kvm", f"{CPUINFO}: {said}")


def _metal(reader: Reader, cpuinfo: str | None, firmware: Firmware, is_x86: bool) -> str | None:
    """What says that this is bare metal."""
    if firmware.metal is not None:
        return f"{DMI}: {firmware.metal}"
    if value_of(cpuinfo, "platform") == "PowerNV":
        return f"{CPUINFO}: platform PowerNV"
    driver = read_any_driver(reader) if is_x86 else None
    if driver is not None and _PROCESSORS_OWN_DRIVERS.fullmatch(driver):
        return f"cpufreq: {driver} sets the processor's own frequencies"
    return None


def _doubt(reader: Reader, cpuinfo: str | None, flags: Flags) -> str | None:
    """Why signs of a hypervisor may have been missed."""
    if None in flags or (not flags and not is_another_architecture(cpuinfo)):
        return f"{CPUINFO}: {reader.reason_by_path.get(CPUINFO, 'not all flags of the processors can be read')}"
    denied = (path for path in reader.reason_by_path if path.startswith(_PLACES))
    return next((f"{path}: {reader.reason_by_path[path]}" for path in sorted(denied)), None)
