"""How long tasks wait for CPU, memory and I/O, and how many tasks are runnable: /proc/pressure and /proc/loadavg.

    some avg10=0.00 avg60=0.00 avg300=0.00 total=1473177
    full avg10=0.00 avg60=0.00 avg300=0.00 total=0

https://docs.kernel.org/accounting/psi.html: `total` is in microseconds. Since Linux 4.20; some builds need the boot
option `psi=1`. /proc/loadavg:

    0.52 0.58 0.59 3/1182 28916

https://docs.kernel.org/filesystems/proc.html: the tasks that run, are ready, or wait for a disk, averaged over 1, 5 and
15 minutes; the tasks that run or are ready now, including the reader; all threads; the newest process.
"""

from __future__ import annotations

import re

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import lines_of, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import is_served_by_lxcfs
from noisewatch.patterns import regex

FOLDER = "/proc/pressure"
RESOURCES = ("cpu", "memory", "io")
_ROW = regex(r"(some|full) avg10=\S+ avg60=\S+ avg300=\S+ total=(\d{1,20})", re.ASCII)


class Stall(Struct, frozen=True):
    """How long since boot some task, or all tasks at once, waited. Linux 5.13 added `full` for cpu."""

    some_total_ns: int
    full_total_ns: int | None


class Pressure(Struct, frozen=True):
    """The stalls by resource; None means unknown."""

    cpu: Stall | None
    memory: Stall | None
    io: Stall | None


def parse_stall(text: str) -> Stall:
    """Return the totals in one file. Raise Malformed."""
    totals: dict[str, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        match = require_match(_ROW.fullmatch(line.strip()), "`some avg10=… total=…`", line, number)
        totals[match[1]] = int(match[2]) * 1000
    if "some" not in totals:
        raise Malformed("`some avg10=… total=…`", text[:20], 1)
    return Stall(totals["some"], totals.get("full"))


def read_pressure(reader: Reader) -> Pressure:
    """Return the stalls of the whole machine."""
    if reader.names_or_none(FOLDER) is None:
        return Pressure(None, None, None)
    paths = [f"{FOLDER}/{resource}" for resource in RESOURCES]
    return Pressure(*(None if is_served_by_lxcfs(reader, path) else reader.parse(path, parse_stall) for path in paths))


PATH = "/proc/loadavg"
_LINE = regex(r"(\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9})/\d{1,9} \d{1,10}", re.ASCII)


class LoadAverage(Struct, frozen=True):
    """The load of the whole machine, in tasks."""

    over_1_min: float
    over_5_min: float
    over_15_min: float
    runnable: int  # tasks that run or are ready now, including the reader


def parse_load_average(text: str) -> LoadAverage:
    """Return the load averages and the number of runnable tasks. Raise Malformed."""
    match = require_match(_LINE.fullmatch(text.strip()), "`0.52 0.58 0.59 3/1182 28916`", text.strip())
    return LoadAverage(float(match[1]), float(match[2]), float(match[3]), int(match[4]))


def read_load_average(reader: Reader) -> LoadAverage | None:
    """Return the current load averages, or None if unknown."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parse(PATH, parse_load_average)
