"""Counts of interrupts and softirqs on each CPU between two snapshots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress, pairwise
from operator import ne
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, InterruptRow, Interrupts, Softirqs, sums_with_parts

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet

_COUNTER_SIZE = 1 << 32  # most architectures count interrupts in 32 bits
_SHOWN_LATE = frozenset({"SPU", "RTR", "ERR", "MIS", "MCE", "NMI"})  # some kernels hide these rows while they are 0

_Pick = Callable[[Sequence[int]], Sequence[int]]


class RowCount(Struct, frozen=True):
    """The growth of one row's counts by CPU; CPUs without growth are left out."""

    label: str
    description: str
    irq: int | None
    count_by_cpu: Mapping[int, int]


class InterruptCounts(Struct, frozen=True, dict=True):
    """The rows whose counts grew. If the tables cannot be compared, `rows` is None, and `reason` explains why.

    `cpus` are the CPUs in both tables. The counts of other CPUs are unknown.
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
        """Return the rows whose count grew on the CPU, each with its growth."""
        return self._on_cpu.get(cpu, ())

    def is_known(self, cpu: int) -> bool:
        """Return whether all interrupts of the CPU were counted."""
        return self.rows is not None and cpu in self.cpus

    def by_cpu(self) -> dict[int, int]:
        """Return the sum of all rows for each CPU in both tables; empty if the tables cannot be compared."""
        if self.rows is None:
            return {}
        sums = sums_of(self.rows)
        return {cpu: sums.get(cpu, 0) for cpu in self.cpus}


def sums_of(rows: Iterable[RowCount]) -> Mapping[int, int]:
    """Return the sums of the rows by CPU."""
    sums: dict[int, int] = {}
    for row in rows:
        for cpu, count in row.count_by_cpu.items():
            sums[cpu] = sums.get(cpu, 0) + count
    return sums


def count_interrupts(before: Interrupts | None, after: Interrupts | None) -> InterruptCounts:
    """Count the interrupts between two tables, on the CPUs in both.

    A device's row may appear, disappear or restart with its driver. Its counts then start at that event. Rows of the
    architecture never disappear: if one is missing or decreases, the file was incomplete.
    """
    if before is None or after is None:
        return InterruptCounts(None, f"{INTERRUPTS} could not be read")
    uncounted = before.uncounted or after.uncounted
    if uncounted:
        return InterruptCounts(None, f"{INTERRUPTS}: no counts for {', '.join(uncounted)}")
    pairs = _pairs(before.rows, after.rows)
    missing = next((row for pair in pairs if (row := _missing_row(*pair)) is not None), None)
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
        return InterruptCounts(None, unchanged_reason(INTERRUPTS))
    return InterruptCounts(tuple(_subtract_parts(row_counts, after.release)), None, frozenset(shared))


def count_through(
    first: Interrupts | None, between: Iterable[Interrupts | None], last: Interrupts | None
) -> InterruptCounts:
    """Count the interrupts from the first to the last table, with those of devices that left or restarted in between.

    Both ends alone lack such a device's counts. The counts from one table to the next lack CPUs that were offline, but
    none of them is too large. So the larger one counts.
    """
    whole, tables = count_interrupts(first, last), [table for table in between if table is not None]
    if whole.rows is None or not tables:
        return whole
    sums: dict[str, dict[int, int]] = defaultdict(dict)
    row_by_label: dict[str, RowCount] = {}
    for before, after in pairwise((first, *tables, last)):
        for row in count_interrupts(before, after).rows or ():
            if row.irq is not None:
                row_by_label[row.label], counts = row, sums[row.label]
                counts.update({cpu: counts.get(cpu, 0) + count for cpu, count in row.count_by_cpu.items()})
    rows = [row for row in whole.rows if row.label not in sums]
    whole_by_label = {row.label: row.count_by_cpu for row in whole.rows}
    for label, row in row_by_label.items():
        count_by_cpu = _larger(whole_by_label.get(label, {}), sums[label], whole.cpus)
        rows += [replace(row, count_by_cpu=count_by_cpu)] if count_by_cpu else []
    return replace(whole, rows=tuple(rows))


def _larger(one: Mapping[int, int], other: Mapping[int, int], cpus: CpuSet) -> dict[int, int]:
    """Return the larger count of each of the CPUs; a missing count is 0."""
    return {cpu: max(one.get(cpu, 0), other.get(cpu, 0)) for cpu in sorted((one.keys() | other.keys()) & cpus)}


def loses_counts(before: Interrupts, after: Interrupts) -> bool:
    """Return whether a device of the first table left or restarted, so that the second one lacks its counts."""
    _, before_of, after_of = _shared_columns(before.cpus, after.cpus)
    for old, new in _pairs(before.rows, after.rows):
        if old is None or old.irq is None or old.counts is None or not any(old.counts):
            continue
        if (
            new is None
            or new.counts is None
            or min(map(_growth, before_of(old.counts), after_of(new.counts)), default=0) < 0
        ):
            return True
    return False


def _subtract_parts(rows: Sequence[RowCount], release: tuple[int, int] | None) -> Iterator[RowCount]:
    """Yield the rows; from a row that includes other rows, their counts are subtracted."""
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
    """Return pairs of the old and the new row (None if missing), without unchanged rows, which are the same object.

    Usually no row appears or disappears, and all keep their places.
    """
    moved = [pair for pair in zip(before, after, strict=False) if pair[0] is not pair[1]]
    if len(before) == len(after) and all(old.label == new.label for old, new in moved):
        return moved
    old_rows, new_rows = _number_rows(before), _number_rows(after)
    pairs = [(old_rows.get(key), row) for key, row in new_rows.items()]
    went = [(row, None) for key, row in old_rows.items() if key not in new_rows]
    return [*(pair for pair in pairs if pair[0] is not pair[1]), *went]


def _missing_row(old: InterruptRow | None, new: InterruptRow | None) -> InterruptRow | None:
    """Return the architecture's row if only one of the tables contains it, although every table should; else None."""
    if old is None and new is not None:
        return new if new.irq is None and new.label not in _SHOWN_LATE else None
    return old if new is None and old is not None and old.irq is None else None


