"""Time that tasks spent running on each CPU, to the nanosecond: /proc/schedstat, else cgroup v1's cpuacct.

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
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.mounts import parse_cgroup_mounts
from noisewatch.kernel.numbers import are_counts, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS

PATH = "/proc/schedstat"
CPUACCT = "cpuacct.usage_percpu"
_OF_ROOT = "release_agent"  # only the root of a hierarchy of version 1 has this file
_ROW = re.compile(r"cpu(\d{1,5})(?: \d+){6}(?:(?: \d+){3})? (\d{1,20}) \d+ (\d{1,20})", re.ASCII)


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
        match = _ROW.fullmatch(line.strip())
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
    by_queue = reader.parsed(PATH, parse_run_time, expected=False)
    return by_queue if by_queue is not None else _read_usage(reader)


def _read_usage(reader: Reader) -> Mapping[int, RunTime] | None:
    """That of all tasks; a part of the hierarchy knows only its own."""
    mounts = reader.parsed(OWN_MOUNTS, parse_cgroup_mounts, expected=False) or ()
    folders = [mount.folder for mount in mounts if mount.version == 1 and "cpuacct" in mount.controllers]
    for folder in folders:
        if _OF_ROOT in (reader.names_or_none(folder, expected=False) or ()):
            return reader.parsed(f"{folder}/{CPUACCT}", parse_usage, expected=False)
    return None
