"""Which CPUs are online, from the first of four places that says it, and which are present.

/sys/devices/system/cpu/online          0-3,8
/sys/devices/system/cpu/cpuN/online     1        (not there for a CPU that cannot be taken offline)
/proc/stat                              cpu0 …   (a row for each online CPU)
/proc/cpuinfo                           processor : 0
"""

from __future__ import annotations

import re
from dataclasses import replace

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_nonempty_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.cpu_time import PATH as STAT
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.numbers import parse_flag
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

CPUS = "/sys/devices/system/cpu"
_CPU_FOLDER = regex(r"cpu([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Online:
    """The online CPUs, those that are present but offline, and the file that said it; None is unknown."""

    online: CpuSet | None
    offline: CpuSet | None
    said_by: str | None
    present: CpuSet | None = None  # in a socket, whether online or not


def read_online(reader: Reader) -> Online:
    """The online CPUs as the machine tells them."""
    present = reader.parsed(f"{CPUS}/present", parse_cpu_list, expected=False)
    return replace(_read_online(reader), present=read_cpu_folders(reader) or None if present is None else present)


def _read_online(reader: Reader) -> Online:
    listed = reader.parsed(f"{CPUS}/online", parse_nonempty_cpu_list)
    flags = None if listed is not None else _read_flags(reader)
    offline = reader.parsed(f"{CPUS}/offline", parse_cpu_list, expected=listed is not None)
    if listed is not None:
        return Online(listed, _read_unplugged(reader) if offline is None else offline, f"{CPUS}/online")
    if flags is not None:
        unplugged = frozenset(cpu for cpu, is_online in flags.items() if not is_online)
        return Online(frozenset(flags) - unplugged, unplugged or offline, f"{CPUS}/cpuN/online")
    rows = reader.parsed(STAT, parse_cpu_time, expected=False)
    if rows is not None:
        return Online(frozenset(rows), offline, STAT)
    processors = reader.parsed(CPUINFO, parse_processors, expected=False)
    return Online(processors, offline, CPUINFO if processors is not None else None)


def parse_processors(text: str) -> CpuSet:
    """The CPU numbers of /proc/cpuinfo, which lists the online ones. Raises Malformed."""
    numbers = re.findall(r"^processor[ \t]*:?[ \t]*([0-9]{1,5})[ \t]*$", text, re.MULTILINE)
    if not numbers:
        raise Malformed("a line `processor : 0`", text[:20])
    return frozenset(map(int, numbers))


def read_cpu_folders(reader: Reader) -> CpuSet:
    """The CPUs that have a folder in sysfs; the empty set where it cannot be listed."""
    names = reader.names_or_none(CPUS) or []
    return frozenset(int(match[1]) for name in names if (match := _CPU_FOLDER.fullmatch(name)))


def _read_unplugged(reader: Reader) -> CpuSet | None:
    """The offline CPUs by their flags, where no list tells them; None where no CPU has one."""
    flags = _read_flags(reader)
    return None if flags is None else frozenset(cpu for cpu, is_online in flags.items() if not is_online)


def _read_flags(reader: Reader) -> dict[int, bool] | None:
    """Whether each CPU is online, by its flag; None where no CPU has one.

    A CPU without the flag cannot be taken offline: but only its other files tell it from a CPU that is.
    """
    flags: dict[int, bool] = {}
    for cpu in sorted(read_cpu_folders(reader)):
        flag = reader.parsed(f"{CPUS}/cpu{cpu}/online", parse_flag, expected=False)
        if flag is not None:
            flags[cpu] = flag
    if not flags:
        return None
    for cpu in read_cpu_folders(reader) - set(flags):
        flags[cpu] = "topology" in (reader.names_or_none(f"{CPUS}/cpu{cpu}", expected=False) or [])
    return flags
