"""Kind of machine: processor, hypervisor, container."""

from __future__ import annotations

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.platform import NONE, UNIDENTIFIED, Platform, read_platform, read_vulnerabilities
from tests import written
from tests.judgement.sweeps.lessened import DENIED, LessenedMachine
from tests.written import Files, mounted, reading

DMI = "/sys/class/dmi/id"
CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
BARE = {"/proc/cpuinfo": "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu tsc\n"}
GUEST = {"/proc/cpuinfo": "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu hypervisor tsc\n"}
ARM = {"/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n"}


def _read(files: Files, *, is_copy: bool = False) -> Platform:
    return read_platform(reading(files, is_copy=is_copy))


def _dmi(vendor: str = "", product: str = "", bios: str = "") -> dict[str, str]:
    return {
        f"{DMI}/{name}": f"{text}\n"
        for name, text in (("sys_vendor", vendor), ("product_name", product), ("bios_vendor", bios))
        if text
    }


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("model name\t: Intel(R) Xeon(R) @ 2.00GHz\n", "Intel(R) Xeon(R) @ 2.00GHz"),
        ("cpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("cpu model\t\t: MIPS 24Kc V5.0\n", "MIPS 24Kc V5.0"),
        ("Processor\t: ARMv7 rev 4\nprocessor\t: 0\n", "ARMv7 rev 4"),
        ("model name\t: a\x1b[2Jb\n", "a·[2Jb"),
        ("cpu MHz\t\t: 2000\n", None),
        ("model name\t: \n", None),
        ("", None),
    ],
)
def test_processor_is_named_by_the_field_of_its_architecture(cpuinfo: str, model: str | None) -> None:
    assert _read({"/proc/cpuinfo": cpuinfo}).cpu_model == model


def test_host_and_kernel_are_cleaned() -> None:
    files = {"/proc/sys/kernel/hostname": "a\x1bb\n", "/proc/sys/kernel/osrelease": "6.1\x07\n"}
    platform = _read(files)
    assert (platform.host, platform.kernel) == ("a·b", "6.1·")


def test_platform_of_a_machine_without_files_is_unknown() -> None:
    platform = _read({}, is_copy=True)
    assert platform == Platform(
        host=None, kernel=None, cpu_model=None, virtual=None, container=None, virtual_because=platform.virtual_because
    )
    assert platform.virtual_because is not None


@pytest.mark.parametrize(
    ("vendor", "product", "bios", "hypervisor"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "SeaBIOS", "qemu"),
        ("Amazon EC2", "m5.large", "", "amazon"),
        ("Google", "Google Compute Engine", "", "google"),
        ("VMware, Inc.", "VMware7,1", "", "vmware"),
        ("Microsoft Corporation", "Virtual Machine", "", "microsoft"),
        ("Xen", "HVM domU", "", "xen"),
        ("innotek GmbH", "VirtualBox", "", "virtualbox"),
        ("Red Hat", "KVM", "", "kvm"),
        ("OpenStack Foundation", "OpenStack Nova", "", "kvm"),
        ("", "", "QEMU", "qemu"),
    ],
)
def test_hypervisor_is_named_by_its_firmware(vendor: str, product: str, bios: str, hypervisor: str) -> None:
    assert _read(GUEST | _dmi(vendor, product, bios)).virtual == hypervisor


@pytest.mark.parametrize(
    ("clocks", "hypervisor"),
    [
        ("kvm-clock tsc acpi_pm\n", "kvm"),
        ("tsc hyperv_clocksource_tsc_page\n", "microsoft"),
        ("xen tsc\n", "xen"),
        ("tsc hpet\n", UNIDENTIFIED),
    ],
)
def test_hypervisor_is_named_by_its_clock_without_firmware(clocks: str, hypervisor: str) -> None:
    assert _read(GUEST | {CLOCKS: clocks}).virtual == hypervisor


def test_xen_is_named_by_its_own_file() -> None:
    assert _read(GUEST | {"/sys/hypervisor/type": "xen\n"}).virtual == "xen"


def test_guest_of_an_unnamed_hypervisor_is_a_guest() -> None:
    assert _read(GUEST).virtual == UNIDENTIFIED


@pytest.mark.parametrize(("vendor", "product"), [("Ampere", "Mt. Jade"), ("Amazon EC2", "c6g.metal")])
def test_arm_firmware_of_a_hardware_maker_is_bare_metal(vendor: str, product: str) -> None:
    assert _read(ARM | _dmi(vendor, product)).virtual == NONE


@pytest.mark.parametrize(
    ("vendor", "product"),
    [("QEMU", "QEMU Virtual Machine"), ("Amazon EC2", "c6g.large")],
)
def test_arm_firmware_of_a_hypervisor_is_named(vendor: str, product: str) -> None:
    assert _read(ARM | _dmi(vendor, product)).virtual in ("qemu", "amazon")


