"""Events that disturb a repetition however short they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.counted import vmstat_growth
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, CgroupLevel
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP, MOUNT_ROOTS
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.mounts import OWN_MOUNTS
from noisewatch.model.interval.interrupt_counts import unchanged_reason
from noisewatch.model.interval.interval import Interval, slowdowns_of, throttles_between, uncounted_between
from noisewatch.model.run.freezing import Freezing
from noisewatch.model.run.repetition import Repetition
from noisewatch.text import clean
from noisewatch.units import describe_ns

_SWAPS = {"pswpin": "pages were read back from swap", "pswpout": "pages went to swap"}  # of /proc/vmstat
_HELD_UP_NS = 100_000_000  # clearly longer than the time that ticks miss without a pause: 20 ms in some seconds
_LATE_END_NS = 200_000  # the end of each repetition includes a wakeup, which takes some 50 µs on an idle CPU
_STOOD_STILL = "the whole machine was paused by its hypervisor or firmware"
_HELD_UP = "noisewatch was not scheduled for {}{}: cannot tell whether the machine was paused"
_STOPPED_TOO = "noisewatch was not scheduled for {}{}: cannot tell whether the command was stopped too"
_WAS_FREE = ", though its CPU was free"
_LATE = "the command's end was seen up to {} late, because noisewatch itself had to wait for a CPU"
_MAYBE_LATE = (
    "cannot tell whether the command's end was seen late: this kernel does not count how long noisewatch waited for a "
    "CPU (/proc/PID/schedstat)"
)
_QUOTA = "cannot tell whether the CPU quota of {} stopped the command"
_ASLEEP = "the command may have been stopped, or the machine paused, for up to {}: {}"
_GROUPS = "cannot tell whether a CPU quota stopped the command: {}"
_FROZEN = "cannot tell whether the command's control group was frozen: {}"
_SWAPPED = "cannot tell whether pages were swapped"
_NO_LOOK = "the machine was not read before and after the repetition"


def hard_reasons(repetition: Repetition) -> list[RunReason]:
    """Return the events that disturbed the repetition however short they were, as reasons.

    Events in a window that extends beyond the repetition count too, because they may have occurred within it.
    """
    reasons: dict[tuple[ReasonKind, str, int | None], RunReason] = {}
    for reason in [*_clock_reasons(repetition), *_pause_reasons(repetition), *_windows_reasons(repetition)]:
        key = reason.kind, reason.name, reason.cpu
        reasons[key] = _merge_events(reasons[key], reason) if key in reasons else reason
    return list(reasons.values())


def unknown_events_reason(repetition: Repetition) -> str | None:
    """Return why the events of `hard_reasons` may be incomplete, or None if none can have been missed."""
    if _has_stood_still(repetition) is None:
        return _HELD_UP.format(*_held_up_words(repetition))
    if _may_have_been_stopped_too(repetition):
        return _STOPPED_TOO.format(*_held_up_words(repetition))
    if repetition.freezing.unknown is not None:
        return _FROZEN.format(clean(repetition.freezing.unknown))
    if repetition.quota.unknown is not None:
        return _GROUPS.format(clean(repetition.quota.unknown))
    if sum(repetition.within(window) for window in repetition.windows) < repetition.length_ns:
        return _NO_LOOK
    if None in [_paging(look) for window in repetition.windows for look in (window.before, window.after)]:
        return f"{_SWAPPED}: {VMSTAT} could not be read"
    # Starting a command advances these counters.
    if _paging(repetition.windows[0].before) == _paging(repetition.windows[-1].after):
        return f"{_SWAPPED}: {unchanged_reason(VMSTAT)}"
    return next(
        (reason for window in repetition.windows if (reason := _unknown_window_reason(window)) is not None), None
    )


def _unknown_window_reason(window: Interval) -> str | None:
    lost = next((slowed for slowed in slowdowns_of(window) if slowed.times is None), None)
    if lost is not None and _counts_heat(window):
        return f"cannot tell whether {lost.by} slowed the {lost.what}: {lost.path} could not be read"
    if not window.after.cgroup.levels or not window.after.cgroup.reaches_root:
        return _GROUPS.format(Case(window.after).unread_reason(MEMBERSHIP, MOUNT_ROOTS, OWN_MOUNTS))
    uncounted = next(iter(_uncounted_levels(window)), None)
    return _QUOTA.format(clean(uncounted.folder)) if uncounted is not None else None


def _uncounted_levels(window: Interval) -> Iterator[CgroupLevel]:
    """Yield the control groups that may have been stopped by their quota without being counted."""
    before, after = window.before.cgroup.levels, window.after.cgroup.levels
    entered = _levels_of_command(window.after)
    yield from (level for level in after if level.throttling is None and level.quota_share != UNLIMITED)
    yield from (level for level in entered if _may_have_stopped(level, window))
    yield from uncounted_between(before, after, window.length_ns)
    yield from uncounted_between(_levels_of_command(window.before), entered, window.length_ns)


def _paging(snapshot: Snapshot) -> Mapping[str, int] | None:
    return snapshot.background.memory.count_by_name


def unknown_end_reason(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why the end of the repetition is unknown, or None if it is known.

    It is unknown if noisewatch may have had to wait for a CPU. After its end a command uses no CPU, except for
    processes left running, so the CPU time that it left unused bounds the error.
    """
    late_ns, limit_ns = repetition.seen_late_ns, max(allowance.ns(repetition.length_ns), _LATE_END_NS)
    if late_ns is None:
        return _MAYBE_LATE if unused_ns(repetition) + repetition.use.left_ns > limit_ns else None
    return _LATE.format(describe_ns(late_ns)) if late_ns > limit_ns else None


