"""How each CPU spent its time: by state in /proc/stat, and as the tasks' run time in /proc/schedstat or cpuacct.

    cpu  1182 0 956 17500 183 0 19 9 0 0
    cpu0 249 0 280 9390 2 0 5 1 0 0

https://docs.kernel.org/filesystems/proc.html (1.7): user, nice, system, idle, iowait, irq, softirq, steal, guest,
guest_nice, in ticks of 1/USER_HZ. guest is contained in user, guest_nice in nice.

The tasks' run time is in ns, in /proc/schedstat or else in cgroup v1's cpuacct:

    cpu1 0 0 0 0 0 0 281793214 16002335 366                 versions 15 to 17
    cpu1 0 0 0 0 0 0 0 0 0 281793214 16002335 366           versions 11 to 14
    357140593847 426204447989                               cpuacct.usage_percpu, CPUs 0 and 1

https://docs.kernel.org/scheduler/sched-stats.html: the first of the last three fields is the tasks' run time, counted
when they leave the CPU; the last is how often a task was put on the CPU. Both are counted regardless of the sysctl
kernel.sched_schedstats (sched_info_depart in kernel/sched/stats.h). Only kernels with CONFIG_SCHEDSTATS have the file.
cpuacct counts while tasks run (cpuacct_charge in kernel/sched/cpuacct.c); only its root contains all tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.mounts import parse_cgroup_mounts
from noisewatch.kernel.numbers import are_counts, lines_of, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import OWN_MOUNTS, is_served_by_lxcfs
from noisewatch.patterns import regex

PATH = "/proc/stat"
TICK_NS = 10_000_000  # USER_HZ is 100 on every architecture that runs Python today
_FEWEST_FIELDS = 4  # user, nice, system and idle, as in Linux 2.4
_LONGEST_NUMBER = 5
_ROW = regex(rf"cpu([0-9]{{1,{_LONGEST_NUMBER}}})")
IRQ, SOFTIRQ, STEAL, _MOST_STATES = 5, 6, 7, 8  # positions in a row


class CpuTime(Struct, frozen=True):
    """A CPU's time since boot: the first four to eight counts of its row, in ticks of `TICK_NS`.

    `user` and `nice` contain the time of guests.
    """

    ticks: tuple[int, ...]  # user, nice, system, idle, iowait, irq, softirq, steal (the last since Linux 2.6.11)

    @property
    def total_ns(self) -> int:
        """The sum of all states, including idle."""
        return sum(self.ticks) * TICK_NS

    @property
    def user_ns(self) -> int:
        return self.ticks[0] * TICK_NS

    @property
    def nice_ns(self) -> int:
        return self.ticks[1] * TICK_NS

    @property
    def system_ns(self) -> int:
        return self.ticks[2] * TICK_NS

    @property
    def idle_ns(self) -> int:
        return self.ticks[3] * TICK_NS

    @property
    def iowait_ns(self) -> int | None:
        return self._optional_ns(4)

    @property
    def irq_ns(self) -> int | None:
        return self._optional_ns(5)

    @property
    def softirq_ns(self) -> int | None:
        return self._optional_ns(6)

    @property
    def steal_ns(self) -> int | None:
        return self._optional_ns(7)

    def _optional_ns(self, place: int) -> int | None:
        """Return the time at this position, or None if an old kernel does not report it."""
        return self.ticks[place] * TICK_NS if place < len(self.ticks) else None


def parse_cpu_time(text: str) -> Mapping[int, CpuTime]:
    """Return the time of each online CPU, by CPU number. Raise Malformed, also for a truncated row."""
    rows = [line for line in lines_of(text) if line.startswith("cpu")]
    times = _parse_rows_together(rows) or _parse_rows_singly(text)
    if not times:
        raise Malformed("a row for each CPU", text[:20], 1)
    return times


def _parse_rows_together(rows: Sequence[str]) -> Mapping[int, CpuTime] | None:
    """Parse all rows at once, because there may be hundreds; return None if each row has to be parsed separately."""
    width = len(rows[0].split()) if rows else 0
    words = " ".join(rows).split()
    names = words[::width] if width > _FEWEST_FIELDS else []
    if names[:1] != ["cpu"] or len(names) != len(rows):
        return None
    numbers = [name[3:] for name in names[1:]]
    if not are_counts(numbers) or max(map(len, numbers), default=0) > _LONGEST_NUMBER:
        return None
    del words[::width]
    if not are_counts(words) or len(words) != len(rows) * (width - 1):
        return None
    ticks = tuple(map(int, words))
    begins = range(width - 1, len(ticks), width - 1)
    state_count = min(width - 1, _MOST_STATES)
    return {int(number): CpuTime(ticks[at : at + state_count]) for number, at in zip(numbers, begins, strict=True)}


def _parse_rows_singly(text: str) -> Mapping[int, CpuTime]:
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
            times[int(match[1])] = CpuTime(tuple(map(int, fields[:_MOST_STATES])))
    return times


def read_cpu_time(reader: Reader) -> Mapping[int, CpuTime] | None:
    """Return the time of each online CPU, or None if /proc/stat is unreadable or not the kernel's own file."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parse(PATH, parse_cpu_time)


