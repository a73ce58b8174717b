"""Judge values that a benchmark has measured, by how much the measuring thread was disturbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.model.run.benchmark_run import MeasuredValue, ValuesAround
from noisewatch.units import describe_ns

_RESOLUTION_NS = 10_000  # the counters are not read at once: reading them takes some microseconds


class ValueVerdict(Struct, frozen=True):
    """The verdict of one value, with the reason unless it is undisturbed."""

    outcome: RunOutcome
    reason: str | None = None


class ValuesVerdict(Struct, frozen=True):
    """The verdict of all values of a process, in order; the `reasons` of single values come first."""

    outcome: RunOutcome
    values: tuple[ValueVerdict, ...]
    reasons: tuple[str, ...]


def judge_values(values: Sequence[MeasuredValue], around: ValuesAround) -> ValuesVerdict:
    """Return the verdict of the values: disturbed if a value, or the CPU around them, was; unknown without values."""
    judged = tuple(judge_value(value) for value in values)
    about_cpu = list(_about_cpu(around))
    verdicts = [*judged, *about_cpu]
    reasons = [
        *[
            f"value {value.number}: {verdict.reason}"
            for value, verdict in zip(values, judged, strict=True)
            if verdict.reason
        ],
        *[verdict.reason for verdict in about_cpu if verdict.reason],
    ]
    outcomes = {verdict.outcome for verdict in verdicts}
    if RunOutcome.DISTURBED in outcomes:
        return ValuesVerdict(RunOutcome.DISTURBED, judged, tuple(reasons))
    is_unknown = RunOutcome.UNKNOWN in outcomes or not values
    return ValuesVerdict(RunOutcome.UNKNOWN if is_unknown else RunOutcome.UNDISTURBED, judged, tuple(reasons))


def judge_value(value: MeasuredValue) -> ValueVerdict:
    """Return the verdict of a value, by how long its thread waited for a CPU or was interrupted."""
    allowed_ns = LOSES_TOO_MUCH * value.length_ns
    if allowed_ns < _RESOLUTION_NS:
        return _unknown(
            f"{describe_ns(value.length_ns)} is too short: the counters resolve {describe_ns(_RESOLUTION_NS)}"
        )
    if value.waited_ns is None:
        return _unknown("the kernel does not report how long the thread waited for its CPU")
    has_others = value.others_ns > allowed_ns
    if value.waited_ns > allowed_ns:
        waited = f"waited {describe_ns(value.waited_ns)} for its CPU ({value.preemptions} preemptions)"
        return _unknown(f"{waited}, perhaps for its own threads") if has_others else _disturbed(waited)
    if value.rest_ns > allowed_ns and value.sleeps == 0:
        return _disturbed(f"interrupts or the hypervisor took {describe_ns(value.rest_ns)}")
    if has_others:
        return _unknown("disturbances of the benchmark's other threads and processes are not visible")
    if value.rest_ns > allowed_ns:
        return _unknown(f"slept {value.sleeps} times, or was interrupted, for {describe_ns(value.rest_ns)}")
    return ValueVerdict(RunOutcome.UNDISTURBED)


def _about_cpu(around: ValuesAround) -> Iterator[ValueVerdict]:
    allowed_ns = LOSES_TOO_MUCH * around.length_ns
    for unknown in around.unknowns:
        yield _unknown(unknown)
    if around.interrupted_ns is not None and around.interrupted_ns > allowed_ns:
        yield _disturbed(f"interrupts took about {describe_ns(around.interrupted_ns)} of the time of all values")
    if around.steal_ns:
        yield from _judge_ticks(around.steal_ns, allowed_ns, "the hypervisor took {} of the time of all values")
    for cpu, ns in (around.busy_ns_by_sibling or {}).items():
        yield from _judge_ticks(ns, allowed_ns, f"sibling CPU {cpu} was busy for {{}} while the values were measured")


def _judge_ticks(ns: int, allowed_ns: float, words: str) -> Iterator[ValueVerdict]:
    """Yield the verdict on a counter with steps of 10 ms: most of one step may be outside of the values."""
    if ns - TICK_NS > allowed_ns:
        yield _disturbed(words.format(describe_ns(ns)))
    elif ns > allowed_ns:
        yield _unknown(words.format(f"up to {describe_ns(ns)}"))


def _disturbed(reason: str) -> ValueVerdict:
    return ValueVerdict(RunOutcome.DISTURBED, reason)


def _unknown(reason: str) -> ValueVerdict:
    return ValueVerdict(RunOutcome.UNKNOWN, reason)
