"""Files of /proc that lxcfs serves in a container: they tell of this container alone.

    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://linuxcontainers.org/lxcfs/introduction/
"""

from __future__ import annotations

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import MOUNTS, OWN_MOUNTS, Mount, parse_mounts


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
