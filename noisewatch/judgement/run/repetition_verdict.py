"""The verdict of one repetition, which depends on what disturbed the repetition, and never on how long it took."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.allowance import Allowance, OwnWork
from noisewatch.judgement.run.clock_speed import clock_reasons, unwatched_clock
from noisewatch.judgement.run.foreign_time import (
    UNSEEN,
    WAKE_NS,
    ForeignTime,
    find_foreign_time,
    find_traced_siblings,
    fit_into_books,
    foreign_threads,
    late_ns,
    reasons_of,
    share_out,
    waited_for_none_ns,
)
from noisewatch.judgement.run.hard_events import (
    hard_reasons,
    unknown_end_reason,
    unknown_events_reason,
    unlooked_reason,
    unused_ns,
)
from noisewatch.judgement.run.interruptions import interruption_reasons, unknown_interruptions_reason
from noisewatch.judgement.run.left_target import LeftTarget
from noisewatch.judgement.run.placement import placement_reasons, unknown_placement_reason
from noisewatch.judgement.run.reasons import (
    ReasonKind,
    RepetitionVerdict,
    RunOutcome,
    RunReason,
    Unwatched,
    above_allowance,
)
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.system.disks import DISKSTATS
from noisewatch.kinds import Kind
from noisewatch.model.interval.interval import Interval, growth
from noisewatch.model.run.books import accounts_for_time, ran_between
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition
from noisewatch.units import describe_ns

_TRIFLE = 0.02
_NO_TOPOLOGY = "cannot tell which CPUs share a core with {}"
_NO_COUNTS = "cannot tell how busy {}, which shares a core with a target CPU, was"

_UNSETTLED = "{}, which shares a core with a target CPU, was busy for {} during, or just around, the repetition"
_HYPERVISOR = "hypervisor (steal time)"
_UNCOUNTED = "cannot tell how much time a hypervisor took from {}: /proc/stat does not count it"
_DOES_NOT_ADVANCE = "cannot tell how much time a hypervisor took from {}: the CPU time in /proc/stat did not advance"
_TOO_COARSE = (
    "a hypervisor took time from {} during or around the repetition, counted in steps of 10 ms: too coarse for such a "
    "short repetition"
)
_NS_PER_MS = 1_000_000
_HELD = (
    "the command was ready to run for {} in which its CPU was idle: a CPU quota of a control group, or the scheduler, "
    "held it back"
)
_BLOCKED = "the command waited in the kernel for {}, and {}: a frozen control group or a debugger cannot be ruled out"
_SERVED = "{}, and for files ({}) for {} at most"
_SERVED_NS = 1_000_000  # a request to a file server takes 0.1 to 1 ms within a data centre or a host
_NO_DISKS = f"disk busy times are unavailable ({DISKSTATS})"
_WAITED = (
    "the command waited for its CPU for {} longer than other tasks can have used it: a CPU quota of a control group, "
    "or the scheduler, held it back"
)
_BLIND = (
    "for up to {} the command was, or may have been, in an unobserved control group: cannot tell whether that group "
    "was frozen"
)


def judge_repetition(
    repetition: Repetition,
    siblings: CpuSet,
    allowance: Allowance,
    khz_by_cpu: Mapping[int, float] | None = None,
    left: LeftTarget | None = None,
) -> RepetitionVerdict:
    """Return the verdict: disturbed by a known cause, else unknown if something was not observed, else undisturbed.

    `khz_by_cpu` are the clocks of the opening calibration. `left` is the command's time outside the target CPUs, during
    which noise on the target CPUs did not disturb it.
    """
    own_work = OwnWork.of(repetition)
    foreign_time = find_foreign_time(repetition, allowance, own_work)
    interruptions, own = interruption_reasons(repetition, own_work.remaining_after(foreign_time.own))
    slow, slow_by_itself = clock_reasons(repetition, khz_by_cpu or {})
    reasons = [
        *hard_reasons(repetition),
        *slow,
        *foreign_time.reasons,
        *sibling_reasons(repetition, siblings, allowance),
        *_together_above_allowance(repetition, allowance, foreign_time, [*interruptions, *steal_reasons(repetition)]),
    ]
    if left is not None:
        kept = left.keep(reasons, repetition, allowance)
        reasons = kept if left.reason is None else [left.reason, *kept]
    questions = (
        foreign_time.unknown,
        None if left is None else left.unknown,
        unknown_siblings_reason(repetition, siblings, allowance),
        unknown_interruptions_reason(repetition),
        unknown_steal_reason(repetition, allowance),
        unknown_events_reason(repetition),
        unknown_end_reason(repetition, allowance),
        unlooked_reason(repetition, allowance),
        unexplained_time_reason(repetition, allowance),
    )
    unknowns = tuple(reason for reason in questions if reason is not None)
    return RepetitionVerdict(
        _outcome(reasons, unknowns),
        tuple(_drop_trifles(reasons)),
        (*foreign_time.own, *own, *slow_by_itself),
        unknowns,
        tuple(_unwatched(repetition, khz_by_cpu or {})),
    )


def _unwatched(repetition: Repetition, khz_by_cpu: Mapping[int, float]) -> Iterator[Unwatched]:
    clock = unwatched_clock(repetition, khz_by_cpu)
    if clock is not None:
        yield clock
    if repetition.no_looks_reason is not None:
        yield Unwatched(
            "the command's threads and control groups, and short pauses of a virtual machine",
            repetition.no_looks_reason,
        )


def with_placement(verdict: RepetitionVerdict, placement: Placement, length_ns: int) -> RepetitionVerdict:
    """Return the verdict combined with the placement of the command's threads, which may have moved."""
    moved, own = placement_reasons(placement, length_ns)
    unknown = unknown_placement_reason(placement)
    unknowns = verdict.unknowns if unknown is None else (*verdict.unknowns, unknown)
    reasons = (*verdict.reasons, *moved)
    outcome = _outcome(reasons, unknowns)
    return replace(verdict, outcome=outcome, reasons=reasons, own=(*verdict.own, *own), unknowns=unknowns)


