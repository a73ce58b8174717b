"""Rows of /proc/interrupts that count again what other rows count, so that nothing is counted twice.

    I/O: 900      and     QAI:  700  [I/O] QDIO Adapter Interrupt      (s390: classes, and what they consist of)
    HYP: 900      and      48:  700  xen-percpu -virq timer0           (Xen delivers all its events by one vector)
    NMI: 900      and     PMI:  900  Performance monitoring interrupts (x86: these are NMIs)

    CAL: 900      and     TLB:  700  TLB shootdowns                    (x86, from Linux 4.8 on: these are calls)

arch/s390/kernel/irq.c, arch/x86/kernel/irq.c, arch/x86/events/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

# What the row is, and what its parts are, by label and description.
_PARTS_BY_SUM = tuple(
    (re.compile(whole), re.compile(part))
    for whole, part in (
        (r"EXT ", r"\S+ \[EXT\]"),
        (r"I/O ", r"\S+ \[I/O\]"),
        (r"AIO ", r"(?!MSI)\S+ \[AIO\]"),
        (r"PC[DFI] \[A?I/?O\]", r"MSI \["),  # one brings several MSIs along
        (r"MSI \[A?I/?O\]", r"\d+ "),
        (r"HYP ", r"\d+ xen-"),
        (r"PMN ", r"\d+ .*\bPCI-MSI"),
        (r"NMI Non-maskable interrupts", r"PMI "),
        (r"CAL Function call interrupts", r"TLB TLB shootdowns"),
    )
)


class Row(Protocol):
    """A row of the table, or of what it counted in some time."""

    @property
    def label(self) -> str: ...

    @property
    def description(self) -> str: ...


R = TypeVar("R", bound=Row)


def sums_with_parts(rows: Sequence[R]) -> Iterator[tuple[R, list[R]]]:
    """The rows that are sums, each with those of the rows that are parts of it."""
    for row in rows:
        parts = _parts_of(f"{row.label} {row.description}")
        if parts is not None:
            yield row, [each for each in rows if each is not row and parts.match(f"{each.label} {each.description}")]


def _parts_of(row: str) -> re.Pattern[str] | None:
    return next((part for whole, part in _PARTS_BY_SUM if whole.match(row)), None)
