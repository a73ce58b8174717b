"""What kind of machine this is, as long as it is up: kernel, processor, hypervisor, container.

/proc/cpuinfo               model name, and the flag `hypervisor` on x86
/sys/class/dmi/id/*         sys_vendor QEMU, product_name t3.micro
/sys/hypervisor/type        xen
/proc/cmdline, /proc/config.gz, /sys/devices/system/cpu/vulnerabilities/*
/.dockerenv, /run/.containerenv, /run/systemd/container, /proc/self/cgroup
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from noisewatch.machine.privacy import HOST_NAME, TELLING_OPTIONS
from noisewatch.sources.cgroup_mounts import MEMBERSHIP, is_inside_namespace
from noisewatch.sources.clock_source import AVAILABLE
from noisewatch.sources.kernel import read_command_line, read_release
from noisewatch.sources.kernel_config import KernelConfig, read_kernel_config
from noisewatch.sources.names import clean
from noisewatch.sources.online import CPUINFO
from noisewatch.sources.reader import Reader
from noisewatch.sources.vulnerabilities import Vulnerabilities, read_vulnerabilities

NONE = "none"
UNIDENTIFIED = "unidentified"
DMI = "/sys/class/dmi/id"
_HYPERVISOR_BY_VENDOR = {
    "QEMU": "qemu",
    "Amazon EC2": "amazon",
    "Google": "google",
    "VMware": "vmware",
    "Microsoft Corporation": "microsoft",
    "Xen": "xen",
    "innotek": "virtualbox",
    "Parallels": "parallels",
    "KVM": "kvm",
    "OpenStack": "kvm",
    "DigitalOcean": "kvm",
    "Hetzner": "kvm",
}
_BARE_METAL_PRODUCTS = (".metal", "Surface")  # of vendors that also make virtual machines
_MAKERS = (  # of machines alone, so that their name in the firmware means one
    *("Ampere", "ASUS", "Cisco", "Dell", "FUJITSU", "Fujitsu", "GIGABYTE", "Giga Computing", "HP", "Inspur", "Intel"),
    *("LENOVO", "Lenovo", "NVIDIA", "Quanta", "Raspberry Pi", "Supermicro", "Wiwynn"),
)
_HYPERVISOR_BY_CLOCK = {"kvm-clock": "kvm", "hyperv_clocksource": "microsoft", "xen": "xen"}
_CONTAINER_IN_CGROUP = re.compile(r"/(?P<kind>docker[-/]|libpod[-/]|lxc[./]|kubepods|machine\.slice/machine-)")
_KIND_IN_CGROUP = {"kubepods": "kubernetes", "libpod": "podman"}
_TSC_FLAGS = frozenset({"tsc", "constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable"})
_ANOTHER_ARCHITECTURE = r"^(CPU implementer|Features|features|isa|cpu)\s*:"
_MODEL_KEYS = ("model name", "cpu model", "cpu", "Processor")  # x86 and ARM of late; MIPS; POWER; old ARM


@dataclass(frozen=True, slots=True)
class Platform:
    """None is unknown; `none` is known not to be there."""

    host: str | None
    kernel: str | None
    cpu_model: str | None
    virtual: str | None
    container: str | None
    config: KernelConfig | None = None
    options: Mapping[str, tuple[str, ...]] | None = None  # that it was booted with, and that matter to noise
    vulnerabilities: Vulnerabilities = field(default_factory=Vulnerabilities)
    tsc_flags: frozenset[str] | str | None = None  # what x86 says of its counter; none on another architecture
    vendor: str | None = None
    product: str | None = None


def read_platform(reader: Reader) -> Platform:
    """The platform. /proc/cpuinfo interrupts all CPUs on x86 before Linux 5.19, so nobody should ask twice."""
    kernel = read_release(reader)
    cpuinfo = reader.text_or_none(CPUINFO)
    options = _read_options(reader)
    host = reader.text_or_none(HOST_NAME, expected=False)
    return Platform(
        host=clean(host.strip()) if host is not None else None,
        kernel=clean(kernel) if kernel is not None else None,
        cpu_model=_cpu_model(cpuinfo),
        virtual=_read_virtual(reader, cpuinfo),
        container=_read_container(reader),
        config=read_kernel_config(reader, kernel),
        options=options,
        vulnerabilities=read_vulnerabilities(reader, options),
        tsc_flags=_tsc_flags(cpuinfo),
        vendor=_read_name(reader, "sys_vendor"),
        product=_read_name(reader, "product_name"),
    )


def _read_options(reader: Reader) -> Mapping[str, tuple[str, ...]] | None:
    options = read_command_line(reader)
    return None if options is None else {name: options[name] for name in options if name in TELLING_OPTIONS}


def _read_name(reader: Reader, name: str) -> str | None:
    """What the firmware calls the machine or its maker."""
    text = reader.text_or_none(f"{DMI}/{name}", expected=False)
    return None if text is None else clean(text.strip()) or None


def _cpu_model(cpuinfo: str | None) -> str | None:
    for key in _MODEL_KEYS:
        match = re.search(rf"^{key}\s*:\s*(\S.*)$", cpuinfo or "", re.MULTILINE)
        if match is not None:
            return clean(match[1].strip())
    return None


def _read_virtual(reader: Reader, cpuinfo: str | None) -> str | None:
    """The hypervisor by its vendor's name; on x86 the absence of the flag proves that there is none."""
    flags = _flags(cpuinfo)
    if flags and all(each is not None and "hypervisor" not in each for each in flags):
        return NONE
    named = _read_dmi(reader) or _read_xen(reader) or _read_clock_names(reader)
    if any(each is not None and "hypervisor" in each for each in flags):
        return named or UNIDENTIFIED
    if named is not None:
        return named
    vendor = reader.text_or_none(f"{DMI}/sys_vendor", expected=False) or ""
    if not flags and (
        _is_bare_metal_product(reader) or (vendor.startswith(_MAKERS) and not _is_virtual_product(reader))
    ):
        return NONE
    if reader.text_or_none("/proc/device-tree/hypervisor/compatible", expected=False):
        return UNIDENTIFIED
    return None


