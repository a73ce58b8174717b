"""How many tasks want to run: /proc/loadavg.

    0.52 0.58 0.59 3/1182 28916

https://docs.kernel.org/filesystems/proc.html: averages over 1, 5 and 15 minutes of the tasks that run, want to, or wait
for a disk; how many run or want to now, whoever reads this among them; all threads; the newest process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.lxcfs import is_served_by_lxcfs
from noisewatch.kernel.reader import Reader

PATH = "/proc/loadavg"
_LINE = re.compile(r"(\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9}\.\d\d) (\d{1,9})/\d{1,9} \d{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LoadAverage:
    """Of the whole machine, in tasks."""

    over_1_min: float
    over_5_min: float
    over_15_min: float
    runnable: int  # at this instant, the reader among them


def parse_load_average(text: str) -> LoadAverage:
    """The averages, and who is runnable now. Raises Malformed."""
    match = _LINE.fullmatch(text.strip())
    if match is None:
        raise Malformed("`0.52 0.58 0.59 3/1182 28916`", text.strip())
    return LoadAverage(float(match[1]), float(match[2]), float(match[3]), int(match[4]))


def read_load_average(reader: Reader) -> LoadAverage | None:
    """The averages now; None is unknown."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parsed(PATH, parse_load_average)
