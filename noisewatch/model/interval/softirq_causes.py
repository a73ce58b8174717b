"""Softirqs caused by device interrupts on the same CPU, such as NET_RX by a network card, or BLOCK by a disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from noisewatch.kernel.interrupts.irqs import Irq, Irqs, parse_actions
from noisewatch.model.interval.disturbance import is_of_a_device
from noisewatch.model.interval.interrupt_counts import sums_of
from noisewatch.model.vocabulary import DISK, NETWORK, kinds_of_device

if TYPE_CHECKING:
    from noisewatch.model.interval.interrupt_counts import RowCount
    from noisewatch.model.interval.interval import Interval

# The kind of device that causes each softirq; None is any device. TIMER, SCHED and RCU follow the CPU's own tick.
_KIND_BY_LABEL = {"NET_TX": NETWORK, "NET_RX": NETWORK, "BLOCK": DISK, "HI": None, "TASKLET": None, "IRQ_POLL": None}
DEVICE_WORK = frozenset(_KIND_BY_LABEL)
_ROUNDS_PER_INTERRUPT = 10  # a network driver under load polls several times before its next interrupt
_LONGEST_ROUND_NS = 100_000  # time to poll 64 packets


def device_work(interval: Interval) -> Mapping[int, int]:
    """Return the number of device softirqs by CPU, without CPUs that ran none."""
    rows = interval.softirqs.rows or ()
    return interval.compute_once(device_work, lambda: sums_of(row for row in rows if row.label in DEVICE_WORK))


def unexplained_work(interval: Interval, cpu: int) -> Counter[str]:
    """Count the softirqs, by label, that device interrupts on the same CPU do not explain.

    The interrupts themselves are judged separately.
    """
    counts = _counts(interval, cpu)
    by_kind = _work(counts)
    own = {kind: _interrupts(interval, cpu, kind) * _ROUNDS_PER_INTERRUPT for kind in by_kind}
    return Counter({label: n for label, n in counts.items() if by_kind[kind := _KIND_BY_LABEL[label]] > own[kind]})


def is_explained_by(label: str, rate_per_s: float, irqs: Iterable[tuple[Irq, float]]) -> bool:
    """Return whether device interrupts at these rates (per second) explain all softirqs `label` on their CPU."""
    kind = _KIND_BY_LABEL.get(label)
    own = sum(rate for irq, rate in irqs if kind is not None and kind in kinds_of_device(irq.actions, irq.device))
    return 0 < rate_per_s <= own * _ROUNDS_PER_INTERRUPT


def explained_ns(interval: Interval, cpu: int, softirq_ns: int) -> float:
    """Return the part of `softirq_ns` that the CPU's own device interrupts explain.

    For each kind of device, this is at most 100 µs per interrupt, and at most the kind's share of `softirq_ns`, in
    proportion to its number of softirqs.
    """
    by_kind = _work(_counts(interval, cpu))
    return sum(
        min(_interrupts(interval, cpu, kind) * _LONGEST_ROUND_NS, softirq_ns * count / by_kind.total())
        for kind, count in by_kind.items()
    )


def _counts(interval: Interval, cpu: int) -> Mapping[str, int]:
    return {row.label: count for row, count in interval.softirqs.on_cpu(cpu) if row.label in DEVICE_WORK}


def _work(counts: Mapping[str, int]) -> Counter[str | None]:
    by_kind: Counter[str | None] = Counter()
    for label, count in counts.items():
        by_kind[_KIND_BY_LABEL[label]] += count
    return by_kind


def _interrupts(interval: Interval, cpu: int, kind: str | None) -> int:
    irqs = interval.after.irqs
    rows = ((row, count) for row, count in interval.interrupts.on_cpu(cpu) if is_of_a_device(row))
    return sum(count for row, count in rows if kind is None or _may_bring(row, irqs, kind))


def _may_bring(row: RowCount, irqs: Irqs | None, kind: str) -> bool:
    """Return whether the row may count the interrupts of devices of this kind.

    A row without a number counts all devices of a hypervisor or an architecture.
    """
    if row.irq is None:
        return True
    irq = irqs.by_number.get(row.irq) if irqs is not None else None
    actions = (irq.actions if irq is not None else ()) or parse_actions(row.description)
    return kind in kinds_of_device(actions, irq.device if irq is not None else None)
