"""Files of /proc that lxcfs serves in a container: they tell of this container alone.

    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://linuxcontainers.org/lxcfs/introduction/
"""

from __future__ import annotations

from noisewatch.errors import Absent, Unreadable
from noisewatch.sources.reader import Reader

_MOUNTS = ("/proc/self/mounts", "/proc/mounts")


def is_served_by_lxcfs(reader: Reader, path: str) -> bool:
    """Whether the file is not the kernel's own, or may not be; the reason is kept."""
    texts = _read_mounts(reader)
    if texts is None:
        reader.note(path, f"{_MOUNTS[0]} cannot be read, which tells whether this is of a container alone (lxcfs)")
        return True
    if not any(f" {path} fuse" in text for text in texts):
        return False
    reader.note(path, "served by lxcfs, which shows this container alone")
    return True


def _read_mounts(reader: Reader) -> list[str] | None:
    """What can be read of the mounts; None where they are hidden. A copy that has none is one of a machine's files."""
    texts: list[str] = []
    is_hidden = False
    for path in _MOUNTS:
        try:
            texts.append(reader.text(path, expected=False))
        except Unreadable as error:
            is_hidden |= isinstance(error, Absent) or not error.is_missing
    return None if is_hidden and not texts else texts
