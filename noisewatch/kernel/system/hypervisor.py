"""The hypervisor below this kernel, if any, as shown by firmware names (DMI) and other signs.

    /proc/cpuinfo                                 flags : … hypervisor …           (x86)
                                                  platform : pSeries, PowerNV      (POWER)
    /sys/class/dmi/id/*                           VirtualBox, Standard PC (Q35 + ICH9, 2009)
    /sys/hypervisor/type, /proc/xen/capabilities  xen, control_d                   (dom0)
    /sys/devices/system/clocksource/clocksource0/available_clocksource             tsc kvm-clock
    /sys/bus/pci/devices/*/{vendor,subsystem_vendor}   0x80ee
    /proc/bus/pci/devices                         0010  80eebeef  12 …      (place, vendor and device)
    /proc/device-tree/{hypervisor/compatible,compatible}   linux,kvm; linux,dummy-virt
    /proc/sysinfo                                 VM00 Control Program: KVM/Linux  (s390)
    /proc/stat                                    cpu0 … 9 0 0                     (steal time)
    /proc/sys/kernel/osrelease                    5.15.90.1-microsoft-standard-WSL2, 4.4.0-19041-Microsoft (WSL 1),
                                                  4.19.0-gvisor
    /proc/sys/kernel/version                      #1 SMP Sun Jan 10 15:06:54 PST 2016  (any gVisor)

A hypervisor may hide any of these signs (VirtualBox before 5, Xen's paravirtual guests and `qemu -cpu …,-hypervisor`
do not set the flag), so their absence proves nothing. No single reading proves bare metal, but this is evidence for it:

- firmware that names a machine and a hardware maker, on x86 only if no processor has the flag;
- a cpufreq driver that sets the processor's own frequencies, if no PCI device is virtual. Guests without the flag can
  have such a driver too: intel_pstate only needs the processor's model and registers, which VirtualBox passes through
  (drivers/cpufreq/intel_pstate.c);
- the POWER platform without a hypervisor.

Any sign of a hypervisor outranks this evidence. Like lscpu, noisewatch also looks for PCI vendors in
/proc/bus/pci/devices (util-linux, sys-utils/lscpu-virt.c). Only vendors without physical devices are signs: Amazon's
devices (0x1d0f) are in its *.metal machines, and Red Hat's virtio (0x1af4) is on cards for bare metal. Microsoft
(0x1414) sells no cards, but is the subsystem vendor of a Surface's devices.

Steal time proves a hypervisor, because the kernel only counts it by the hypervisor's clock (steal_account_process_time
in kernel/sched/cputime.c; arch/s390/kernel/vtime.c, arch/powerpc/kernel/time.c). Its absence proves nothing.

WSL is recognized by the release, as in systemd (src/basic/virt.c); WSL 1 has no Linux kernel at all. gVisor's kernel is
a program on the host and has reported the same build since 2018; its release was 4.4 or 4.4.0 before 2026
(pkg/sentry/kernel/version/version.go, before that pkg/sentry/syscalls/linux/linux64.go).

The firmware names the machine and its makers:

    /sys/class/dmi/id/sys_vendor        Dell Inc.           innotek GmbH     Amazon EC2
    /sys/class/dmi/id/product_name      PowerEdge R640      VirtualBox       m5.metal
    …/{product_version,bios_vendor,board_vendor,board_name,chassis_vendor}

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-class-dmi). The hypervisors' names are from
systemd-detect-virt and virt-what, the hardware makers' names from their own firmware.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpu_time import PATH as CPU_TIME
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.cpuinfo import Flags, flags_of, is_another_architecture, value_of
from noisewatch.kernel.frequency.cpufreq import read_any_driver
from noisewatch.kernel.numbers import lines_of, parse_identifier, parse_identifiers
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.clock import AVAILABLE
from noisewatch.kernel.system.release import BUILD, RELEASE, read_build, read_release
from noisewatch.patterns import regex
from noisewatch.text import clean

DMI = "/sys/class/dmi/id"
UNIDENTIFIED = "unidentified"
_HYPERVISOR_BY_NAME = {
    "QEMU": "qemu",
    "Amazon EC2": "amazon",
    "Google": "google",
    "VMware": "vmware",
    "VMW": "vmware",
    "Microsoft Corporation": "microsoft",
    "Hyper-V": "microsoft",
    "Xen": "xen",
    "innotek": "virtualbox",
    "VirtualBox": "virtualbox",
    "Parallels": "parallels",
    "Bochs": "bochs",
    "BHYVE": "bhyve",
    "Apple Virtualization": "apple",
    "Firecracker": "firecracker",
    "SmartDC HVM": "kvm",
    "Cloud Hypervisor": "cloud-hypervisor",
    **dict.fromkeys(
        ("KVM", "KubeVirt", "OpenStack", "oVirt", "RHEV", "RHEL-AV", "AHV", "CloudStack", "Red Hat"),
        "kvm",
    ),
    **dict.fromkeys(("Alibaba Cloud", "DigitalOcean", "Hetzner", "Tencent Cloud", "UpCloud"), "kvm"),
}
_METAL_PRODUCT = regex(r"\.metal(?:-|$)|Surface")
_ALSO_MAKE_METAL = ("Amazon EC2", "Microsoft Corporation")
_NAMES_A_GUEST = regex(r"virtual|hypervisor|\bkvm\b|\bvm\b|\bhvm\b|\bLPAR\b", re.IGNORECASE)
_MAKERS = (  # they only make hardware, so their name in the firmware identifies a physical machine
    *("ASRock", "ASUS", "AZW", "Acer", "Advantech", "Ampere", "Biostar", "BIOSTAR", "Bull", "Cavium", "Cisco", "Clevo"),
    *("Cray", "Dell", "Dynabook", "FUJITSU", "Fujitsu", "Framework", "GIGABYTE", "Giga Computing", "Gigabyte", "H3C"),
    *("HP", "HUAWEI", "Hewlett", "Hewlett-Packard", "Huawei", "IBM", "Inspur", "INTEL", "Intel", "LENOVO", "Lenovo"),
    *("MICRO-STAR", "MSI", "Micro-Star", "MiTAC", "NEC", "NVIDIA", "PC Engines", "Panasonic", "Penguin", "QCT"),
    *("Quanta", "Raspberry Pi", "SAMSUNG", "SGI", "Samsung", "Shuttle", "Silicon Graphics", "Star Labs", "Sugon"),
    *("Sun Microsystems", "Super Micro", "Supermicro", "System76", "TOSHIBA", "TUXEDO", "TYAN", "Toshiba", "Tyan"),
    *("Valve", "Wistron", "Wiwynn", "ZOTAC", "xFusion"),
)


class Firmware(Struct, frozen=True):
    """The firmware's names, cleaned; None means unknown, or not reported."""

    vendor: str | None = None
    product: str | None = None
    version: str | None = None
    bios_vendor: str | None = None
    board_vendor: str | None = None
    board: str | None = None
    chassis_vendor: str | None = None

    @property
    def hypervisor(self) -> tuple[str, str] | None:
        """The hypervisor identified by one of the names, and this name; None if no name identifies one."""
        names = (self.vendor, self.product, self.board_vendor, self.bios_vendor, self.board, self.version)
        for name in (*names, self.chassis_vendor):
            if name is not None and not self._is_chromebook(name) and not self._is_maker_of_metal(name):
                for start, hypervisor in _HYPERVISOR_BY_NAME.items():
                    if name.startswith(start):
                        return hypervisor, name
        return next(((UNIDENTIFIED, name) for name in names if name and _NAMES_A_GUEST.search(name)), None)

    @property
    def is_metal_product(self) -> bool:
        """Whether the product is a physical machine from a vendor that also provides virtual machines."""
        return self.product is not None and _METAL_PRODUCT.search(self.product) is not None

    @property
    def metal(self) -> str | None:
        """The physical machine's maker and product, or None if the names do not identify one."""
        makers = (self.vendor, self.board_vendor, self.chassis_vendor, self.bios_vendor)
        maker = next((name for name in makers if name is not None and name.startswith(_MAKERS)), None)
        if self.product is None or self.hypervisor is not None or (maker is None and not self.is_metal_product):
            return None
        return f"{maker or self.vendor or ''} {self.product}".strip()

    def _is_maker_of_metal(self, name: str) -> bool:
        return self.is_metal_product and name.startswith(_ALSO_MAKE_METAL)

    def _is_chromebook(self, name: str) -> bool:
        """Return whether the name belongs to a Google laptop, whose firmware is coreboot, not to a virtual machine."""
        return name.startswith("Google") and self.bios_vendor == "coreboot"


