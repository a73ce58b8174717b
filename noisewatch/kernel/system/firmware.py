"""The firmware's names of the machine and its makers (DMI), and the hypervisors that are recognized by them.

    /sys/class/dmi/id/sys_vendor        Dell Inc.           innotek GmbH     Amazon EC2
    /sys/class/dmi/id/product_name      PowerEdge R640      VirtualBox       m5.metal
    …/{product_version,bios_vendor,board_vendor,board_name,chassis_vendor}

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-class-dmi); the names are those that systemd-detect-virt and
virt-what know, and those that the makers of machines write.
"""

from __future__ import annotations

import re

from noisewatch.errors import Malformed
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass
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
_MAKERS = (  # of machines alone, so that their name in the firmware means one
    *("ASRock", "ASUS", "AZW", "Acer", "Advantech", "Ampere", "Biostar", "BIOSTAR", "Bull", "Cavium", "Cisco", "Clevo"),
    *("Cray", "Dell", "Dynabook", "FUJITSU", "Fujitsu", "Framework", "GIGABYTE", "Giga Computing", "Gigabyte", "H3C"),
    *("HP", "HUAWEI", "Hewlett", "Hewlett-Packard", "Huawei", "IBM", "Inspur", "INTEL", "Intel", "LENOVO", "Lenovo"),
    *("MICRO-STAR", "MSI", "Micro-Star", "MiTAC", "NEC", "NVIDIA", "PC Engines", "Panasonic", "Penguin", "QCT"),
    *("Quanta", "Raspberry Pi", "SAMSUNG", "SGI", "Samsung", "Shuttle", "Silicon Graphics", "Star Labs", "Sugon"),
    *("Sun Microsystems", "Super Micro", "Supermicro", "System76", "TOSHIBA", "TUXEDO", "TYAN", "Toshiba", "Tyan"),
    *("Valve", "Wistron", "Wiwynn", "ZOTAC", "xFusion"),
)


@dataclass(frozen=True, slots=True)
class Firmware:
    """The firmware's names, cleaned; None is unknown, or not reported."""

    vendor: str | None = None
    product: str | None = None
    version: str | None = None
    bios_vendor: str | None = None
    board_vendor: str | None = None
    board: str | None = None
    chassis_vendor: str | None = None

    @property
    def hypervisor(self) -> tuple[str, str] | None:
        """The hypervisor identified by one of the names, and that name."""
        names = (self.vendor, self.product, self.board_vendor, self.bios_vendor, self.board, self.version)
        for name in (*names, self.chassis_vendor):
            if name is not None and not self._is_chromebook(name) and not self._is_maker_of_metal(name):
                for start, hypervisor in _HYPERVISOR_BY_NAME.items():
                    if name.startswith(start):
                        return hypervisor, name
        return next(((UNIDENTIFIED, name) for name in names if name and _NAMES_A_GUEST.search(name)), None)

    @property
    def is_of_metal(self) -> bool:
        """Whether the product is a physical machine of a vendor that otherwise sells virtual ones."""
        return self.product is not None and _METAL_PRODUCT.search(self.product) is not None

    @property
    def metal(self) -> str | None:
        """The machine's name, if it and one of its makers are known, and the maker only makes hardware."""
        makers = (self.vendor, self.board_vendor, self.chassis_vendor, self.bios_vendor)
        maker = next((name for name in makers if name is not None and name.startswith(_MAKERS)), None)
        if self.product is None or self.hypervisor is not None or (maker is None and not self.is_of_metal):
            return None
        return f"{maker or self.vendor or ''} {self.product}".strip()

    def _is_maker_of_metal(self, name: str) -> bool:
        return self.is_of_metal and name.startswith(_ALSO_MAKE_METAL)

    def _is_chromebook(self, name: str) -> bool:
        """Return whether the name is of Google's laptops, whose firmware is coreboot, not of its virtual machines."""
        return name.startswith("Google") and self.bios_vendor == "coreboot"


def read_firmware(reader: Reader) -> Firmware:
    """Return the firmware's names."""

    def name(of: str) -> str | None:
        return reader.parsed(f"{DMI}/{of}", _parse_name, expected=False) or None

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
    """Return the name, cleaned; empty if the maker left it blank. Raise Malformed."""
    if "\0" in text:
        raise Malformed("a name", text)
    return clean(text.strip())
