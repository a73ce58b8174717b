"""Sums of the stolen time of each CPU: those of `disturbances_of`, without a record for each culprit.

Most CPUs of a large machine only count interrupts, and their culprits are not needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import (
    TYPICAL_COST_NS,
    Disturbance,
    cpus_with_timers,
    disturbances_of,
    is_scaled,
    kind_of_row,
)
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.model.interval.interval import Interval


@dataclass(slots=True)
class Taken:
    """Stolen time (ns) by kind of noise, and the largest amount of a single culprit."""

    ns_by_kind: dict[Kind, int]
    most_ns: int


def taken_by_cpu(interval: Interval, cpus: Iterable[int]) -> Mapping[int, Taken]:
    """Return the stolen time of each of the CPUs that has any."""
    counted = _counted(interval)
    timers = cpus_with_timers(interval)
    found: dict[int, Taken] = {}
    for cpu in cpus:
        if cpu in timers or _may_have_others(interval, cpu):
            culprits = disturbances_of(interval, cpu)
            if culprits:
                found[cpu] = _summed(culprits)
        elif cpu in counted:
            found[cpu] = counted[cpu]
    return found


def _counted(interval: Interval) -> Mapping[int, Taken]:
    """Return the cost of interrupts and softirqs by their counts alone."""
    taken: dict[int, Taken] = defaultdict(lambda: Taken({}, 0))
    rows = [(kind_of_row(row), row) for row in interval.interrupts.rows or ()]
    rows += [(Kind.SOFTIRQ, row) for row in interval.softirqs.rows or ()]
    for kind, row in rows:
        cost_ns = TYPICAL_COST_NS[kind]
        for cpu, count in row.count_by_cpu.items():
            there, ns = taken[cpu], count * cost_ns
            there.ns_by_kind[kind] = there.ns_by_kind.get(kind, 0) + ns
            if ns > there.most_ns:
                there.most_ns = ns
    return taken


def _may_have_others(interval: Interval, cpu: int) -> bool:
    """Return whether the CPU may have other culprits: threads, the hypervisor, or time measured by the kernel."""
    load = interval.load_by_cpu.get(cpu)
    if interval.had_runs(cpu):
        return True
    if load is None:
        return False
    is_measured = is_scaled(load.irq_ns) or is_scaled(load.softirq_ns)
    return bool(load.steal_ns) or is_measured or bool(interval.unexplained_ns(cpu))


def _summed(culprits: Sequence[Disturbance]) -> Taken:
    taken: dict[Kind, int] = {}
    for each in culprits:
        taken[each.kind] = taken.get(each.kind, 0) + (each.stolen_ns or 0)
    return Taken(taken, culprits[0].stolen_ns or 0)
