"""Places of devices: their nodes and near CPUs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.placement import DevicePlace, read_device_names, read_device_place
from noisewatch.machine.copied import CopiedTree
from tests.written import reading, write_tree

_CARD = "/sys/class/net/eth0/device"
_PCI = "/sys/devices/pci0000:00/0000:00:05.0"


def _place(files: dict[str, str], name: str) -> DevicePlace | None:
    return read_device_place(reading(files), name)


def test_network_card_has_a_node_and_near_cpus() -> None:
    place = _place({f"{_CARD}/numa_node": "1\n", f"{_CARD}/local_cpulist": "8-15\n"}, "eth0")
    assert place == DevicePlace("eth0", 1, frozenset(range(8, 16)), f"{_CARD}/numa_node")


def test_node_minus_one_is_unknown() -> None:
    place = _place({f"{_CARD}/numa_node": "-1\n", f"{_CARD}/local_cpulist": "0-15\n"}, "eth0")
    assert place == DevicePlace("eth0", None, None, f"{_CARD}/numa_node")


def test_pci_address_may_lack_its_domain() -> None:
    files = {"/sys/bus/pci/devices/0000:3b:00.0/numa_node": "2\n"}
    for name in ("3b:00.0", "0000:3b:00.0"):
        place = _place(files, name)
        assert place is not None
        assert (place.name, place.node) == ("0000:3b:00.0", 2)


def test_multipath_namespace_is_near_its_controller() -> None:
    disk = "/sys/class/block/nvme0n1"
    place = _place({f"{disk}/device/nvme0/device/numa_node": "3\n", f"{disk}/size": "9\n"}, "nvme0n1")
    assert place is not None
    assert place.node == 3


@pytest.mark.parametrize("name", ["eth1", "../../etc", "", ".", "a" * 99, "eth0/device"])
def test_missing_device_is_none(name: str) -> None:
    assert _place({f"{_CARD}/numa_node": "1\n"}, name) is None


def test_only_names_with_a_device_are_listed() -> None:
    files = {f"{_CARD}/numa_node": "1\n", "/sys/class/net/lo/mtu": "65536\n"}
    assert read_device_names(reading(files)) == ["eth0"]


def test_virtio_interface_is_near_its_pci_device(tmp_path: Path) -> None:
    own = f"{_PCI}/virtio1/net/eth0"
    files = {f"{_PCI}/numa_node": "1\n", f"{own}/mtu": "1500\n"}
    uevents = {f"{folder}/uevent": "\n" for folder in (_PCI, f"{_PCI}/virtio1", own)}
    write_tree(tmp_path, files | uevents | {"/sys/devices/virtual/net/lo/uevent": "\n"})
    (tmp_path / "sys/class/net").mkdir(parents=True)
    for name, target in (("eth0", own), ("lo", "/sys/devices/virtual/net/lo")):
        os.symlink(f"../../..{target}", tmp_path / "sys/class/net" / name)
    reader = Reader(CopiedTree(str(tmp_path)))
    place, loopback = read_device_place(reader, "eth0"), read_device_place(reader, "lo")
    assert place is not None
    assert place.node == 1
    missing = "/sys/class/net/lo/device/numa_node: no such file"  # a copy may lack the file
    assert loopback == DevicePlace("lo", None, None, None, missing)


def test_device_without_a_node_file_has_no_place() -> None:
    assert _place({"/sys/class/net/lo/mtu": "65536\n"}, "lo") == DevicePlace("lo", None, None, None)


def test_malformed_node_is_unread() -> None:
    place = _place({f"{_CARD}/numa_node": "rubbish\n"}, "eth0")
    assert place is not None
    assert (place.node, place.path) == (None, None)
    assert f"{_CARD}/numa_node: expected" in str(place.unread)