@pytest.mark.parametrize(
    ("vendor", "product"),
    [
        ("Apple Inc.", "Apple Virtualization Generic Platform"),
        ("Alibaba Cloud", "Alibaba Cloud ECS"),
        ("BHYVE", "BHYVE"),
    ],
)
def test_arm_guest_of_an_unlisted_hypervisor_is_not_bare_metal(vendor: str, product: str) -> None:
    assert _read(ARM | _dmi(vendor, product)).virtual != NONE


def test_arm_without_firmware_tables_is_unknown_without_a_device_tree() -> None:
    assert _read(ARM).virtual is None
    assert _read(ARM | {"/proc/device-tree/hypervisor/compatible": "linux,kvm\0"}).virtual == "kvm"


@pytest.mark.parametrize(
    ("files", "container"),
    [
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": ""}, "podman"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"/proc/self/cgroup": "0::/docker/4f00\n"}, "docker"),
        ({"/proc/self/cgroup": "0::/system.slice/docker-4f00.scope\n"}, "docker"),
        ({"/proc/self/cgroup": "1:cpu:/kubepods/burstable/pod1/2\n"}, "kubernetes"),
        ({"/proc/self/cgroup": "0::/machine.slice/libpod-4f.scope\n"}, "podman"),
        ({"/proc/self/cgroup": "0::/lxc.payload.box/init.scope\n"}, "lxc"),
        ({"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-1.scope\n"}, NONE),
        ({"/proc/self/cgroup": "0::/system.slice/docker.service\n"}, NONE),
        ({}, NONE),
    ],
    ids=str,
)
def test_container_is_detected_by_its_trace(files: Files, container: str) -> None:
    assert _read({**mounted(""), **files}).container == container


@pytest.mark.parametrize(
    ("files", "denied"),
    [
        ({"/run/systemd/container": "lxc\n"}, "/run/systemd/container"),
        ({"/proc/self/cgroup": "0::/docker/4f00\n"}, "/proc/self/cgroup"),
        ({"/proc/self/cgroup": "\0\0\0\0"}, ""),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.events": "populated 1\n"}, "/proc/self/mounts"),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.events": "populated 1\n"}, "/sys/fs/cgroup/"),
    ],
)
def test_container_is_unknown_if_a_trace_is_unreadable(files: Files, denied: str) -> None:
    files = {**BARE, **written.BARE, **mounted("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), **files}
    machine = LessenedMachine(files).take(denied, DENIED)
    assert read_platform(Reader(machine)).container is None


def test_traces_missing_from_a_copy_are_unknown() -> None:
    assert _read({"/proc/self/cgroup": "0::/\n"}, is_copy=True).container is None


@pytest.mark.parametrize(
    ("files", "flags"),
    [
        (BARE, frozenset({"tsc"})),
        ({"/proc/cpuinfo": "processor : 0\nflags : tsc constant_tsc\n\nprocessor : 1\nflags : tsc\n"}, {"tsc"}),
        ({"/proc/cpuinfo": "processor : 0\nflags : tsc\n\nprocessor : 1\nflags : tsc constant_"}, None),
        (ARM, NONE),
        ({"/proc/cpuinfo": "processor\t: 0\ncpu\t\t: POWER9\n"}, NONE),
        ({"/proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2000\n"}, None),
        ({}, None),
    ],
)
def test_flags_of_the_counter_are_those_of_all_processors(files: Files, flags: object) -> None:
    assert _read(files).tsc_flags == flags


def test_vendor_and_product_are_cleaned_and_empty_ones_unknown() -> None:
    platform = _read(GUEST | _dmi("Amazon EC2", "t3.\x1bmicro"))
    assert (platform.vendor, platform.product) == ("Amazon EC2", "t3.·micro")
    assert _read(GUEST | {f"{DMI}/product_name": "\n"}).product is None


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"mitigations": ("auto",)}, ()),
        ({"mitigations": ("auto", "off")}, ("mitigations=off",)),
        ({"nopti": ("",), "quiet": ("",)}, ("nopti",)),
        ({"mitigations": ("auto,nosmt",)}, ("mitigations=auto,nosmt",)),
    ],
)
def test_last_mitigation_option_is_chosen(options: dict[str, tuple[str, ...]], chosen: tuple[str, ...]) -> None:
    assert read_vulnerabilities(reading({}), options).chosen == chosen


def test_linux_before_4_15_lists_no_vulnerabilities() -> None:
    assert read_vulnerabilities(reading({}), None).state_by_name == {}
    assert read_vulnerabilities(reading({}, is_copy=True), None).state_by_name is None
