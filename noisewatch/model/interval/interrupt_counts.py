"""How many interrupts and softirqs each CPU took between two snapshots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

from noisewatch.kernel.interrupts.kinds import sums_with_parts
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, InterruptRow, Interrupts, Softirqs
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet

_COUNTER_SIZE = 1 << 32  # most architectures count interrupts in 32 bits
_SHOWN_LATE = frozenset({"SPU", "RTR", "ERR", "MIS", "MCE", "NMI"})  # on some kernels only once they have counted any

_Pick = Callable[[Sequence[int]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class RowCount:
    """What one row of a table counted; CPUs without a count are left out."""

    label: str
    description: str
    irq: int | None
    count_by_cpu: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class InterruptCounts:
    """The rows that counted anything; None, with the reason, where the tables cannot be compared.

    `cpus` are those that are in both tables: of any other nothing is known.
    """

    rows: tuple[RowCount, ...] | None
    reason: str | None = None
    cpus: CpuSet = frozenset()
    _on_cpu: Mapping[int, Sequence[tuple[RowCount, int]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Looks through the rows once, and not once a CPU: a large machine has a thousand of either."""
        on_cpu: dict[int, list[tuple[RowCount, int]]] = defaultdict(list)
        for row in self.rows or ():
            for cpu, count in row.count_by_cpu.items():
                on_cpu[cpu].append((row, count))
        object.__setattr__(self, "_on_cpu", dict(on_cpu))

    def on_cpu(self, cpu: int) -> Sequence[tuple[RowCount, int]]:
        """The rows that counted anything there, and how much."""
        return self._on_cpu.get(cpu, ())

    def is_known(self, cpu: int) -> bool:
        """Whether all that the CPU took was counted."""
        return self.rows is not None and cpu in self.cpus

    def by_cpu(self) -> dict[int, int]:
        """All that each CPU took, of which all is known."""
        if self.rows is None:
            return {}
        sums = sums_of(self.rows)
        return {cpu: sums.get(cpu, 0) for cpu in self.cpus}


def sums_of(rows: Iterable[RowCount]) -> Mapping[int, int]:
    """By CPU what all of these rows counted: row after row, as there may be many CPUs, and few rows that count much."""
    sums: dict[int, int] = {}
    for row in rows:
        for cpu, count in row.count_by_cpu.items():
            sums[cpu] = sums.get(cpu, 0) + count
    return sums


def count_interrupts(before: Interrupts | None, after: Interrupts | None) -> InterruptCounts:
    """The interrupts between two tables, for the CPUs that are in both.

    A device's row may come, go and start anew with its driver; then what it shows now has been counted since. The
    architecture's rows never go: where one is missing or runs backwards, the file was not whole.
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
    counted = []
    for old, row in pairs:
        if row is None or row.counts is None:
            continue
        old_counts = before_of(old.counts) if old is not None and old.counts is not None else None
        count_by_cpu = _difference(shared, old_counts, after_of(row.counts), row.irq is not None)
        if min(count_by_cpu.values(), default=0) < 0:
            return InterruptCounts(None, f"{INTERRUPTS} was incomplete: row {row.label} ran backwards")
        if count_by_cpu:
            counted.append(RowCount(row.label, row.description, row.irq, count_by_cpu))
    if shared and not counted:
        return InterruptCounts(None, stood_still(INTERRUPTS))
    return InterruptCounts(tuple(_each_once(counted, after.release)), None, frozenset(shared))


def _each_once(rows: Sequence[RowCount], release: tuple[int, int] | None) -> Iterator[RowCount]:
    """The rows, and of those that are sums only what no other row has counted."""
    parts_by_sum = {id(row): parts for row, parts in sums_with_parts(rows, release) if parts}
    for row in rows:
        parts = parts_by_sum.get(id(row))
        if parts is None:
            yield row
            continue
        counted = row.count_by_cpu.items()
        rest = {cpu: count - sum(part.count_by_cpu.get(cpu, 0) for part in parts) for cpu, count in counted}
        if any(count > 0 for count in rest.values()):
            yield replace(row, count_by_cpu={cpu: count for cpu, count in rest.items() if count > 0})


_Pair = tuple[InterruptRow | None, InterruptRow | None]


def _pairs(before: Sequence[InterruptRow], after: Sequence[InterruptRow]) -> Sequence[_Pair]:
    """The rows as they were and as they are, None where there was or is none; less those that are the same object.

    Mostly none came or went, and each is where it was.
    """
    moved = [pair for pair in zip(before, after, strict=False) if pair[0] is not pair[1]]
    if len(before) == len(after) and all(old.label == new.label for old, new in moved):
        return moved
    old_rows, new_rows = _numbered(before), _numbered(after)
    pairs = [(old_rows.get(key), row) for key, row in new_rows.items()]
    went = [(row, None) for key, row in old_rows.items() if key not in new_rows]
    return [*(pair for pair in pairs if pair[0] is not pair[1]), *went]


def _missing(old: InterruptRow | None, new: InterruptRow | None) -> InterruptRow | None:
    """The row that is in one table only, where it cannot have come or gone: an architecture's own."""
    if old is None and new is not None:
        return new if new.irq is None and new.label not in _SHOWN_LATE else None
    return old if new is None and old is not None and old.irq is None else None