def read_firmware(reader: Reader) -> Firmware:
    """Return the firmware's names."""

    def name(of: str) -> str | None:
        return reader.parse(f"{DMI}/{of}", _parse_name, expected=False) or None

    return Firmware(
        vendor=name("sys_vendor"),
        product=name("product_name"),
        version=name("product_version"),
        bios_vendor=name("bios_vendor"),
        board_vendor=name("board_vendor"),
        board=name("board_name"),
        chassis_vendor=name("chassis_vendor"),
    )


def _parse_name(text: str) -> str:
    """Return the cleaned name; empty if the maker left it blank. Raise Malformed."""
    if "\0" in text:
        raise Malformed("a name", text)
    return clean(text.strip())


NONE, WSL, GVISOR = "none", "wsl", "gvisor"
XEN_TYPE = "/sys/hypervisor/type"
PCI = "/sys/bus/pci/devices"
PCI_TABLE = "/proc/bus/pci/devices"
_DOM0 = "/proc/xen/capabilities"
_TREE = "/proc/device-tree"
_SYSINFO = "/proc/sysinfo"
_PLACES = (DMI, XEN_TYPE, PCI, PCI_TABLE, _DOM0, _TREE, _SYSINFO, AVAILABLE)
_HYPERVISOR_BY_CLOCK = {"kvm-clock": "kvm", "hyperv_clocksource": "microsoft", "xen": "xen"}
_HYPERVISOR_BY_PCI_VENDOR = {  # vendors without physical devices, https://pci-ids.ucw.cz
    "0x80ee": "virtualbox",
    "0x15ad": "vmware",
    "0x1414": "microsoft",
    "0x5853": "xen",
    "0x1b36": "qemu",
    "0x1234": "qemu",
    "0x1ab8": "parallels",
    "0xfb5d": "bhyve",
}
_MICROSOFT = "0x1414"
_VIRTIO = "0x1af4"  # also on cards that emulate virtio devices, as in some clouds' bare metal
_WSL_RELEASE = regex(r"microsoft|wsl", re.IGNORECASE)
_GVISOR_BUILD = "#1 SMP Sun Jan 10 15:06:54 PST 2016"
_HYPERVISOR_BY_TREE = {"kvm": "kvm", "xen": "xen", "vmware": "vmware", "gunyah": "gunyah"}
_GUEST_BOARDS = regex(r"dummy-virt|virtio|qemu|xen|jailhouse", re.IGNORECASE)
_PCI_ROW = regex(r"[0-9a-f]{4,6}\t([0-9a-f]{4})[0-9a-f]{4}\t.*", re.ASCII)
_GUEST_PROCESSORS = regex(r"QEMU|KVM|User Mode Linux")
_PROCESSORS_OWN_DRIVERS = regex(r"intel_pstate|intel_cpufreq|amd[-_]pstate\S*|acpi-cpufreq|pcc-cpufreq|powernow-k8")


