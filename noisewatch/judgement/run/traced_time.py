"""The time that other tasks had on the target CPUs and their siblings, by the kernel's trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.own_work import OwnWork
from noisewatch.judgement.run.reasons import ReasonKind, RunReason, loud
from noisewatch.judgement.run.threads_seen import LEFT_RUNNING, time_elsewhere_ns
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.trace.culprits import TracedCulprit, threads_in
from noisewatch.records import dataclass
from noisewatch.units import describe_ns

_EXACT_SHARE = 0.05  # a smaller share in doubt is negligible
_IN_DOUBT = "the trace has not seen all switches between threads"
_NOT_ALL = "{} was not traced: it came online later"
_WAITED = "the command waited {} for its CPU, of which the trace shows {}"
WAKE_NS = 100_000  # an idle CPU takes some time to start


@dataclass(frozen=True, slots=True)
class TracedForeign:
    """The foreign time of a repetition by the trace; `slight` and `own` as in ForeignTime.

    `elsewhere_ns` is what the command certainly had on CPUs that are not target CPUs.
    """

    reasons: list[RunReason]
    slight: list[RunReason]
    own: list[RunReason]
    elsewhere_ns: int


def why_not_believed(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why the trace is unusable, or None: there is none, it lacks a CPU, or other measurements contradict it."""
    window = repetition.trace
    if isinstance(window, str):
        return window
    online = [each.online.online for each in (repetition.span.before, repetition.span.after)]
    there = repetition.target if None in online else repetition.target & frozenset().union(*(o or () for o in online))
    untraced = there - window.traced
    if untraced:
        return _NOT_ALL.format(name_cpus(untraced))
    use = repetition.use
    waited_ns = use.waited_ns if use.ran_alone else None
    others_ns = sum(time.ns for time in window.times if time.cpu in repetition.target)
    unseen_ns = (waited_ns or 0) - others_ns - window.states.held_ns - use.switches * WAKE_NS
    if waited_ns is not None and unseen_ns > allowance.ns(repetition.length_ns):
        return _WAITED.format(describe_ns(waited_ns), describe_ns(others_ns))
    return None


def why_not_settled(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> str | None:
    """Return why the counters have to decide, or None if the trace does."""
    doubt = why_not_believed(repetition, allowance)
    if doubt is not None:
        return doubt
    is_settled = find_traced(repetition, allowance, OwnWork.of(repetition)) is not None
    return None if is_settled and find_traced_siblings(repetition, siblings, allowance) is not None else _IN_DOUBT


def find_traced(repetition: Repetition, allowance: Allowance, own_work: OwnWork) -> TracedForeign | None:
    """Return what ran on the target CPUs next to the command, or None if no trace settles that."""
    window = repetition.trace
    allowed_ns = allowance.ns(repetition.length_ns)
    if isinstance(window, str) or why_not_believed(repetition, allowance) is not None:
        return None
    culprits = threads_in(window, repetition.target)
    foreign, own = own_work.split(_reasons(repetition, culprits, ReasonKind.FOREIGN))
    disturbing = loud(foreign, allowed_ns)
    if not disturbing and _is_in_doubt(culprits, foreign, _hidden_ns(repetition, window), allowed_ns):
        return None
    slight = [each for each in foreign if each not in disturbing]
    elsewhere_ns = window.elsewhere_ns(repetition.use.cpu_ns, repetition.target)
    return TracedForeign(disturbing, slight, own, max(elsewhere_ns, time_elsewhere_ns(repetition)))


def find_traced_siblings(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> list[RunReason] | None:
    """Return what ran on the siblings for longer than allowed on each, or None if no trace settles that."""
    window = repetition.trace
    allowed_ns = allowance.ns(repetition.length_ns)
    online = repetition.span.after.online.online
    siblings = siblings if online is None else siblings & online
    if isinstance(window, str) or not siblings <= window.traced:
        return None
    culprits = threads_in(window, siblings)
    reasons = _reasons(repetition, culprits, ReasonKind.SIBLING)
    found = loud(reasons, allowed_ns)
    return found if found or not _is_in_doubt(culprits, reasons, 0, allowed_ns) else None


def _reasons(repetition: Repetition, culprits: Iterable[TracedCulprit], kind: ReasonKind) -> list[RunReason]:
    """Return the culprits as reasons, with the time that they certainly had."""
    return [
        RunReason(
            kind=kind,
            name=each.name + (LEFT_RUNNING if each.pid in repetition.earlier_pids else ""),
            noise=each.kind,
            cpu=each.cpu,
            pid=each.pid,
            ns=each.ns - each.doubt_ns,
            share=repetition.share_of(each.ns - each.doubt_ns),
            begin_ns=each.begin_ns - repetition.began_ns,
            end_ns=each.end_ns - repetition.began_ns,
            is_estimate=each.doubt_ns > each.ns * _EXACT_SHARE,
        )
        for each in culprits
        if each.ns > 0
    ]


def _is_in_doubt(
    culprits: Iterable[TracedCulprit], reasons: Iterable[RunReason], hidden_ns: int, allowed_ns: float
) -> bool:
    """Return whether a CPU is quiet only if all culprits had no more than their certain time.

    `hidden_ns`: what they may have had of the command's time, on any CPU.
    """
    most_by_cpu: Counter[int | None] = Counter()
    for each in culprits:
        most_by_cpu[each.cpu] += each.doubt_ns
    for reason in reasons:
        most_by_cpu[reason.cpu] += reason.ns or 0
    return max(most_by_cpu.values(), default=0) + hidden_ns > allowed_ns


def _hidden_ns(repetition: Repetition, window: TraceWindow) -> int:
    """Return what others may have had of the time attributed to the command: no more than it did not use."""
    target = repetition.target
    unused_ns = window.own_ns(target) + window.interrupted_ns(target) - repetition.use.cpu_ns
    return min(window.doubt_ns, max(unused_ns, 0))