def _numbered(rows: Sequence[InterruptRow]) -> dict[tuple[str, int], InterruptRow]:
    """The rows by label; two rows with one label stay two rows."""
    numbered = {(row.label, 0): row for row in rows}
    if len(numbered) == len(rows):
        return numbered
    seen: Counter[str] = Counter()
    for row in rows:
        numbered[row.label, seen[row.label]] = row
        seen[row.label] += 1
    return numbered


def _grown(old: int, new: int) -> int:
    """The growth of a 32-bit counter that may have passed its end; negative for one that started anew."""
    wrapped = new + _COUNTER_SIZE - old
    return wrapped if new < old and old > _COUNTER_SIZE // 2 and wrapped < _COUNTER_SIZE // 4 else new - old


def _shared_columns(before: Sequence[int], after: Sequence[int]) -> tuple[Sequence[int], _Pick, _Pick]:
    """The CPUs that are in both tables, and what takes their counts from a row of either."""
    if before == after:
        return after, _as_they_are, _as_they_are
    known = frozenset(before)
    shared = tuple(cpu for cpu in after if cpu in known)
    return shared, _picker(before, shared), _picker(after, shared)


def _as_they_are(counts: Sequence[int]) -> Sequence[int]:
    return counts


def _picker(columns: Sequence[int], cpus: Sequence[int]) -> _Pick:
    """What takes the counts of those CPUs from a row that has a count for each of `columns`."""
    if columns == cpus:
        return _as_they_are
    column_of = {cpu: column for column, cpu in enumerate(columns)}
    return lambda counts: [counts[column_of[cpu]] for cpu in cpus]


def _difference(cpus: Sequence[int], old: Sequence[int] | None, new: Sequence[int], is_device: bool) -> dict[int, int]:
    """The CPUs whose count moved; `old` is None of a row that is new. Few move on a large machine."""
    if old is None:
        return {cpu: count for cpu, count in zip(cpus, new, strict=True) if count}
    moved = compress(zip(cpus, old, new, strict=True), map(ne, old, new))
    difference = {cpu: count - was if count > was else _grown(was, count) for cpu, was, count in moved}
    if is_device and min(difference.values(), default=0) < 0:
        return _difference(cpus, None, new, is_device)
    return difference


def count_softirqs(before: Softirqs | None, after: Softirqs | None) -> InterruptCounts:
    """The softirqs between two tables, for the CPUs that are in both."""
    if before is None or after is None:
        return InterruptCounts(None, f"{SOFTIRQS} could not be read")
    if [row.label for row in before.rows] != [row.label for row in after.rows]:
        return InterruptCounts(None, f"{SOFTIRQS} was incomplete")
    shared, before_of, after_of = _shared_columns(before.cpus, after.cpus)
    counted = []
    for old, new in zip(before.rows, after.rows, strict=True):
        counts = before_of(old.counts), after_of(new.counts)
        moved = compress(zip(shared, *counts, strict=True), map(ne, *counts))
        difference = {cpu: count - was for cpu, was, count in moved}
        if min(difference.values(), default=0) < 0:
            return InterruptCounts(None, f"{SOFTIRQS} was incomplete: row {new.label} ran backwards")
        if difference:
            counted.append(RowCount(new.label, new.label, None, difference))
    if shared and not counted:
        return InterruptCounts(None, stood_still(SOFTIRQS))
    return InterruptCounts(tuple(counted), None, frozenset(shared))


def stood_still(path: str) -> str:
    """Why a file in which something always moves, be it by our reading it, tells nothing: damaged, cached, covered."""
    return f"{path} stood still: none of its counts moved, but on a running machine some always do"
