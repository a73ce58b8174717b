"""The result of a series in sentences, which all formats share: statistics, differences, placement and doubts."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec.structs import replace

from noisewatch.cpus import fitting_cpu_list, format_cpu_list, name_cpus
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.placement import (
    THREADS_NOT_OBSERVED,
    PlacementAdvice,
    PlacementFault,
    unknown_placement_reason,
    weighty_threads,
)
from noisewatch.judgement.run.reasons import (
    ReasonKind,
    Unwatched,
    describe_left,
    label_with,
    left_words,
    name_with_kind,
    own_quota_words,
)
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.model.distributions import POWER, SIGNIFICANCE
from noisewatch.model.run.decomposition import Outlier
from noisewatch.model.run.mean_difference import FEWEST_PAIRS, MeanDifference
from noisewatch.model.run.placement import Placement, ThreadPlacement
from noisewatch.model.run.series import (
    CONFIDENCE,
    FEWEST_FOR_ORDER,
    Bounds,
    Explained,
    OrderDoubt,
    SelectedByCause,
    SeriesStatistics,
    VarianceParts,
)
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.conditions import SAME_LAYOUT, layout_effect_words, layout_sentences, load_words
from noisewatch.surfaces.reports.run.energy import energy_sentences
from noisewatch.surfaces.reports.run.factors import difference_parts_words, outlier_words, spread_words
from noisewatch.surfaces.reports.run.quantities import quantity_text
from noisewatch.text import clean, printable
from noisewatch.units import (
    describe_count,
    describe_names,
    describe_ns,
    describe_share,
    share_text,
)

_TOO_NARROW = "the interval of the mean may be too narrow"
_OF_PROGRAM = "the program (layout, hash seeds, allocation)"
_BOUNDLESS = 1e9  # a share: the runs vary so much that the interval includes a time of zero


def mean_words(series: SeriesStatistics, is_result: bool = True) -> str:
    """Return `1.234 s ± 0.012 s (25 runs, CV 0.97%, 95% interval of the mean 1.229 to 1.239 s)`.

    The interval is left out for a single layout, and for a series without a result, because noise may have shifted it.
    """
    if series.sd_s is None or series.cv is None:
        return f"{quantity_text([series.mean_s], None)} (1 run: its variation is unknown)"
    mean, sd = quantity_text([series.mean_s], series.sd_s), quantity_text([series.sd_s], series.sd_s, series.mean_s)
    spread = f"{mean} ± {sd} ({describe_count(series.count, 'run')}, CV {share_text(series.cv)}"
    if not is_result or series.mean_interval_s is None:
        return f"{spread})"
    bounds = [max(bound, 0.0) for bound in series.mean_interval_s]  # the interval may go below zero, but times cannot
    interval = quantity_text(bounds, series.sd_s, series.mean_s)
    return f"{spread}, {CONFIDENCE:.0%} interval of the mean {interval})"


def range_words(series: SeriesStatistics) -> str:
    """Return `median 1.231 s, runs from 1.214 to 1.290 s`."""
    median = quantity_text([series.median_s], series.sd_s, series.mean_s)
    return f"median {median}, runs from {quantity_text([series.min_s, series.max_s], series.sd_s, series.mean_s)}"


def doubt_words(
    series: SeriesStatistics, numbers: Sequence[int], explained: Collection[int] = frozenset()
) -> list[str]:
    """Return clauses on why the interval may be wrong; `numbers` are the numbers of the runs in the statistics.

    Far runs in `explained` are left out, because they have sentences of their own.
    """
    clauses = []
    if series.doubt == OrderDoubt.SERIAL:
        clauses.append(f"each run resembles the one before, so {_TOO_NARROW}")
    elif series.doubt is not None and series.later_share is not None:
        took = "longer" if series.doubt == OrderDoubt.SLOWER else "less time"
        later = _more_or_less(series.later_share)
        clauses.append(f"later runs took {took} (the second half {later} than the first), so {_TOO_NARROW}")
    elif not series.is_order_tested:
        clauses.append(f"fewer than {FEWEST_FOR_ORDER} runs: cannot tell whether later runs take longer")
    names = [str(numbers[at]) for at in series.far_runs if numbers[at] not in explained]
    if names:
        clauses.append(f"far from the others: run{'s' * (len(names) > 1)} {', '.join(names)}")
    return clauses


def difference_words(difference: MeanDifference, a: str = "A", b: str = "B", what: str = "time") -> str:
    """Return how much more or less time (or energy) `b` takes than `a`, with the interval.

    If no difference is shown, the sentence has the smallest difference that could have been shown.
    """
    if difference.interval is None or difference.smallest_shown is None:
        return (
            f"{b} took {_more_or_less(difference.share)} {what} than {a} in {_pairs(difference)}: too few to tell (at "
            f"least {FEWEST_PAIRS} pairs are needed, and each command must be first in at least one)"
        )
    at = f"{CONFIDENCE:.0%} interval, {_pairs(difference)}"
    if difference.is_shown:
        return f"{b} takes {_more_or_less(difference.share)} {what} than {a} ({_from_to(difference.interval)}: {at})"
    return (
        f"no difference shown: {b} takes between {_from_to(difference.interval, ' and ')} {what} than {a} ({at}); a "
        f"difference below {share_text(difference.smallest_shown)} may be missed"
    )


def relative_to_second(difference: MeanDifference) -> MeanDifference:
    """Return the difference as the first command's extra time, as a share of the second command's time."""

    def invert(share: float) -> float:
        return 1 / (1 + share) - 1 if share > -1 else _BOUNDLESS

    interval, smallest = difference.interval, difference.smallest_shown
    return replace(
        difference,
        share=invert(difference.share),
        interval=None if interval is None else Bounds(invert(interval.high), invert(interval.low)),
        smallest_shown=None if smallest is None else smallest / (1 + difference.share),
    )


def against_itself_words(difference: MeanDifference) -> str:
    """Return the smallest difference that can be shown here, from a series of a command against itself."""
    if difference.interval is None or difference.smallest_shown is None:
        pairs = f"{_pairs(difference)}, but at least {FEWEST_PAIRS} are needed"
        return f"cannot tell what difference can be shown here: {pairs}"
    shown = (
        f"differences of {share_text(difference.smallest_shown)} or more can be shown here with {_pairs(difference)} "
        f"({SIGNIFICANCE:.0%} false alarms, {POWER:.0%} power)"
    )
    if not difference.is_shown:
        return shown
    return (
        f"{shown}; but the command differs from itself ({_from_to(difference.interval)}), which happens by chance in "
        "one of twenty series: measure again"
    )


def variance_words(parts: VarianceParts) -> str:
    """Return how much times vary between processes, and how much of that the machine and the program explain."""
    if parts.cv is None or parts.cv_interval is None:
        return f"one {'run' if parts.count < 2 else 'layout'}: cannot tell how much processes vary"
    varies = f"varies {share_text(parts.cv)} between processes"
    if parts.of_machine is None or parts.of_program is None:
        return f"{varies}; the part of the machine is unknown: no noise floor was measured for runs of this length"
    machine = _range(parts.of_machine)
    if parts.explained == Explained.PROGRAM:
        rest = _range(parts.of_program)
        return (
            f"{varies}; the machine explains {machine}; the rest, {rest}, is due to {_OF_PROGRAM}, or to something "
            "that was not watched"
        )
    if parts.explained == Explained.ORDER:
        return (
            f"{varies}; the machine explains {machine}; the rest depends on when a run took place, so it is not due to "
            f"{_OF_PROGRAM}"
        )
    if parts.explained == Explained.MACHINE:
        return f"{varies}, no more than the machine alone may cause ({machine}), so nothing points to the program"
    return (
        f"{varies} ({_range(parts.cv_interval)} from {describe_count(parts.count, 'run')}); "
        f"the machine explains {machine}; too few runs to tell whether the program varies"
    )


def selection_words(selected: SelectedByCause) -> str:
    """Return `18 of 25 runs undisturbed, 5 disturbed`, and if too few are undisturbed, why there is no result."""
    counts = count_words([selected])
    if not selected.is_refused:
        return counts
    if selected.of_all is None:
        ends = " or ".join(["failed"] * bool(selected.failed_statuses) + ["was cut short"] * bool(selected.cut_short))
        return f"{counts}: no result, because {'each' if selected.count > 1 else 'the'} run {ends}"
    share = selected.undisturbed / selected.count
    return (
        f"{counts}: no result, because {share_text(share)} is too few (minimum {share_text(selected.min_undisturbed)})"
    )


def count_words(selected: Sequence[SelectedByCause]) -> str:
    """Return the number of runs by outcome, of one command or of two together.

    Such as `18 of 25 runs undisturbed, 2 disturbed, 1 unknown, 3 failed (status 3), 1 cut short`.
    """
    statuses = [status for selection in selected for status in selection.failed_statuses]
    kinds = "/".join(
        f"signal {-exit_status}" if exit_status < 0 else f"status {exit_status}"
        for exit_status in sorted(set(statuses))
    )
    rest = [
        (sum(selection.disturbed for selection in selected), "disturbed"),
        (sum(selection.unknown for selection in selected), "unknown"),
        (len(statuses), f"failed ({kinds})"),
        (sum(selection.cut_short for selection in selected), "cut short"),
    ]
    undisturbed, count = (
        sum(selection.undisturbed for selection in selected),
        sum(selection.count for selection in selected),
    )
    return ", ".join([undisturbed_words(undisturbed, count), *(f"{n} {which}" for n, which in rest if n)])


def undisturbed_words(undisturbed: int, count: int) -> str:
    """Return `18 of 25 runs undisturbed`, or `0 of 1 run undisturbed`."""
    return f"{undisturbed} of {describe_count(count, 'run')} undisturbed"


def selection_rows(selected: SelectedByCause) -> list[tuple[str, str]]:
    """Return the statistics of undisturbed runs, then of all runs, as rows of a name and a text."""
    kept, is_result = selected.of_undisturbed, not selected.is_refused
    rows = [] if kept is None else [("undisturbed runs", mean_words(kept, is_result))]
    if selected.of_all is not None:
        name = "all measured" if selected.failed_statuses or selected.cut_short else "all runs"
        rows.append((name, mean_words(selected.of_all, is_result)))
    return rows


def _pairs(difference: MeanDifference) -> str:
    return describe_count(difference.pairs, "pair")


def _more_or_less(share: float) -> str:
    return f"{share_text(abs(share))} {'less' if share < 0 else 'more'}"


def _from_to(bounds: Bounds, between: str = " to ") -> str:
    """Return `1.1% to 3.5% more` or `0.8% less to 1.5% more`; with two decreases the larger one is last."""
    low, high = bounds if bounds.high > 0 else (bounds.high, bounds.low)
    if low * high > 0:
        return f"{share_text(abs(low))}{between}{_more_or_less(high)}"
    return f"{_more_or_less(low)}{between}{_more_or_less(high)}"


def _range(bounds: Bounds) -> str:
    return " to ".join(dict.fromkeys(map(share_text, bounds)))


_NAMES = ("A", "B")  # names of two compared commands in texts
COMMANDS: tuple[Literal["a"], Literal["b"]] = ("a", "b")  # names of the two commands in JSON documents
_PLACEHOLDER = "COMMAND"
_LIST_WIDTH = 24  # the most columns of a list of CPUs
_MOST_THREADS = 8
_MOST_LEFT = 3  # runs whose remaining processes are listed
_MOST_OUTLIERS = 3
_MOST_PLACES = 4
_LEAST_SHARE = 0.005  # share of a thread's time; a smaller share would be shown as 0%
_MB = 1_000_000
_Key = TypeVar("_Key")
_WHY = {
    PlacementFault.NODES: "threads moved between memory nodes",
    PlacementFault.CORES: "threads moved between kinds of cores",
    PlacementFault.MEMORY: "memory came from nodes other than the target CPUs'",
    PlacementFault.STACKED: "threads shared a CPU while another one was free",
    PlacementFault.MOVING: "the only busy thread moved between CPUs",
}


def counts_of(series: RunSeries) -> str:
    """Return the counts, such as `18 of 25 runs undisturbed`."""
    undisturbed = sum(judged.is_undisturbed for judged in series.repetitions)
    return undisturbed_words(undisturbed, len(series.repetitions))


def letter_of(series: RunSeries, command: int) -> str:
    """Return `A: ` or `B: ` for one of two commands, and an empty string for a single command."""
    return f"{_NAMES[command]}: " if len(series.options.commands) > 1 else ""


def headline_of(conclusion: RunConclusion) -> str:
    """Return the number of undisturbed runs, and the culprit that took the most time.

    For a single command, the headline also has the reason for a missing result.
    """
    selected = [command.selected for command in conclusion.commands]
    counts = selection_words(selected[0]) if len(selected) == 1 else count_words(selected)
    if not conclusion.culprits:
        return counts
    first = conclusion.culprits[0]
    took = "" if first.ns is None else f"{time_of_culprit(first)} "
    where = f"{took}in {describe_count(len(first.numbers), 'run')}"
    if first.kind == ReasonKind.LEFT_TARGET:
        return f"{counts}; {name_of_culprit(first)}, for {where}"
    return f"{counts}; mostly by {name_of_culprit(first)}, {where}"


def command_sentences(command: CommandConclusion, is_alone: bool = False) -> list[str]:
    """Return the counts (unless `is_alone`, as the headline has them), the variances, the range, doubts and placement.

    Without a result, parts that are derived from it are left out.
    """
    statistics = command.selected.of_undisturbed or command.selected.of_all
    counts = [] if is_alone else [selection_words(command.selected)]
    if statistics is None:
        return counts
    if command.selected.is_refused:
        return [*counts, range_words(statistics), *energy_sentences(command.energy), *_placement_sentences(command)]
    return [
        *counts,
        variance_words(command.variances),
        *([] if command.layout_effect is None else [layout_effect_words(command.layout_effect)]),
        *([] if command.decomposition is None else [spread_words(command.decomposition)]),
        range_words(statistics),
        *_outlier_sentences(command),
        *doubt_words(statistics, command.counted, [outlier.number for outlier in _explained_outliers(command)]),
        *energy_sentences(command.energy),
        *_placement_sentences(command),
    ]


def _outlier_sentences(command: CommandConclusion) -> list[str]:
    """Return sentences on runs far from the others without a cause, and the advice to add a warm-up."""
    warm_up = "the first run took longer than all others: --warmup 1 adds a run before it that the statistics leave out"
    return [*map(outlier_words, _explained_outliers(command)), *([warm_up] if command.advises_warm_up else [])]


def _explained_outliers(command: CommandConclusion) -> list[Outlier]:
    """Return the first large outliers, and the first run if a warm-up would change it; the others are only listed."""
    first = command.numbers[0] if command.advises_warm_up else None
    return [outlier for outlier in command.outliers if outlier.is_large or outlier.number == first][:_MOST_OUTLIERS]


def _placement_sentences(command: CommandConclusion) -> list[str]:
    """Return sentences on the CPUs of the command's threads, if they could choose between CPUs."""
    placement = command.placement
    has_choice = len(placement.target) > 1 and (placement.looks > 0 or placement.is_traced)
    max_threads = min(len(weighty_threads(placement)), _MOST_THREADS)
    return placement_lines(placement, max_threads) if has_choice else []


