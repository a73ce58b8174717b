"""How each CPU spent its time: /proc/stat.

    cpu  1182 0 956 17500 183 0 19 9 0 0
    cpu0 249 0 280 9390 2 0 5 1 0 0

https://docs.kernel.org/filesystems/proc.html (1.7): user, nice, system, idle, iowait, irq, softirq, steal, guest,
guest_nice, in ticks of 1/USER_HZ. guest is contained in user, guest_nice in nice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.lxcfs import is_served_by_lxcfs
from noisewatch.kernel.numbers import are_counts, lines_of
from noisewatch.kernel.reader import Reader

PATH = "/proc/stat"
TICK_NS = 10_000_000  # USER_HZ is 100 on every architecture that runs Python today
_FEWEST_FIELDS = 4  # user, nice, system, idle: Linux 2.4
_ROW = re.compile(r"cpu([0-9]{1,5})")


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

    @property
    def total_ns(self) -> int:
        """All of it, idle included."""
        optional_ns = (self.iowait_ns or 0) + (self.irq_ns or 0) + (self.softirq_ns or 0) + (self.steal_ns or 0)
        return self.user_ns + self.nice_ns + self.system_ns + self.idle_ns + optional_ns


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
