"""Detection of a hypervisor: signs of one, proof of bare metal, and neither."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.frequency.cpufreq import POLICIES
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.hypervisor import (
    DMI,
    NONE,
    PCI,
    PCI_TABLE,
    UNIDENTIFIED,
    Hypervisor,
    read_firmware,
    read_hypervisor,
)
from noisewatch.kernel.system.release import BUILD, RELEASE
from tests.judgement.sweeps.lessened import DENIED, LessenedMachine
from tests.written import BARE, Files, WrittenMachine, without

_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
_X86 = "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu tsc\n"
_ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
_DELL = {f"{DMI}/sys_vendor": "Dell Inc.\n", f"{DMI}/product_name": "PowerEdge R640\n"}
_ACPI = {f"{POLICIES}/policy0/scaling_driver": "acpi-cpufreq\n"}
_HOST_BRIDGE = "0000\t80861237\t0\t               0\t               0\n"
_METAL = {CPUINFO: _X86} | _DELL | _ACPI


def _hypervisor(machine: WrittenMachine) -> Hypervisor:
    reader = Reader(machine)
    return read_hypervisor(reader, reader.text_or_none(CPUINFO), read_firmware(reader))


def _hypervisor_name(files: Files, *, is_copy: bool = False) -> str | None:
    return _hypervisor(WrittenMachine({**BARE, **files}, is_copy=is_copy)).name


def _pci(vendor: str, name: str = "vendor") -> dict[str, str]:
    return {f"{PCI}/0000:00:1f.0/vendor": "0x8086\n", f"{PCI}/0000:00:02.0/{name}": f"{vendor}\n"}


def test_missing_flag_of_the_processor_proves_nothing() -> None:
    hypervisor = _hypervisor(WrittenMachine({**BARE, CPUINFO: _X86}))
    assert (hypervisor.name, "not proven" in hypervisor.because) == (None, True)


@pytest.mark.parametrize(("steal", "name"), [(0, NONE), (9, UNIDENTIFIED), (2**64 - 1, NONE)])
def test_steal_time_proves_a_hypervisor(steal: int, name: str) -> None:
    times = f"cpu  1 0 1 9 0 0 0 {steal} 0 0\ncpu0 1 0 1 9 0 0 0 {steal} 0 0\n"
    assert _hypervisor_name({**_METAL, "/proc/stat": times}) == name


@pytest.mark.parametrize(
    ("sign", "hypervisor"),
    [
        ({f"{DMI}/product_name": "VirtualBox\n"}, "virtualbox"),
        ({f"{DMI}/board_name": "VirtualBox\n"}, "virtualbox"),
        ({f"{DMI}/bios_vendor": "innotek GmbH\n"}, "virtualbox"),
        ({f"{DMI}/product_version": "Hyper-V UEFI Release v4.0\n"}, "microsoft"),
        ({f"{DMI}/chassis_vendor": "QEMU\n"}, "qemu"),
        ({f"{DMI}/product_name": "Some Virtual Platform\n"}, UNIDENTIFIED),
        ({"/sys/hypervisor/type": "xen\n"}, "xen"),
        ({"/proc/xen/capabilities": ""}, "xen"),
        ({"/sys/hypervisor/type": "xen\n", "/proc/xen/capabilities": "control_d\n"}, "xen-dom0"),
        ({_CLOCKS: "tsc kvm-clock \n"}, "kvm"),
        ({_CLOCKS: "xen tsc\n"}, "xen"),
        (_pci("0x80ee"), "virtualbox"),
        (_pci("0x15AD"), "vmware"),
        (_pci("0x1414"), "microsoft"),
        (_pci("0x5853"), "xen"),
        (_pci("0x1b36"), "qemu"),
        (_pci("0x1234"), "qemu"),
        ({PCI_TABLE: _HOST_BRIDGE + "0010\t80eebeef\t12\t        e0000008\t        \tvboxvideo\n"}, "virtualbox"),
        ({PCI_TABLE: _HOST_BRIDGE + "0078\t15ad0405\t10\t        1071\t \n"}, "vmware"),
        ({PCI_TABLE: _HOST_BRIDGE + "0040\t14145353\tb\t        f8000008\t \n"}, "microsoft"),
        ({"/proc/device-tree/hypervisor/compatible": "xen,xen-4.17\0xen,xen\0"}, "xen"),
        ({"/proc/device-tree/hypervisor/compatible": "acme,visor\0"}, UNIDENTIFIED),
        ({"/proc/device-tree/compatible": "linux,dummy-virt\0"}, UNIDENTIFIED),
        ({"/proc/device-tree/compatible": "qemu,pseries\0"}, "qemu"),
        ({"/proc/device-tree/fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio\0"}, "qemu"),
        ({"/proc/device-tree/ibm,partition-name": "lpar7\0"}, "powervm"),
        ({"/proc/sysinfo": "LPAR Number: 3\nVM00 Control Program: KVM/Linux\n"}, "kvm"),
        ({"/proc/sysinfo": "LPAR Number: 3\nVM00 Control Program: z/VM    6.4.0\n"}, "zvm"),
        ({"/proc/sysinfo": "Type: 2964\nLPAR Number: 3\n"}, "lpar"),
        (
            {CPUINFO: "processor : 0\ncpu : POWER7 (architected)\n\nplatform : pSeries\nmachine : CHRP IBM,8231\n"},
            "powervm",
        ),
        (
            {CPUINFO: "processor : 0\ncpu : POWER9\n\nplatform : pSeries\nmodel : IBM pSeries (emulated by qemu)\n"},
            "qemu",
        ),
        (
            {CPUINFO: "processor : 0\ncpu : POWER9\n\nplatform : PowerNV\nmachine : PowerNV (emulated by qemu)\n"},
            "qemu",
        ),
        ({CPUINFO: _X86.replace("A Processor", "QEMU Virtual CPU version 2.5+")}, "qemu"),
        ({CPUINFO: _X86.replace("tsc", "hypervisor tsc")}, UNIDENTIFIED),
        ({RELEASE: "5.15.90.1-microsoft-standard-WSL2\n", f"{DMI}/sys_vendor": "Microsoft Corporation\n"}, "wsl"),
        ({RELEASE: "4.4.0-19041-Microsoft\n"}, "wsl"),
        ({RELEASE: "4.19.0-gvisor\n"}, "gvisor"),
        ({RELEASE: "4.4.0\n", BUILD: "#1 SMP Sun Jan 10 15:06:54 PST 2016\n"}, "gvisor"),
        ({CPUINFO: "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\n"}, "uml"),
    ],
    ids=str,
)
def test_one_sign_outranks_all_proof_of_bare_metal(sign: Files, hypervisor: str) -> None:
    has_product = any(path.endswith("product_name") for path in sign)
    machine = {path: text for path, text in _METAL.items() if not (has_product and path in _DELL)}
    assert _hypervisor_name({**machine, **sign}) == hypervisor


@pytest.mark.parametrize(
    "files",
    [
        {CPUINFO: _X86} | _DELL,
        {CPUINFO: _X86, f"{DMI}/bios_vendor": "Dell Inc.\n", f"{DMI}/product_name": "PowerEdge R640\n"},
        {CPUINFO: _X86, f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "m5.metal\n"},
        {CPUINFO: _X86, f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "i7i.metal-24xl\n"},
        {CPUINFO: _X86, PCI_TABLE: _HOST_BRIDGE} | _ACPI,
        {CPUINFO: _X86, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate\n"} | _pci("0x10de"),
        {CPUINFO: _X86, PCI_TABLE: "0028\t1d0f0053\t0\t\n"} | _ACPI,
        {CPUINFO: _X86, f"{DMI}/sys_vendor": "Microsoft Corporation\n", f"{DMI}/product_name": "Surface Book\n"}
        | _pci("0x1414", "subsystem_vendor"),
        {CPUINFO: _ARM, f"{DMI}/sys_vendor": "Ampere(R)\n", f"{DMI}/product_name": "Mt. Jade\n"},
        {CPUINFO: "processor : 0\ncpu : POWER9\n\nplatform : PowerNV\nfirmware : OPAL\n"},
    ],
    ids=str,
)
def test_bare_metal_is_proven_by_its_firmware_or_drivers(files: Files) -> None:
    assert _hypervisor_name(files, is_copy=True) == NONE


@pytest.mark.parametrize(
    "files",
    [
        {CPUINFO: _X86, f"{DMI}/sys_vendor": "Dell Inc.\n"},
        {CPUINFO: _X86, f"{DMI}/sys_vendor": "A Small Cloud\n", f"{DMI}/product_name": "Instance\n"},
        {CPUINFO: _ARM, PCI_TABLE: _HOST_BRIDGE} | _ACPI,
        {CPUINFO: _X86} | _ACPI,
        {CPUINFO: _X86, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate\n"},
        {CPUINFO: _X86, f"{POLICIES}/policy0/scaling_driver": "virtual-cpufreq\n"},
        {CPUINFO: _X86.replace("flags\t\t: fpu tsc\n", "flags\t\t: fpu ts")} | _DELL,
        {CPUINFO: _X86 + "\nprocessor\t: 1\nmodel name\t: A Processor\n"} | _DELL,
        _DELL | _ACPI,
        _METAL | {PCI_TABLE: "0018\t1af41000\tb\t\n"},
        _METAL | _pci("0x1af4"),
        _METAL | _pci("0x1af4", "subsystem_vendor"),
    ],
    ids=str,
)
def test_hypervisor_is_unknown_without_a_sign_or_a_proof(files: Files) -> None:
    assert _hypervisor_name(files) is None


@pytest.mark.parametrize("name", ["vendor", "subsystem_vendor"])
def test_virtio_devices_are_a_sign_without_a_proof_of_bare_metal(name: str) -> None:
    assert _hypervisor_name({CPUINFO: _X86} | _pci("0x1af4", name)) == UNIDENTIFIED


@pytest.mark.parametrize(
    "path", [f"{DMI}/board_vendor", "/sys/hypervisor/type", "/proc/xen/capabilities", "/proc/sysinfo", _CLOCKS]
)
def test_unreadable_place_may_contain_a_sign(path: str) -> None:
    assert _hypervisor_name(_METAL) == NONE
    hypervisor = _hypervisor(LessenedMachine({**BARE, **_METAL}).take(path, DENIED))
    assert (hypervisor.name, hypervisor.because) == (None, f"{path}: permission denied")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{DMI}/board_vendor", "\0\0\0\0"),
        (f"{DMI}/product_version", "Hyper\0V\n"),
        (f"{PCI}/0000:00:1f.0/vendor", "\0\0\0\0\0\0\0"),
        (f"{PCI}/0000:00:1f.0/vendor", "0x80\n"),
        (f"{PCI}/0000:00:1f.0/subsystem_vendor", "x80ee\n"),
        (PCI_TABLE, "0000\t8086\n"),
        (PCI_TABLE, _HOST_BRIDGE[:9]),
        (PCI_TABLE, _HOST_BRIDGE[:20]),
        (PCI_TABLE, "\0\0\0\0"),
        (_CLOCKS, "\n"),
        (_CLOCKS, "\0\0\0\0"),
        (_CLOCKS, "tsc kv\0-clock\n"),
        ("/sys/hypervisor/type", "\n"),
        ("/sys/hypervisor/type", "\0\0\0\0"),
        ("/proc/device-tree/compatible", "\0\0\0"),
    ],
)
def test_damaged_place_may_have_contained_a_sign(path: str, text: str) -> None:
    metal = _METAL | {f"{PCI}/0000:00:1f.0/vendor": "0x8086\n"}
    assert _hypervisor_name(metal) == NONE
    hypervisor = _hypervisor(WrittenMachine({**BARE, **metal, path: text}))
    assert (hypervisor.name, hypervisor.because.startswith(f"{path}: expected")) == (None, True)


def test_blank_names_of_the_firmware_are_not_damage() -> None:
    blank = {f"{DMI}/product_version": "\n", f"{DMI}/board_name": " \n"}
    assert _hypervisor_name(_METAL | blank) == NONE


def test_less_evidence_never_makes_a_guest_bare_metal() -> None:
    guest = _METAL | _pci("0x1b36") | {CPUINFO: _X86.replace("tsc", "hypervisor tsc"), _CLOCKS: "kvm-clock\n"}
    assert _hypervisor_name(guest) == "kvm"
    assert {_hypervisor_name(without(guest, path)) for path in guest} <= {"kvm", "qemu", UNIDENTIFIED}


@pytest.mark.parametrize("product", ["m5.metal", "Surface Pro 4"])
def test_name_of_a_hypervisor_outranks_a_hardware_product(product: str) -> None:
    names = {f"{DMI}/product_name": f"{product}\n", f"{DMI}/bios_vendor": "innotek GmbH\n"}
    assert _hypervisor_name({CPUINFO: _X86} | names) == "virtualbox"


def test_chromebook_is_no_virtual_machine_of_google() -> None:
    names = {"sys_vendor": "Google", "product_name": "Eve", "bios_vendor": "coreboot"}
    files = {f"{DMI}/{name}": f"{text}\n" for name, text in names.items()}
    assert _hypervisor_name({CPUINFO: _X86, PCI_TABLE: _HOST_BRIDGE} | files | _ACPI) == NONE
