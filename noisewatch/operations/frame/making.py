"""Builds frames from snapshots, intervals and verdicts, in the sampler.

CPU places and interrupt affinities are read every ten seconds and sent only after a change. Each repetition of a run is
in one frame only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.cause_words import effect_title, steps_against, title_of
from noisewatch.judgement.causes import Cause, causes_of, is_about_target
from noisewatch.judgement.checks.interrupts.devices import irq_balancer
from noisewatch.judgement.finding_words import manual_step, sentence
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.programs import names_in_fix
from noisewatch.judgement.remembered import Remembered
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kernel.cpus.topology import CpuPlace, cache_names
from noisewatch.kernel.interrupts.irqs import Irq, parse_actions
from noisewatch.kernel.interrupts.table import InterruptRow, kind_of
from noisewatch.kernel.snapshot.snapshot import Settings, Snapshot
from noisewatch.kernel.system.platform import NONE as BARE_METAL
from noisewatch.kernel.tasks.run_status import ReportedRepetition, RunStatus
from noisewatch.kinds import INTERRUPT_KINDS, THREADS, Kind, Role
from noisewatch.model.interval.disturbance import Disturbance, Taken, disturbances_of, taken_by_cpu
from noisewatch.model.interval.interrupt_counts import InterruptCounts
from noisewatch.model.interval.interval import Interval, slowdowns_of
from noisewatch.operations.frame.frame import (
    KINDS,
    MOST_CULPRITS,
    CauseLine,
    ClockLimits,
    Conditions,
    CoolingLine,
    CpuLine,
    CulpritLine,
    FindingLine,
    Frame,
    IrqLine,
    IrqSetting,
    PlaceLine,
    ProcessLine,
    RepetitionLine,
    RunLine,
    Temperature,
    Throttled,
    place_lines,
)
from noisewatch.operations.frame.making_clock import clock_figures
from noisewatch.text import printable

_NO_DEVICE = "none"
_EXACT_BELOW = 10.0


def irq_lines(counts: InterruptCounts, seconds: float) -> tuple[IrqLine, ...] | None:
    """Return the rows whose counts grew, or None if the counts are unknown (see `counts.reason`)."""
    if counts.rows is None or seconds <= 0:
        return None
    count_by_label: dict[str, dict[int, int]] = {}
    for row in counts.rows:
        count_by_cpu = count_by_label.setdefault(row.label, {})  # POWER9 has two rows with one label
        for cpu, count in row.count_by_cpu.items():
            count_by_cpu[cpu] = count_by_cpu.get(cpu, 0) + count
    return tuple(_irq_line(label, count_by_cpu, seconds) for label, count_by_cpu in count_by_label.items())


def _irq_line(label: str, count_by_cpu: Mapping[int, int], seconds: float) -> IrqLine:
    cpus = tuple(sorted(count_by_cpu))
    rates = (count_by_cpu[cpu] / seconds for cpu in cpus)
    return IrqLine(
        label=label,
        cpus=cpus,
        rates=tuple(round(rate, 2) if rate < _EXACT_BELOW else round(rate) for rate in rates),
    )


def irq_settings(snapshot: Snapshot) -> tuple[IrqSetting, ...]:
    """Return the settings of the table's rows, then of IRQs that only /proc/irq lists; empty if neither can be read."""
    rows = snapshot.interrupts.rows if snapshot.interrupts is not None else ()
    irqs = snapshot.irqs.by_number if snapshot.irqs is not None else {}
    setting_by_label = {setting.label: setting for setting in _settings(rows, irqs)}
    return tuple(setting_by_label.values())


def _settings(rows: tuple[InterruptRow, ...], irqs: Mapping[int, Irq]) -> Iterator[IrqSetting]:
    for row in rows:
        if row.irq is not None and row.irq in irqs:
            yield _setting(irqs[row.irq])
            continue
        kind = kind_of(row.label, row.description)
        if kind != Kind.NO_INTERRUPT:
            actions = parse_actions(row.description) if row.irq is not None else ()
            is_fixed = None if row.irq is not None and kind == Kind.IRQ else False
            name = ", ".join(actions) or row.description
            yield IrqSetting(row.label, kind, name, movable=is_fixed, is_managed=is_fixed)
    numbers = {row.irq for row in rows}
    yield from (_setting(irq) for number, irq in irqs.items() if number not in numbers)


def _setting(irq: Irq) -> IrqSetting:
    return IrqSetting(
        label=str(irq.irq),
        kind=irq.kind,
        name=", ".join(irq.actions),
        device=None if irq.device == _NO_DEVICE else irq.device,
        allowed=_cpu_list(irq.allowed),
        effective=_cpu_list(irq.effective),
        movable=irq.movable,
        is_managed=irq.is_managed,
    )


