"""For how long the machine has been up: /proc/uptime.

    34521.77 66120.03

https://docs.kernel.org/filesystems/proc.html: seconds since boot, and the idle seconds of all CPUs together.
"""

from __future__ import annotations

import re

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.lxcfs import is_served_by_lxcfs
from noisewatch.kernel.reader import Reader

PATH = "/proc/uptime"
_UPTIME = re.compile(r"(\d{1,12}\.\d{1,9}) \d{1,15}\.\d{1,9}", re.ASCII)


def parse_uptime(text: str) -> float:
    """Seconds since boot. Raises Malformed."""
    match = _UPTIME.fullmatch(text.strip())
    if match is None:
        raise Malformed("two numbers of seconds", text.strip())
    return float(match[1])


def read_uptime(reader: Reader) -> float | None:
    """Seconds since boot; None where it cannot be read, or is the container's own."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parsed(PATH, parse_uptime)