def advice_parts_of(series: RunSeries, command: CommandConclusion, identifies: bool) -> list[tuple[str, str]]:
    """Return (reason, command line) pairs: command lines that would have placed the command's threads better."""
    argv = series.options.commands[command.command]
    return [advice_parts(advice, argv, identifies) for advice in command.advice]


def difference_sentences(series: RunSeries, conclusion: RunConclusion) -> list[str]:
    """Return the difference between two commands; nothing for a single command, or without a pair."""
    difference = conclusion.difference or conclusion.of_all_pairs
    if difference is None:
        return []
    names = [f"{name} ({program_of(argv)})" for name, argv in zip(_NAMES, series.options.commands, strict=True)]
    if conclusion.is_refused:  # one command may have been disturbed more
        undisturbed = 0 if conclusion.difference is None else conclusion.difference.pairs
        counts = f"{undisturbed} of {describe_count(conclusion.pairs, 'pair')}"
        minimum = f"(minimum {share_text(series.options.min_undisturbed)})"
        too_few = f"only {counts} {'is' if undisturbed == 1 else 'are'} undisturbed {minimum}"
        return [f"{' and '.join(names)}: no result, because {too_few}"]
    which = "" if conclusion.difference is not None else "; all pairs count here, because none was undisturbed"
    energy = conclusion.energy_difference
    if series.options.is_aa:
        of_energy = [] if energy is None else [f"energy: {against_itself_words(energy)}"]
        return [against_itself_words(difference) + which, *of_energy, SAME_LAYOUT]
    sentences = [difference_words(relative_to_second(difference), *reversed(names)) + which]
    sentences += [] if conclusion.decomposition is None else [difference_parts_words(conclusion.decomposition)]
    if energy is not None:
        sentences.append(difference_words(relative_to_second(energy), names[1], names[0], "energy") + which)
    return sentences