NAMED_GUESTS = {WSL: "WSL, a guest of Windows", GVISOR: "gVisor, whose kernel is a program of the host"}


class Hypervisor(Struct, frozen=True):
    """The hypervisor's name (`none` for bare metal, None if unknown), and the evidence."""

    name: str | None
    because: str


def read_hypervisor(reader: Reader, cpuinfo: str | None, firmware: Firmware) -> Hypervisor:
    """Return the hypervisor with its first sign, `none` for proven bare metal, or why neither is known."""
    flags = flags_of(cpuinfo)
    path_by_vendor = _pci_vendors(reader)
    signs = [*_signs(reader, cpuinfo, firmware, flags, path_by_vendor)]
    named = next((sign for sign in signs if sign.name != UNIDENTIFIED), None)
    if signs:
        return named or signs[0]
    metal, virtio = _metal(cpuinfo, firmware), path_by_vendor.get(_VIRTIO)
    if metal is None and virtio is not None:
        return Hypervisor(UNIDENTIFIED, f"{virtio}: virtio devices")
    driver = _own_driver(reader) if flags and metal is None else None
    if driver is not None and path_by_vendor:
        metal = f"cpufreq: {driver} sets the processor's own frequencies, and no PCI device is virtual"
    doubt = _doubt(reader, cpuinfo, flags)
    if metal is not None and virtio is None and doubt is None:
        return Hypervisor(NONE, metal)
    if doubt is None and metal is not None:
        doubt = f"{metal}, but virtio devices in {virtio}"
    alone = f": guests may have {driver} too, and no PCI device is listed" if driver is not None else ""
    return Hypervisor(None, doubt or f"no hypervisor is visible, but bare metal is not proven{alone}")


