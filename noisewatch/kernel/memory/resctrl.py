"""The memory traffic of the groups of resctrl (Intel RDT, AMD QoS, Arm MPAM), where it is mounted.

    /sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes       10237564928, or Unavailable, or Error: the default group
    /sys/fs/resctrl/web/mon_data/mon_L3_00/mbm_total_bytes   the control group web, with its monitoring groups
    /sys/fs/resctrl/web/mon_groups/job/mon_data/…            a monitoring group of web

A counter has the bytes that the group's tasks moved between one last-level cache and memory. Reading it may interrupt a
CPU of that cache. Source: https://docs.kernel.org/filesystems/resctrl.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader

RESCTRL = "/sys/fs/resctrl"
_GROUPS, _DATA, _COUNTER = "mon_groups", "mon_data", "mbm_total_bytes"
_NOT_GROUPS = frozenset({"info", _GROUPS, _DATA})


class TrafficReading(Struct, frozen=True):
    """The bytes by group at one moment; a text is the reason why the bytes are unknown. The default group is `/`."""

    taken_at_ns: int
    bytes_by_group: Mapping[str, int | str]


def read_traffic(reader: Reader) -> TrafficReading | None:
    """Return the counters of all groups, or None if resctrl is not mounted or counts no traffic."""
    by_group = {group: counted for group in _groups(reader) if (counted := _bytes_of(reader, group)) is not None}
    return TrafficReading(reader.machine.now_ns(), by_group) if by_group else None


def _groups(reader: Reader) -> Iterator[str]:
    names = reader.names_or_none(RESCTRL, expected=False) or ()
    for control in ("", *(f"/{name}" for name in names if name not in _NOT_GROUPS)):
        yield control or "/"
        for name in reader.names_or_none(f"{RESCTRL}{control}/{_GROUPS}", expected=False) or ():
            yield f"{control}/{_GROUPS}/{name}"


def _bytes_of(reader: Reader, group: str) -> int | str | None:
    """Return the sum over all caches, or the reason why it is unknown; None for a folder without counters."""
    folder = f"{RESCTRL}{group.rstrip('/')}/{_DATA}"
    paths = [f"{folder}/{cache}/{_COUNTER}" for cache in reader.names_or_none(folder, expected=False) or ()]
    counts = {path: reader.parse(path, parse_count, expected=False) for path in paths}
    if unknown := next((path for path, count in counts.items() if count is None), None):
        return None if reader.is_absent(unknown) else f"{unknown}: {reader.reason_by_path.get(unknown, 'unreadable')}"
    return sum(count for count in counts.values() if count is not None) if counts else None