def _together_above_allowance(
    repetition: Repetition, allowance: Allowance, foreign_time: ForeignTime, others: Sequence[RunReason]
) -> list[RunReason]:
    """Return the other reasons on CPUs where tasks, interruptions and the hypervisor together exceed the allowance.

    The times of the three may add up to more than is allowed, even if each is short.
    """
    met = [*foreign_time.reasons, *foreign_time.slight, *others]
    return [
        reason
        for reason in above_allowance(met, allowance.ns(repetition.length_ns))
        if reason not in foreign_time.reasons
    ]


def _outcome(reasons: Collection[RunReason], unknowns: Collection[str]) -> RunOutcome:
    """Return the outcome: a known disturbance outranks unknowns."""
    return RunOutcome.DISTURBED if reasons else RunOutcome.UNKNOWN if unknowns else RunOutcome.UNDISTURBED


def _drop_trifles(reasons: Sequence[RunReason]) -> list[RunReason]:
    """Return the reasons, the costliest first, without those whose time is negligible next to the largest."""
    ordered = sorted(reasons, key=lambda reason: -(reason.ns or 0))
    least_ns = _TRIFLE * max((reason.ns or 0 for reason in ordered), default=0)
    return [reason for reason in ordered if reason.ns is None or reason.ns >= least_ns]


