"""Disks that write a log now and then, one user, and nobody in the queue."""

from __future__ import annotations

from noisewatch.kernel.memory.temporary_files import QUESTION as TEMPORARY_FILES
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from noisewatch.machine import Json

MDSTAT = """\
Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      1953382464 blocks super 1.2 [2/2] [UU]

unused devices: <none>
"""
ANSWERS: dict[str, Json] = {SESSIONS: {"sessions": 2, "users": 1}, TEMPORARY_FILES: "ext4"}


def diskstats(**busy_ms: int) -> str:
    """Two disks of which one has a partition, an array, and a loop, that were busy for so long since boot."""
    names = ("loop0", "sda", "sda1", "sdb", "sdb1", "md0", "nvme0n1")
    rows = [(name, 1000 + busy_ms.get(name, 0)) for name in names]
    return "".join(f"   8   0 {name} {ms} 0 900 7 {ms} 0 800 9 0 {ms} 16 0 0 0 0 0 0\n" for name, ms in rows)


def files(seconds: float) -> dict[str, str]:
    """A request now and then."""
    return {
        "/proc/diskstats": diskstats(nvme0n1=round(seconds * 4)),
        "/proc/mdstat": MDSTAT,
        "/proc/loadavg": "0.12 0.34 0.30 1/312 4711\n",
    }
