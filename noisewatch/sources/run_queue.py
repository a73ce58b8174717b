"""Time that tasks spent running on each CPU, to the nanosecond: /proc/schedstat.

    cpu1 0 0 0 0 0 0 281793214 16002335 366

https://docs.kernel.org/scheduler/sched-stats.html: the seventh field is the time that tasks ran, counted when they
leave the CPU. Only kernels with CONFIG_SCHEDSTATS have the file; for others /proc/stat has to do, in ticks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.errors import Malformed
from noisewatch.sources.numbers import lines_of
from noisewatch.sources.reader import Reader

PATH = "/proc/schedstat"
_ROW = re.compile(r"cpu(\d{1,5})(?: \d+){6} (\d{1,20}) \d+ \d+")


def parse_run_time(text: str) -> Mapping[int, int]:
    """Nanoseconds that tasks ran, by CPU. Raises Malformed."""
    ran_ns_by_cpu: dict[int, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        if not line.startswith("cpu"):
            continue
        match = _ROW.fullmatch(line.strip())
        if match is None:
            raise Malformed("nine counts for each CPU", line, number)
        ran_ns_by_cpu[int(match[1])] = int(match[2])
    if not ran_ns_by_cpu:
        raise Malformed("a row for each CPU", text[:20], 1)
    return ran_ns_by_cpu


def read_run_time(reader: Reader) -> Mapping[int, int] | None:
    """Nanoseconds that tasks ran, by CPU; None where the kernel does not tell."""
    return reader.parsed(PATH, parse_run_time, expected=False)
