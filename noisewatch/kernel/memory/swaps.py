"""Where memory is swapped to.

    Filename                 Type        Size      Used   Priority
    /dev/dm-1                partition   999996    0      -2           below 0 the kernel has chosen it
    /var/swap\\040file        file        4096      0      5

https://man7.org/linux/man-pages/man5/proc_swaps.5.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import lines_of
from noisewatch.kernel.reader import Reader

PATH = "/proc/swaps"
_LINE = re.compile(r"(\S+)\s+\S+\s+\d{1,20}\s+\d{1,20}\s+(-?\d{1,6})\s*", re.ASCII)
_ESCAPED = re.compile(r"\\([0-3][0-7]{2})")


@dataclass(frozen=True, slots=True)
class Swap:
    """A device or a file that memory is swapped to."""

    path: str
    priority: int


def parse_swaps(text: str) -> tuple[Swap, ...]:
    """Those in use, as the kernel lists them. Raises Malformed."""
    lines = lines_of(text)
    if not lines or not lines[0].startswith("Filename"):
        raise Malformed("`Filename Type Size Used Priority`", text[:40], 1)
    swaps = []
    for number, line in enumerate(lines[1:], start=2):
        match = _LINE.fullmatch(line)
        if match is None:
            raise Malformed("`/dev/dm-1 partition 999996 0 -2`", line, number)
        path = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)), match[1])
        swaps.append(Swap(path, int(match[2])))
    return tuple(swaps)


def read_swaps(reader: Reader) -> tuple[Swap, ...] | None:
    """Those in use; None is unknown."""
    return reader.parsed(PATH, parse_swaps, expected=False)
