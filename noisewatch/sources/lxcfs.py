"""Files of /proc that lxcfs serves in a container: they tell of this container alone.

    lxcfs /proc/stat fuse.lxcfs rw,nosuid,nodev 0 0

https://linuxcontainers.org/lxcfs/introduction/
"""

from __future__ import annotations

from noisewatch.sources.reader import Reader

_MOUNTS = ("/proc/self/mounts", "/proc/mounts")


def is_served_by_lxcfs(reader: Reader, path: str) -> bool:
    """Whether the file is not the kernel's own; the reason is kept."""
    texts = [reader.text_or_none(mounts, expected=False) or "" for mounts in _MOUNTS]
    if not any(f" {path} fuse" in text for text in texts):
        return False
    reader.note(path, "served by lxcfs, which shows this container alone")
    return True
