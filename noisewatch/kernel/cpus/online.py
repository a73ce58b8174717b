"""The present CPUs, and the online ones from the first of five sources that lists them.

    /sys/devices/system/cpu/online              0-3,8
    /sys/devices/system/cpu/cpuN/online         1        (missing for a CPU that cannot be taken offline)
    /sys/devices/system/cpu/{present,offline}   0-7, 4-7 (offline: possible and not online, drivers/base/cpu.c)
    /proc/stat                                  cpu0 …   (a row for each online CPU)
    /proc/cpuinfo                               processor : 0

In a container with a CPU quota, lxcfs shows `0-N` in the first file, where N depends on the number of CPUs and the
quota. It numbers the processors of /proc/cpuinfo and the rows of /proc/stat from 0 (lxcfs 7.0: src/sysfs_fuse.c,
do_cpuset_read; src/proc_cpuview.c). All other files of sysfs, sched_getaffinity(2) and sched_setaffinity(2) use the
kernel's numbers.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpu_time import PATH as STAT
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.numbers import parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import LXCFS, cover_of
from noisewatch.patterns import regex

CPUS = "/sys/devices/system/cpu"
LIST = f"{CPUS}/online"
_RENUMBERED = "lxcfs renumbers the CPUs of this container: these are the kernel's numbers"
_PERHAPS_RENUMBERED = f"a mount covers {LIST}, as lxcfs does to renumber CPUs: these are the kernel's numbers"
_CPU_FOLDER = regex(r"cpu([0-9]{1,5})")


class Online(Struct, frozen=True):
    """The online and offline CPUs, and the file that lists the online ones; None means unknown."""

    online: CpuSet | None
    offline: CpuSet | None
    source: str | None
    present: CpuSet | None = None  # online or not
    renumbered: str | None = None  # why the numbers differ from /sys/devices/system/cpu/online; None: they do not


def read_online(reader: Reader) -> Online:
    """Return the online CPUs, with the kernel's numbers."""
    present = reader.parse(f"{CPUS}/present", parse_cpu_list, expected=False)
    cover = cover_of(reader, LIST)
    if cover is not None:
        reader.note(LIST, cover)
    online = _read_online(reader, present, is_covered=cover is not None)
    return replace(
        online,
        present=read_cpu_folders(reader) or None if present is None else present,
        renumbered=None if cover is None else _RENUMBERED if cover == LXCFS else _PERHAPS_RENUMBERED,
    )


def _read_online(reader: Reader, present: CpuSet | None, is_covered: bool) -> Online:
    listed = None if is_covered else reader.parse(LIST, parse_nonempty_cpu_list)
    flags = None if listed is not None else _read_flags(reader)
    offline = reader.parse(f"{CPUS}/offline", parse_cpu_list, expected=listed is not None)
    if listed is not None and offline is None:
        flags = _read_flags(reader)
    unplugged = frozenset(cpu for cpu, is_online in (flags or {}).items() if not is_online)
    if listed is not None:
        return Online(listed, offline if flags is None else unplugged, LIST)
    if flags is not None:
        return Online(frozenset(flags) - unplugged, unplugged or offline, f"{CPUS}/cpuN/online")
    if present is not None and offline is not None and present - offline:
        return Online(present - offline, offline, f"{CPUS}/{{present,offline}}")
    rows = None if cover_of(reader, STAT) else reader.parse(STAT, parse_cpu_time, expected=False)
    if rows is not None:
        return Online(frozenset(rows), offline, STAT)
    processors = None if cover_of(reader, CPUINFO) else reader.parse(CPUINFO, parse_processors, expected=False)
    return Online(processors, offline, CPUINFO if processors is not None else None)


def parse_processors(text: str) -> CpuSet:
    """Return the CPU numbers in /proc/cpuinfo, which lists online CPUs. Raise Malformed."""
    numbers = re.findall(r"^processor[ \t]*:?[ \t]*([0-9]{1,5})[ \t]*$", text, re.MULTILINE)
    if not numbers:
        raise Malformed("a line `processor : 0`", text[:20])
    return frozenset(map(int, numbers))


def read_cpu_folders(reader: Reader) -> CpuSet:
    """Return the CPUs that have a folder in sysfs; the empty set if sysfs cannot be listed."""
    names = reader.names_or_none(CPUS) or []
    return frozenset(int(match[1]) for name in names if (match := _CPU_FOLDER.fullmatch(name)))


def _read_flags(reader: Reader) -> dict[int, bool] | None:
    """Return by CPU whether its flag is 1; None if no CPU has a flag.

    A CPU without a flag cannot be taken offline. It counts as online if it has a topology.
    """
    flags: dict[int, bool] = {}
    for cpu in sorted(read_cpu_folders(reader)):
        flag = reader.parse(f"{CPUS}/cpu{cpu}/online", parse_flag, expected=False)
        if flag is not None:
            flags[cpu] = flag
    if not flags:
        return None
    for cpu in read_cpu_folders(reader) - set(flags):
        flags[cpu] = "topology" in (reader.names_or_none(f"{CPUS}/cpu{cpu}", expected=False) or [])
    return flags