# Largest plausible steal time since boot; a larger counter is damaged.
_MAX_PLAUSIBLE_NS = 100 * 365 * 86400 * 1_000_000_000


def _signs(
    reader: Reader, cpuinfo: str | None, firmware: Firmware, flags: Flags, path_by_vendor: Mapping[str, str]
) -> Iterator[Hypervisor]:
    yield from _kernel_signs(reader)  # before all other signs, because WSL is a guest of Hyper-V too
    if firmware.hypervisor is not None:
        name, sign = firmware.hypervisor
        yield Hypervisor(name, f"{DMI}: {sign}")
    yield from _xen_signs(reader)
    for name in reader.parse(AVAILABLE, parse_identifiers, expected=False) or ():
        for start, hypervisor in _HYPERVISOR_BY_CLOCK.items():
            if name.startswith(start):
                yield Hypervisor(hypervisor, f"{AVAILABLE}: {clean(name)}")
    for vendor, hypervisor in _HYPERVISOR_BY_PCI_VENDOR.items():
        if vendor in path_by_vendor:
            yield Hypervisor(hypervisor, f"{path_by_vendor[vendor]}: a device of vendor {vendor}")
    yield from _tree_signs(reader)
    yield from _sysinfo_signs(reader)
    yield from _cpuinfo_signs(cpuinfo, flags)
    times = reader.parse(CPU_TIME, parse_cpu_time, expected=False) or {}
    if any(0 < (time.steal_ns or 0) < _MAX_PLAUSIBLE_NS for time in times.values()):
        yield Hypervisor(UNIDENTIFIED, f"{CPU_TIME}: steal time since boot")


def _kernel_signs(reader: Reader) -> Iterator[Hypervisor]:
    """Yield the hypervisors that are recognized by their guests' special kernel."""
    release, build = read_release(reader) or "", read_build(reader)
    if _WSL_RELEASE.search(release):
        yield Hypervisor(WSL, f"{RELEASE}: {clean(release)}")
    if release.endswith("-gvisor"):
        yield Hypervisor(GVISOR, f"{RELEASE}: {clean(release)}")
    elif build == _GVISOR_BUILD:
        yield Hypervisor(GVISOR, f"{BUILD}: {build}")


def _xen_signs(reader: Reader) -> Iterator[Hypervisor]:
    """Yield Xen, also for dom0, which owns the hardware but shares the CPUs like other guests."""
    capabilities = reader.text_or_none(_DOM0, expected=False)
    if capabilities is not None and "control_d" in capabilities:
        yield Hypervisor("xen-dom0", f"{_DOM0}: control_d")
    kind = reader.parse(XEN_TYPE, parse_identifier, expected=False)
    if kind is not None:
        yield Hypervisor(kind, XEN_TYPE)
    elif capabilities is not None:
        yield Hypervisor("xen", _DOM0)


def _pci_vendors(reader: Reader) -> Mapping[str, str]:
    """Return the vendors of all PCI devices, each with a path that lists it.

    Subsystem vendors count too: QEMU is the subsystem vendor of its copies of Intel devices.
    """
    path_by_vendor: dict[str, str] = {}
    for device in reader.names_or_none(PCI, expected=False) or []:
        for name in ("vendor", "subsystem_vendor"):
            vendor = reader.parse(f"{PCI}/{device}/{name}", _parse_vendor, expected=False)
            if vendor is not None and (vendor, name) != (_MICROSOFT, "subsystem_vendor"):
                path_by_vendor.setdefault(vendor, PCI)
    for vendor in reader.parse(PCI_TABLE, _parse_pci_table, expected=False) or ():
        path_by_vendor.setdefault(vendor, PCI_TABLE)
    return path_by_vendor


