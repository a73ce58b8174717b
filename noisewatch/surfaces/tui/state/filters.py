"""Filters and sort orders of culprits: `kworker cpu:2-5 kind:irq >100us !rcu`, where all words have to match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, CpuLine, CulpritLine
from noisewatch.patterns import regex
from noisewatch.surfaces.tui.state.baseline import Baseline
from noisewatch.surfaces.tui.state.folding import cpus_of
from noisewatch.surfaces.tui.state.noise import GRAVE_NS
from noisewatch.units import parse_duration

_BOUND = regex(r"(?P<sign>[<>])(?P<figure>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s)?")
_MEANT_AS_BOUND = regex(r"[<>]=?[\d.]")

Test = Callable[[CulpritLine], bool]


def matching(lines: Iterable[CulpritLine], text: str) -> list[CulpritLine]:
    """Return the culprits that match all words of the filter; `!` before a word negates it.

    A word is a kind, or a part of a name; `cpu:LIST` and `kind:WORD` match CPUs and kinds; `>100us` and `<1ms` bound
    the noise of a second. A malformed word matches nothing; `mistakes` explains it.
    """
    tests = [_test(word) for word in text.split()]
    return [line for line in lines if all(test(line) for test in tests)]


def mistakes(text: str) -> list[str]:
    """Return a message for each malformed word of the filter."""
    return [message for word in text.split() if (message := _mistake(word.removeprefix("!"))) is not None]


def asked_cpus(text: str) -> CpuSet | None:
    """Return the CPUs that the filter's `cpu:LIST` words leave, or None if there is no such word."""
    words = [word.removeprefix("cpu:") for word in text.split() if word.startswith("cpu:")]
    lists = [cpus for word in words if (cpus := _cpus(word)) is not None]
    return frozenset.intersection(*lists) if lists else None


def _mistake(word: str) -> str | None:
    key, colon, value = word.partition(":")
    if colon and key == "kind" and kind_named(value) is None:
        return f"no kind {value!r}: there are {', '.join(KINDS)}"
    if colon and key == "cpu" and _cpus(value) is None:
        return f"not a CPU list: {value!r}; write cpu:2-5,7"
    if _MEANT_AS_BOUND.match(word) and _BOUND.fullmatch(word) is None:
        return f"not a duration: {word[1:]!r}; write {word[0]}100us, in ns, us, ms or s"
    return None


def kind_named(word: str) -> str | None:
    """Return the kind with this name, or the only kind that begins with it."""
    if word in KINDS:
        return word
    begun = [kind for kind in KINDS if word and kind.startswith(word)]
    return begun[0] if len(begun) == 1 else None


def _cpus(text: str) -> CpuSet | None:
    try:
        return parse_cpu_list(text) or None
    except Malformed:
        return None


def _test(word: str) -> Test:
    if word.startswith("!") and len(word) > 1:
        other = _test(word[1:])
        return lambda line: not other(line)
    if _mistake(word) is not None:
        return lambda line: False
    key, colon, value = word.partition(":")
    if colon and key == "kind":
        kind = kind_named(value)
        return lambda line: line.kind == kind
    if colon and key == "cpu":
        cpus = _cpus(value) or frozenset()
        return lambda line: line.cpu in cpus
    bound = _BOUND.fullmatch(word)
    if bound is not None:
        ns, is_least = parse_duration(bound["figure"] + (bound["unit"] or "us")) or 0.0, bound["sign"] == ">"
        return lambda line: (line.stolen_ns_per_s > ns) == is_least
    needle = word.casefold()
    return lambda line: needle in line.name.casefold() or needle == line.kind or needle == str(line.pid)


class SortOrder(StrEnum):
    """The sort order of culprits and CPUs; `change` is since the baseline, if there is one."""

    COST = "cost"
    RATE = "rate"
    CPU = "cpu"
    CHANGE = "change"


SORT_ORDERS = (SortOrder.COST, SortOrder.RATE, SortOrder.CPU)  # without a baseline


def cpus_in_order(lines: Sequence[CpuLine], sort: SortOrder, room: int) -> list[CpuLine]:
    """Return the CPUs by number if all fit into `room` rows, or else target CPUs first, the noisiest on top."""
    if len(lines) <= room or sort == SortOrder.CPU:
        return list(lines)

    def weight(line: CpuLine) -> float:
        if line.stolen_ns_per_s is None and line.role != Role.OFFLINE:
            return noise_or_grave(None)
        return (line.interrupts_per_s if sort == SortOrder.RATE else line.stolen_ns_per_s) or 0

    return sorted(lines, key=lambda line: (line.role != Role.TARGET, -weight(line), line.cpu))


def weight_of(line: CulpritLine, sort: SortOrder, baseline: Baseline | None) -> float:
    """Return the weight by which culprits are sorted; in the order by CPU, within their CPU."""
    if sort == SortOrder.CHANGE and baseline is not None:
        return abs(noise_or_grave(baseline.change_of_culprit(line)))
    return (line.rate_per_s or 0) if sort == SortOrder.RATE else line.stolen_ns_per_s


def culprits_in_order(lines: Iterable[CulpritLine], sort: SortOrder, baseline: Baseline | None) -> list[CulpritLine]:
    """Return the culprits in the sort order; by CPU, a culprit on several CPUs sorts by its first one."""
    by_number = sort == SortOrder.CPU
    return sorted(lines, key=lambda line: (cpus_of(line)[0] if by_number else 0, -weight_of(line, sort, baseline)))


def noise_or_grave(ns: float | None) -> float:
    """Return the noise for sorting: unknown noise may be grave, and sorts as such."""
    return GRAVE_NS if ns is None else ns


def order_in_words(sort: SortOrder, is_folded: bool) -> str:
    """Return the description of the culprits' order."""
    return sort if is_folded else f"{sort}, each CPU by itself"


def worst_cpu(lines: Sequence[CpuLine]) -> int | None:
    """Return the noisiest target CPU, or the noisiest CPU without targets; unknown noise counts as grave."""
    candidates = [line for line in lines if line.role == Role.TARGET] or lines
    return max(candidates, key=lambda line: noise_or_grave(line.stolen_ns_per_s)).cpu if candidates else None
