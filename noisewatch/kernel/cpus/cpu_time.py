"""How each CPU spent its time, by state in /proc/stat and as run time of tasks in /proc/schedstat or cpuacct.

    cpu  1182 0 956 17500 183 0 19 9 0 0
    cpu0 249 0 280 9390 2 0 5 1 0 0

https://docs.kernel.org/filesystems/proc.html (1.7): user, nice, system, idle, iowait, irq, softirq, steal, guest,
guest_nice, in ticks of 1/USER_HZ. guest is contained in user, guest_nice in nice.

The time that tasks ran is known to the nanosecond, from /proc/schedstat, else from cgroup v1's cpuacct:

    cpu1 0 0 0 0 0 0 281793214 16002335 366                 versions 15 to 17
    cpu1 0 0 0 0 0 0 0 0 0 281793214 16002335 366           versions 11 to 14
    357140593847 426204447989                               cpuacct.usage_percpu, of CPUs 0 and 1

https://docs.kernel.org/scheduler/sched-stats.html: of the last three fields the first is the time that tasks ran,
counted when they leave the CPU, and the last how often one was put on it. Both are counted whatever the sysctl
kernel.sched_schedstats says (sched_info_depart in kernel/sched/stats.h). Only kernels with CONFIG_SCHEDSTATS have the
file; cpuacct counts as tasks run (cpuacct_charge in kernel/sched/cpuacct.c), and all of them in its root alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.mounts import parse_cgroup_mounts
from noisewatch.kernel.numbers import are_counts, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS, is_served_by_lxcfs
from noisewatch.patterns import regex
from noisewatch.records import dataclass

PATH = "/proc/stat"
TICK_NS = 10_000_000  # USER_HZ is 100 on every architecture that runs Python today
_FEWEST_FIELDS = 4  # user, nice, system, idle: Linux 2.4
_ROW = regex(r"cpu([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Nanoseconds since boot, in steps of 10 ms. None for what an old kernel does not tell."""

    user_ns: int
    nice_ns: int
    system_ns: int
    idle_ns: int
    iowait_ns: int | None = None
    irq_ns: int | None = None
    softirq_ns: int | None = None
    steal_ns: int | None = None  # Linux 2.6.11

    total_ns: int = field(init=False, repr=False, compare=False)  # all of it, idle included

    def __post_init__(self) -> None:
        """Adds up once what several intervals ask for."""
        optional_ns = (self.iowait_ns or 0) + (self.irq_ns or 0) + (self.softirq_ns or 0) + (self.steal_ns or 0)
        total_ns = self.user_ns + self.nice_ns + self.system_ns + self.idle_ns + optional_ns
        object.__setattr__(self, "total_ns", total_ns)


def parse_cpu_time(text: str) -> Mapping[int, CpuTime]:
    """The time of each online CPU, by CPU number. Raises Malformed, also for a row that was cut short."""
    times: dict[int, CpuTime] = {}
    field_count: int | None = None
    for number, line in enumerate(lines_of(text), start=1):
        if not line.startswith("cpu"):
            continue
        name, *fields = line.split()
        field_count = field_count or len(fields)
        if len(fields) != field_count or field_count < _FEWEST_FIELDS or not are_counts(fields):
            raise Malformed(f"{field_count} counts", line, number)
        match = _ROW.fullmatch(name)
        if match is not None:
            times[int(match[1])] = CpuTime(*(int(field) * TICK_NS for field in fields[:8]))
    if not times:
        raise Malformed("a row for each CPU", text[:20], 1)
    return times


def read_cpu_time(reader: Reader) -> Mapping[int, CpuTime] | None:
    """The time of each online CPU; None where /proc/stat cannot be read, or is not the kernel's own."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parsed(PATH, parse_cpu_time)


SCHEDSTAT = "/proc/schedstat"
CPUACCT = "cpuacct.usage_percpu"
_OF_ROOT = "release_agent"  # only the root of a hierarchy of version 1 has this file
_SCHEDSTAT_ROW = regex(r"cpu(\d{1,5})(?: \d+){6}(?:(?: \d+){3})? (\d{1,20}) \d+ (\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunTime:
    """Nanoseconds that tasks ran. `stays`: how often one was put on the CPU, where time counts when it leaves; else
    None."""

    ran_ns: int
    stays: int | None = None


def parse_run_time(text: str) -> Mapping[int, RunTime]:
    """The time by CPU. Raises Malformed."""
    times: dict[int, RunTime] = {}
    for number, line in enumerate(lines_of(text), start=1):
        if not line.startswith("cpu"):
            continue
        match = _SCHEDSTAT_ROW.fullmatch(line.strip())
        if match is None:
            raise Malformed("nine or twelve counts for each CPU", line, number)
        times[int(match[1])] = RunTime(int(match[2]), int(match[3]))
    if not times:
        raise Malformed("a row for each CPU", text[:20], 1)
    return times


def parse_usage(text: str) -> Mapping[int, RunTime]:
    """The time by CPU, of one possible CPU after the other. Raises Malformed."""
    words = text.split()
    if not words or not are_counts(words):
        raise Malformed("a count for each CPU", text[:20], 1)
    return {cpu: RunTime(int(word)) for cpu, word in enumerate(words)}


def read_run_time(reader: Reader) -> Mapping[int, RunTime] | None:
    """The time of tasks, by CPU; None where the kernel does not tell."""
    by_queue = reader.parsed(SCHEDSTAT, parse_run_time, expected=False)
    return by_queue if by_queue is not None else _read_usage(reader)


def _read_usage(reader: Reader) -> Mapping[int, RunTime] | None:
    """That of all tasks; a part of the hierarchy knows only its own."""
    mounts = reader.parsed(OWN_MOUNTS, parse_cgroup_mounts, expected=False) or ()
    folders = [mount.folder for mount in mounts if mount.version == 1 and "cpuacct" in mount.controllers]
    for folder in folders:
        if _OF_ROOT in (reader.names_or_none(folder, expected=False) or ()):
            return reader.parsed(f"{folder}/{CPUACCT}", parse_usage, expected=False)
    return None
