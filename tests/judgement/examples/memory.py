"""Area `memory`."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.quiet.memory import MEMINFO, VMSTAT

_SWAPPED = {"/proc/vmstat": VMSTAT.replace("pswpin 0", "pswpin 5")}

EXAMPLES = [
    Example("swapping", "fail", {}, "5 pages", after=_SWAPPED),
    Example("swapping", "fail", {}, "5 pages", loaded=_SWAPPED),
    Example("swapping", "pass", _SWAPPED, "nothing was swapped"),
    Example("swapping", "pass", {"/proc/meminfo": MEMINFO.replace("999996", "0")}, "no swap"),
    Example(
        "swapping", "warn", {"/proc/meminfo": MEMINFO.replace("SwapFree:         999996", "SwapFree: 99996")}, "MB"
    ),
    Example("swapping", "unknown", gone=("/proc/vmstat",)),
    Example("swapping", "unknown", gone=("/proc/meminfo",)),
]
