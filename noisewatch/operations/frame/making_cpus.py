"""The part of a frame that is about single CPUs: what became of each, and who took the most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import INTERRUPT_KINDS, Kind, Role
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.taken import Taken, taken_by_cpu
from noisewatch.operations.frame.frame import KINDS, MOST_CULPRITS, CpuLine, CulpritLine

_ESTIMATED = frozenset({*INTERRUPT_KINDS, Kind.SOFTIRQ})
_NOTHING = Taken({}, 0)
_NOTHING_BY_KIND = (0,) * len(KINDS)
_PLACES = {kind: place for place, kind in enumerate(KINDS)}


def cpu_lines_and_culprits(
    snapshot: Snapshot, interval: Interval | None, roles: Mapping[int, Role]
) -> tuple[tuple[CpuLine, ...], tuple[CulpritLine, ...]]:
    """A line for each CPU of `roles`, and the costliest culprits, those on housekeeping CPUs last."""
    if interval is None:
        return tuple([_line_without_rates(snapshot, cpu, role) for cpu, role in roles.items()]), ()
    taken = taken_by_cpu(interval, [cpu for cpu, role in roles.items() if role != Role.OFFLINE])
    return tuple(_lines(snapshot, interval, roles, taken)), _culprits(interval, roles, taken)


def _line_without_rates(snapshot: Snapshot, cpu: int, role: Role) -> CpuLine:
    clock = snapshot.frequency.cpus.get(cpu)
    if clock is None:
        return CpuLine(cpu, role)
    return CpuLine(cpu, role, current_khz=clock.current_khz, governor=clock.governor)


def _lines(
    snapshot: Snapshot, interval: Interval, roles: Mapping[int, Role], taken_by_cpu: Mapping[int, Taken]
) -> Iterator[CpuLine]:
    """What is the same for all of them is asked once: there may be hundreds."""
    clocks = snapshot.frequency.cpus
    interrupts, softirqs = interval.interrupts.by_cpu(), interval.softirqs.by_cpu()
    seconds, length_ns = interval.seconds, interval.length_ns
    for cpu, role in roles.items():
        if role == Role.OFFLINE:
            yield _line_without_rates(snapshot, cpu, role)
            continue
        clock = clocks.get(cpu)
        taken = taken_by_cpu.get(cpu, _NOTHING).ns_by_kind
        stolen_ns = min(sum(taken.values()), length_ns)  # a quota's beside others' time
        is_known = cpu in interval.load_by_cpu and cpu in interrupts and cpu in softirqs
        yield CpuLine(
            cpu=cpu,
            role=role,
            stolen_ns_per_s=stolen_ns / seconds if is_known else None,
            is_estimate=sum([ns for kind, ns in taken.items() if kind in _ESTIMATED]) * 2 > stolen_ns,
            interrupts_per_s=interrupts[cpu] / seconds if cpu in interrupts else None,
            softirqs_per_s=softirqs[cpu] / seconds if cpu in softirqs else None,
            busy_share=interval.busy_share(cpu),
            current_khz=clock.current_khz if clock is not None else None,
            governor=clock.governor if clock is not None else None,
            taken_ns_per_s=_by_kind(taken, seconds) if is_known and role == Role.TARGET else None,
        )


def _by_kind(taken: Mapping[Kind, int], seconds: float) -> tuple[int, ...]:
    """In the order of KINDS."""
    if not taken:
        return _NOTHING_BY_KIND
    per_s = [0] * len(KINDS)
    for kind, ns in taken.items():
        per_s[_PLACES[kind]] = round(ns / seconds)
    return tuple(per_s)


def _culprits(interval: Interval, roles: Mapping[int, Role], taken: Mapping[int, Taken]) -> tuple[CulpritLine, ...]:
    """They are looked for on as many CPUs as there may be culprits: those of any other CPU cost less than these."""
    by_cost = sorted(taken, key=lambda cpu: (roles[cpu] == Role.HOUSEKEEPING, -taken[cpu].most_ns))
    culprits = [each for cpu in sorted(by_cost[:MOST_CULPRITS]) for each in disturbances_of(interval, cpu)]
    culprits.sort(key=lambda each: (roles[each.cpu] == Role.HOUSEKEEPING, -(each.stolen_ns or 0)))
    return tuple([_culprit_line(each, roles[each.cpu], interval.seconds) for each in culprits[:MOST_CULPRITS]])


def _culprit_line(each: Disturbance, role: Role, seconds: float) -> CulpritLine:
    return CulpritLine(
        cpu=each.cpu,
        role=role,
        kind=each.kind,
        name=each.name,
        pid=each.pid,
        tid=each.tid,
        rate_per_s=each.rate_per_s,
        stolen_ns_per_s=(each.stolen_ns or 0) / seconds,
        is_estimate=each.is_inferred,
        irq=each.irq,
    )
