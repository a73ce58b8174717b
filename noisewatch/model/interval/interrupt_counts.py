"""Counts of interrupts and softirqs on each CPU between two snapshots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, InterruptRow, Interrupts, Softirqs, sums_with_parts

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet

_COUNTER_SIZE = 1 << 32  # most architectures count interrupts in 32 bits
_SHOWN_LATE = frozenset({"SPU", "RTR", "ERR", "MIS", "MCE", "NMI"})  # on some kernels only once they have counted any

_Pick = Callable[[Sequence[int]], Sequence[int]]


class RowCount(Struct, frozen=True):
    """The counts of one row of a table; CPUs without a count are left out."""

    label: str
    description: str
    irq: int | None
    count_by_cpu: Mapping[int, int]


class InterruptCounts(Struct, frozen=True, dict=True):
    """The rows whose counts grew; None, with the reason, if the tables cannot be compared.

    `cpus` are the CPUs in both tables; counts of other CPUs are unknown.
    """

    rows: tuple[RowCount, ...] | None
    reason: str | None = None
    cpus: CpuSet = frozenset()

    @cached_property
    def _on_cpu(self) -> Mapping[int, Sequence[tuple[RowCount, int]]]:
        """The rows by CPU, indexed once, because a large machine has a thousand rows and CPUs."""
        on_cpu: dict[int, list[tuple[RowCount, int]]] = defaultdict(list)
        for row in self.rows or ():
            for cpu, count in row.count_by_cpu.items():
                on_cpu[cpu].append((row, count))
        return on_cpu

    def on_cpu(self, cpu: int) -> Sequence[tuple[RowCount, int]]:
        """Return the rows whose counts grew on the CPU, with the growth."""
        return self._on_cpu.get(cpu, ())

    def is_known(self, cpu: int) -> bool:
        """Return whether all interrupts of the CPU were counted."""
        return self.rows is not None and cpu in self.cpus

    def by_cpu(self) -> dict[int, int]:
        """Return the sum of all rows for each CPU that is completely counted."""
        if self.rows is None:
            return {}
        sums = sums_of(self.rows)
        return {cpu: sums.get(cpu, 0) for cpu in self.cpus}


def sums_of(rows: Iterable[RowCount]) -> Mapping[int, int]:
    """Return the sum of all rows for each CPU."""
    sums: dict[int, int] = {}
    for row in rows:
        for cpu, count in row.count_by_cpu.items():
            sums[cpu] = sums.get(cpu, 0) + count
    return sums


def count_interrupts(before: Interrupts | None, after: Interrupts | None) -> InterruptCounts:
    """Count the interrupts between two tables, on the CPUs that are in both.

    A device's row may appear, disappear or restart with its driver; its counts are then since that event. The
    architecture's rows never disappear: if one is missing or runs backwards, the file was incomplete.
    """
    if before is None or after is None:
        return InterruptCounts(None, f"{INTERRUPTS} could not be read")
    uncounted = before.uncounted or after.uncounted
    if uncounted:
        return InterruptCounts(None, f"{INTERRUPTS}: no counts in row {', '.join(uncounted)}")
    pairs = _pairs(before.rows, after.rows)
    missing = next((row for pair in pairs if (row := _missing(*pair)) is not None), None)
    if missing is not None:
        return InterruptCounts(None, f"{INTERRUPTS} was incomplete: row {missing.label} is missing")
    shared, before_of, after_of = _shared_columns(before.cpus, after.cpus)
    row_counts = []
    for old, row in pairs:
        if row is None or row.counts is None:
            continue
        old_counts = before_of(old.counts) if old is not None and old.counts is not None else None
        count_by_cpu = _difference(shared, old_counts, after_of(row.counts), row.irq is not None)
        if min(count_by_cpu.values(), default=0) < 0:
            return InterruptCounts(None, f"{INTERRUPTS} was incomplete: row {row.label} ran backwards")
        if count_by_cpu:
            row_counts.append(RowCount(row.label, row.description, row.irq, count_by_cpu))
    if shared and not row_counts:
        return InterruptCounts(None, stood_still(INTERRUPTS))
    return InterruptCounts(tuple(_subtract_parts(row_counts, after.release)), None, frozenset(shared))


def _subtract_parts(rows: Sequence[RowCount], release: tuple[int, int] | None) -> Iterator[RowCount]:
    """Yield the rows; a row that sums up others is reduced to what the others have not counted."""
    parts_by_sum = {id(row): parts for row, parts in sums_with_parts(rows, release) if parts}
    for row in rows:
        parts = parts_by_sum.get(id(row))
        if parts is None:
            yield row
            continue
        counts = row.count_by_cpu.items()
        rest = {cpu: count - sum(part.count_by_cpu.get(cpu, 0) for part in parts) for cpu, count in counts}
        if any(count > 0 for count in rest.values()):
            yield replace(row, count_by_cpu={cpu: count for cpu, count in rest.items() if count > 0})


_Pair = tuple[InterruptRow | None, InterruptRow | None]


def _pairs(before: Sequence[InterruptRow], after: Sequence[InterruptRow]) -> Sequence[_Pair]:
    """Return pairs of the old and the new row, None for a missing one, without pairs of the same object.

    Usually no row appears or disappears, and all keep their places.
    """
    moved = [pair for pair in zip(before, after, strict=False) if pair[0] is not pair[1]]
    if len(before) == len(after) and all(old.label == new.label for old, new in moved):
        return moved
    old_rows, new_rows = _numbered(before), _numbered(after)
    pairs = [(old_rows.get(key), row) for key, row in new_rows.items()]
    went = [(row, None) for key, row in old_rows.items() if key not in new_rows]
    return [*(pair for pair in pairs if pair[0] is not pair[1]), *went]


def _missing(old: InterruptRow | None, new: InterruptRow | None) -> InterruptRow | None:
    """Return a row of the architecture that is in only one table, or None: such rows never appear or disappear."""
    if old is None and new is not None:
        return new if new.irq is None and new.label not in _SHOWN_LATE else None
    return old if new is None and old is not None and old.irq is None else None


def _numbered(rows: Sequence[InterruptRow]) -> dict[tuple[str, int], InterruptRow]:
    """Return the rows by label and number; two rows with one label remain two rows."""
    numbered = {(row.label, 0): row for row in rows}
    if len(numbered) == len(rows):
        return numbered
    count_by_label: Counter[str] = Counter()
    for row in rows:
        numbered[row.label, count_by_label[row.label]] = row
        count_by_label[row.label] += 1
    return numbered


def _grown(old: int, new: int) -> int:
    """Return the growth of a 32-bit counter that may have wrapped around; negative for a counter that restarted."""
    wrapped = new + _COUNTER_SIZE - old
    return wrapped if new < old and old > _COUNTER_SIZE // 2 and wrapped < _COUNTER_SIZE // 4 else new - old


def _shared_columns(before: Sequence[int], after: Sequence[int]) -> tuple[Sequence[int], _Pick, _Pick]:
    """Return the CPUs in both tables, and functions that pick their counts from a row of each table."""
    if before == after:
        return after, _as_they_are, _as_they_are
    earlier_cpus = frozenset(before)
    shared = tuple(cpu for cpu in after if cpu in earlier_cpus)
    return shared, _picker(before, shared), _picker(after, shared)


def _as_they_are(counts: Sequence[int]) -> Sequence[int]:
    return counts


def _picker(columns: Sequence[int], cpus: Sequence[int]) -> _Pick:
    """Return a function that picks the counts of `cpus` from a row with a count per CPU of `columns`."""
    if columns == cpus:
        return _as_they_are
    column_of = {cpu: column for column, cpu in enumerate(columns)}
    return lambda counts: [counts[column_of[cpu]] for cpu in cpus]


def _difference(cpus: Sequence[int], old: Sequence[int] | None, new: Sequence[int], is_device: bool) -> dict[int, int]:
    """Return the changes of the counts by CPU; `old` is None for a new row. Few change on a large machine."""
    if old is None:
        return {cpu: count for cpu, count in zip(cpus, new, strict=True) if count}
    moved = compress(zip(cpus, old, new, strict=True), map(ne, old, new))
    difference = {cpu: count - was if count > was else _grown(was, count) for cpu, was, count in moved}
    if is_device and min(difference.values(), default=0) < 0:
        return _difference(cpus, None, new, is_device)
    return difference


def count_softirqs(before: Softirqs | None, after: Softirqs | None) -> InterruptCounts:
    """Count the softirqs between two tables, on the CPUs that are in both."""
    if before is None or after is None:
        return InterruptCounts(None, f"{SOFTIRQS} could not be read")
    if [row.label for row in before.rows] != [row.label for row in after.rows]:
        return InterruptCounts(None, f"{SOFTIRQS} was incomplete")
    shared, before_of, after_of = _shared_columns(before.cpus, after.cpus)
    row_counts = []
    for old, new in zip(before.rows, after.rows, strict=True):
        counts = before_of(old.counts), after_of(new.counts)
        moved = compress(zip(shared, *counts, strict=True), map(ne, *counts))
        difference = {cpu: count - was for cpu, was, count in moved}
        if min(difference.values(), default=0) < 0:
            return InterruptCounts(None, f"{SOFTIRQS} was incomplete: row {new.label} ran backwards")
        if difference:
            row_counts.append(RowCount(new.label, new.label, None, difference))
    if shared and not row_counts:
        return InterruptCounts(None, stood_still(SOFTIRQS))
    return InterruptCounts(tuple(row_counts), None, frozenset(shared))


def stood_still(path: str) -> str:
    """Return why a file of counters without any change (damaged, cached or hidden by a mount) is unusable."""
    return f"{path} stood still: on a running machine some of its counts always grow"