SCHEDSTAT = "/proc/schedstat"
CPUACCT = "cpuacct.usage_percpu"
_OF_ROOT = "release_agent"  # only the root of a v1 hierarchy has this file
_SCHEDSTAT_ROW = regex(r"cpu(\d{1,5})(?: \d+){6}(?:(?: \d+){3})? (\d{1,20}) \d+ (\d{1,20})", re.ASCII)


class RunTime(Struct, frozen=True):
    """The tasks' run time on one CPU (ns).

    `stays` is how often a task was put on the CPU; None if time is counted while tasks run, not when they leave.
    """

    ran_ns: int
    stays: int | None = None


def parse_run_time(text: str) -> Mapping[int, RunTime]:
    """Return each CPU's run time in /proc/schedstat. Raise Malformed."""
    times: dict[int, RunTime] = {}
    for number, line in enumerate(lines_of(text), start=1):
        if not line.startswith("cpu"):
            continue
        match = require_match(
            _SCHEDSTAT_ROW.fullmatch(line.strip()), "nine or twelve counts for each CPU", line, number
        )
        times[int(match[1])] = RunTime(int(match[2]), int(match[3]))
    if not times:
        raise Malformed("a row for each CPU", text[:20], 1)
    return times


def parse_usage(text: str) -> Mapping[int, RunTime]:
    """Return each CPU's run time in cpuacct's file, which lists all possible CPUs in order. Raise Malformed."""
    words = text.split()
    if not words or not are_counts(words):
        raise Malformed("a count for each CPU", text[:20], 1)
    return {cpu: RunTime(int(word)) for cpu, word in enumerate(words)}


def read_run_time(reader: Reader) -> Mapping[int, RunTime] | None:
    """Return the tasks' run time by CPU, or None if the kernel does not report it."""
    by_queue = reader.parse(SCHEDSTAT, parse_run_time, expected=False)
    return by_queue if by_queue is not None else _read_usage(reader)


def _read_usage(reader: Reader) -> Mapping[int, RunTime] | None:
    """Return the run time of all tasks from cpuacct's root, or None; other groups only contain their own tasks."""
    mounts = reader.parse(OWN_MOUNTS, parse_cgroup_mounts, expected=False) or ()
    folders = [mount.folder for mount in mounts if mount.version == 1 and "cpuacct" in mount.controllers]
    for folder in folders:
        if _OF_ROOT in (reader.names_or_none(folder, expected=False) or ()):
            return reader.parse(f"{folder}/{CPUACCT}", parse_usage, expected=False)
    return None
