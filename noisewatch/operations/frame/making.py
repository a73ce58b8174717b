"""Frames of what was read and judged: the sampler's side of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.case import Case
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.verdict import Verdict
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import Role
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.slowed import slowed_between
from noisewatch.operations.frame.frame import (
    ClockLimits,
    Conditions,
    CoolingLine,
    Frame,
    Temperature,
    Throttled,
)
from noisewatch.operations.frame.making_clock import clock_figures
from noisewatch.operations.frame.making_cpus import cpu_lines_and_culprits
from noisewatch.operations.frame.making_findings import told_of
from noisewatch.operations.frame.making_irqs import irq_lines


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
    lines, culprits = cpu_lines_and_culprits(snapshot, interval, roles)
    return Frame(
        taken_at_ns=snapshot.taken_at_ns,
        seconds=interval.seconds if interval is not None else 0.0,
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
        culprits=culprits,
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
