"""How the kernel describes its trace events, which differ from kernel to kernel.

    /sys/kernel/tracing/events/sched/sched_switch/format
        ID: 372
        format:
            field:pid_t next_pid;   offset:56;   size:4;   signed:1;

https://docs.kernel.org/trace/events.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.errors import Malformed

_ID = re.compile(r"^ID: (\d{1,5})$", re.MULTILINE | re.ASCII)
_FIELD = re.compile(
    r"^\tfield:(?P<type>[^;]*?)\s?\b(?P<name>\w+)(?:\[\w*\])?;\toffset:(?P<offset>\d{1,5});\tsize:(?P<size>\d{1,5});",
    re.MULTILINE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class TraceField:
    """Where a field lies in the record, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """The number that the records of an event carry, and its fields."""

    id: int
    fields: Mapping[str, TraceField]


def parse_trace_format(text: str) -> TraceFormat:
    """The format of one event. Raises Malformed."""
    number = _ID.search(text)
    fields = {each["name"]: TraceField(int(each["offset"]), int(each["size"])) for each in _FIELD.finditer(text)}
    if number is None or "common_pid" not in fields:
        raise Malformed("`ID: 372` and `field:int common_pid; offset:4; size:4; signed:1;`", text[:40])
    return TraceFormat(int(number[1]), fields)