def _number_rows(rows: Sequence[InterruptRow]) -> dict[tuple[str, int], InterruptRow]:
    """Return the rows by label, and by number among rows with the same label."""
    numbered = {(row.label, 0): row for row in rows}
    if len(numbered) == len(rows):
        return numbered
    count_by_label: Counter[str] = Counter()
    for row in rows:
        numbered[row.label, count_by_label[row.label]] = row
        count_by_label[row.label] += 1
    return numbered


def _growth(old: int, new: int) -> int:
    """Return the growth of a 32-bit counter that may have wrapped around, or a negative number if it restarted."""
    wrapped = new + _COUNTER_SIZE - old
    return wrapped if new < old and old > _COUNTER_SIZE // 2 and wrapped < _COUNTER_SIZE // 4 else new - old


def _shared_columns(before: Sequence[int], after: Sequence[int]) -> tuple[Sequence[int], _Pick, _Pick]:
    """Return the CPUs in both tables, and for each table a function that picks their counts from a row."""
    if before == after:
        return after, _pick_all, _pick_all
    earlier_cpus = frozenset(before)
    shared = tuple(cpu for cpu in after if cpu in earlier_cpus)
    return shared, _picker(before, shared), _picker(after, shared)


def _pick_all(counts: Sequence[int]) -> Sequence[int]:
    return counts


def _picker(columns: Sequence[int], cpus: Sequence[int]) -> _Pick:
    """Return a function that picks the counts of `cpus` from a row with a count for each CPU in `columns`."""
    if columns == cpus:
        return _pick_all
    column_of = {cpu: column for column, cpu in enumerate(columns)}
    return lambda counts: [counts[column_of[cpu]] for cpu in cpus]


def _difference(cpus: Sequence[int], old: Sequence[int] | None, new: Sequence[int], is_device: bool) -> dict[int, int]:
    """Return the counts' changes by CPU, without zeros: on a large machine few change. `old` is None for a new row."""
    if old is None:
        return {cpu: count for cpu, count in zip(cpus, new, strict=True) if count}
    moved = compress(zip(cpus, old, new, strict=True), map(ne, old, new))
    difference = {cpu: count - was if count > was else _growth(was, count) for cpu, was, count in moved}
    if is_device and min(difference.values(), default=0) < 0:
        return _difference(cpus, None, new, is_device)
    return difference


def count_softirqs(before: Softirqs | None, after: Softirqs | None) -> InterruptCounts:
    """Count the softirqs between two tables, on the CPUs in both."""
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
        return InterruptCounts(None, unchanged_reason(SOFTIRQS))
    return InterruptCounts(tuple(row_counts), None, frozenset(shared))


def unchanged_reason(path: str) -> str:
    """Return the reason for rejecting unchanged counters, whose file is damaged, cached or covered by a mount."""
    return f"{path} did not advance: on a running machine some of its counts always grow"