def _tree_signs(reader: Reader) -> Iterator[Hypervisor]:
    path = f"{_TREE}/hypervisor/compatible"
    text = reader.text_or_none(path, expected=False)
    if text is not None:
        name = next((name for word, name in _HYPERVISOR_BY_TREE.items() if word in text), UNIDENTIFIED)
        yield Hypervisor(name, path)
    path = f"{_TREE}/compatible"
    for board in reader.parse(path, _parse_boards, expected=False) or ():
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


def _parse_pci_table(text: str) -> frozenset[str]:
    """Return the vendors in a table with one row per device, the format of drivers/pci/proc.c. Raise Malformed."""
    rows = [(line, _PCI_ROW.fullmatch(line)) for line in lines_of(text)]
    damaged = next((line for line, match in rows if match is None), None)
    if damaged is not None or not text.endswith("\n"):
        raise Malformed("place, vendor and device", damaged or rows[-1][0])
    return frozenset(f"0x{match[1]}" for _, match in rows if match is not None)


def _parse_boards(text: str) -> list[str]:
    boards = [board for board in text.split("\0") if board.strip()]
    if not boards:
        raise Malformed("names of the board", text)
    return boards


def _sysinfo_signs(reader: Reader) -> Iterator[Hypervisor]:
    """Yield a mainframe's hypervisors: z/VM or KVM, and the firmware's partitions below them."""
    sysinfo = reader.text_or_none(_SYSINFO, expected=False) or ""
    program = re.search(r"^VM00 Control Program:\s*(\S.*)$", sysinfo, re.MULTILINE)
    if program is not None:
        yield Hypervisor("kvm" if "KVM" in program[1] else "zvm", f"{_SYSINFO}: {clean(program[1].strip())}")
    if re.search(r"^LPAR ", sysinfo, re.MULTILINE):
        yield Hypervisor("lpar", f"{_SYSINFO}: LPAR")


def _cpuinfo_signs(cpuinfo: str | None, flags: Flags) -> Iterator[Hypervisor]:
    platform = value_of(cpuinfo, "platform")
    is_qemu = any("qemu" in (value_of(cpuinfo, key) or "") for key in ("machine", "model"))
    if platform == "pSeries" or is_qemu:
        yield Hypervisor("qemu" if is_qemu else "powervm", f"{CPUINFO}: platform {platform}")
    if any(own is not None and "hypervisor" in own for own in flags):
        yield Hypervisor(UNIDENTIFIED, f"{CPUINFO}: the flag `hypervisor`")
    names = (value_of(cpuinfo, key) for key in ("model name", "vendor_id", "cpu model", "cpu"))
    processor = next((name for name in names if name is not None and _GUEST_PROCESSORS.search(name)), None)
    if processor is not None:
        is_uml = "User Mode" in processor
        yield Hypervisor("uml" if is_uml else "qemu" if "QEMU" in processor else "kvm", f"{CPUINFO}: {processor}")


def _metal(cpuinfo: str | None, firmware: Firmware) -> str | None:
    """Return the evidence that this machine is bare metal, or None."""
    if firmware.metal is not None:
        return f"{DMI}: {firmware.metal}"
    return f"{CPUINFO}: platform PowerNV" if value_of(cpuinfo, "platform") == "PowerNV" else None


def _own_driver(reader: Reader) -> str | None:
    driver = read_any_driver(reader)
    return driver if driver is not None and _PROCESSORS_OWN_DRIVERS.fullmatch(driver) else None


def _doubt(reader: Reader, cpuinfo: str | None, flags: Flags) -> str | None:
    """Return why signs of a hypervisor may have been missed, or None if all are readable."""
    if None in flags or (not flags and not is_another_architecture(cpuinfo)):
        return f"{CPUINFO}: {reader.reason_by_path.get(CPUINFO, 'not all flags of the processors can be read')}"
    denied = (path for path in reader.reason_by_path if path.startswith(_PLACES))
    return next((f"{path}: {reader.reason_by_path[path]}" for path in sorted(denied)), None)
