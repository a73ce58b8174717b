"""A table with blank last lines says what it says without them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from noisewatch.kernel.cgroup.bandwidth import parse_throttling
from noisewatch.kernel.cpus.cpu_time import parse_cpu_time, parse_run_time
from noisewatch.kernel.interrupts.table import parse_interrupts, parse_softirqs
from noisewatch.kernel.memory.counters import parse_meminfo, parse_swaps, parse_vmstat
from noisewatch.kernel.system.disks import parse_arrays, parse_diskstats
from noisewatch.kernel.system.pressure import parse_stall
from noisewatch.kernel.tasks.own_process import parse_limits
from noisewatch.kernel.trace.active import parse_events

_TABLES: list[tuple[Callable[[str], object], str]] = [
    (parse_softirqs, "CPU0 CPU1\nTIMER: 1 2\nNET_RX: 3 4"),
    (parse_interrupts, "CPU0 CPU1\nLOC: 1 2 Local timer interrupts"),
    (parse_cpu_time, "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10"),
    (parse_run_time, "version 15\ncpu0 0 0 0 0 0 0 500 0 7"),
    (parse_meminfo, "MemTotal: 16316412 kB\nMemFree: 1 kB"),
    (parse_vmstat, "nr_free_pages 100\npgfault 7"),
    (parse_stall, "some avg10=0.00 avg60=0.00 avg300=0.00 total=5"),
    (parse_swaps, "Filename Type Size Used Priority\n/dev/dm-1 partition 999996 0 -2"),
    (parse_diskstats, "8 0 sda 1 2 3 4 5 6 7 8 9 10 11"),
    (parse_arrays, "Personalities : [raid1]\nunused devices: <none>"),
    (parse_throttling, "nr_periods 5\nnr_throttled 1"),
    (parse_limits, "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  unlimited  unlimited  seconds"),
    (parse_events, "sched:sched_switch"),
]


@pytest.mark.parametrize("end", ["\n", "\n\n", "\n\n\n", "\n  \n"])
@pytest.mark.parametrize(("parse", "text"), _TABLES, ids=lambda value: getattr(value, "__name__", ""))
def test_blank_last_lines_lose_nothing(parse: Callable[[str], object], text: str, end: str) -> None:
    alone = parse(text + "\n")
    assert alone is not None
    assert _told(parse(text + end)) == _told(alone)


def _told(found: object) -> object:
    """Return the rows of a table of interrupts, which also keeps its text, or any other result itself."""
    return getattr(found, "rows", found)
