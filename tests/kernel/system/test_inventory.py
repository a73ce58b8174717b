"""Inventory of the hardware: missing values are unknown, or known to be absent."""

from __future__ import annotations

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.system.hardware_errors import CONTROLLERS
from noisewatch.kernel.system.hypervisor import DMI
from noisewatch.kernel.system.inventory import Inventory
from tests.written.quiet_machine import quiet_files, quiet_machine

CPUINFO = """\
processor\t: 0
cpu family\t: 6
model\t\t: 85
model name\t: Xeon
stepping\t: 7
microcode\t: 0x5003604
flags\t\t: fpu tsc
"""
_CACHES = {
    f"/sys/devices/system/cpu/cpu0/cache/index{index}/{name}": f"{text}\n"
    for index, words in enumerate((("1", "Data", "32K"), ("1", "Instruction", "32K"), ("2", "Unified", "1024K")))
    for name, text in zip(("level", "type", "size"), words, strict=True)
}


def _inventory(files: dict[str, str]) -> Inventory:
    snapshot = read_snapshot(quiet_machine(quiet_files() | files), SnapshotOptions(asks_inventory=True))
    assert snapshot.inventory is not None
    return snapshot.inventory


def test_inventory_is_read_only_on_request() -> None:
    assert read_snapshot(quiet_machine(), SnapshotOptions()).inventory is None


def test_inventory_of_a_server_is_read() -> None:
    inventory = _inventory(
        {
            "/proc/cpuinfo": CPUINFO,
            f"{DMI}/bios_version": "2.19.1\n",
            f"{DMI}/bios_date": "06/14/2023\n",
            f"{CONTROLLERS}/mc0/dimm0/size": "16384\n",
            f"{CONTROLLERS}/mc0/dimm0/dimm_mem_type": "Registered-DDR4\n",
            f"{CONTROLLERS}/mc0/dimm1/size": "16384\n",
            f"{CONTROLLERS}/mc0/dimm1/dimm_mem_type": "Registered-DDR4\n",
            f"{CONTROLLERS}/mc0/dimm2/size": "0\n",
            **_CACHES,
        }
    )
    assert inventory.stepping_by_cpu == {0: "cpu family 6, model 85, stepping 7"}
    assert inventory.microcode_by_cpu == {0: "0x5003604"}
    assert (inventory.bios, inventory.bios_date) == ("2.19.1", "06/14/2023")
    assert inventory.memory_modules == "2 × 16384 MB Registered-DDR4"
    assert (inventory.caches_by_cpu[0] or "").startswith("L1d 32K, L1i 32K, L2 1024K")


def test_each_processor_is_read() -> None:
    other = (
        CPUINFO.replace(": 0\n", ": 1\n").replace("0x5003604", "0x5003501").replace("stepping\t: 7", "stepping\t: 6")
    )
    inventory = _inventory({"/proc/cpuinfo": f"{CPUINFO}\n{other}"})
    assert inventory.microcode_by_cpu == {0: "0x5003604", 1: "0x5003501"}
    assert inventory.stepping_by_cpu[1] == "cpu family 6, model 85, stepping 6"


def test_value_that_only_other_processors_have_is_unknown() -> None:
    other = CPUINFO.replace(": 0\n", ": 1\n").replace("microcode\t: 0x5003604\n", "")
    assert _inventory({"/proc/cpuinfo": f"{CPUINFO}\n{other}"}).microcode_by_cpu == {0: "0x5003604", 1: None}


def test_single_value_of_old_arm_is_of_all_processors() -> None:
    cpuinfo = "processor\t: 0\n\nprocessor\t: 1\n\nCPU variant\t: 0x2\nCPU revision\t: 10\n"
    inventory = _inventory({"/proc/cpuinfo": cpuinfo})
    assert (inventory.stepping_by_cpu, inventory.microcode_by_cpu) == ({0: "CPU variant 0x2, CPU revision 10"}, {})


def test_malformed_size_leaves_caches_unknown() -> None:
    assert _inventory(_CACHES | {"/sys/devices/system/cpu/cpu0/cache/index0/size": "lots\n"}).caches_by_cpu[0] is None


def test_module_without_a_size_leaves_modules_unknown() -> None:
    assert _inventory({f"{CONTROLLERS}/mc0/dimm0/size": "x\n"}).memory_modules is None


def test_control_characters_are_removed_from_names() -> None:
    assert "\x1b" not in (_inventory({f"{DMI}/bios_version": "1\x1b[31m\n"}).bios or "")
