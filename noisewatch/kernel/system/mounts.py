"""What is mounted where: /proc/self/mounts.

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0
    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://man7.org/linux/man-pages/man5/fstab.5.html: blanks in a field are written as octal digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import lines_of

OWN_MOUNTS = "/proc/self/mounts"
MOUNTS = "/proc/mounts"
LONGEST_PATH = 4096  # of the kernel
_FIELDS = 6


@dataclass(frozen=True, slots=True)
class Mount:
    """One line: a file system, and where it can be seen."""

    folder: str
    kind: str
    options: str


@lru_cache(maxsize=4)  # asked several times a snapshot, of machines with thousands of mounts
def parse_mounts(text: str) -> tuple[Mount, ...]:
    """All of them, what covers others behind these. Raises Malformed, also without any: there is always a root."""
    mounts = []
    for number, line in enumerate(lines_of(text) or [""], start=1):
        fields = line.split(" ")
        if len(fields) < _FIELDS or len(fields[1]) > LONGEST_PATH or len(fields[2]) > LONGEST_PATH:
            raise Malformed("device, folder, type, options and two numbers", line, number)
        mounts.append(Mount(*fields[1:4]))
    return tuple(mounts)
