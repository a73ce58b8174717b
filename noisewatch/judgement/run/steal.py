"""What a hypervisor took of the target CPUs within a repetition, from the steal time of /proc/stat."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kinds import Kind
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition

_NAME = "hypervisor (steal time)"


def steal_reasons(repetition: Repetition, allowance: Allowance) -> Iterator[RunReason]:
    """One a CPU. The counter has steps of 10 ms: of a single one, most may have been taken before.

    Of that the windows around tell how much it was on average.
    """
    length_ns = repetition.length_ns
    for cpu in sorted(repetition.target):
        counted_ns = _stolen_ns(repetition.span, cpu)
        is_estimate = counted_ns <= TICK_NS
        ns = min(counted_ns, round(_usual_share(repetition, cpu) * length_ns)) if is_estimate else counted_ns
        if ns > allowance.ns(length_ns):
            share = min(ns / max(length_ns, 1), 1.0)
            yield RunReason(
                kind=ReasonKind.STEAL,
                name=_NAME,
                noise=Kind.OUTSIDE,
                cpu=cpu,
                ns=ns,
                share=share,
                is_estimate=is_estimate,
            )


def _usual_share(repetition: Repetition, cpu: int) -> float:
    passed_ns = sum(window.length_ns for window in repetition.windows)
    return sum(_stolen_ns(window, cpu) for window in repetition.windows) / passed_ns if passed_ns else 1.0


def _stolen_ns(interval: Interval, cpu: int) -> int:
    before, after = ((each.cpu_time or {}).get(cpu) for each in (interval.before, interval.after))
    if before is None or after is None or before.steal_ns is None or after.steal_ns is None:
        return 0
    return max(after.steal_ns - before.steal_ns, 0)
