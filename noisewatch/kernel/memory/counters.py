r"""Free memory, counters of the kernel's work to free more, and swap areas: /proc/meminfo, /proc/vmstat, /proc/swaps.

    MemTotal:       16316412 kB            pswpin 0
    MemAvailable:   12094228 kB            compact_stall 17

https://docs.kernel.org/filesystems/proc.html#meminfo; vmstat counts since boot, for the whole host.

    Filename                 Type        Size      Used   Priority
    /dev/dm-1                partition   999996    0      -2           (below 0: chosen by the kernel)
    /var/swap\040file        file        4096      0      5

https://man7.org/linux/man-pages/man5/proc_swaps.5.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import is_count, lines_of, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.mounts import is_served_by_lxcfs
from noisewatch.patterns import regex

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
_SIZE = regex(r"([^:\s]+):\s+(\d{1,20})(?: kB)?", re.ASCII)
_COUNTERS = regex(r"(?:[!-~]+ -?\d{1,20}\n)+", re.ASCII)


class Memory(Struct, frozen=True):
    """The sizes in meminfo (kB, except counts of huge pages) and the counters in vmstat, by name; None: unknown."""

    kb_by_name: Mapping[str, int] | None
    count_by_name: Mapping[str, int] | None


def parse_meminfo(text: str) -> Mapping[str, int]:
    """Return the sizes by name. Raise Malformed."""
    sizes: dict[str, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        match = require_match(_SIZE.fullmatch(line.strip()), "`MemTotal: 16316412 kB`", line, number)
        sizes[match[1]] = int(match[2])
    if "MemTotal" not in sizes:
        raise Malformed("a line `MemTotal: 16316412 kB`", text[:20], 1)
    return sizes


def parse_vmstat(text: str) -> Mapping[str, int]:
    """Return the counters by name. Raise Malformed."""
    if _COUNTERS.fullmatch(text):  # parse all at once: 200 lines each second
        words = text.split()
        return dict(zip(words[::2], map(int, words[1::2]), strict=True))
    counters: dict[str, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        name, _, count = line.strip().partition(" ")
        if not name or not is_count(count.removeprefix("-")):
            raise Malformed("a name and a count", line, number)
        counters[name] = int(count)
    if not counters:
        raise Malformed("a name and a count", "", 1)
    return counters


def read_memory(reader: Reader) -> Memory:
    """Return the current sizes and counters."""
    sizes = None if is_served_by_lxcfs(reader, MEMINFO) else reader.parse(MEMINFO, parse_meminfo)
    return Memory(sizes, reader.parse(VMSTAT, parse_vmstat))


PATH = "/proc/swaps"
_LINE = regex(r"(\S+)\s+\S+\s+(\d{1,20})\s+(\d{1,20})\s+(-?\d{1,6})\s*", re.ASCII)
_ESCAPED = regex(r"\\([0-3][0-7]{2})")


class Swap(Struct, frozen=True):
    """A device or file to which memory is swapped."""

    path: str
    priority: int
    size_kb: int = 0
    used_kb: int = 0


def parse_swaps(text: str) -> tuple[Swap, ...]:
    """Return the swap areas in use, in the kernel's order. Raise Malformed."""
    lines = lines_of(text)
    if not lines or not lines[0].startswith("Filename"):
        raise Malformed("`Filename Type Size Used Priority`", text[:40], 1)
    swaps = []
    for number, line in enumerate(lines[1:], start=2):
        match = require_match(_LINE.fullmatch(line), "`/dev/dm-1 partition 999996 0 -2`", line, number)
        path = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)), match[1])
        swaps.append(Swap(path, int(match[4]), int(match[2]), int(match[3])))
    return tuple(swaps)


def read_swaps(reader: Reader) -> tuple[Swap, ...] | None:
    """Return the swap areas in use, or None if unknown."""
    return None if is_served_by_lxcfs(reader, PATH) else reader.parse(PATH, parse_swaps, expected=False)
