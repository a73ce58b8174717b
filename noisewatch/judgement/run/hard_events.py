"""What no repetition may meet, however short it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, CgroupLevel
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.slowed import slowed_between
from noisewatch.model.run.repetition import Repetition
from noisewatch.text import clean

_STEP_NS = 1_000_000  # the two clocks are not read at once
_SWAPS = {"pswpin": "pages were read back from swap", "pswpout": "pages went to swap"}  # of /proc/vmstat
_NO_LOOK = "the machine was not looked at before and after it"


def hard_reasons(repetition: Repetition) -> list[RunReason]:
    """The events, one reason each; of a window that covers more than the repetition as well: it may have been hit."""
    found: dict[tuple[ReasonKind, str, int | None], RunReason] = {}
    for reason in [*_of_clocks(repetition), *_of_windows(repetition)]:
        key = reason.kind, reason.name, reason.cpu
        found[key] = _together(found[key], reason) if key in found else reason
    return list(found.values())


def why_events_unknown(repetition: Repetition) -> str | None:
    """Why nobody can say that none came; None where that is known."""
    if sum(repetition.within(window) for window in repetition.windows) < repetition.length_ns:
        return _NO_LOOK
    for window in repetition.windows:
        if None in (window.before.background.memory.count_by_name, window.after.background.memory.count_by_name):
            return f"whether pages were swapped is not known: {VMSTAT} could not be read"
        lost = next((slowed for slowed in slowed_between(window) if slowed.times is None), None)
        if lost is not None and _counts_heat(window):
            return f"whether {lost.by} slowed the {lost.what} is not known: {lost.path} could not be read"
        uncounted = next((level for level in window.after.cgroup.levels if _is_uncounted(level)), None)
        if uncounted is not None:
            return f"whether the CPU quota of {clean(uncounted.folder)} stopped it is not known"
    return None


def _is_uncounted(level: CgroupLevel) -> bool:
    return level.throttling is None and level.quota_share != UNLIMITED


def _counts_heat(window: Interval) -> bool:
    """Whether the processor counts how often it was slowed: in a virtual machine none does, and not those of AMD."""
    looks = (window.before.background.throttling, window.after.background.throttling)
    return any(count is not None for look in looks for count in look.count_by_core_cpu.values())


def _together(first: RunReason, last: RunReason) -> RunReason:
    """One event that goes on from window to window."""
    ns = None if first.ns is None or last.ns is None else first.ns + last.ns
    return replace(first, ns=ns, end_ns=last.end_ns, is_estimate=first.is_estimate or last.is_estimate)


def _of_windows(repetition: Repetition) -> Iterator[RunReason]:
    for window in repetition.windows:
        if repetition.within(window):
            yield from _of_window(window, repetition)


def _of_clocks(repetition: Repetition) -> Iterator[RunReason]:
    shift, stopped_ns = repetition.shift, repetition.use.stopped_ns
    if abs(shift.stepped_ns) > _STEP_NS:
        yield RunReason(kind=ReasonKind.CLOCK_STEPPED, name="the time of day was set", ns=abs(shift.stepped_ns))
    if shift.suspended_ns > _STEP_NS:
        yield RunReason(kind=ReasonKind.SUSPENDED, name="the machine was suspended", ns=shift.suspended_ns)
    if stopped_ns:
        yield RunReason(
            kind=ReasonKind.STOPPED,
            name="a signal stopped the command",
            ns=stopped_ns,
            share=repetition.share_of(stopped_ns),
        )


def _of_window(window: Interval, repetition: Repetition) -> Iterator[RunReason]:
    begin_ns = max(window.before.taken_at_ns - repetition.began_ns, 0)
    end_ns = min(window.after.taken_at_ns, repetition.ended_ns) - repetition.began_ns
    is_estimate = repetition.outside(window) > 0

    def event(kind: ReasonKind, name: str, ns: int | None = None, cpu: int | None = None) -> RunReason:
        return RunReason(
            kind=kind, name=name, ns=ns, cpu=cpu, begin_ns=begin_ns, end_ns=end_ns, is_estimate=is_estimate
        )

    for slowed in slowed_between(window):
        if slowed.times:
            yield event(
                ReasonKind.THROTTLED, f"{slowed.what} slowed by {slowed.by}", cpu=min(slowed.cpus, default=None)
            )
    for throttle in window.throttles:
        yield event(ReasonKind.QUOTA, throttle.name, throttle.ns)
    for counter, words in _SWAPS.items():
        if _grown(window, counter) > 0:
            yield event(ReasonKind.SWAPPED, words)
    before, after = window.before.online.online, window.after.online.online
    gone = (window.before.target.cpus & (before or frozenset())) - after if after is not None else frozenset()
    if gone:
        yield event(ReasonKind.OFFLINE, f"{name_cpus(gone)} went offline", cpu=min(gone))


def _grown(window: Interval, counter: str) -> int:
    before = window.before.background.memory.count_by_name or {}
    after = window.after.background.memory.count_by_name or {}
    return after.get(counter, 0) - before.get(counter, 0) if counter in before else 0
