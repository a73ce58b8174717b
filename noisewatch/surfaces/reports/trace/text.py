"""The result of a trace as text: the culprits on each CPU, the costliest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.finding_words import commands_of
from noisewatch.judgement.remedies import Remedy, common_remedy
from noisewatch.kinds import Kind, Tracer
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import TracedCpu
from noisewatch.operations.trace import TraceRun
from noisewatch.surfaces.drawing.accents import Accents, accent_lines
from noisewatch.surfaces.drawing.text_row import Style
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.reports.parts.culprits import (
    culprit_accents,
    culprit_lines,
    disturbance_name,
    interruption_lines,
    process_table,
    rate_of,
    root_lines,
    share_of,
)
from noisewatch.surfaces.reports.parts.sections import Section, Table, text_of_section
from noisewatch.text import printable
from noisewatch.units import describe_ns, describe_share

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity

_MOST_CULPRITS = 20
_MOST_REMEDIES = 5
_MOST_INTERRUPTIONS = 5
_BY = {Tracer.EVENTS: "the kernel's trace", Tracer.OSNOISE: "the kernel's osnoise tracer"}
_NOTHING = "no noise"


def text_of_followed(followed: TraceRun, width: int, in_colour: bool = False) -> str:
    """Return the report of `noisewatch trace`."""
    by = _BY[followed.trace.tracer] if followed.trace is not None else "counters only, ~ marks inferred figures"
    title = f"noisewatch trace · {name_cpus(followed.target)} · {followed.seconds:.1f} s · by {by}"
    lines, accents = [title], _accents(followed) | {title: "title"}
    if followed.reason is not None:
        lines += wrap(f"No trace: {followed.reason}.", width)
        trace = f"trace --cpus {cpu_list_argument(followed.target)}"
        commands = root_lines(followed.reason, trace, followed.interval.after.is_live)
        lines += commands
        accents |= {command.strip(): "command" for command in commands}
    for traced in followed.cpus:
        lines += ["", *_traced_cpu_lines(traced, followed, width)]
    for cpu in followed.target if followed.trace is None else ():
        lines += ["", *_counted_cpu_lines(followed, cpu, width)]
    processes = process_table(_processes(followed)).lines(width)
    lines += ["", *processes] if processes else []
    lines = accent_lines(lines, accents, in_colour)
    lines += _remedy_lines(followed, width, in_colour)
    if followed.trace is not None and followed.trace.uncovered:
        lines += ["", *wrap(f"This kernel does not report {', '.join(followed.trace.uncovered)}.", width)]
    return "\n".join(lines) + "\n"


def _processes(followed: TraceRun) -> Iterator[tuple[int | None, ProcessIdentity | None]]:
    """Yield the processes in the tables of all CPUs, those that use the CPU most first."""
    for cpu in followed.target:
        works = followed.working_thread(cpu)
        traced = [traced.culprits for traced in followed.cpus if traced.cpu == cpu]
        culprits = [measured.disturbance for measured in traced[0]] if traced else followed.other_culprits(cpu)
        for disturbance in [*([works] if works is not None else []), *culprits[:_MOST_CULPRITS]]:
            yield disturbance.pid, disturbance.identity


def _accents(followed: TraceRun) -> dict[str, Style]:
    """Return the styles of each culprit's name and each CPU's noise."""
    disturbances = [culprit.disturbance for traced in followed.cpus for culprit in traced.culprits]
    for cpu in followed.target if followed.trace is None else ():
        disturbances += followed.other_culprits(cpu)
    noises = (_stolen_text(traced, followed.seconds) for traced in followed.cpus)
    return {**culprit_accents(disturbances), **{f"noise {noise}": "strong" for noise in noises}}


def _stolen_text(traced: TracedCpu, seconds: float) -> str:
    return describe_share(traced.stolen_ns / 1e9 / seconds if seconds else None)


def _remedy_lines(followed: TraceRun, width: int, in_colour: bool) -> list[str]:
    """Return the remedies against the costliest culprits, without repetition. Commands are on separate lines."""
    disturbances = [culprit.disturbance for traced in followed.cpus for culprit in traced.culprits]
    if followed.trace is None:
        disturbances = [disturbance for cpu in followed.target for disturbance in followed.other_culprits(cpu)]
    culprits_by_remedy: dict[Remedy, str] = {}
    for together in _group_by_remedy(disturbances):
        culprits_by_remedy.setdefault(common_remedy(together, followed.case, followed.at_work), _name_all(together))
    steps = [
        (f"{culprits}: {remedy.advice}", commands_of(remedy.fix))
        for remedy, culprits in list(culprits_by_remedy.items())[:_MOST_REMEDIES]
    ]
    accents: Accents = dict.fromkeys(culprits_by_remedy.values(), "culprit")
    section = Section("fixes", steps=steps, title_style="title", accents=accents)
    return ["", *text_of_section(section, width, in_colour)] if steps else []


def _group_by_remedy(disturbances: Iterable[Disturbance]) -> list[list[Disturbance]]:
    """Group culprits by process, and the unattributed time of all CPUs together; the costliest group first."""
    groups: dict[object, list[Disturbance]] = defaultdict(list)
    for number, disturbance in enumerate(sorted(disturbances, key=lambda disturbance: -(disturbance.stolen_ns or 0))):
        is_of_process = disturbance.kind == Kind.THREAD and disturbance.pid is not None
        alone = disturbance.kind if disturbance.kind == Kind.UNATTRIBUTED else number
        groups[("process", disturbance.pid) if is_of_process else alone].append(disturbance)
    return sorted(groups.values(), key=lambda group: -sum(disturbance.stolen_ns or 0 for disturbance in group))


def _name_all(together: Sequence[Disturbance]) -> str:
    """Return `thread CPU 0/KVM (pid 812, thread 815) and 3 more of its process`."""
    first = together[0]
    others = {(disturbance.name, disturbance.tid) for disturbance in together} - {(first.name, first.tid)}
    rest = f" and {len(others)} more of its process" if others else ""
    return printable(first.label_with_kind) + rest


def _traced_cpu_lines(traced: TracedCpu, followed: TraceRun, width: int) -> list[str]:
    seconds = followed.seconds
    stolen = _stolen_text(traced, seconds)
    works = traced.main_thread.disturbance if traced.main_thread is not None else None
    at_work = (
        f"{disturbance_name(works)} ran {describe_share(works.share, 1)} of the time, noise {stolen}"
        if works
        else f"{stolen} used"
    )
    if works is None and not traced.culprits:  # no event: perhaps one thread ran all the time
        at_work = f"no event at all, {describe_share(followed.interval.busy_share(traced.cpu), 1)} busy"
    lines = [f"CPU {traced.cpu}: {at_work}"]
    if traced.lost_events is None:
        lines.append("  unknown whether events were lost; there may have been more noise than this")
    elif traced.lost_events:
        lines.append(f"  trace lost {traced.lost_events} events, so there was more noise than this")
    if traced.unseen_switches:
        lines.append(f"  trace lost {traced.unseen_switches} context switches, so thread times are upper bounds")
    stretches = interruption_lines(followed.interruptions(traced.cpu, _MOST_INTERRUPTIONS), width)
    lines += culprit_lines(traced.culprits, _MOST_CULPRITS, width)
    return lines + (
        [f"  the longest interruptions{f' of {disturbance_name(works)}' if works else ''}", *stretches]
        if stretches
        else []
    )


def _counted_cpu_lines(followed: TraceRun, cpu: int, width: int) -> list[str]:
    disturbances = followed.other_culprits(cpu)[:_MOST_CULPRITS]
    rows = [
        [
            "",
            disturbance.kind,
            disturbance_name(disturbance),
            rate_of(disturbance),
            describe_ns(disturbance.stolen_ns),
            share_of(disturbance),
        ]
        for disturbance in disturbances
    ]
    head = ["", "kind", "who", "/s", "time", "share"]
    works = followed.working_thread(cpu)
    main_thread = f" {disturbance_name(works)} ran {share_of(works)} of the time; others:" if works is not None else ""
    return [
        f"CPU {cpu}:{main_thread}" + ("" if rows else f" {_NOTHING}"),
        *Table(head, rows, shortened="who", spare=("time",)).lines(width),
    ]
