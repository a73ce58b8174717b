"""Disk activity: /proc/diskstats, and /proc/mdstat for arrays of disks.

       8       0 sda 1186678 144878 41818994 826040 968461 1270698 3250715536 2393394 0 488248 3299358
       8       1 sda1 1186600 144878 41818900 826000 968461 1270698 3250715536 2393394 0 488200 3299300

    md0 : active raid1 sdb1[1] sda1[0]
          1953382464 blocks super 1.2 [2/2] [UU]
          [==>..................]  check = 12.6% (246292224/1953382464) finish=165.2min speed=172213K/sec

https://docs.kernel.org/admin-guide/iostats.html: after the name, reads completed, merged, sectors, ms; the same for
writes; operations in flight; the ms with operations in flight (io_ticks, in whole jiffies: a short operation may count
as 10 ms).
https://docs.kernel.org/admin-guide/md.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import are_counts, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import is_served_by_lxcfs
from noisewatch.patterns import regex
from noisewatch.text import clean

DISKSTATS = "/proc/diskstats"
MDSTAT = "/proc/mdstat"
_FEWEST_FIELDS = 14  # Linux 2.6
_MEMORY = regex(r"(loop|ram|zram)\d+")  # devices on a file or in memory; the disk below a loop device has its own row
_ARRAY = regex(r"(md[\w.-]*) : (.*)", re.ASCII)
_WORK = regex(r"\b(resync|recovery|reshape|check)\s*=\s*(\d{1,3}(?:\.\d+)?)%", re.ASCII)
_MEMBER = regex(r"([\w.!-]+)\[\d+\]", re.ASCII)


class Disk(Struct, frozen=True):
    """A disk's counters since boot."""

    requests: int  # completed reads and writes
    busy_ms: int


class Array(Struct, frozen=True):
    """An array that is being checked or rebuilt."""

    name: str
    work: str  # resync, recovery, reshape or check
    done_percent: float
    members: frozenset[str]  # disks and partitions


def parse_diskstats(text: str) -> Mapping[str, Disk]:
    """Return the disks by name, without partitions, loop devices and memory disks. Raise Malformed."""
    disks: dict[str, Disk] = {}
    for number, line in enumerate(lines_of(text), start=1):
        fields = line.split()
        if len(fields) < _FEWEST_FIELDS or not are_counts(fields[3:]):
            raise Malformed("a disk and at least eleven counts", line, number)
        disks[clean(fields[2])] = Disk(int(fields[3]) + int(fields[7]), int(fields[12]))
    whole = {name: disk for name, disk in disks.items() if disk_of(name, disks) == name}
    return {name: disk for name, disk in whole.items() if not _MEMORY.fullmatch(name)}


def disk_of(name: str, disks: Iterable[str]) -> str:
    """Return a partition's disk: `sda` for `sda1`, `nvme0n1` for `nvme0n1p1`. Return any other name unchanged."""
    match = re.fullmatch(r"(.*\d)p\d+|(.*[^\d])\d+", name)
    disk = (match[1] or match[2]) if match is not None else name
    return disk if disk in disks else name


def read_disks(reader: Reader) -> Mapping[str, Disk] | None:
    """Return the disks by name, or None if unknown."""
    return None if is_served_by_lxcfs(reader, DISKSTATS) else reader.parse(DISKSTATS, parse_diskstats)


def parse_arrays(text: str) -> tuple[Array, ...]:
    """Return the arrays that are being checked or rebuilt. Raise Malformed."""
    if not text.startswith("Personalities :"):
        raise Malformed("`Personalities :`", text[:20], 1)
    arrays: list[Array] = []
    members: tuple[str, frozenset[str]] | None = None
    for line in lines_of(text):
        named = _ARRAY.fullmatch(line)
        if named is not None:
            members = (clean(named[1]), frozenset(_MEMBER.findall(named[2])))
        work = _WORK.search(line)
        if work is not None and members is not None:
            arrays.append(Array(members[0], work[1], float(work[2]), members[1]))
    if not any(line.startswith("unused devices:") for line in lines_of(text)):
        raise Malformed("`unused devices:` at the end", text[-20:])
    return tuple(arrays)


def read_arrays(reader: Reader) -> tuple[Array, ...] | None:
    """Return the arrays that are being checked or rebuilt, or None if unknown. A kernel may not support arrays."""
    if reader.is_absent(MDSTAT):
        return ()
    return reader.parse(MDSTAT, parse_arrays)
