"""The culprits that a screen lists, filtered, folded and sorted, and their number.

All words of a filter have to match: `kworker cpu:2-5 kind:irq >100us !rcu`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, name_cpus, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, CpuLine, CulpritLine, Frame
from noisewatch.patterns import regex
from noisewatch.surfaces.tui.state.baseline import Baseline
from noisewatch.surfaces.tui.state.folding import cpus_of, fold_culprits
from noisewatch.surfaces.tui.state.noise import GRAVE_NS
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count, parse_duration

if TYPE_CHECKING:
    from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_BOUND = regex(r"(?P<sign>[<>])(?P<figure>\d+(?:\.\d+)?)(?P<unit>ns|us|µs|ms|s)?")
_MEANT_AS_BOUND = regex(r"[<>]=?[\d.]")

Test = Callable[[CulpritLine], bool]


def filter_culprits(lines: Iterable[CulpritLine], text: str) -> list[CulpritLine]:
    """Return the culprits that match all words of the filter; `!` before a word negates it.

    A word is a kind, a process ID or a part of a name; `cpu:LIST` and `kind:WORD` match CPUs and kinds; `>100us` and
    `<1ms` bound the noise per second. A malformed word matches nothing; `mistakes` explains it.
    """
    tests = [_test(word) for word in text.split()]
    return [line for line in lines if all(test(line) for test in tests)]


def mistakes(text: str) -> list[str]:
    """Return a message for each malformed word of the filter."""
    return [message for word in text.split() if (message := _mistake(word.removeprefix("!"))) is not None]


def cpus_in_filter(text: str) -> CpuSet | None:
    """Return the CPUs that match all `cpu:LIST` words of the filter, or None if there is no valid one."""
    words = [word.removeprefix("cpu:") for word in text.split() if word.startswith("cpu:")]
    lists = [cpus for word in words if (cpus := _cpus(word)) is not None]
    return frozenset.intersection(*lists) if lists else None


def _mistake(word: str) -> str | None:
    key, colon, value = word.partition(":")
    if colon and key == "kind" and kind_named(value) is None:
        return f"unknown kind {value!r}: use one of {', '.join(KINDS)}"
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
    """Return the CPUs by number if `sort` requests it or all fit into `room` rows, or else target CPUs first.

    Among target CPUs and among the others, the noisiest come first or, in the order by rate, the CPUs with the most
    interrupts.
    """
    if len(lines) <= room or sort == SortOrder.CPU:
        return list(lines)

    def weight(line: CpuLine) -> float:
        if line.stolen_ns_per_s is None and line.role != Role.OFFLINE:
            return noise_or_grave(None)
        return (line.interrupts_per_s if sort == SortOrder.RATE else line.stolen_ns_per_s) or 0

    return sorted(lines, key=lambda line: (line.role != Role.TARGET, -weight(line), line.cpu))


def weight_of(line: CulpritLine, sort: SortOrder, baseline: Baseline | None) -> float:
    """Return the sort key of a culprit, the highest first; in the order by CPU, the key within one CPU."""
    if sort == SortOrder.CHANGE and baseline is not None:
        return abs(noise_or_grave(baseline.change_of_culprit(line)))
    return (line.rate_per_s or 0) if sort == SortOrder.RATE else line.stolen_ns_per_s


def culprits_in_order(lines: Iterable[CulpritLine], sort: SortOrder, baseline: Baseline | None) -> list[CulpritLine]:
    """Return the culprits in the sort order; in the order by CPU, a culprit's first CPU counts."""
    by_number = sort == SortOrder.CPU
    return sorted(lines, key=lambda line: (cpus_of(line)[0] if by_number else 0, -weight_of(line, sort, baseline)))


def noise_or_grave(ns: float | None) -> float:
    """Return the noise for sorting; unknown noise sorts as grave, because it may be grave."""
    return GRAVE_NS if ns is None else ns


def order_in_words(sort: SortOrder, is_folded: bool) -> str:
    """Return a description of the culprits' order."""
    return sort if is_folded else f"{sort}, per CPU"


def worst_cpu(lines: Sequence[CpuLine]) -> int | None:
    """Return the noisiest target CPU, or else the noisiest CPU; unknown noise counts as grave."""
    candidates = [line for line in lines if line.role == Role.TARGET] or lines
    return max(candidates, key=lambda line: noise_or_grave(line.stolen_ns_per_s)).cpu if candidates else None


def listed_culprits(model: ScreenModel) -> list[CulpritLine]:
    """Return the culprits that the screen lists, filtered, folded and sorted."""
    lines = _covered_culprits(model)
    if model.folds and model.screen != "cpu":
        lines = fold_culprits(lines, lambda line: weight_of(line, model.sort, model.baseline), _cut_cpus(model.frame))
    return culprits_in_order(lines, model.sort, model.baseline)


def _covered_culprits(model: ScreenModel) -> list[CulpritLine]:
    """Return the culprits on the CPUs that the screen lists, filtered, with a line for each thread and CPU."""
    lines = filter_culprits(model.culprits, listed_filter(model))
    if model.screen == "cpu":
        return [line for line in lines if line.cpu == model.cpu]
    is_complete = model.screen == "culprits" or model.shows_all_cpus
    return lines if is_complete else [line for line in lines if line.role != Role.HOUSEKEEPING]


def listed_filter(model: ScreenModel) -> str:
    """Return the filter of the culprits that the screen lists; empty if the screen has no filter."""
    return model.filter if model.screen == "culprits" else ""


def listed_cpus(model: ScreenModel) -> CpuSet | None:
    """Return the CPUs whose culprits the screen lists, or None for all."""
    if model.screen == "cpu":
        return frozenset() if model.cpu is None else frozenset({model.cpu})
    if model.screen != "overview" or model.shows_all_cpus or model.frame is None:
        return None
    return frozenset(line.cpu for line in model.frame.cpus if line.role != Role.HOUSEKEEPING)


def is_covered(model: ScreenModel, line: CpuLine) -> bool:
    """Return whether the CPU is online, and the screen lists its culprits and does not filter it out."""
    cpus = (listed_cpus(model), cpus_in_filter(listed_filter(model)))
    return line.role != Role.OFFLINE and all(listed is None or line.cpu in listed for listed in cpus)


def _cut_cpus(frame: Frame | None) -> CpuSet:
    """Return the CPUs whose culprits may be incomplete because the frame has only the costliest."""
    if frame is None or not frame.is_cut:
        return frozenset()
    complete = frozenset(line.cpu for line in frame.cpus if frame.has_all_culprits_on(line))
    return frozenset(line.cpu for line in frame.culprits) - complete


def unreadable_cpus(model: ScreenModel) -> list[int]:
    """Return the listed CPUs whose culprits could not be read; empty before there are rates."""
    if model.frame is None or model.frame.seconds <= 0:
        return []
    return [line.cpu for line in model.cpus if line.stolen_ns_per_s is None and is_covered(model, line)]


def describe_culprit_count(model: ScreenModel, listing: Listing[CulpritLine]) -> str:
    """Return the number of listed culprits, and the unreadable CPUs: `16 groups of 41, unknown on CPU 3`."""
    count, groups = len(_covered_culprits(model)), listing.count
    costliest = "the costliest " if model.frame is not None and model.frame.is_cut else ""
    unknown_cpus = unreadable_cpus(model) if groups else []  # an empty list shows the reason itself
    doubt = f", unknown on {name_cpus(unknown_cpus)}" if unknown_cpus else ""
    if groups < count:
        return f"{describe_count(groups, 'group')} of {costliest}{count}{doubt}"
    return f"{costliest}{describe_count(count, 'culprit')}{doubt}"
