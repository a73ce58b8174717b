"""Commands that run outside their target CPUs: for how long, on which CPUs, and which noise cannot have hit them.

The trace is exact. Without it there are lower bounds: the first thread's time while its affinity excluded the target
CPUs, threads that two consecutive looks found on other CPUs, and CPU time that the target CPUs did not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from noisewatch.cpus import name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason, above_allowance
from noisewatch.kernel.cpus.online import LIST as ONLINE
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition
from noisewatch.units import describe_ns

_COUNT_ERROR = 0.01  # share of the command's CPU time by which the kernel's two counts may differ
_WHERE = 0.01  # share of the time outside: CPUs with less are not named
_NEARLY_ALL = 0.8  # of the CPU time: the rest is mostly a shell's, or spent before the affinity was set
_NOISE = frozenset(
    {
        ReasonKind.FOREIGN,
        ReasonKind.SIBLING,
        ReasonKind.INTERRUPTIONS,
        ReasonKind.STEAL,
        ReasonKind.CLOCK_LOWERED,
    }
)

_MAY_HAVE_LEFT = "a thread of the command was on a CPU other than the target CPUs, for up to {}"
_MOVED = "the command ran on other CPUs for {}: cannot tell whether a target CPU went offline ({})"


class LeftTarget(Struct, frozen=True):
    """A command's time outside the target CPUs; `reason` is None if it may be within the allowance.

    `away_ns`: for how long the command had, or may have had, no thread on the target CPUs.
    `unknown`: why it is unknown whether the command left them by itself, or None if it is known.
    """

    reason: RunReason | None
    away_ns: int
    unknown: str | None = None

    def keep(self, reasons: Iterable[RunReason], repetition: Repetition, allowance: Allowance) -> list[RunReason]:
        """Return the reasons without noise that may have occurred while the command was elsewhere.

        If it certainly was elsewhere for nearly all of its CPU time, noise on the target CPUs explains nothing.
        """
        listed = list(reasons)
        if not self.away_ns:
            return listed
        harmless_ns = self.away_ns + allowance.ns(repetition.length_ns)
        noise = [reason for reason in listed if reason.kind in _NOISE]
        kept = above_allowance(noise, harmless_ns)
        if repetition.length_ns > harmless_ns:  # a lower clock lasted for the whole repetition
            kept += [reason for reason in noise if reason.kind == ReasonKind.CLOCK_LOWERED]
        if self.reason is not None and (self.reason.share or 0.0) >= _NEARLY_ALL:
            kept = []
        return [reason for reason in listed if reason.kind not in _NOISE or reason in kept]


def find_left_target(repetition: Repetition, placement: Placement, allowance: Allowance) -> LeftTarget | None:
    """Return the command's time outside the target CPUs, or None if it is within the allowance."""
    used_ns, online = repetition.use.cpu_ns, repetition.span.after.online.online
    if online is not None and not repetition.target < online:
        return None  # no CPU is left, or the kernel moved threads away from one that went offline
    is_traced = not isinstance(repetition.trace, str)
    ns = traced_outside_ns(repetition) if is_traced else _counted_outside_ns(repetition, placement)
    if ns <= allowance.ns(repetition.length_ns):
        return None if is_traced else _possible_absence(repetition, placement, allowance)
    if online is None:
        return LeftTarget(None, 0, _MOVED.format(describe_ns(ns), Case(repetition.span.after).unread_reason(ONLINE)))
    observed = {cpu: cpu_ns for cpu, cpu_ns in placement.ns_by_cpu().items() if cpu not in repetition.target}
    if not is_traced:
        ns = min(max(ns, round(sum(observed.values()))), used_ns)
    cpus = frozenset(cpu for cpu, cpu_ns in observed.items() if cpu_ns > _WHERE * ns) or repetition.first_outside.cpus
    others = online - repetition.target
    if not cpus and len(others) == 1:
        cpus = others
    share = min(ns / max(used_ns, 1), 1.0)
    where = name_cpus(cpus) if cpus else "other CPUs"
    reason = RunReason(
        kind=ReasonKind.LEFT_TARGET,
        name=f"the command ran on {where}, not on the target",
        cpu=min(cpus) if len(cpus) == 1 else None,
        cpus=cpus,
        ns=ns,
        share=share,
        is_estimate=not is_traced,
    )
    # Other threads than the first may have been on the target CPUs all the time.
    is_away = share >= _NEARLY_ALL or repetition.use.ran_alone
    return LeftTarget(reason, round(share * repetition.length_ns) if is_away else 0)


def _possible_absence(repetition: Repetition, placement: Placement, allowance: Allowance) -> LeftTarget | None:
    """Return the time that the command may have spent elsewhere, by its last affinity or by single looks, or None."""
    if repetition.allowed and not repetition.allowed & repetition.target:
        max_ns, used_ns = repetition.first_outside.max_ns, repetition.use.cpu_ns
        share = 1.0 if max_ns is None else min(max_ns / max(used_ns, 1), 1.0)
        return LeftTarget(None, round(share * repetition.length_ns))
    if placement.max_outside_ns > allowance.ns(repetition.length_ns):
        return LeftTarget(None, 0, _MAY_HAVE_LEFT.format(describe_ns(placement.max_outside_ns)))
    return None


def traced_outside_ns(repetition: Repetition) -> int:
    """Return a lower bound of the command's time outside the target CPUs by the trace; 0 without a trace.

    Time of tasks that the trace lacks, or that may be the command's, counts as time on the target CPUs.
    """
    window, books = repetition.trace, repetition.books
    if isinstance(window, str):
        return 0
    on_target = [time for time in window.times if time.cpu in repetition.target]
    traced_ns = window.own_ns(repetition.target) + sum(time.ns for time in on_target)
    around_ns = books.doubt_ns + repetition.slack_ns * len(repetition.target)
    missing_ns = max((books.tasks_ns or 0) - traced_ns - around_ns, 0)
    doubt_ns = missing_ns + sum(time.doubt_ns for time in on_target)
    return max(window.elsewhere_ns(repetition.use.cpu_ns, repetition.target) - doubt_ns, 0)


def _counted_outside_ns(repetition: Repetition, placement: Placement) -> int:
    """Return the largest of the lower bounds without a trace."""
    books, used_ns = repetition.books, repetition.use.cpu_ns
    uncounted_ns = 0.0
    if books.is_exact and books.tasks_ns is not None:
        uncounted_ns = used_ns * (1 - _COUNT_ERROR) - books.tasks_ns - books.doubt_ns
    looked_ns = sum(placement.outside_ns_by_cpu.values())
    return min(max(repetition.first_outside.ns, round(looked_ns), round(uncounted_ns), 0), used_ns)
