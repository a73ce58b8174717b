"""Frames of what was read and judged: the sampler's side of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.finding_words import by_gravity, commands_of, left_to_people, sentence
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kinds import INTERRUPT_KINDS, Kind, Role
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.conditions_making import conditions_of
from noisewatch.operations.frame.finding_line import FindingLine
from noisewatch.operations.frame.frame import KINDS, MOST_CULPRITS, CpuLine, CulpritLine, Frame

_ESTIMATED = frozenset({*INTERRUPT_KINDS, Kind.SOFTIRQ})
_TELLING = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED, Gravity.OPEN, Gravity.NOTED)
_LONGEST_SENTENCE = 400  # a frame is a line that crosses a pipe each second


def frame_of(snapshot: Snapshot, interval: Interval | None, verdict: Verdict | None, **rest: Any) -> Frame:
    """The frame of one interval; `rest` is what only the sampler knows."""
    case = Case(snapshot, interval)
    roles = _roles(snapshot, case)
    lines: list[CpuLine] = []
    culprits: list[Disturbance] = []
    for cpu, role in roles.items():
        found = disturbances_of(interval, cpu) if interval is not None and role != Role.OFFLINE else ()
        lines.append(_cpu_line(snapshot, interval, cpu, role, found))
        culprits += found
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
        findings=_finding_lines(verdict) if verdict is not None else (),
        passed=len(verdict.passes) if verdict is not None else None,
        judged_s=verdict.case.interval.seconds if verdict is not None and verdict.case.interval is not None else None,
        cpus=tuple(lines),
        culprits=tuple(_culprit_line(each, roles[each.cpu], seconds) for each in culprits[:MOST_CULPRITS]),
        conditions=conditions_of(snapshot, interval),
        counts=verdict.counts if verdict is not None else None,
        **rest,
    )


def _roles(snapshot: Snapshot, case: Case) -> dict[int, Role]:
    """Every CPU that is there or ought to be, in order."""
    offline = ((snapshot.online.present or frozenset()) | case.target) - case.online
    roles = dict.fromkeys(case.online, Role.HOUSEKEEPING)
    roles.update(dict.fromkeys(case.siblings, Role.SIBLING))
    roles.update(dict.fromkeys(case.target, Role.TARGET))
    roles.update(dict.fromkeys(offline if case.online else (), Role.OFFLINE))
    return dict(sorted(roles.items()))


def _cpu_line(
    snapshot: Snapshot, interval: Interval | None, cpu: int, role: Role, found: Sequence[Disturbance]
) -> CpuLine:
    clock = snapshot.frequency.cpus.get(cpu)
    governor = clock.governor if clock is not None else None
    current_khz = clock.current_khz if clock is not None else None
    if interval is None or role == Role.OFFLINE:
        return CpuLine(cpu, role, current_khz=current_khz, governor=governor)
    estimated_ns = sum(each.stolen_ns or 0 for each in found if each.kind in _ESTIMATED)
    stolen_ns = min(sum(each.stolen_ns or 0 for each in found), interval.length_ns)  # a quota's beside others' time
    counts = (interval.interrupts.of_cpu(cpu), interval.softirqs.of_cpu(cpu))
    is_known = cpu in interval.load_by_cpu and None not in counts
    return CpuLine(
        cpu=cpu,
        role=role,
        stolen_ns_per_s=stolen_ns / interval.seconds if is_known else None,
        is_estimate=estimated_ns * 2 > stolen_ns,
        interrupts_per_s=_per_s(counts[0], interval),
        softirqs_per_s=_per_s(counts[1], interval),
        busy_share=interval.busy_share(cpu),
        current_khz=current_khz,
        governor=governor,
        taken_ns_per_s=_taken(found, interval.seconds) if is_known and role == Role.TARGET else None,
    )


def _taken(found: Sequence[Disturbance], seconds: float) -> tuple[int, ...]:
    """By kind, in the order of KINDS."""
    taken = dict.fromkeys(KINDS, 0.0)
    for each in found:
        if each.kind in taken:
            taken[each.kind] += each.stolen_ns or 0
    return tuple(round(ns / seconds) for ns in taken.values())


def _per_s(count: int | None, interval: Interval) -> float | None:
    return None if count is None else count / interval.seconds


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


def _finding_lines(verdict: Verdict) -> tuple[FindingLine, ...]:
    """What failed, was left open or gives a warning, the gravest first."""
    found = by_gravity(verdict)
    return tuple(_finding_line(finding, gravity) for gravity in _TELLING for finding in found[gravity])


def _finding_line(finding: Finding, gravity: Gravity) -> FindingLine:
    said = sentence(finding)
    said = said if len(said) <= _LONGEST_SENTENCE else said[: _LONGEST_SENTENCE - 1] + "…"
    _, fix = next(iter(commands_of(finding.answer.fix)), (None, None))
    is_command = fix is not None and fix != left_to_people(finding.answer.fix)
    return FindingLine(
        id=finding.check.id,
        status=finding.status,
        weight=finding.weight,
        gravity=gravity,
        said=said,
        fix=fix,
        is_command=is_command,
    )
