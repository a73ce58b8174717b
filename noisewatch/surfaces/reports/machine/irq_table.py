"""The IRQs of a machine as a table: those of one device share a row where there are many, silent ones a line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.grouping import grouped
from noisewatch.kernel.interrupts.irqs import Irq, parse_actions
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.machine.words import UNKNOWN, brief, count, or_dash, yes
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.text import printable

_MOST_ROWS, _MOST_SILENT = 20, 12
_NUMBER, _LAST_NUMBER = regex(r"\d+"), regex(r"\d+(?=\D*$)")
_HEAD = ("IRQ", "COUNT", "DELIVERED TO", "ALLOWED", "MOVABLE", "ACTIONS", "DEVICE")


@dataclass(frozen=True, slots=True)
class ShownIrq:
    """One IRQ, and how often it came since boot; None is unknown."""

    number: int
    count: int | None
    actions: tuple[str, ...]
    irq: Irq | None

    @property
    def device(self) -> str | None:
        return self.irq.device if self.irq is not None else None

    @property
    def queue(self) -> tuple[str | None, str]:
        """What the queues of a device have in common: its name, and the driver's without the last number."""
        return self.device, _LAST_NUMBER.sub("*", self.driver) or self._alone

    @property
    def make(self) -> tuple[str | None, str]:
        """What devices of one driver have in common."""
        return self.device, _NUMBER.sub("*", self.driver) or self._alone

    @property
    def _alone(self) -> str:
        """Return the number of an IRQ whose device is unknown: it has nothing in common with others."""
        return "" if self.device is not None else str(self.number)

    @property
    def driver(self) -> str:
        return ", ".join(self.actions)


def irq_tables(snapshot: Snapshot, width: int, is_whole: bool) -> str:
    """The IRQs that came since boot, the busiest first, and in a line those that did not."""
    lines = _lines(snapshot)
    if lines is None:
        return "IRQs ?"
    busy = sorted((line for line in lines if line.count != 0), key=lambda line: -(line.count or 0))
    silent = [line for line in lines if line.count == 0]
    if is_whole:
        return align([_HEAD, *map(_row, [*busy, *silent])])
    groups = _folded(busy)
    groups.sort(key=lambda group: -sum(line.count or 0 for line in group))
    shown, rest = groups[:_MOST_ROWS], groups[_MOST_ROWS:]
    rows = [_row(group[0]) if len(group) == 1 else _row_of(group) for group in shown]
    said = [align([_HEAD, *rows])] if rows else []
    if rest:
        more = [line for group in rest for line in group]
        total = count(sum(line.count or 0 for line in more))
        said.append(f"{len(more)} other IRQ{'s' * (len(more) != 1)} since boot: {total} in all (-v shows each)")
    return "\n".join(said + ([_silent_words(silent, width)] if silent else []))


def _folded(busy: Sequence[ShownIrq]) -> list[list[ShownIrq]]:
    """Each IRQ by itself, or a device's together, or all devices' of a driver: as few rows as fit a page."""
    keys: tuple[Callable[[ShownIrq], object], ...] = (lambda line: line.number, lambda line: line.queue)
    for key in keys:
        if len(groups := grouped(busy, key)) <= _MOST_ROWS:
            return groups
    return grouped(busy, lambda line: line.make)


def _lines(snapshot: Snapshot) -> list[ShownIrq] | None:
    """All IRQs that are known of, by number; None where neither their counts nor their settings are."""
    if snapshot.interrupts is None and snapshot.irqs is None:
        return None
    counted: dict[int, tuple[int | None, tuple[str, ...]]] = {}
    for row in snapshot.interrupts.rows if snapshot.interrupts is not None else ():
        if row.irq is not None:  # two rows may have one number
            before, _ = counted.get(row.irq, (0, ()))
            times = None if before is None or row.counts is None else before + sum(row.counts)
            counted[row.irq] = times, parse_actions(row.description)
    known = snapshot.irqs.by_number if snapshot.irqs is not None else {}
    is_whole = snapshot.interrupts is not None and not snapshot.interrupts.is_cut_off
    absent = 0 if is_whole else None  # the kernel leaves out the rows of those that never came
    lines = []
    for number in sorted({*counted, *known}):
        irq = known.get(number)
        times, actions = counted.get(number, (absent, ()))
        lines.append(ShownIrq(number, times, irq.actions if irq is not None else actions, irq))
    return lines


def _row(line: ShownIrq) -> tuple[str, ...]:
    irq = line.irq
    return (
        str(line.number),
        _whole(line.count),
        cpus_of([irq.effective if irq is not None else None]),
        cpus_of([irq.allowed if irq is not None else None]),
        yes(irq.movable if irq is not None else None),
        line.driver,
        or_dash(line.device),
    )


def _row_of(group: Sequence[ShownIrq]) -> tuple[str, ...]:
    """Several IRQs: where any of them goes, and may go."""
    irqs = [line.irq for line in group]
    movable = {yes(irq.movable if irq is not None else None) for irq in irqs}
    numbers = [line.number for line in group]
    return (
        f"{min(numbers)}…{max(numbers)} ({len(numbers)})",
        _whole(None if None in {line.count for line in group} else sum(line.count or 0 for line in group)),
        cpus_of([irq.effective if irq is not None else None for irq in irqs]),
        cpus_of([irq.allowed if irq is not None else None for irq in irqs]),
        movable.pop() if len(movable) == 1 else "some",
        _in_common([line.driver for line in group]),
        or_dash(group[0].device),
    )


def cpus_of(sets: Sequence[CpuSet | None]) -> str:
    """The CPUs of all of the sets; unknown where one is."""
    known = [each for each in sets if each is not None]
    return brief(frozenset().union(*known)) if len(known) == len(sets) else UNKNOWN


def _whole(times: int | None) -> str:
    return UNKNOWN if times is None else f"{times:,}".replace(",", " ")


def _in_common(names: Sequence[str]) -> str:
    """`iavf-ens*-TxRx-*` of names that differ in numbers alone; a number that all have stays."""
    by_place = zip(*(_NUMBER.findall(name) for name in names), strict=False)
    numbers = iter([found[0] if len(set(found)) == 1 else "*" for found in by_place])
    return _NUMBER.sub(lambda match: next(numbers, match[0]), names[0])


def _silent_words(silent: Sequence[ShownIrq], width: int) -> str:
    """`silent since boot: 32 of nvme0q*, i801_smbus, 12 that nothing uses`."""
    used = [line for line in silent if line.actions]
    groups = sorted(grouped(used, lambda line: line.device or line.make), key=len, reverse=True)
    parts = [_owner(group) for group in groups[:_MOST_SILENT]]
    parts += [f"{more} more (-v)"] if (more := sum(map(len, groups[_MOST_SILENT:]))) else []
    parts += [f"{unused} that nothing uses"] if (unused := len(silent) - len(used)) else []
    said = f"silent since boot: {len(silent)} IRQs: {', '.join(parts)}"
    return "\n".join(textwrap.wrap(printable(said), width, subsequent_indent="  "))


def _owner(group: Sequence[ShownIrq]) -> str:
    """`12 of eth0`: the device, or else the driver."""
    known = group[0].device
    name = known if known not in (None, "none") else _in_common([line.driver for line in group])
    return f"{len(group)} of {name}" if len(group) > 1 else name