def left_sentences(series: RunSeries) -> list[str]:
    """Return clauses on the processes that the first such runs left running, then on those of side commands.

    Further runs are only counted, because they usually left the same processes.
    """
    judged = (*series.warm_ups, *series.repetitions)
    clauses = [words for one in judged if (words := left_words(one.repetition)) is not None]
    by_side = [
        describe_left(side.name, side.name_by_left_pid) for side in series.side_commands if side.name_by_left_pid
    ]
    return [*_first_of(clauses, "more run"), *_first_of(by_side, "more command")]


def _first_of(clauses: Sequence[str], others: str) -> list[str]:
    left = len(clauses) - _MOST_LEFT
    return [*clauses[:_MOST_LEFT], *([f"and {describe_count(left, others)} did so"] if left > 0 else [])]


def condition_sentences(series: RunSeries) -> list[str]:
    """Return sentences on the load, the layout, and side commands that failed without ending the series."""
    failed = [f"{side.name}: {printable(side.trouble)}" for side in series.side_commands if side.trouble is not None]
    failed = failed if series.failed_side_command is None else failed[:-1]
    loads = [] if series.load is None else [load_words(series.load)]
    return [*loads, *layout_sentences(series), *_first_of(failed, "more command")]


def own_quota_sentences(series: RunSeries) -> list[str]:
    """Return how much noisewatch itself used of the CPU quota that stopped runs; an empty list if it stopped none."""
    words = own_quota_words((judged.repetition, judged.verdict) for judged in series.repetitions)
    return [] if words is None else [words]


