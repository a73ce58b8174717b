"""What a hypervisor took of the target CPUs within a repetition, from the steal time of /proc/stat."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kinds import Kind
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.books import accounts_for_time
from noisewatch.model.run.repetition import Repetition

_NAME = "hypervisor (steal time)"
_UNCOUNTED = "what a hypervisor took of {} is not known: /proc/stat does not count it"
_STANDS_STILL = "what a hypervisor took of {} is not known: its time in /proc/stat stood still"
_TOO_COARSE = (
    "a hypervisor took time of {} around it; that is counted in steps of 10 ms: too coarse for a repetition this short"
)


def steal_reasons(repetition: Repetition) -> Iterator[RunReason]:
    """One a CPU, however little. The counter has steps of 10 ms: of the first one, most may have been taken before."""
    length_ns = repetition.length_ns
    for cpu in sorted(repetition.target):
        counted_ns = _stolen_ns(repetition.span, cpu) or 0
        ns = min(counted_ns, length_ns)
        if ns > 0:
            yield RunReason(
                kind=ReasonKind.STEAL,
                name=_NAME,
                noise=Kind.OUTSIDE,
                cpu=cpu,
                ns=ns,
                share=repetition.share_of(ns),
                is_estimate=counted_ns <= TICK_NS,
            )


def why_steal_unknown(repetition: Repetition, allowance: Allowance) -> str | None:
    """Why nobody can say that the hypervisor took nothing; None where that is known.

    Of what it takes around a short repetition, the counter does not tell how much was within.
    """
    uncounted = [cpu for cpu in sorted(repetition.target) if _stolen_ns(repetition.span, cpu) is None]
    if uncounted:
        return _UNCOUNTED.format(name_cpus(uncounted))
    still = [cpu for cpu in sorted(repetition.target) if any(_stands_still(each, cpu) for each in repetition.windows)]
    if still:
        return _STANDS_STILL.format(name_cpus(still))
    if allowance.ns(repetition.length_ns) >= TICK_NS:
        return None
    around = [cpu for cpu in sorted(repetition.target) if _taken_around(repetition, cpu)]
    return _TOO_COARSE.format(name_cpus(around)) if around else None


def _taken_around(repetition: Repetition, cpu: int) -> bool:
    return any(_stolen_ns(window, cpu) for window in repetition.windows)


def _stands_still(window: Interval, cpu: int) -> bool:
    first, last = ((each.cpu_time or {}).get(cpu) for each in (window.before, window.after))
    return first is not None and last is not None and not accounts_for_time(first, last, window.length_ns)


def _stolen_ns(interval: Interval, cpu: int) -> int | None:
    before, after = ((each.cpu_time or {}).get(cpu) for each in (interval.before, interval.after))
    if before is None or after is None or before.steal_ns is None or after.steal_ns is None:
        return None
    return after.steal_ns - before.steal_ns if after.steal_ns >= before.steal_ns else None
