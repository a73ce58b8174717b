"""The machine's state as JSON: null means unknown; `none` and empty lists mean that there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from noisewatch.documents.document import SCHEMA
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, Cgroup
from noisewatch.kernel.interrupts.table import InterruptRow, Interrupts
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.surfaces.reports.parts.json import describe_machine

_PLACE = ("cpu", "core", "package", "node", "siblings", "last_level_cache", "kind", "capacity")
_CLOCK = ("cpu", "governor", "current_khz", "min_khz", "max_khz", "hardware_min_khz", "hardware_max_khz", "base_khz")
_IRQ = ("irq", "allowed", "effective", "movable", "actions", "device")
_TIME = ("user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns")
_STALL = ("some_total_ns", "full_total_ns")


def _attributes(source: object, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the source's attributes `keys`, with sets of CPUs as sorted lists; None if the source is unknown."""
    if source is None:
        return None
    values = {key: getattr(source, key) for key in keys}
    return {key: sorted(value) if isinstance(value, frozenset) else value for key, value in values.items()}


def _sorted_cpus(cpus: Iterable[int] | None) -> list[int] | None:
    return None if cpus is None else sorted(cpus)


def describe_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Return the document of `show --format json`."""
    irqs, softirqs, frequency, times = snapshot.irqs, snapshot.softirqs, snapshot.frequency, snapshot.cpu_time
    pressure = snapshot.pressure
    return {
        "schema": SCHEMA,
        "machine": describe_machine(snapshot),
        "cpus": _cpus(snapshot),
        "topology": [_attributes(place, _PLACE) for place in snapshot.topology.values()],
        "frequency": {
            "driver": frequency.driver,
            "turbo": frequency.turbo,
            "cpus": [_attributes(clock, (*_CLOCK, "energy_preference")) for clock in frequency.cpus.values()],
        },
        "interrupts": None if snapshot.interrupts is None else _interrupts(snapshot.interrupts),
        "softirqs": None
        if softirqs is None
        else {
            "cpus": softirqs.cpus,
            "rows": [{"label": row.label, "count_by_cpu": _by_cpu(softirqs.cpus, row.counts)} for row in softirqs.rows],
        },
        "irqs": None
        if irqs is None
        else {
            "default_allowed": _sorted_cpus(irqs.default_allowed),
            "irqs": [_attributes(irq, _IRQ) for irq in irqs.by_number.values()],
        },
        "cpu_time": None
        if times is None
        else [{"cpu": cpu, **(_attributes(time, _TIME) or {})} for cpu, time in sorted(times.items())],
        "pressure": {name: _attributes(getattr(pressure, name), _STALL) for name in ("cpu", "memory", "io")},
        "cgroup": describe_cgroup(snapshot.cgroup),
        "unreadable": [{"path": path, "reason": reason} for path, reason in snapshot.reason_by_path.items()],
    }


def _cpus(snapshot: Snapshot) -> dict[str, Any]:
    isolation = snapshot.isolation
    return {
        "online": _sorted_cpus(snapshot.online.online),
        "offline": _sorted_cpus(snapshot.online.offline),
        "isolated": _sorted_cpus(isolation.isolated),
        "isolated_by": {
            "boot": _sorted_cpus(isolation.boot),
            "partition": _sorted_cpus(isolation.partition),
            "cgroup_v1": _sorted_cpus(isolation.unbalanced),
        },
        "isolcpus": None
        if isolation.isolcpus is None
        else [_attributes(option, ("flags", "cpus")) for option in isolation.isolcpus],
        "nohz_full": _sorted_cpus(isolation.nohz_full),
        "rcu_nocbs": _sorted_cpus(isolation.rcu_nocbs),
        "target": _sorted_cpus(snapshot.target.cpus),
        "online_said_by": snapshot.online.source,
        "target_chosen_by": snapshot.target.chosen_by,
    }


def _by_cpu(cpus: tuple[int, ...], counts: Iterable[int]) -> dict[str, int]:
    return {str(cpu): count for cpu, count in zip(cpus, counts, strict=True)}


def _interrupts(table: Interrupts) -> dict[str, Any]:
    return {
        "cpus": table.cpus,
        "rows": [_interrupt_row(table.cpus, row) for row in table.rows],
        "total_by_cpu": {str(cpu): total for cpu, total in table.total_by_cpu().items()},
    }


def _interrupt_row(cpus: tuple[int, ...], row: InterruptRow) -> dict[str, Any]:
    if row.total is not None:
        return {"label": row.label, "total": row.total}
    counts = {} if row.counts is None else {"count_by_cpu": _by_cpu(cpus, row.counts)}
    return {"label": row.label, "description": row.description, **counts}


def describe_cgroup(cgroup: Cgroup) -> dict[str, Any]:
    """Return the limits of the control group that noisewatch and its children run in."""
    quota = cgroup.cpu_quota_share
    return {
        "version": cgroup.version,
        "cpu_quota_share": "none" if quota == UNLIMITED else quota,
        "throttled_periods": cgroup.throttled_periods,
    }