def _cpu_list(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else format_cpu_list(cpus)


_ESTIMATED = frozenset({*INTERRUPT_KINDS, Kind.SOFTIRQ})
_NOTHING = Taken({}, 0)
_NOTHING_BY_KIND = (0,) * len(KINDS)
_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_SHOWN = frozenset(Gravity) - {Gravity.PASSED, Gravity.LEFT_OUT}
_LONGEST_SENTENCE = 400  # characters, because a frame crosses a pipe each second
_PLACE_OF_GRAVITY = {gravity: str(place) for place, gravity in enumerate(Gravity)}


def frame_of(
    snapshot: Snapshot,
    interval: Interval | None,
    verdict: Verdict | None,
    *,
    has_answers: bool = False,
    remembered: Remembered | None = None,
    **extra: Any,
) -> Frame:
    """Build the frame of one interval; `extra` are fields that only the sampler has.

    With `has_answers`, it also contains the answers of checks that pass or do not apply. `remembered` is the cache with
    which the verdict was judged, if any.
    """
    case = verdict.case if verdict is not None else Case(snapshot)
    roles = case.remember("roles", _roles)
    lines, culprits = cpu_lines_and_culprits(snapshot, interval, roles)
    tuned = snapshot.settings.tuned
    return Frame(
        taken_at_ns=snapshot.taken_at_ns,
        seconds=interval.seconds if interval is not None else 0.0,
        machine=snapshot.platform.host or snapshot.machine_name,
        target=tuple(sorted(case.target)),
        target_chosen_by=snapshot.target.chosen_by,
        housekeeping=tuple(sorted(case.housekeeping)),
        online_count=len(case.online),
        turbo=snapshot.frequency.turbo,
        hypervisor=snapshot.platform.virtual if snapshot.platform.virtual != BARE_METAL else None,
        verdict=verdict.verdict if verdict is not None else None,
        passed=len(verdict.passes) if verdict is not None else None,
        judged_s=verdict.case.interval.seconds if verdict is not None and verdict.case.interval is not None else None,
        cpus=lines,
        culprits=culprits,
        processes=_processes(interval, culprits) if interval is not None else (),
        conditions=_conditions(snapshot, interval),
        counts=verdict.counts if verdict is not None else None,
        wall_ns=snapshot.time_of_day.wall_ns if snapshot.time_of_day is not None else None,
        irqs=irq_lines(interval.interrupts, interval.seconds) if interval is not None else None,
        clock=clock_figures(snapshot, interval),
        no_irqs_reason=interval.interrupts.reason if interval is not None else None,
        ahead_s=snapshot.time_of_day.ahead_s if snapshot.time_of_day is not None else None,
        tuned=tuned.summary if tuned is not None and tuned.sessions else None,
        **verdict_fields(verdict, has_answers, remembered),
        **extra,
    )


def _roles(case: Case) -> dict[int, Role]:
    """Return the role of every present CPU and every target CPU, in order of CPU number."""
    offline = ((case.snapshot.online.present or frozenset()) | case.target) - case.online
    roles = dict.fromkeys(case.online, Role.HOUSEKEEPING)
    roles.update(dict.fromkeys(case.siblings, Role.SIBLING))
    roles.update(dict.fromkeys(case.target, Role.TARGET))
    roles.update(dict.fromkeys(offline if case.online else (), Role.OFFLINE))
    return dict(sorted(roles.items()))


def _conditions(snapshot: Snapshot, interval: Interval | None) -> Conditions:
    """Return the conditions of the snapshot; limits and mains power are read every ten seconds."""
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
    """Yield the slowdowns whose counter grew or could not be read."""
    for slowed in slowdowns_of(interval):
        if slowed.times != 0:
            yield Throttled(slowed.what, format_cpu_list(slowed.cpus), slowed.times, slowed.by)


def _cooling(snapshot: Snapshot) -> Iterator[CoolingLine]:
    """Yield a line for each kind with an active or unknown cooling device: servers may have a device for each CPU."""
    states = snapshot.background.cooling_states
    states_by_kind: dict[str, list[int | None]] = {}
    for device in snapshot.settings.cooling.devices or ():
        if device.kind is not None and device.path in states:
            states_by_kind.setdefault(device.kind, []).append(states[device.path])
    for kind, all_states in states_by_kind.items():
        readable = [state for state in all_states if state is not None]
        active = sum(state > 0 for state in readable)
        if active:
            yield CoolingLine(kind, active, max(readable))
        elif len(readable) < len(all_states):
            yield CoolingLine(kind, None, None)


def _temperatures(snapshot: Snapshot) -> Iterator[Temperature]:
    celsius_by_path: Mapping[str, float | None] = snapshot.background.celsius_by_path
    for sensor in snapshot.hardware.sensors.read or ():
        if sensor.path in celsius_by_path and sensor.critical_celsius is not None:
            name = f"{sensor.chip} {sensor.label}" if sensor.label else sensor.chip
            yield Temperature(name, celsius_by_path[sensor.path], sensor.critical_celsius)


def cpu_lines_and_culprits(
    snapshot: Snapshot, interval: Interval | None, roles: Mapping[int, Role]
) -> tuple[tuple[CpuLine, ...], tuple[CulpritLine, ...]]:
    """Return a line for each CPU of `roles`, and the costliest culprits, those on housekeeping CPUs last."""
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
    """Yield the line of each CPU. There may be hundreds of CPUs, so common values are computed once."""
    clocks = snapshot.frequency.cpus
    interrupts, softirqs = interval.interrupts.by_cpu(), interval.softirqs.by_cpu()
    seconds, length_ns = interval.seconds, interval.length_ns
    for cpu, role in roles.items():
        if role == Role.OFFLINE:
            yield _line_without_rates(snapshot, cpu, role)
            continue
        clock = clocks.get(cpu)
        taken = taken_by_cpu.get(cpu, _NOTHING).ns_by_kind
        stolen_ns = min(sum(taken.values()), length_ns)  # a quota's time overlaps others' time
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
    """Return the stolen time (ns/s) in the order of KINDS."""
    if not taken:
        return _NOTHING_BY_KIND
    per_s = [0] * len(KINDS)
    for kind, ns in taken.items():
        per_s[_PLACES[kind]] = round(ns / seconds)
    return tuple(per_s)


def _culprits(interval: Interval, roles: Mapping[int, Role], taken: Mapping[int, Taken]) -> tuple[CulpritLine, ...]:
    """Return the costliest culprits, at most MOST_CULPRITS.

    Only MOST_CULPRITS CPUs are searched, those with the costliest single culprit first, housekeeping CPUs last.
    """
    by_cost = sorted(taken, key=lambda cpu: (roles[cpu] == Role.HOUSEKEEPING, -taken[cpu].most_ns))
    culprits = [culprit for cpu in sorted(by_cost[:MOST_CULPRITS]) for culprit in disturbances_of(interval, cpu)]
    culprits.sort(key=lambda culprit: (roles[culprit.cpu] == Role.HOUSEKEEPING, -(culprit.stolen_ns or 0)))
    return tuple([_culprit_line(culprit, roles[culprit.cpu], interval.seconds) for culprit in culprits[:MOST_CULPRITS]])


def _culprit_line(culprit: Disturbance, role: Role, seconds: float) -> CulpritLine:
    return CulpritLine(
        cpu=culprit.cpu,
        role=role,
        kind=culprit.kind,
        name=culprit.name,
        pid=culprit.pid,
        tid=culprit.tid,
        rate_per_s=culprit.rate_per_s if culprit.slices_per_s is None else culprit.slices_per_s,
        stolen_ns_per_s=(culprit.stolen_ns or 0) / seconds,
        is_estimate=culprit.is_inferred,
        irq=culprit.irq,
        program=culprit.program,
    )


def _processes(interval: Interval, culprits: Iterable[CulpritLine]) -> tuple[ProcessLine, ...]:
    """Return the identities of the culprits' processes, sorted by PID, so that the list seldom changes."""
    pids = sorted({line.pid for line in culprits if line.pid is not None and line.kind in THREADS})
    identities = [(pid, interval.identities[pid]) for pid in pids if pid in interval.identities]
    return tuple(
        ProcessLine(pid, identity.command, str(identity.surroundings), identity.details(with_folder=False))
        for pid, identity in identities
    )


def verdict_fields(
    verdict: Verdict | None, has_answers: bool = False, remembered: Remembered | None = None
) -> dict[str, Any]:
    """Return a frame's fields for the verdict, by name; empty without a verdict.

    With `has_answers`, the answers of checks that pass or do not apply are included. `remembered` is the cache with
    which the verdict was judged; it has the texts of unchanged findings.
    """
    if verdict is None:
        return {}
    if remembered is None:
        remembered = Remembered()
        remembered.set_current(verdict.case)
    judged = [(finding, finding.gravity(verdict.is_strict)) for finding in verdict.findings]
    shown = tuple([(finding, gravity) for finding, gravity in judged if gravity in _SHOWN])
    findings = tuple([finding for finding, _ in shown])
    # such findings propose other target CPUs, which the snapshot determines
    asked_again = verdict.case.snapshot if any(map(is_about_target, findings)) else None
    texts = remembered.get("texts", lambda _: _shown_texts(verdict, shown), (*findings, asked_again))
    answers = {
        finding.check.id: _shorten(sentence(finding))
        for finding, gravity in (judged if has_answers else ())
        if gravity not in _SHOWN
    }
    gravities = _gravities({finding.check.id: gravity for finding, gravity in judged})
    return {**texts, "answers": answers or None, "gravities": gravities}


def _shown_texts(verdict: Verdict, shown: Iterable[tuple[Finding, Gravity]]) -> dict[str, Any]:
    """Return the findings that did not pass, and their causes."""
    causes = causes_of(verdict)
    number_by_id = {finding.check.id: number for number, cause in enumerate(causes, 1) for finding in cause.findings}
    placed = [(gravity, number_by_id.get(finding.check.id), finding) for finding, gravity in shown]
    placed.sort(key=lambda row: (_PLACE_OF_GRAVITY[row[0]], row[1] or len(causes) + 1))
    return {
        "findings": tuple([_finding_line(finding, gravity, number) for gravity, number, finding in placed]),
        "causes": tuple(_cause_line(cause, verdict.case) for cause in causes),
    }


def _gravities(gravity_by_id: Mapping[str, Gravity]) -> str:
    """Return each catalogue check's gravity as a digit; it is LEFT_OUT for checks that the monitor does not judge."""
    return "".join(_PLACE_OF_GRAVITY[gravity_by_id.get(check.id, Gravity.LEFT_OUT)] for check in CATALOGUE)


def _finding_line(finding: Finding, gravity: Gravity, cause: int | None) -> FindingLine:
    fix = None if finding.answer.fix is None else _first_command(finding.answer.fix)
    return FindingLine(
        id=finding.check.id,
        status=finding.status,
        weight=finding.weight,
        gravity=gravity,
        said=_shorten(sentence(finding)),
        fix=fix,
        is_command=fix is not None and fix != manual_step(finding.answer.fix),
        cause=cause,
    )


def _first_command(fix: Fix) -> str | None:
    """Return the first command only, because screens do not show further ones."""
    command = fix.now or fix.undo or fix.persist or fix.undo_persist
    return printable(command) if command else None


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_SENTENCE else text[: _LONGEST_SENTENCE - 1] + "…"


def _cause_line(cause: Cause, case: Case) -> CauseLine:
    """Return the cause's line, with its actions. It has a text if the effect is known, or if the cause is open."""
    title = effect_title(cause, case)
    text = title.text if title is not None else title_of(cause, case) if cause.way is not None else None
    return CauseLine(
        steps=tuple(steps_against(cause)),
        settles=tuple(finding.check.id for finding in cause.settles),
        said=None if text is None else _shorten(text),
        is_open=cause.way is not None,
        names=names_in_fix(cause.fix, case),
    )


_Repetitions = tuple[ReportedRepetition, ...]


class RunLines:
    """Builds the lines of runs; each repetition is in one frame only."""

    def __init__(self) -> None:
        self._sent: dict[str, _Repetitions] = {}

    def of(self, snapshot: Snapshot, interval: Interval | None) -> tuple[RunLine, ...]:
        """Return a line for each known run, with the repetitions that no earlier frame contained."""
        before, self._sent = self._sent, {}
        return tuple([self._line(run, before, interval) for run in snapshot.runs])

    def _line(self, run: RunStatus, before: Mapping[str, _Repetitions], interval: Interval | None) -> RunLine:
        name = f"{run.owner.pid}.{run.owner.started_ticks}"
        sent = set(before.get(name, ()))
        self._sent[name] = run.repetitions
        shares = [(cpu, interval.command_share(cpu)) for cpu in sorted(run.cpus)] if interval is not None else []
        return RunLine(
            id=name,
            stage=str(run.stage),
            programs=run.programs,
            cpus=tuple(sorted(run.cpus)),
            number=run.number,
            wanted=run.wanted,
            since_ns=run.since_ns,
            counts=run.counts,
            share_by_cpu=tuple((cpu, round(share, 4)) for cpu, share in shares if share),
            repetitions=tuple(
                RepetitionLine(**asdict(repetition)) for repetition in run.repetitions if repetition not in sent
            ),
        )


class News:
    """The rarely changing fields of frames, as last sent.

    Sending them each second would cost the sampler 80 ms instead of 67 ms per frame of 512 CPUs.
    """

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._topology: Mapping[int, CpuPlace] = {}
        self._places: tuple[PlaceLine, ...] | None = None
        self._irqs: tuple[IrqSetting, ...] | None = None

    def of(self, snapshot: Snapshot) -> dict[str, object]:
        """Return the fields of the frame that have changed."""
        if snapshot.settings is self._settings:
            return {}
        self._settings = snapshot.settings
        changed: dict[str, object] = {}
        if snapshot.topology is not self._topology:
            self._topology = snapshot.topology
            places = place_lines(snapshot.topology, cache_names(snapshot.topology))
            if places != self._places:
                changed["places"] = self._places = places
        irqs = irq_settings(snapshot)
        if irqs != self._irqs:
            changed["irq_settings"], changed["irq_balancer"] = irqs, irq_balancer(Case(snapshot))
            self._irqs = irqs
        return changed
