"""How many interrupts and softirqs each CPU took between two snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.sources.interrupts import InterruptRow, Interrupts
from noisewatch.sources.softirqs import Softirqs

_COUNTER_SIZE = 1 << 32  # most architectures count interrupts in 32 bits


@dataclass(frozen=True, slots=True)
class RowCount:
    """What one row of a table counted; CPUs without a count are left out."""

    label: str
    description: str
    irq: int | None
    count_by_cpu: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows that counted anything; None, with the reason, where the tables cannot be compared."""

    rows: tuple[RowCount, ...] | None
    reason: str | None = None

    def of_cpu(self, cpu: int) -> int | None:
        """All that the CPU took; None is unknown."""
        return None if self.rows is None else sum(row.count_by_cpu.get(cpu, 0) for row in self.rows)


def count_interrupts(before: Interrupts | None, after: Interrupts | None) -> Counts:
    """The interrupts between two tables, for the CPUs that are in both.

    A device's row may come, go and start anew with its driver; then what it shows now has been counted since. The
    architecture's rows never do: where one is missing or runs backwards, the file was not whole.
    """
    if before is None or after is None:
        return Counts(None, "/proc/interrupts could not be read")
    old_rows = _numbered(before.rows)
    new_rows = _numbered(after.rows)
    for key, row in {**old_rows, **new_rows}.items():
        if row.irq is None and not (key in old_rows and key in new_rows):
            return Counts(None, f"/proc/interrupts was not whole: row {row.label} is missing")
    columns_before = {cpu: column for column, cpu in enumerate(before.cpus)}
    shared = [(cpu, columns_before[cpu], column) for column, cpu in enumerate(after.cpus) if cpu in columns_before]
    counted = []
    for key, row in new_rows.items():
        old = old_rows.get(key)
        if row is old or row.counts is None:
            continue
        count_by_cpu = _difference(old, row, shared)
        if any(count < 0 for count in count_by_cpu.values()):
            return Counts(None, f"/proc/interrupts was not whole: row {row.label} ran backwards")
        if count_by_cpu:
            counted.append(RowCount(row.label, row.description, row.irq, count_by_cpu))
    return Counts(tuple(counted))


def _numbered(rows: tuple[InterruptRow, ...]) -> dict[tuple[str, int], InterruptRow]:
    """The rows by label; two rows with one label stay two rows."""
    seen: Counter[str] = Counter()
    numbered = {}
    for row in rows:
        numbered[row.label, seen[row.label]] = row
        seen[row.label] += 1
    return numbered


def _grown(old: int, new: int) -> int:
    """The growth of a 32-bit counter that may have passed its end; negative for one that started anew."""
    wrapped = new + _COUNTER_SIZE - old
    return wrapped if new < old and old > _COUNTER_SIZE // 2 and wrapped < _COUNTER_SIZE // 4 else new - old


def _difference(old: InterruptRow | None, new: InterruptRow, shared: list[tuple[int, int, int]]) -> dict[int, int]:
    """The CPUs whose count moved."""
    counts = new.counts or ()
    if old is None or old.counts is None:
        return {cpu: counts[column] for cpu, _, column in shared if counts[column]}
    difference = {
        cpu: _grown(old.counts[was], counts[column]) for cpu, was, column in shared if counts[column] != old.counts[was]
    }
    if new.irq is not None and any(count < 0 for count in difference.values()):
        return {cpu: counts[column] for cpu, _, column in shared if counts[column]}
    return difference


def count_softirqs(before: Softirqs | None, after: Softirqs | None) -> Counts:
    """The softirqs between two tables, for the CPUs that are in both."""
    if before is None or after is None:
        return Counts(None, "/proc/softirqs could not be read")
    if [row.label for row in before.rows] != [row.label for row in after.rows]:
        return Counts(None, "/proc/softirqs was not whole")
    columns = {cpu: column for column, cpu in enumerate(before.cpus)}
    counted = []
    for old, new in zip(before.rows, after.rows, strict=True):
        difference = {
            cpu: new.counts[column] - old.counts[columns[cpu]]
            for column, cpu in enumerate(after.cpus)
            if cpu in columns and new.counts[column] != old.counts[columns[cpu]]
        }
        if any(count < 0 for count in difference.values()):
            return Counts(None, f"/proc/softirqs was not whole: row {new.label} ran backwards")
        if difference:
            counted.append(RowCount(new.label, new.label, None, difference))
    return Counts(tuple(counted))
