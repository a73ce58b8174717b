"""What no repetition may meet, however short it was."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.slowed import slowed_between
from noisewatch.model.run.repetition import Repetition

_STEP_NS = 1_000_000  # the two clocks are not read at once
_SWAPS = {"pswpin": "pages were read back from swap", "pswpout": "pages went to swap"}  # of /proc/vmstat


def hard_reasons(repetition: Repetition) -> list[RunReason]:
    """The events, one reason each; of a window that covers more than the repetition as well: it may have been hit."""
    found = list(_of_clocks(repetition))
    for window in repetition.windows:
        found += _of_window(window, repetition)
    return found


def _of_clocks(repetition: Repetition) -> Iterator[RunReason]:
    shift, stopped_ns = repetition.shift, repetition.use.stopped_ns
    if abs(shift.stepped_ns) > _STEP_NS:
        yield RunReason(kind=ReasonKind.CLOCK_STEPPED, name="the time of day was set", ns=abs(shift.stepped_ns))
    if shift.suspended_ns > _STEP_NS:
        yield RunReason(kind=ReasonKind.SUSPENDED, name="the machine was suspended", ns=shift.suspended_ns)
    if stopped_ns:
        share = min(stopped_ns / max(repetition.length_ns, 1), 1.0)
        yield RunReason(kind=ReasonKind.STOPPED, name="a signal stopped the command", ns=stopped_ns, share=share)


def _of_window(window: Interval, repetition: Repetition) -> Iterator[RunReason]:
    begin_ns = window.before.taken_at_ns - repetition.began_ns
    end_ns = window.after.taken_at_ns - repetition.began_ns
    is_estimate = window.length_ns > repetition.length_ns

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
    gone = (repetition.target & (before or frozenset())) - after if after is not None else frozenset()
    if gone:
        yield event(ReasonKind.OFFLINE, f"{name_cpus(gone)} went offline", cpu=min(gone))


def _grown(window: Interval, counter: str) -> int:
    before = window.before.background.memory.count_by_name or {}
    after = window.after.background.memory.count_by_name or {}
    return after.get(counter, 0) - before.get(counter, 0) if counter in before else 0
