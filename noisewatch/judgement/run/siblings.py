"""Time that the other hardware threads of the target's cores were busy."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.foreign_time import UNSEEN, late_ns
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.judgement.run.threads_seen import foreign_threads, reasons_of, share_out, within_books
from noisewatch.judgement.run.traced_time import find_traced_siblings
from noisewatch.kinds import Kind
from noisewatch.model.run.books import ran_between
from noisewatch.model.run.repetition import Repetition
from noisewatch.units import describe_ns

_NO_TOPOLOGY = "which CPUs share a core with {} is not known"
_NO_COUNTS = "how busy {}, which shares a core with a target CPU, was is not known"

_UNSETTLED = "{}, which shares a core with a target CPU, was busy for {} during the repetition, or right beside it"


def sibling_reasons(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> list[RunReason]:
    """Who was busy there, on each for more than is allowed; noisewatch as well."""
    traced = find_traced_siblings(repetition, siblings, allowance)
    if traced is not None:
        return traced
    return [reason for cpu in sorted(siblings) for reason in _on_sibling(repetition, cpu, allowance)]


def why_siblings_unknown(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> str | None:
    """Why nobody can say that they were idle; None where that is known."""
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


def _on_sibling(repetition: Repetition, cpu: int, allowance: Allowance) -> list[RunReason]:
    allowed_ns = allowance.ns(repetition.length_ns)
    ran = ran_between(repetition.span.before, repetition.span.after, cpu)
    if ran is None:
        return []
    seen = foreign_threads(repetition, frozenset({cpu}), ReasonKind.SIBLING)
    least_ns = max(ran.ns - ran.doubt_ns - repetition.slack_ns, late_ns(repetition, cpu, seen))
    if least_ns <= allowed_ns:
        return []
    ns = min(max(ran.ns, least_ns), repetition.length_ns)
    seen = within_books(seen, ns)
    reasons = reasons_of(share_out(seen, ns - sum(each.certain_ns for each in seen)), repetition)
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
