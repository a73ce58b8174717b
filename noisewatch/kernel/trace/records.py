"""The records in a page of the trace's ring buffer.

A page is a time stamp (8 bytes), how many bytes follow (a long, with two flags: events were lost before this page, and
their number is behind the last one), and events: 5 bits of length or kind, 27 bits of ns since the event before, and
the record, whose layout `trace_format` describes. https://docs.kernel.org/trace/ring-buffer-design.html, and
/sys/kernel/tracing/events/header_event.

How the kernel describes its trace events, which differ from kernel to kernel.

    /sys/kernel/tracing/events/sched/sched_switch/format
        ID: 372
        format:
            field:pid_t next_pid;   offset:56;   size:4;   signed:1;

https://docs.kernel.org/trace/events.html
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

from noisewatch.errors import Malformed
from noisewatch.kinds import Kind
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_ID = regex(r"^ID: (\d{1,5})$", re.MULTILINE | re.ASCII)
_FIELD = regex(
    r"^\tfield:(?P<type>[^;]*?)\s?\b(?P<name>\w+)(?:\[\w*\])?;\toffset:(?P<offset>\d{1,5});\tsize:(?P<size>\d{1,5});",
    re.MULTILINE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class TraceField:
    """The place of a field in the record, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """An event's number in its records, and its fields."""

    id: int
    fields: Mapping[str, TraceField]


def parse_trace_format(text: str) -> TraceFormat:
    """Return the format of one event. Raise Malformed."""
    number = _ID.search(text)
    fields = {each["name"]: TraceField(int(each["offset"]), int(each["size"])) for each in _FIELD.finditer(text)}
    if number is None or "common_pid" not in fields:
        raise Malformed("`ID: 372` and `field:int common_pid; offset:4; size:4; signed:1;`", text[:40])
    return TraceFormat(int(number[1]), fields)


SWITCH, ENTER, EXIT, NMI, SEND, NOISE, BORN, EXPIRE, WAKE = range(9)
_LOST, _SIZE = 1 << 31, (1 << 30) - 1
_LONGEST_RECORD, _PADDING, _EXTEND = 28, 29, 30
_ABSOLUTE_BITS = (1 << 59) - 1
_HEADER = struct.Struct("=QQ")  # of a 64-bit kernel


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """How to parse the records of one event: the offsets of the relevant words from the record's start."""

    action: int
    kind: Kind = Kind.IDLE  # of the source that it begins or ends
    name: str = ""
    word: int | None = None  # of the source's number: IRQ, softirq, next or woken thread
    second: int | None = None  # next thread's name, the length of what is over, the function called, clone's flags
    text: int | None = None  # the place and the length of a name
    state: int | None = None  # why the thread that had the CPU leaves it


def is_after_loss(page: bytes) -> bool:
    """Return whether events were lost before this page. Raise struct.error for any other content."""
    return bool(_HEADER.unpack_from(page)[1] & _LOST)


def begin_of(page: bytes) -> int:
    """Return when the page begins. Raise struct.error for any other content."""
    return int(_HEADER.unpack_from(page)[0])


def records(page: bytes) -> Iterator[tuple[int, int, memoryview]]:
    """Yield time, place (in words) and words of each record of a page. Raise IndexError or struct.error for rubbish."""
    now, commit = _HEADER.unpack_from(page)
    begin_ns = now
    size = min(commit & _SIZE, len(page) - _HEADER.size) // 4 * 4
    words = memoryview(page)[_HEADER.size : _HEADER.size + size].cast("I")
    at, end = 0, len(words)
    while at < end:
        head = words[at]
        kind = head & 31
        if 0 < kind <= _LONGEST_RECORD:
            now += head >> 5
            yield now, at + 1, words
            at += 1 + kind
        elif kind == _EXTEND:
            now += (words[at + 1] << 27) + (head >> 5)
            at += 2
        elif kind == 0:
            now += head >> 5
            yield now, at + 2, words
            at += 1 + (words[at + 1] >> 2)
        elif kind == _PADDING:
            if not head >> 5:
                return
            at += 1 + (words[at + 1] >> 2)
        else:
            now = begin_ns & ~_ABSOLUTE_BITS | (words[at + 1] << 27) + (head >> 5)
            at += 2


def text_at(words: memoryview, at: int, place: int) -> str:
    """Return a name of any length: the word `place` has its offset and length in bytes (__data_loc)."""
    begin, length = words[at + place] & 0xFFFF, words[at + place] >> 16
    record = words[at : at + (begin + length + 3) // 4].tobytes()
    return record[begin : begin + length].partition(b"\0")[0].decode("utf-8", "replace")