def not_watched_sentences(series: RunSeries) -> list[str]:
    """Return sentences on what was not watched, so the verdicts of the runs do not cover it."""
    return [f"not watched: {clause}" for clause in not_watched_clauses(series)]


def not_watched_clauses(series: RunSeries) -> list[str]:
    """Return clauses on what was not watched on this machine, then on what was not watched in some runs."""
    numbers: dict[Unwatched, list[int]] = {}
    for judged in series.repetitions:
        for unwatched in judged.verdict.unwatched:
            numbers.setdefault(unwatched, []).append(judged.repetition.number)
    of_machine = [str(unwatched) for unwatched in not_watched(series.machine, calibrated_khz(series.opening))]
    return of_machine + [
        f"{unwatched.what} in {_name_runs(runs)}: {unwatched.why}" for unwatched, runs in numbers.items()
    ]


def level_sentences(series: RunSeries) -> list[str]:
    """Return a sentence on the source of the attribution: the kernel trace, or counters with the reason."""
    if series.level.reason is not None:
        return [f"attribution: counters, because {printable(series.level.reason)}"]
    numbers: dict[str, list[int]] = {}
    for judged in series.repetitions:
        if isinstance(judged.repetition.trace, str):
            numbers.setdefault(judged.repetition.trace, []).append(judged.repetition.number)
    exceptions = [f"for {_name_runs(runs)} counters, because {printable(reason)}" for reason, runs in numbers.items()]
    return ["; ".join(["attribution: kernel trace", *exceptions])]


