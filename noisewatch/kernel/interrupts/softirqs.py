"""Softirqs run on each CPU: /proc/softirqs.

                    CPU0       CPU1
          HI:          0          2
       TIMER:     167067     167427

https://docs.kernel.org/filesystems/proc.html (1.2). The kernel prints a column for each possible CPU, so there may
be more columns than CPUs online; the header numbers them.
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.errors import Malformed
from noisewatch.kernel.interrupts.table import parse_header
from noisewatch.kernel.numbers import are_counts, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.text import clean

PATH = "/proc/softirqs"


@dataclass(frozen=True, slots=True)
class SoftirqRow:
    """One kind of softirq; `counts` goes with the header's CPUs."""

    label: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Softirqs:
    """The table, with the CPU that each column belongs to."""

    cpus: tuple[int, ...]
    rows: tuple[SoftirqRow, ...]


def parse_softirqs(text: str) -> Softirqs:
    """The table. Raises Malformed."""
    lines = lines_of(text)
    if not lines:
        raise Malformed("a header such as `CPU0 CPU1`", "", 1)
    cpus = parse_header(lines[0])
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        label, colon, rest = line.partition(":")
        counts = rest.split()
        if not colon or len(counts) != len(cpus) or not are_counts(counts):
            raise Malformed(f"{len(cpus)} counts", line.strip(), number)
        rows.append(SoftirqRow(clean(label.strip()), tuple(map(int, counts))))
    if not rows:
        raise Malformed("a row for each kind of softirq", "", 2)
    return Softirqs(cpus, tuple(rows))


def read_softirqs(reader: Reader) -> Softirqs | None:
    """The table; None where it cannot be read."""
    return reader.parsed(PATH, parse_softirqs)
