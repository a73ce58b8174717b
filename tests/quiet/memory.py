"""Enough memory, and none swapped."""

from __future__ import annotations

MEMINFO = """\
MemTotal:       16316412 kB
MemFree:        11094228 kB
MemAvailable:   12094228 kB
SwapTotal:        999996 kB
SwapFree:         999996 kB
"""
VMSTAT = "".join(f"{name} 0\n" for name in ("pswpin", "pswpout"))


def files(seconds: float) -> dict[str, str]:
    """They stand still."""
    return {"/proc/meminfo": MEMINFO, "/proc/vmstat": VMSTAT}