def _name_runs(numbers: list[int]) -> str:
    """Format run numbers as `runs 3,7-9`."""
    return f"run{'s' * (len(numbers) > 1)} {format_cpu_list(numbers)}"


def machine_sentences(conclusion: RunConclusion) -> list[str]:
    """Return a sentence if the machine's speed changed during the series, or may have changed; else an empty list."""
    change, unknown = conclusion.speed_change, conclusion.change_unknown
    if change is not None and change.is_too_much:
        return [
            f"the machine changed during the series: after it, the same work took {share_text(abs(change.share))} "
            f"{'more' if change.share > 0 else 'less'} time on CPU {change.cpu}"
        ]
    return [] if unknown is None else [f"cannot tell whether the machine changed: {printable(unknown)}"]


def ending_sentences(series: RunSeries) -> list[str]:
    """Return sentences if the series ended before all requested runs were made, or its load may have been too small."""
    return _early_end(series) + load_trouble_sentences(series)


def load_trouble_sentences(series: RunSeries) -> list[str]:
    """Return a sentence if the load may have been too small; else an empty list."""
    trouble = None if series.load is None else series.load.trouble
    return [] if trouble is None else [f"the load may have been smaller than requested: {printable(trouble)}"]


def _early_end(series: RunSeries) -> list[str]:
    if series.ended_by is not None:
        return [f"the series was ended by {signal.Signals(series.ended_by).name}"]
    if (side := series.failed_side_command) is not None:
        return [f"the series ended with {side.name}: {printable(side.trouble or '')}"]
    return [] if series.failed is None else [f"the series ended with run {series.failed}, which failed"]