def _held_up_words(repetition: Repetition) -> tuple[str, str]:
    """Return noisewatch's delay as text, and a clause if its CPU is known to have been free, else an empty text."""
    is_explained = repetition.seen_late_ns is not None
    return describe_ns(_held_up_ns(repetition)), _WAS_FREE if is_explained else ""


def unlooked_reason(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why a stop or a pause may have been missed while noisewatch slept, or None.

    A command that ran or was ready all the time was not stopped. If its CPUs have all their ticks, the machine was not
    paused either.
    """
    if repetition.no_looks_reason is None:
        return None
    limit_ns = max(allowance.ns(repetition.length_ns), _HELD_UP_NS)
    waited_ns = repetition.use.waited_ns if repetition.use.ran_alone else None
    unused = unused_ns(repetition) - (waited_ns or 0) - repetition.use.stopped_ns - repetition.freezing.ns
    missing = [_missing_ticks_ns(repetition, cpu) for cpu in repetition.target]
    if None in missing:
        return f"cannot tell whether the machine was paused: {repetition.no_looks_reason}"
    lost_ns = max(unused, *(ns for ns in missing if ns is not None))
    return None if lost_ns <= limit_ns else _ASLEEP.format(describe_ns(lost_ns), repetition.no_looks_reason)


def _missing_ticks_ns(repetition: Repetition, cpu: int) -> int | None:
    """Return by how much (ns) the CPU's counters fall short of the span, or None if they prove nothing."""
    before, after = ((look.cpu_time or {}).get(cpu) for look in (repetition.span.before, repetition.span.after))
    tickless = repetition.span.after.isolation.nohz_full or frozenset()
    if before is None or after is None or cpu in tickless:
        return None
    return repetition.span.length_ns - (after.total_ns - before.total_ns)


def unused_ns(repetition: Repetition) -> int:
    """Return the CPU time that the command could have used on its CPUs, but did not."""
    most_cpus = 1 if repetition.use.ran_alone else len(repetition.target)
    return repetition.length_ns * most_cpus - repetition.use.cpu_ns


def _held_up_ns(repetition: Repetition) -> int:
    """Return how long noisewatch was held up, except by signals, frozen groups or steal on housekeeping CPUs."""
    before, after = repetition.span.before.cpu_time or {}, repetition.span.after.cpu_time or {}
    others = (before.keys() & after.keys()) - repetition.target
    steals = [(after[cpu].steal_ns or 0) - (before[cpu].steal_ns or 0) for cpu in others]
    return repetition.held_up_ns - repetition.use.stopped_ns - repetition.freezing.ns - max(steals, default=0)


def _has_stood_still(repetition: Repetition) -> bool | None:
    """Return whether the whole machine was paused while noisewatch was held up; None means unknown.

    After a pause, a CPU that was busy lacks ticks, and a CPU that was idle has the time counted as idle. A CPU that
    neither lacks time nor was idle for so long kept running, so that only noisewatch was stopped. CPUs without a
    tick prove neither.
    """
    held_up_ns = _held_up_ns(repetition)
    if held_up_ns < _HELD_UP_NS:
        return False
    ran_on = False
    tickless = repetition.span.after.isolation.nohz_full or frozenset()
    before, after = repetition.span.before.cpu_time or {}, repetition.span.after.cpu_time or {}
    for cpu in (before.keys() & after.keys()) - tickless:
        first, last = before[cpu], after[cpu]
        if repetition.span.length_ns - (last.total_ns - first.total_ns) >= held_up_ns / 2:
            return True
        idle_ns = last.idle_ns - first.idle_ns + (last.iowait_ns or 0) - (first.iowait_ns or 0)
        ran_on = ran_on or idle_ns < held_up_ns / 2
    return False if ran_on else None


def _may_have_been_stopped_too(repetition: Repetition) -> bool:
    """Return whether the command may have been stopped together with noisewatch, judged by its unused CPU time.

    For example, both may be in a frozen control group.
    """
    held_up_ns = _held_up_ns(repetition)
    return held_up_ns >= _HELD_UP_NS and unused_ns(repetition) >= held_up_ns / 2


def _pause_reasons(repetition: Repetition) -> Iterator[RunReason]:
    if _has_stood_still(repetition):
        ns = _held_up_ns(repetition)
        yield RunReason(
            kind=ReasonKind.PAUSED, name=_STOOD_STILL, ns=ns, share=repetition.share_of(ns), is_estimate=True
        )


def _levels_of_command(snapshot: Snapshot) -> list[CgroupLevel]:
    """Return the cgroups of the command's processes that used the most time of target CPUs.

    They may differ from noisewatch's own.
    """
    own = snapshot.own_pids
    return [level for pid, levels in snapshot.worker_cgroups.items() if pid in own for level in levels]


def _may_have_stopped(level: CgroupLevel, window: Interval) -> bool:
    """Return whether a group that was not observed before may have been stopped by its quota, perhaps earlier."""
    folders = {level.folder for level in (*window.before.cgroup.levels, *_levels_of_command(window.before))}
    if level.folder in folders or level.quota_share == UNLIMITED:
        return False
    return level.throttling is None or level.throttling.periods > 0


def _counts_heat(window: Interval) -> bool:
    """Return whether the processor counts throttling. AMD's processors, and those of virtual machines, do not."""
    looks = (window.before.background.throttling, window.after.background.throttling)
    return any(count is not None for look in looks for count in look.count_by_core_cpu.values())


def _merge_events(first: RunReason, last: RunReason) -> RunReason:
    """Return the reasons of two windows as one event."""
    ns = None if first.ns is None or last.ns is None else first.ns + last.ns
    return replace(first, ns=ns, end_ns=last.end_ns, is_estimate=first.is_estimate or last.is_estimate)


def _windows_reasons(repetition: Repetition) -> Iterator[RunReason]:
    for window in repetition.windows:
        if repetition.within(window):
            yield from _window_reasons(window, repetition)


def _clock_reasons(repetition: Repetition) -> Iterator[RunReason]:
    shift, stopped_ns = repetition.shift, repetition.use.stopped_ns
    if shift.is_step:
        yield RunReason(kind=ReasonKind.CLOCK_STEPPED, name="the time of day was set", ns=abs(shift.stepped_ns))
    if shift.is_suspend:
        yield RunReason(kind=ReasonKind.SUSPENDED, name="the machine was suspended", ns=shift.suspended_ns)
    if stopped_ns:
        yield RunReason(
            kind=ReasonKind.STOPPED,
            name="a signal stopped the command",
            ns=stopped_ns,
            share=repetition.share_of(stopped_ns),
        )
    yield from _group_reasons(repetition, repetition.freezing, ReasonKind.FROZEN, "the control group {} was frozen")
    yield from _group_reasons(repetition, repetition.quota, ReasonKind.QUOTA, "CPU quota of {}")


def _group_reasons(repetition: Repetition, freezing: Freezing, kind: ReasonKind, name: str) -> Iterator[RunReason]:
    """Yield the reason for a group that was frozen, or used up its quota, even if the command itself requested it."""
    if freezing.ns:
        yield RunReason(
            kind=kind,
            name=name.format(clean(freezing.folder or "")),
            ns=freezing.ns,
            share=repetition.share_of(freezing.ns),
            is_estimate=freezing.is_estimate,
        )


def _window_reasons(window: Interval, repetition: Repetition) -> Iterator[RunReason]:
    begin_ns = max(window.before.taken_at_ns - repetition.began_ns, 0)
    end_ns = min(window.after.taken_at_ns, repetition.ended_ns) - repetition.began_ns
    is_estimate = repetition.outside(window) > 0

    def event(kind: ReasonKind, name: str, ns: int | None = None, cpu: int | None = None) -> RunReason:
        return RunReason(
            kind=kind, name=name, ns=ns, cpu=cpu, begin_ns=begin_ns, end_ns=end_ns, is_estimate=is_estimate
        )

    levels = _levels_of_command(window.after)
    for slowed in slowdowns_of(window):
        if slowed.times:
            yield event(
                ReasonKind.THROTTLED, f"{slowed.what} slowed by {slowed.by}", cpu=min(slowed.cpus, default=None)
            )
    throttles = [*window.throttles, *throttles_between(_levels_of_command(window.before), levels)]
    for throttle in {throttle.level.folder: throttle for throttle in throttles}.values():
        yield event(ReasonKind.QUOTA, throttle.name, throttle.ns)
    for counter, words in _SWAPS.items():
        if vmstat_growth(window, counter):
            yield event(ReasonKind.SWAPPED, words)
    before, after = window.before.online.online, window.after.online.online
    offline = (window.before.target.cpus & (before or frozenset())) - after if after is not None else frozenset()
    if offline:
        yield event(ReasonKind.OFFLINE, f"{name_cpus(offline)} went offline", cpu=min(offline))
