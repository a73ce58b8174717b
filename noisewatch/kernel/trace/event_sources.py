"""What can be counted and traced: the names below /sys/bus/event_source/devices.

    breakpoint  cpu  msr  software  tracepoint        (`cpu_core` and `cpu_atom` on hybrids, `armv8_pmuv3_0` on ARM)

https://docs.kernel.org/admin-guide/perf-security.html; a virtual machine without virtual counters has no `cpu`.
"""

from __future__ import annotations

from noisewatch.kernel.reader import Reader

FOLDER = "/sys/bus/event_source/devices"
_OF_PROCESSORS = ("cpu", "armv", "apple_")


def read_event_sources(reader: Reader) -> frozenset[str] | None:
    """The names; None is unknown."""
    names = reader.names_or_none(FOLDER)
    if names == []:
        reader.note(FOLDER, "nothing in it, not even what the kernel itself counts")
    return frozenset(names) if names else None


def counters_among(names: frozenset[str]) -> list[str]:
    """Those that count what a processor does."""
    return sorted(name for name in names if name.startswith(_OF_PROCESSORS))
