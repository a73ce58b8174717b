"""What is mounted where: /proc/self/mounts.

    proc /proc proc rw,nosuid,nodev,noexec,relatime,hidepid=invisible 0 0
    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://man7.org/linux/man-pages/man5/fstab.5.html: blanks in a field are written as octal digits.

Files of /proc that lxcfs serves in a container: they tell of this container alone.

    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://linuxcontainers.org/lxcfs/introduction/
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import lines_of
from noisewatch.kernel.reader import Reader

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


def is_served_by_lxcfs(reader: Reader, path: str) -> bool:
    """Whether the file is not the kernel's own, or may not be; the reason is kept."""
    mounts = _read_mounts(reader)
    if mounts is None:
        reader.note(path, f"{OWN_MOUNTS} does not tell whether this is of a container alone (lxcfs)")
        return True
    if not any(mount.folder == path and mount.kind.startswith("fuse") for mount in mounts):
        return False
    reader.note(path, "served by lxcfs, which shows this container alone")
    return True


def _read_mounts(reader: Reader) -> list[Mount] | None:
    """What can be read of the mounts; None where they are hidden. A copy that has none is one of a machine's files."""
    mounts: list[Mount] = []
    is_hidden = False
    for path in (OWN_MOUNTS, MOUNTS):
        try:
            mounts += parse_mounts(reader.text(path, expected=False))
        except Unreadable as error:
            is_hidden |= isinstance(error, Absent) or not error.is_missing
        except Malformed:
            is_hidden = True
    return None if is_hidden and not mounts else mounts