def placement_lines(placement: Placement, max_threads: int = _MOST_THREADS) -> list[str]:
    """Return a line on all threads, a line for each of the first `max_threads` threads, and remarks on all threads."""
    lines = [_summary(placement), *(_thread_line(thread, placement) for thread in placement.threads[:max_threads])]
    other_count = len(placement.threads) - max_threads
    if other_count > 0:
        rest_ns = sum(thread.ran_ns for thread in placement.threads[max_threads:]) + placement.other_ns
        share = rest_ns / placement.seen_ns if placement.seen_ns else 0.0
        lines.append(f"{other_count} more, with {describe_share(share, 0)} of the run time")
    return lines + list(_placement_remarks(placement))


def advice_parts(advice: PlacementAdvice, argv: Sequence[str], identifies: bool) -> tuple[str, str]:
    """Return the reason (`threads moved between memory nodes`) and the command (`numactl --cpunodebind=1 ./bench`)."""
    command = shlex.join([*advice.before, *argv]) if identifies else f"{shlex.join(advice.before)} {_PLACEHOLDER}"
    return _WHY[advice.fault], printable(command)


def _summary(placement: Placement) -> str:
    if not placement.looks and not placement.is_traced:
        return THREADS_NOT_OBSERVED
    count = len(weighty_threads(placement)) or len(placement.threads)
    busy = f"{describe_count(count, 'thread')} on {fitting_cpu_names(placement.ns_by_cpu())}"
    observed = "traced" if placement.is_traced else f"observed {_times(placement.looks)}"
    share = placement.seen_share
    return f"{busy}, {observed}{'' if share is None else f' ({describe_share(share, 0)} of the CPU time)'}"


def _thread_line(thread: ThreadPlacement, placement: Placement) -> str:
    """Return `worker (812): CPU 3 61%, CPU 2 39%; moved at least 12 times, twice to another memory node`."""
    parts = [_shares(thread.ns_by_cpu, "CPU {}"), _moves(thread, placement.is_traced)]
    if len(placement.nodes) > 1:
        parts.insert(1, _shares(thread.ns_by_node, "node {}"))
    if len(placement.kinds) > 1:
        parts.insert(1, _shares(thread.ns_by_kind, "{} cores"))
    return f"{printable(thread.name)} ({thread.tid}): {'; '.join(parts)}"


