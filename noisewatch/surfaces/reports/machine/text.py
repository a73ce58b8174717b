"""The machine as read, for people: one row a CPU, then what concerns all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from noisewatch.cpus import format_cpu_list
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED
from noisewatch.kernel.frequency.cpufreq import CpuFrequency
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import describe_machine
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.text import printable
from noisewatch.units import describe_mhz

UNKNOWN = "?"
_WIDEST_LIST = 16
_HEADINGS = (
    "CPU", "NODE", "PKG", "CORE", "SIBLINGS", "CACHE", "ONLINE", "TARGET", "ISOLATED", "NOHZ", "KIND", "GOVERNOR",
    "MHZ", "MINMHZ", "MAXMHZ", "INTERRUPTS",
)  # fmt: skip


def text_of_snapshot(snapshot: Snapshot) -> str:
    """All of `show`."""
    sections = [
        describe_platform(snapshot),
        _targets(snapshot),
        align([_HEADINGS, *_cpu_rows(snapshot)]),
        _clock(snapshot),
        _irqs(snapshot),
        _unreadable(snapshot.reason_by_path),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def describe_platform(snapshot: Snapshot) -> str:
    """The machine in one line."""
    return " · ".join(word for word in (snapshot.machine_name, *describe_machine(snapshot.platform)) if word)


def _targets(snapshot: Snapshot) -> str:
    rows = [
        ("target CPUs", f"{cpus(snapshot.target.cpus)} ({snapshot.target.chosen_by})"),
        ("online", f"{cpus(snapshot.online.online)}, offline {cpus(snapshot.online.offline)}"),
        (
            "isolated",
            f"{cpus(snapshot.isolation.boot)} at boot, {cpus(snapshot.isolation.partition)} by partition",
        ),
        ("nohz_full", cpus(snapshot.isolation.nohz_full)),
        ("rcu_nocbs", cpus(snapshot.isolation.rcu_nocbs)),
    ]
    return align(rows)


def cpus(listed: Iterable[int] | None) -> str:
    """A CPU list for people: `none` and `?` instead of nothing."""
    return UNKNOWN if listed is None else format_cpu_list(listed) or "none"


def _short(listed: frozenset[int] | None) -> str:
    """As cpus, for a column: interleaved CPUs make long lists."""
    text = cpus(listed)
    return text if listed is None or len(text) <= _WIDEST_LIST else f"{len(listed)} CPUs"


def _all_cpus(snapshot: Snapshot) -> list[int]:
    online = (snapshot.online.online or frozenset()) | (snapshot.online.present or frozenset())
    return sorted(online | snapshot.topology.keys() | snapshot.target.cpus)


def _cpu_rows(snapshot: Snapshot) -> Iterator[tuple[str, ...]]:
    isolated = snapshot.isolation.isolated
    totals = snapshot.interrupts.total_by_cpu() if snapshot.interrupts is not None else {}
    for cpu in _all_cpus(snapshot):
        yield _cpu_row(snapshot, cpu, isolated, totals.get(cpu))


def _cpu_row(
    snapshot: Snapshot, cpu: int, isolated: frozenset[int] | None, interrupt_count: int | None
) -> tuple[str, ...]:
    place = snapshot.topology.get(cpu)
    clock = snapshot.frequency.cpus.get(cpu, CpuFrequency(cpu))
    online = snapshot.online.online
    return (
        str(cpu),
        _number(place.node if place else None),
        _number(place.package if place else None),
        _number(place.core if place else None),
        _short(place.siblings if place else None),
        _short(place.last_level_cache if place else None),
        _yes(None if online is None else cpu in online),
        _yes(cpu in snapshot.target.cpus),
        _yes(_contains(isolated, cpu)),
        _yes(_contains(snapshot.isolation.nohz_full, cpu)),
        _or_dash(place.kind if place else None),
        clock.governor or UNKNOWN,
        describe_mhz(clock.current_khz),
        describe_mhz(clock.min_khz),
        describe_mhz(clock.max_khz),
        _number(interrupt_count),
    )


def _contains(listed: frozenset[int] | None, cpu: int) -> bool | None:
    return None if listed is None else cpu in listed


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _or_dash(word: str | None) -> str:
    return UNKNOWN if word is None else ("-" if word == "none" else word)


def _yes(value: bool | None) -> str:
    return UNKNOWN if value is None else ("yes" if value else "no")


def _clock(snapshot: Snapshot) -> str:
    quota = snapshot.cgroup.cpu_quota_share
    mains = snapshot.settings.mains_power.is_on
    rows = [
        ("frequency driver", snapshot.frequency.driver or UNKNOWN),
        ("turbo", snapshot.frequency.turbo or UNKNOWN),
        ("clock source", snapshot.settings.clock_source.current or UNKNOWN),
        (
            "mains power",
            UNKNOWN if mains is None else ("not reported" if mains == "none" else _yes(bool(mains))),
        ),
        ("CPU quota", UNKNOWN if quota is None else ("none" if quota == UNLIMITED else f"{quota:g} CPUs")),
        ("throttled periods", _number(snapshot.cgroup.throttled_periods)),
    ]
    return align(rows)


def _irqs(snapshot: Snapshot) -> str:
    """The IRQs that have been delivered at all, the busiest first."""
    if snapshot.interrupts is None or snapshot.irqs is None:
        return ""
    counts = {
        row.irq: sum(row.counts)
        for row in snapshot.interrupts.rows
        if row.irq is not None and row.counts is not None and any(row.counts)
    }
    rows = [("IRQ", "COUNT", "DELIVERED TO", "ALLOWED", "MOVABLE", "ACTIONS", "DEVICE")]
    for number in sorted(counts, key=lambda number: -counts[number]):
        irq = snapshot.irqs.by_number.get(number)
        if irq is None:
            rows.append((str(number), str(counts[number]), UNKNOWN, UNKNOWN, UNKNOWN, "", UNKNOWN))
            continue
        rows.append(
            (
                str(number),
                str(counts[number]),
                _short(irq.effective),
                _short(irq.allowed),
                _yes(irq.movable),
                ", ".join(irq.actions),
                _or_dash(irq.device),
            )
        )
    return align(rows)


def _unreadable(reasons: Mapping[str, str]) -> str:
    """The failures, with paths that differ only in numbers as one."""
    if not reasons:
        return ""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, reason in reasons.items():
        grouped[re.sub(r"\d+", "N", path), reason].append(path)
    lines = ["could not be read:"]
    for (pattern, reason), paths in grouped.items():
        said = f"{paths[0]}: {reason}" if len(paths) == 1 else f"{pattern}: {reason} ({len(paths)} times)"
        lines.append("  " + printable(said))
    return "\n".join(lines)
