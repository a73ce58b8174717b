"""The machine's state as JSON: null is unknown; `none` and empty lists are known to be absent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noisewatch.documents.document import SCHEMA
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, Cgroup
from noisewatch.kernel.cpus.cpu_time import CpuTime
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.frequency.cpufreq import CpuFrequency
from noisewatch.kernel.interrupts.irqs import Irq
from noisewatch.kernel.interrupts.table import InterruptRow, Interrupts
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.pressure import Stall
from noisewatch.surfaces.reports.parts.json import describe_machine


def listed(cpus: Iterable[int] | None) -> list[int] | None:
    """Return the CPUs in order."""
    return None if cpus is None else sorted(cpus)


def describe_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Return the document of `show --format json`."""
    irqs = snapshot.irqs
    frequency = snapshot.frequency
    return {
        "schema": SCHEMA,
        "machine": describe_machine(snapshot),
        "cpus": _cpus(snapshot),
        "topology": [_place(place) for place in snapshot.topology.values()],
        "frequency": {
            "driver": frequency.driver,
            "turbo": frequency.turbo,
            "cpus": [_clock(clock) for clock in frequency.cpus.values()],
        },
        "interrupts": None if snapshot.interrupts is None else _interrupts(snapshot.interrupts),
        "softirqs": None
        if snapshot.softirqs is None
        else {
            "cpus": list(snapshot.softirqs.cpus),
            "rows": [
                {"label": row.label, "count_by_cpu": _by_cpu(snapshot.softirqs.cpus, row.counts)}
                for row in snapshot.softirqs.rows
            ],
        },
        "irqs": None
        if irqs is None
        else {
            "default_allowed": listed(irqs.default_allowed),
            "irqs": [_irq(irq) for irq in irqs.by_number.values()],
        },
        "cpu_time": None
        if snapshot.cpu_time is None
        else [_time(cpu, time) for cpu, time in sorted(snapshot.cpu_time.items())],
        "pressure": {
            "cpu": _stall(snapshot.pressure.cpu),
            "memory": _stall(snapshot.pressure.memory),
            "io": _stall(snapshot.pressure.io),
        },
        "cgroup": describe_cgroup(snapshot.cgroup),
        "unreadable": [{"path": path, "reason": reason} for path, reason in snapshot.reason_by_path.items()],
    }


def _cpus(snapshot: Snapshot) -> dict[str, Any]:
    isolation = snapshot.isolation
    return {
        "online": listed(snapshot.online.online),
        "offline": listed(snapshot.online.offline),
        "isolated": listed(isolation.isolated),
        "isolated_by": {
            "boot": listed(isolation.boot),
            "partition": listed(isolation.partition),
            "cgroup_v1": listed(isolation.unbalanced),
        },
        "isolcpus": None
        if isolation.isolcpus is None
        else [{"flags": sorted(option.flags), "cpus": sorted(option.cpus)} for option in isolation.isolcpus],
        "nohz_full": listed(isolation.nohz_full),
        "rcu_nocbs": listed(isolation.rcu_nocbs),
        "target": listed(snapshot.target.cpus),
        "online_said_by": snapshot.online.said_by,
        "target_chosen_by": snapshot.target.chosen_by,
    }


def _place(place: CpuPlace) -> dict[str, Any]:
    return {
        "cpu": place.cpu,
        "core": place.core,
        "package": place.package,
        "node": place.node,
        "siblings": listed(place.siblings),
        "last_level_cache": listed(place.last_level_cache),
        "kind": place.kind,
        "capacity": place.capacity,
    }


def _clock(clock: CpuFrequency) -> dict[str, Any]:
    return {
        "cpu": clock.cpu,
        "governor": clock.governor,
        "current_khz": clock.current_khz,
        "min_khz": clock.min_khz,
        "max_khz": clock.max_khz,
        "hardware_min_khz": clock.hardware_min_khz,
        "hardware_max_khz": clock.hardware_max_khz,
        "base_khz": clock.base_khz,
        "energy_preference": clock.energy_preference,
    }


def _by_cpu(cpus: tuple[int, ...], counts: Iterable[int]) -> dict[str, int]:
    return {str(cpu): count for cpu, count in zip(cpus, counts, strict=True)}


def _interrupts(table: Interrupts) -> dict[str, Any]:
    return {
        "cpus": list(table.cpus),
        "rows": [_interrupt_row(table.cpus, row) for row in table.rows],
        "total_by_cpu": {str(cpu): total for cpu, total in table.total_by_cpu().items()},
    }


def _interrupt_row(cpus: tuple[int, ...], row: InterruptRow) -> dict[str, Any]:
    described: dict[str, Any] = {"label": row.label}
    if row.total is not None:
        return described | {"total": row.total}
    described["description"] = row.description
    if row.counts is not None:
        described["count_by_cpu"] = _by_cpu(cpus, row.counts)
    return described


def _irq(irq: Irq) -> dict[str, Any]:
    return {
        "irq": irq.irq,
        "allowed": listed(irq.allowed),
        "effective": listed(irq.effective),
        "movable": irq.movable,
        "actions": list(irq.actions),
        "device": irq.device,
    }


def _time(cpu: int, time: CpuTime) -> dict[str, Any]:
    return {
        "cpu": cpu,
        "user_ns": time.user_ns,
        "nice_ns": time.nice_ns,
        "system_ns": time.system_ns,
        "idle_ns": time.idle_ns,
        "iowait_ns": time.iowait_ns,
        "irq_ns": time.irq_ns,
        "softirq_ns": time.softirq_ns,
        "steal_ns": time.steal_ns,
    }


def _stall(stall: Stall | None) -> dict[str, Any] | None:
    return None if stall is None else {"some_total_ns": stall.some_total_ns, "full_total_ns": stall.full_total_ns}


def describe_cgroup(cgroup: Cgroup) -> dict[str, Any]:
    """Return the limits of the control group that noisewatch and its children run in."""
    quota = cgroup.cpu_quota_share
    return {
        "version": cgroup.version,
        "cpu_quota_share": "none" if quota == UNLIMITED else quota,
        "throttled_periods": cgroup.throttled_periods,
    }
