"""Disks and arrays of disks."""

from __future__ import annotations

import pytest

from noisewatch.kernel.system.disks import Array, Disk, disk_of, parse_arrays, parse_diskstats, read_arrays, read_disks
from tests.written import reading

_DISKSTATS = """\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 1186678 144878 41818994 826040 968461 1270698 3250715536 2393394 0 488248 3299358 1121024 46 2269 77
 254       1 vda1 1186600 144878 41818900 826000 968461 1270698 3250715536 2393394 0 488200 3299300
 253       0 zram0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
"""
_MDSTAT = """\
Personalities : [raid1] [raid6] [raid5] [raid4]
md1 : active raid5 sde1[3] sdd1[1] sdc1[0](F)
      3906764800 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]
      [>....................]  recovery =  3.1% (61012/1953382) finish=412.6min speed=76432K/sec
      bitmap: 0/15 pages [0KB], 65536KB chunk

md0 : active raid1 nvme1n1p2[1] nvme0n1p2[0]
      1953382464 blocks super 1.2 [2/2] [UU]
      \tresync=DELAYED

unused devices: <none>
"""


def test_disk_has_its_requests_and_its_busy_time() -> None:
    assert parse_diskstats(_DISKSTATS) == {"vda": Disk(requests=1186678 + 968461, busy_ms=488248)}


def test_machine_may_have_no_disks() -> None:
    assert parse_diskstats("") == {}


@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("sda1", "sda"),
        ("sda12", "sda"),
        ("sdp1", "sdp"),
        ("nvme0n1p2", "nvme0n1"),
        ("mmcblk0p1", "mmcblk0"),
        ("md0p1", "md0"),
        ("md12", "md12"),
        ("md1", "md1"),
        ("dm-12", "dm-12"),
        ("nvme0n1", "nvme0n1"),
        ("mmcblk0boot0", "mmcblk0boot0"),
        ("xvda1", "xvda1"),
    ],
)
def test_partition_is_distinguished_from_a_disk_with_a_number(name: str, disk: str) -> None:
    disks = {"sda", "sdp", "nvme0n1", "mmcblk0", "md0", "md1", "md12", "dm-1", "dm-12", "mmcblk0boot0", "xvda1"}
    assert disk_of(name, disks) == disk


def test_partition_without_its_disk_is_listed() -> None:
    row = _DISKSTATS.splitlines()[2]
    assert list(parse_diskstats(row)) == ["vda1"]


def test_active_array_is_listed_with_its_members() -> None:
    assert parse_arrays(_MDSTAT) == (Array("md1", "recovery", 3.1, frozenset({"sde1", "sdd1", "sdc1"})),)


def test_resting_arrays_are_not_listed() -> None:
    assert parse_arrays("Personalities : \nunused devices: <none>\n") == ()


def test_kernel_without_arrays_has_none_and_a_copy_without_the_file_is_unknown() -> None:
    assert read_arrays(reading({})) == ()
    assert read_arrays(reading({}, is_copy=True)) is None


def test_disks_from_lxcfs_are_unknown() -> None:
    mounts = "lxcfs /proc/diskstats fuse.lxcfs rw 0 0\n"
    reader = reading({"/proc/diskstats": _DISKSTATS, "/proc/self/mounts": mounts})
    assert read_disks(reader) is None
    assert "lxcfs" in reader.reason_by_path["/proc/diskstats"]
