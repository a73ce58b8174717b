"""What crosses from the sampler to the screen each interval: some figures a CPU and the top culprits, no raw tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import Verdict
from noisewatch.model.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval import Interval
from noisewatch.model.sentinel import OFF
from noisewatch.sources.snapshot import Snapshot
from noisewatch.surfaces.conditions import UNKNOWN_CONDITIONS, Conditions, conditions_of, decoded_conditions
from noisewatch.surfaces.finding_line import FindingLine, finding_lines
from noisewatch.surfaces.reports.finding_words import FAILED, OPEN, UNANSWERED

MOST_CULPRITS = 64
TARGET, SIBLING, HOUSEKEEPING, OFFLINE = "target", "sibling", "housekeeping", "offline"
_INTERRUPTS = frozenset({"irq", "tick", "ipi"})


@dataclass(frozen=True, slots=True)
class CpuLine:
    """One CPU in one interval. None is unknown, or not known yet."""

    cpu: int
    role: str
    stolen_ns_per_s: float | None = None
    is_estimate: bool = False  # most of it was counted, not measured
    interrupts_per_s: float | None = None
    softirqs_per_s: float | None = None
    busy_share: float | None = None
    current_khz: int | None = None
    governor: str | None = None
    sentinel: str = OFF  # how it is there: it measures, or why it does not
    measured_ns: int | None = None  # that it spun lately, and of that ...
    measured_stolen_share: float | None = None  # ... what others took
    gap_count: int | None = None
    longest_gap_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CulpritLine:
    """One source of noise on one CPU."""

    cpu: int
    role: str
    kind: str
    name: str
    pid: int | None
    tid: int | None
    rate_per_s: float | None
    stolen_ns_per_s: float
    is_estimate: bool
    irq: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One interval of one machine. `seconds` is 0 for the first look, which has no rates."""

    taken_at_ns: int
    seconds: float
    machine: str
    target: tuple[int, ...]
    target_chosen_by: str
    housekeeping: tuple[int, ...]
    online_count: int
    turbo: str | None
    verdict: str | None
    findings: tuple[FindingLine, ...]  # of the checks that did not pass
    passed: int | None  # checks that did
    cpus: tuple[CpuLine, ...]
    culprits: tuple[CulpritLine, ...]
    sampler_cpu_s: float | None  # that the sampler has used so far; None in replay
    source: str | None = None  # a replay or a copied tree; None is this host
    sampler_wakeups: int | None = None  # times that it went to sleep so far
    is_last: bool = False
    remark: str | None = None
    conditions: Conditions = UNKNOWN_CONDITIONS
    has_sentinel: bool = False  # whether it is on; where it spins, the CPUs' lines tell
    no_sentinel_reason: str | None = None  # why it is not, although it is wanted

    @property
    def failed(self) -> tuple[str, ...]:
        """The checks that make the machine unstable."""
        return tuple(each.id for each in self.findings if each.gravity == FAILED)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The checks without an answer, first those that leave the verdict open."""
        return tuple(each.id for each in self.findings if each.gravity in (UNANSWERED, OPEN))

    @property
    def is_cut(self) -> bool:
        """Whether there may be more sources than the costliest, which it holds: first those of target CPUs."""
        return len(self.culprits) >= MOST_CULPRITS

    def tells_all_of(self, cpu: int) -> bool:
        """Whether all sources on the CPU are in it: what a housekeeping CPU has comes last, and is cut first."""
        line = next((line for line in self.cpus if line.cpu == cpu), None)
        if line is None or line.stolen_ns_per_s is None:
            return False
        return not self.is_cut or (line.role != HOUSEKEEPING and self.culprits[-1].role == HOUSEKEEPING)


def frame_of(snapshot: Snapshot, interval: Interval | None, verdict: Verdict | None, **rest: Any) -> Frame:
    """The frame of one interval; `rest` is what only the sampler knows."""
    case = Case(snapshot, interval)
    roles = _roles(snapshot, case)
    lines: list[CpuLine] = []
    culprits: list[Disturbance] = []
    for cpu, role in roles.items():
        found = disturbances_of(interval, cpu) if interval is not None and role != OFFLINE else ()
        lines.append(_cpu_line(snapshot, interval, cpu, role, found))
        culprits += found
    culprits.sort(key=lambda each: (roles[each.cpu] == HOUSEKEEPING, -(each.stolen_ns or 0)))
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
        findings=finding_lines(verdict) if verdict is not None else (),
        passed=len(verdict.passes) if verdict is not None else None,
        cpus=tuple(lines),
        culprits=tuple(_culprit_line(each, roles[each.cpu], seconds) for each in culprits[:MOST_CULPRITS]),
        conditions=conditions_of(snapshot, interval),
        **rest,
    )


def _roles(snapshot: Snapshot, case: Case) -> dict[int, str]:
    """Every CPU that is there or ought to be, in order."""
    offline = ((snapshot.online.present or frozenset()) | case.target) - case.online
    roles = dict.fromkeys(case.online, HOUSEKEEPING)
    roles.update(dict.fromkeys(case.siblings, SIBLING))
    roles.update(dict.fromkeys(case.target, TARGET))
    roles.update(dict.fromkeys(offline if case.online else (), OFFLINE))
    return dict(sorted(roles.items()))


def _cpu_line(
    snapshot: Snapshot, interval: Interval | None, cpu: int, role: str, found: Sequence[Disturbance]
) -> CpuLine:
    clock = snapshot.frequency.cpus.get(cpu)
    governor = clock.governor if clock is not None else None
    current_khz = clock.current_khz if clock is not None else None
    if interval is None or role == OFFLINE:
        return CpuLine(cpu, role, current_khz=current_khz, governor=governor)
    estimated_ns = sum(each.stolen_ns or 0 for each in found if each.kind in _INTERRUPTS or each.kind == "softirq")
    stolen_ns = sum(each.stolen_ns or 0 for each in found)
    is_known = cpu in interval.load_by_cpu and interval.interrupts.rows is not None
    return CpuLine(
        cpu=cpu,
        role=role,
        stolen_ns_per_s=stolen_ns / interval.seconds if is_known else None,
        is_estimate=estimated_ns * 2 > stolen_ns,
        interrupts_per_s=_per_s(interval.interrupts.of_cpu(cpu), interval),
        softirqs_per_s=_per_s(interval.softirqs.of_cpu(cpu), interval),
        busy_share=interval.busy_share(cpu),
        current_khz=current_khz,
        governor=governor,
    )


def _per_s(count: int | None, interval: Interval) -> float | None:
    return None if count is None else count / interval.seconds


def _culprit_line(each: Disturbance, role: str, seconds: float) -> CulpritLine:
    return CulpritLine(
        cpu=each.cpu,
        role=role,
        kind=each.kind,
        name=each.name,
        pid=each.pid,
        tid=each.tid,
        rate_per_s=each.rate_per_s,
        stolen_ns_per_s=(each.stolen_ns or 0) / seconds,
        is_estimate=each.is_inferred and each.rate_per_s is not None,
        irq=each.irq,
    )


def encode_frame(frame: Frame) -> bytes:
    """The frame as one line."""
    return json.dumps(frame, separators=(",", ":"), default=_fields).encode() + b"\n"


def _fields(of: Any) -> dict[str, Any]:
    """Without the copies of dataclasses.asdict, which take longer than all else that a frame needs."""
    return {name: getattr(of, name) for name in _names(type(of))}


@cache
def _names(of: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(of))


def decode_frame(line: bytes) -> Frame:
    """The frame of a line that encode_frame made. Raises ValueError for any other line."""
    found = json.loads(line)
    try:
        found["cpus"] = tuple(CpuLine(**cpu) for cpu in found["cpus"])
        found["culprits"] = tuple(CulpritLine(**culprit) for culprit in found["culprits"])
        found["findings"] = tuple(FindingLine(**finding) for finding in found["findings"])
        for name in ("target", "housekeeping"):
            found[name] = tuple(found[name])
        found["conditions"] = decoded_conditions(found["conditions"])
        return Frame(**found)
    except (TypeError, KeyError) as error:
        raise ValueError(f"no frame: {error}") from error