def sibling_reasons(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> list[RunReason]:
    """Return the tasks that kept siblings of the target CPUs busy for longer than allowed, noisewatch included."""
    traced = find_traced_siblings(repetition, siblings, allowance)
    if traced is not None:
        return traced
    return [reason for cpu in sorted(siblings) for reason in _reasons_on_sibling(repetition, cpu, allowance)]


def unknown_siblings_reason(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> str | None:
    """Return why it is unknown whether siblings were busy for longer than allowed, or None if it is known."""
    topology = repetition.span.after.topology
    unplaced = [cpu for cpu in repetition.target if cpu not in topology or topology[cpu].siblings is None]
    if unplaced:
        return _NO_TOPOLOGY.format(name_cpus(unplaced))
    if find_traced_siblings(repetition, siblings, allowance) is not None:
        return None
    online = repetition.span.after.online.online
    for cpu in sorted(siblings if online is None else siblings & online):
        ran = ran_between(repetition.span.before, repetition.span.after, cpu)
        if ran is None or not ran.is_exact:
            return _NO_COUNTS.format(name_cpus([cpu]))
        if ran.ns > allowance.ns(repetition.length_ns):
            return _UNSETTLED.format(name_cpus([cpu]), describe_ns(ran.ns))
    return None


def _reasons_on_sibling(repetition: Repetition, cpu: int, allowance: Allowance) -> list[RunReason]:
    allowed_ns = allowance.ns(repetition.length_ns)
    ran = ran_between(repetition.span.before, repetition.span.after, cpu)
    if ran is None:
        return []
    sightings = foreign_threads(repetition, frozenset({cpu}), ReasonKind.SIBLING)
    least_ns = max(ran.ns - ran.doubt_ns - repetition.slack_ns, late_ns(repetition, cpu, sightings))
    if least_ns <= allowed_ns:
        return []
    ns = min(max(ran.ns, least_ns), repetition.length_ns)
    sightings = fit_into_books(sightings, ns)
    reasons = reasons_of(share_out(sightings, ns - sum(sighting.certain_ns for sighting in sightings)), repetition)
    rest_ns = ns - sum(reason.ns or 0 for reason in reasons)
    if rest_ns > allowed_ns or not reasons:
        reasons.append(
            RunReason(
                kind=ReasonKind.SIBLING,
                name=UNSEEN,
                noise=Kind.UNATTRIBUTED,
                cpu=cpu,
                ns=rest_ns,
                share=repetition.share_of(rest_ns),
            )
        )
    return reasons


def steal_reasons(repetition: Repetition) -> Iterator[RunReason]:
    """Yield the steal time of each target CPU that has any.

    The counter of /proc/stat has steps of 10 ms: most of the first step may have been taken before the repetition.
    """
    length_ns = repetition.length_ns
    for cpu in sorted(repetition.target):
        counted_ns = _stolen_ns(repetition.span, cpu) or 0
        ns = min(counted_ns, length_ns)
        if ns > 0:
            yield RunReason(
                kind=ReasonKind.STEAL,
                name=_HYPERVISOR,
                noise=Kind.OUTSIDE,
                cpu=cpu,
                ns=ns,
                share=repetition.share_of(ns),
                is_estimate=counted_ns <= TICK_NS,
            )


def unknown_steal_reason(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why the hypervisor may have taken unobserved time, or None if its time is known.

    For a short repetition, the counter does not show how much of the surrounding steal was within it.
    """
    uncounted = [cpu for cpu in sorted(repetition.target) if _stolen_ns(repetition.span, cpu) is None]
    if uncounted:
        return _UNCOUNTED.format(name_cpus(uncounted))
    still = [
        cpu for cpu in sorted(repetition.target) if any(_has_not_advanced(window, cpu) for window in repetition.windows)
    ]
    if still:
        return _DOES_NOT_ADVANCE.format(name_cpus(still))
    if allowance.ns(repetition.length_ns) >= TICK_NS:
        return None
    around = [cpu for cpu in sorted(repetition.target) if any(_stolen_ns(window, cpu) for window in repetition.windows)]
    return _TOO_COARSE.format(name_cpus(around)) if around else None


def _has_not_advanced(window: Interval, cpu: int) -> bool:
    first, last = ((snapshot.cpu_time or {}).get(cpu) for snapshot in (window.before, window.after))
    return first is not None and last is not None and not accounts_for_time(first, last, window.length_ns)


def _stolen_ns(interval: Interval, cpu: int) -> int | None:
    before, after = ((snapshot.cpu_time or {}).get(cpu) for snapshot in (interval.before, interval.after))
    return None if before is None or after is None else growth(before.steal_ns, after.steal_ns)


def unexplained_time_reason(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why the command did not run for part of the time, or None if all of it is explained.

    The wall time of a repetition consists of the command's CPU time, others' CPU time while it was ready, its sleep,
    and the time for which a signal, a frozen group or a quota kept it from running. Any other time is unexplained. A
    known stop, freeze or quota explains its own length.
    """
    window, use = repetition.trace, repetition.use
    known_ns = use.stopped_ns + repetition.freezing.ns + repetition.quota.ns
    allowed_ns = allowance.ns(repetition.length_ns) + known_ns
    blind_ns = min(repetition.freezing.blind_ns, unused_ns(repetition)) - use.switches * WAKE_NS
    blind = _BLIND.format(describe_ns(repetition.freezing.blind_ns)) if blind_ns > allowed_ns else None
    if isinstance(window, str):
        waited_ns = waited_for_none_ns(repetition)
        return _WAITED.format(describe_ns(waited_ns)) if waited_ns > allowed_ns else blind
    held_ns = window.states.held_ns - use.preemptions * WAKE_NS
    if held_ns > allowed_ns:
        return _HELD.format(describe_ns(window.states.held_ns))
    disks_ns = _disks_busy_ns(repetition) if use.did_disk_io or use.major_faults > 0 else 0
    served_ns = window.states.waits * _SERVED_NS if repetition.served is not None else 0
    explained_ns = _waited_for_disks_ns(repetition) + (disks_ns or 0) + served_ns  # excludes waits for a debugger
    waited_ns = window.states.blocked_ns - window.states.debugged_ns
    unexplained_ns = window.states.debugged_ns + max(waited_ns - explained_ns, 0)
    if unexplained_ns - use.switches * WAKE_NS > allowed_ns:
        disks = f"for disks for {describe_ns(disks_ns)} at most" if disks_ns else "for no disk"
        waits = disks if disks_ns is not None else _NO_DISKS
        if served_ns:
            waits = _SERVED.format(waits, repetition.served, describe_ns(served_ns))
        return _BLOCKED.format(describe_ns(window.states.blocked_ns), waits)
    return blind  # in the trace, threads of a frozen cgroup (v2) sleep


def _disks_busy_ns(repetition: Repetition) -> int | None:
    """Return an upper bound of the time for which requests to disks were in flight, or None if unknown.

    A wait for a disk is within that time. The kernel counts in jiffies from the one in which a request begins
    (update_io_ticks in block/blk-core.c).
    """
    windows = repetition.windows
    before = windows[0].before.background.disks if windows else None
    after = windows[-1].after.background.disks if windows else None
    if before is None or after is None:
        return None
    ms = sum(max(after[name].busy_ms - before[name].busy_ms, 0) for name in after.keys() & before.keys())
    return ms * _NS_PER_MS + TICK_NS if ms else 0


def _waited_for_disks_ns(repetition: Repetition) -> int:
    """Return for how long the target CPUs were idle while tasks waited for disks or file servers."""
    before, after = repetition.span.before.cpu_time or {}, repetition.span.after.cpu_time or {}
    cpus = repetition.target & before.keys() & after.keys()
    ns = sum((after[cpu].iowait_ns or 0) - (before[cpu].iowait_ns or 0) for cpu in cpus)
    return ns + TICK_NS if ns > 0 else 0
