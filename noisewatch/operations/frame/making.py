"""Frames of what was read and judged: the sampler's side of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.case import Case
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.verdict import Verdict
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import INTERRUPT_KINDS, Kind, Role
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.slowed import slowed_between
from noisewatch.operations.frame.frame import (
    KINDS,
    MOST_CULPRITS,
    ClockLimits,
    Conditions,
    CoolingLine,
    CpuLine,
    CulpritLine,
    Frame,
    Temperature,
    Throttled,
)
from noisewatch.operations.frame.making_clock import clock_figures
from noisewatch.operations.frame.making_findings import told_of
from noisewatch.operations.frame.making_irqs import irq_lines

_ESTIMATED = frozenset({*INTERRUPT_KINDS, Kind.SOFTIRQ})
_NOTHING_TAKEN = (0,) * len(KINDS)


def frame_of(
    snapshot: Snapshot,
    interval: Interval | None,
    verdict: Verdict | None,
    *,
    tells_all: bool = False,
    remembered: Remembered | None = None,
    **rest: Any,
) -> Frame:
    """The frame of one interval; `rest` is what only the sampler knows. `tells_all`: of checks that pass as well.

    `remembered` is that with which the verdict was judged, where it was.
    """
    case = verdict.case if verdict is not None else Case(snapshot)
    roles = case.kept("roles", _roles)
    culprits: list[Disturbance] = []
    lines = tuple(_cpu_lines(snapshot, interval, roles, culprits))
    culprits.sort(key=lambda each: (roles[each.cpu] == Role.HOUSEKEEPING, -(each.stolen_ns or 0)))
    seconds = interval.seconds if interval is not None else 0.0
    return Frame(
        taken_at_ns=snapshot.taken_at_ns,
        seconds=seconds,
        machine=snapshot.platform.host or snapshot.machine_name,
        target=tuple(sorted(case.target)),
        target_chosen_by=snapshot.target.chosen_by,
        housekeeping=tuple(sorted(case.housekeeping)),
        online_count=len(case.online),
        turbo=snapshot.frequency.turbo,
        verdict=verdict.verdict if verdict is not None else None,
        passed=len(verdict.passes) if verdict is not None else None,
        judged_s=verdict.case.interval.seconds if verdict is not None and verdict.case.interval is not None else None,
        cpus=lines,
        culprits=tuple(_culprit_line(each, roles[each.cpu], seconds) for each in culprits[:MOST_CULPRITS]),
        conditions=_conditions(snapshot, interval),
        counts=verdict.counts if verdict is not None else None,
        wall_ns=snapshot.time_of_day.wall_ns if snapshot.time_of_day is not None else None,
        irqs=irq_lines(interval.interrupts, interval.seconds) if interval is not None else None,
        clock=clock_figures(snapshot, interval),
        no_irqs_reason=interval.interrupts.reason if interval is not None else None,
        ahead_s=snapshot.time_of_day.ahead_s if snapshot.time_of_day is not None else None,
        **told_of(verdict, tells_all, remembered),
        **rest,
    )


def _roles(case: Case) -> dict[int, Role]:
    """Every CPU that is there or ought to be, in order."""
    offline = ((case.snapshot.online.present or frozenset()) | case.target) - case.online
    roles = dict.fromkeys(case.online, Role.HOUSEKEEPING)
    roles.update(dict.fromkeys(case.siblings, Role.SIBLING))
    roles.update(dict.fromkeys(case.target, Role.TARGET))
    roles.update(dict.fromkeys(offline if case.online else (), Role.OFFLINE))
    return dict(sorted(roles.items()))


def _cpu_lines(
    snapshot: Snapshot, interval: Interval | None, roles: Mapping[int, Role], culprits: list[Disturbance]
) -> Iterator[CpuLine]:
    """Adds to the culprits those on each CPU. What is the same for all of them is asked once: there may be hundreds."""
    clocks = snapshot.frequency.cpus
    interrupts = interval.interrupts.by_cpu() if interval is not None else {}
    softirqs = interval.softirqs.by_cpu() if interval is not None else {}
    seconds = interval.seconds if interval is not None else 0.0
    for cpu, role in roles.items():
        clock = clocks.get(cpu)
        governor = clock.governor if clock is not None else None
        current_khz = clock.current_khz if clock is not None else None
        if interval is None or role == Role.OFFLINE:
            yield CpuLine(cpu, role, current_khz=current_khz, governor=governor)
            continue
        found = disturbances_of(interval, cpu)
        culprits += found
        taken = _taken(found)
        stolen_ns = min(sum(taken.values()), interval.length_ns)  # a quota's beside others' time
        is_known = cpu in interval.load_by_cpu and cpu in interrupts and cpu in softirqs
        yield CpuLine(
            cpu=cpu,
            role=role,
            stolen_ns_per_s=stolen_ns / seconds if is_known else None,
            is_estimate=sum([ns for kind, ns in taken.items() if kind in _ESTIMATED]) * 2 > stolen_ns,
            interrupts_per_s=interrupts[cpu] / seconds if cpu in interrupts else None,
            softirqs_per_s=softirqs[cpu] / seconds if cpu in softirqs else None,
            busy_share=interval.busy_share(cpu),
            current_khz=current_khz,
            governor=governor,
            taken_ns_per_s=_by_kind(taken, seconds) if is_known and role == Role.TARGET else None,
        )


def _taken(found: Sequence[Disturbance]) -> dict[Kind, int]:
    taken: dict[Kind, int] = {}
    for each in found:
        taken[each.kind] = taken.get(each.kind, 0) + (each.stolen_ns or 0)
    return taken


def _by_kind(taken: Mapping[Kind, int], seconds: float) -> tuple[int, ...]:
    """In the order of KINDS."""
    return tuple([round(taken[kind] / seconds) if kind in taken else 0 for kind in KINDS]) if taken else _NOTHING_TAKEN


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


def _conditions(snapshot: Snapshot, interval: Interval | None) -> Conditions:
    """As the snapshot has them; limits and mains power are read every ten seconds."""
    return Conditions(
        mains_power=snapshot.settings.mains_power.is_on,
        clock_limits=_clock_limits(snapshot),
        throttled=tuple(_throttled(interval)) if interval is not None else (),
        cooling=tuple(_cooling(snapshot)) if snapshot.settings.cooling.devices is not None else None,
        temperatures=tuple(_temperatures(snapshot)),
    )


def _clock_limits(snapshot: Snapshot) -> tuple[ClockLimits, ...]:
    cpus_by_limits: dict[tuple[int | None, int | None], list[int]] = {}
    for clock in snapshot.frequency.cpus.values():
        if (clock.min_khz, clock.max_khz) != (None, None):
            cpus_by_limits.setdefault((clock.min_khz, clock.max_khz), []).append(clock.cpu)
    return tuple(ClockLimits(format_cpu_list(cpus), *limits) for limits, cpus in cpus_by_limits.items())


def _throttled(interval: Interval) -> Iterator[Throttled]:
    """Those whose counter grew, and those that ought to have one that can be read."""
    for slowed in slowed_between(interval):
        if slowed.times != 0:
            yield Throttled(slowed.what, format_cpu_list(slowed.cpus), slowed.times, slowed.by)


def _cooling(snapshot: Snapshot) -> Iterator[CoolingLine]:
    """One line a kind that is at work, or that cannot be known: servers have a device for each CPU."""
    states = snapshot.background.cooling_states
    states_by_kind: dict[str, list[int | None]] = {}
    for device in snapshot.settings.cooling.devices or ():
        if device.kind is not None and device.path in states:
            states_by_kind.setdefault(device.kind, []).append(states[device.path])
    for kind, found in states_by_kind.items():
        known = [state for state in found if state is not None]
        active = sum(state > 0 for state in known)
        if active:
            yield CoolingLine(kind, active, max(known))
        elif len(known) < len(found):
            yield CoolingLine(kind, None, None)


def _temperatures(snapshot: Snapshot) -> Iterator[Temperature]:
    celsius_by_path: Mapping[str, float | None] = snapshot.background.celsius_by_path
    for sensor in snapshot.hardware.sensors.read or ():
        if sensor.path in celsius_by_path and sensor.critical_celsius is not None:
            name = f"{sensor.chip} {sensor.label}" if sensor.label else sensor.chip
            yield Temperature(name, celsius_by_path[sensor.path], sensor.critical_celsius)
