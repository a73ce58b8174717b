"""Interrupts of an interval and settings of a snapshot as lines of a frame: the sampler's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kernel.interrupts.irqs import Irq, parse_actions
from noisewatch.kernel.interrupts.kinds import kind_of
from noisewatch.kernel.interrupts.table import InterruptRow
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Kind
from noisewatch.model.interval.interrupt_counts import InterruptCounts
from noisewatch.operations.frame.irqs import IrqLine, IrqSetting

_NO_DEVICE = "none"
_EXACT_BELOW = 10.0


def irq_lines(counts: InterruptCounts, seconds: float) -> tuple[IrqLine, ...] | None:
    """Return the rows that counted anything, or None if that is unknown, as `counts.reason` explains."""
    if counts.rows is None or seconds <= 0:
        return None
    count_by_label: dict[str, dict[int, int]] = {}
    for row in counts.rows:
        known = count_by_label.setdefault(row.label, {})  # POWER9 has two rows of one label
        for cpu, count in row.count_by_cpu.items():
            known[cpu] = known.get(cpu, 0) + count
    return tuple(_irq_line(label, count_by_cpu, seconds) for label, count_by_cpu in count_by_label.items())


def _irq_line(label: str, count_by_cpu: Mapping[int, int], seconds: float) -> IrqLine:
    cpus = tuple(sorted(count_by_cpu))
    rates = (count_by_cpu[cpu] / seconds for cpu in cpus)
    return IrqLine(
        label=label,
        cpus=cpus,
        rates=tuple(round(rate, 2) if rate < _EXACT_BELOW else round(rate) for rate in rates),
    )


def irq_settings(snapshot: Snapshot) -> tuple[IrqSetting, ...]:
    """Return all rows of the table, then those that are in /proc/irq alone; none if neither can be read."""
    rows = snapshot.interrupts.rows if snapshot.interrupts is not None else ()
    irqs = snapshot.irqs.by_number if snapshot.irqs is not None else {}
    setting_by_label = {setting.label: setting for setting in _settings(rows, irqs)}
    return tuple(setting_by_label.values())


def _settings(rows: tuple[InterruptRow, ...], irqs: Mapping[int, Irq]) -> Iterator[IrqSetting]:
    for row in rows:
        if row.irq is not None and row.irq in irqs:
            yield _setting(irqs[row.irq])
            continue
        kind = kind_of(row.label, row.description)
        if kind != Kind.NO_INTERRUPT:
            actions = parse_actions(row.description) if row.irq is not None else ()
            is_fixed = None if row.irq is not None and kind == Kind.IRQ else False
            name = ", ".join(actions) or row.description
            yield IrqSetting(row.label, kind, name, movable=is_fixed, is_managed=is_fixed)
    numbers = {row.irq for row in rows}
    yield from (_setting(irq) for number, irq in irqs.items() if number not in numbers)


def _setting(irq: Irq) -> IrqSetting:
    return IrqSetting(
        label=str(irq.irq),
        kind=irq.kind,
        name=", ".join(irq.actions),
        device=None if irq.device == _NO_DEVICE else irq.device,
        allowed=_listed(irq.allowed),
        effective=_listed(irq.effective),
        movable=irq.movable,
        is_managed=irq.is_managed,
    )


def _listed(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else format_cpu_list(cpus)