def _shares(ns_by_place: Mapping[_Key, float], form: str) -> str:
    total = sum(ns_by_place.values())
    places = sorted(ns_by_place.items(), key=lambda item: (-item[1], str(item[0])))
    if not total:
        return form.format(_place_name(places[0][0]))
    shown = [(key, ns / total) for key, ns in places if ns >= _LEAST_SHARE * total]
    texts = [f"{form.format(_place_name(key))} {describe_share(share, 0)}" for key, share in shown]
    return describe_names(texts, _MOST_PLACES)


def _place_name(key: object) -> str:
    return "?" if key is None else str(key)


def _moves(thread: ThreadPlacement, is_traced: bool) -> str:
    if not thread.least_moves:
        return "did not move" if is_traced else "not seen to move"
    parts = [f"moved {'' if is_traced else 'at least '}{_times(thread.least_moves)}"]
    if thread.node_moves:
        parts.append(f"{_times(thread.node_moves)} to another memory node")
    if thread.kind_moves:
        parts.append(f"{_times(thread.kind_moves)} to another kind of core")
    return ", ".join(parts)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _placement_remarks(placement: Placement) -> Iterator[str]:
    if placement.spread is not None:
        pinned, left = placement.spread.pinned, placement.spread.left_by_reason.items()
        did = f"pinned a busy thread to a CPU of its own {_times(pinned)}" if pinned else "pinned no thread"
        yield ", ".join([f"--spread {did}", *(f"left {count} alone: {printable(reason)}" for reason, count in left)])
    if (stacking := placement.stacking) is not None:
        yield (
            f"up to {stacking.most_ready} threads shared {name_cpus(stacking.stacked)} while "
            f"{name_cpus(stacking.free)} had none, in {describe_share(stacking.share, 0)} of the observations"
        )
    outside = [cpu for cpu, ns in placement.ns_by_cpu().items() if cpu not in placement.target and ns > 0]
    if outside:
        yield f"the command also ran outside the target CPUs, on {name_cpus(outside)}: it chose its CPUs itself"
    memory = placement.memory
    if memory.share is None or memory.size_bytes is None:
        yield f"memory on other nodes: unknown ({memory.reason})"
    elif memory.size_bytes:
        size = f"{'at most ' if memory.is_bound else ''}{memory.size_bytes / _MB:,.1f} MB"
        yield f"memory on other nodes: {size} ({describe_share(memory.share, 1)})"
    for reason in (placement.reason, unknown_placement_reason(placement)):
        if reason is not None:
            yield f"unknown: {reason}"


def program_of(argv: Sequence[str]) -> str:
    """Return the program's base name, without its arguments and its folder, which may name a user."""
    return clean(os.path.basename(argv[0])) or "?"


def command_words(argv: Sequence[str], identifies: bool) -> str:
    """Return the program's name, or the whole command line if `identifies`."""
    return printable(shlex.join(argv)) if identifies else program_of(argv)


def name_of_culprit(culprit: RunCulprit) -> str:
    """Return the culprit's name for people: `stress-ng (pid 812)`, `cc1 (pid 812 and 41 more)`, `irq eth0-rx-3`."""
    rest = f" and {len(culprit.pids) - 1} more" if len(culprit.pids) > 1 else ""
    pid = f" (pid {culprit.pids[0]}{rest})" if culprit.pids else ""
    return name_with_kind(culprit.noise, printable(label_with(culprit.name, pid, culprit.program)))


def time_of_culprit(culprit: RunCulprit) -> str:
    """Return the sum of the culprit's known times in all repetitions; `?` if none is known."""
    return ("~" if culprit.is_estimate and culprit.ns is not None else "") + describe_ns(culprit.ns)


def fitting_cpu_names(cpus: Iterable[int]) -> str:
    return name_cpus(cpus, lambda cpus: fitting_cpu_list(cpus, _LIST_WIDTH))