def _flags(cpuinfo: str | None) -> list[set[str] | None]:
    """The flags of each x86 processor; None for one whose line is missing or was cut off."""
    blocks = [block for block in re.split(r"\n\s*\n", cpuinfo or "") if re.match(r"\s*processor\s*:", block)]
    if not any(re.search(r"^flags\s*:", block, re.MULTILINE) for block in blocks):
        return []
    whole = (cpuinfo or "").endswith("\n")
    lines = [re.search(r"^flags\s*:\s*(\S.*)$", block, re.MULTILINE) for block in blocks]
    last = len(blocks) - 1
    return [
        set(line[1].split()) if line is not None and (whole or number < last) else None
        for number, line in enumerate(lines)
    ]


def _tsc_flags(cpuinfo: str | None) -> frozenset[str] | str | None:
    """Those that all processors have of the flags that speak of the time stamp counter."""
    flags = _flags(cpuinfo)
    if not flags:
        return NONE if re.search(_ANOTHER_ARCHITECTURE, cpuinfo or "", re.MULTILINE) else None
    known = [each for each in flags if each is not None]
    if len(known) < len(flags):
        return None
    return frozenset.intersection(*map(frozenset, known)) & _TSC_FLAGS


def _is_virtual_product(reader: Reader) -> bool:
    product = reader.text_or_none(f"{DMI}/product_name", expected=False) or ""
    return re.search(r"virtual|hypervisor|kvm|\bvm\b", product, re.IGNORECASE) is not None


def _read_dmi(reader: Reader) -> str | None:
    if _is_bare_metal_product(reader):
        return None
    for name in ("sys_vendor", "product_name", "bios_vendor"):
        text = reader.text_or_none(f"{DMI}/{name}", expected=False) or ""
        for vendor, hypervisor in _HYPERVISOR_BY_VENDOR.items():
            if text.strip().startswith(vendor):
                return hypervisor
    return None


def _is_bare_metal_product(reader: Reader) -> bool:
    product = reader.text_or_none(f"{DMI}/product_name", expected=False) or ""
    return any(word in product for word in _BARE_METAL_PRODUCTS)


def _read_xen(reader: Reader) -> str | None:
    kind = reader.text_or_none("/sys/hypervisor/type", expected=False)
    return clean(kind.strip()) if kind and kind.strip() else None


def _read_clock_names(reader: Reader) -> str | None:
    """A guest is offered its hypervisor's clock."""
    names = (reader.text_or_none(AVAILABLE, expected=False) or "").split()
    hypervisors = (
        hypervisor for name in names for prefix, hypervisor in _HYPERVISOR_BY_CLOCK.items() if name.startswith(prefix)
    )
    return next(hypervisors, None)


def _read_container(reader: Reader) -> str | None:
    """The container's manager; `none` only where a kernel that can be asked shows no trace of one."""
    for path, kind in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if reader.text_or_none(path, expected=False) is not None:
            return kind
    named = reader.text_or_none("/run/systemd/container", expected=False)
    if named is not None and named.strip():
        return clean(named.strip())
    match = _CONTAINER_IN_CGROUP.search(reader.text_or_none(MEMBERSHIP, expected=False) or "")
    if match is not None:
        kind = re.split(r"[-/.]", match["kind"])[0]
        return _KIND_IN_CGROUP.get(kind, kind)
    if not (reader.is_absent("/.dockerenv") and reader.is_absent("/run/.containerenv")):
        return None
    return UNIDENTIFIED if is_inside_namespace(reader) else NONE
