"""What a series comes to in sentences, which text and Markdown share."""

from __future__ import annotations

import signal

from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.placement_reasons import weighty_threads
from noisewatch.judgement.run.reason_words import left_words
from noisewatch.judgement.run.reasons import Unwatched
from noisewatch.model.run.repetition import Repetition
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.run.command_words import program_of
from noisewatch.surfaces.reports.run.culprit_words import name_of_culprit, time_of_culprit
from noisewatch.surfaces.reports.run.placement_words import advice_parts, placement_lines
from noisewatch.surfaces.reports.run.words import (
    SAME_LAYOUT,
    against_itself_words,
    count_words,
    difference_words,
    doubt_words,
    range_words,
    seen_from_the_second,
    selection_words,
    undisturbed_words,
    variance_words,
)
from noisewatch.text import printable
from noisewatch.units import describe_count, share_text

_NAMES = ("A", "B")
_MOST_THREADS = 8
_MOST_LEFT = 3  # runs


def counts_of(series: RunSeries) -> str:
    """`18 of 25 runs undisturbed`."""
    undisturbed = sum(each.is_undisturbed for each in series.repetitions)
    return undisturbed_words(undisturbed, len(series.repetitions))


def letter_of(series: RunSeries, command: int) -> str:
    """`A: ` before one of two commands; nothing before the only one."""
    return f"{_NAMES[command]}: " if len(series.options.commands) > 1 else ""


def run_name(series: RunSeries, repetition: Repetition) -> str:
    """`7`; of two commands `A: 7`."""
    return f"{letter_of(series, repetition.command)}{repetition.number}"


def headline_of(series: RunSeries, conclusion: RunConclusion) -> str:
    """How many runs count, and who took most time from the others; of one command also whether there is a result."""
    selected = [command.selected for command in conclusion.commands]
    counts = selection_words(selected[0]) if len(selected) == 1 else count_words(selected)
    if not conclusion.culprits:
        return counts
    first = conclusion.culprits[0]
    took = "" if first.ns is None else f"{time_of_culprit(first)} "
    return f"{counts}; mostly by {name_of_culprit(first)}, {took}in {describe_count(len(first.numbers), 'run')}"


def command_sentences(command: CommandConclusion, is_alone: bool = False) -> list[str]:
    """Why its runs vary, how many of them count (unless it `is_alone`: the headline says it), and what they were.

    Of what is no result, nothing that is worked out of it.
    """
    statistics = command.selected.of_undisturbed or command.selected.of_all
    counts = [] if is_alone else [selection_words(command.selected)]
    if statistics is None:
        return counts
    if command.selected.is_refused:
        return [*counts, range_words(statistics), *_placement_sentences(command)]
    return [
        *counts,
        variance_words(command.variances),
        range_words(statistics),
        *doubt_words(statistics),
        *_placement_sentences(command),
    ]


def _placement_sentences(command: CommandConclusion) -> list[str]:
    """Where its threads ran, if there was a choice."""
    placement = command.placement
    has_choice = len(placement.target) > 1 and (placement.looks > 0 or placement.is_traced)
    most = min(len(weighty_threads(placement)), _MOST_THREADS)
    return placement_lines(placement, most) if has_choice else []


def advice_parts_of(series: RunSeries, command: CommandConclusion, identifies: bool) -> list[tuple[str, str]]:
    """What would have placed its threads better: why, and the command line."""
    argv = series.options.commands[command.command]
    return [advice_parts(each, argv, identifies) for each in command.advice]


def advice_sentences(series: RunSeries, command: CommandConclusion, identifies: bool) -> list[str]:
    """Both in one sentence."""
    return [": ".join(parts) for parts in advice_parts_of(series, command, identifies)]


def difference_sentences(series: RunSeries, conclusion: RunConclusion) -> list[str]:
    """Of two commands; nothing of one, or without a pair."""
    found = conclusion.difference or conclusion.of_all_pairs
    if found is None:
        return []
    if conclusion.is_refused:
        return [_refusal_of(series, conclusion)]
    which = "" if conclusion.difference is not None else "; all pairs count here, as none was undisturbed"
    if series.options.is_aa:
        return [against_itself_words(found) + which, SAME_LAYOUT]
    return [difference_words(seen_from_the_second(found), *reversed(_names_of(series))) + which]


def _refusal_of(series: RunSeries, conclusion: RunConclusion) -> str:
    """Why the difference tells nothing of the commands: one may have met more noise."""
    undisturbed = conclusion.difference.pairs if conclusion.difference is not None else 0
    pairs, least = describe_count(conclusion.pairs, "pair"), share_text(series.options.min_undisturbed)
    too_few = f"as {undisturbed} of {pairs} undisturbed {'is' if undisturbed == 1 else 'are'} too few (minimum {least})"
    return f"{' and '.join(_names_of(series))}: no result, {too_few}"


def _names_of(series: RunSeries) -> tuple[str, str]:
    """Of both programs, with the letters that stand before their runs: `A (new)`, `B (old)`."""
    first, second = (f"{name} ({program_of(argv)})" for name, argv in zip(_NAMES, series.options.commands, strict=True))
    return first, second


def left_sentences(series: RunSeries) -> list[str]:
    """What the runs have left running: of the first ones, as such a command does the same each time."""
    told = [words for each in series.repetitions if (words := left_words(each.repetition)) is not None]
    left = len(told) - _MOST_LEFT
    return [*told[:_MOST_LEFT], *([f"and {describe_count(left, 'more run')} did"] if left > 0 else [])]


def not_watched_sentences(series: RunSeries) -> list[str]:
    """What no verdict here covers."""
    return [f"not watched: {each}" for each in not_watched_clauses(series)]


def not_watched_clauses(series: RunSeries) -> list[str]:
    """On this machine, and then in some of the runs only."""
    numbers: dict[Unwatched, list[int]] = {}
    for judged in series.repetitions:
        for each in judged.verdict.unwatched:
            numbers.setdefault(each, []).append(judged.repetition.number)
    of_machine = [str(each) for each in not_watched(series.machine, calibrated_khz(series.opening))]
    return of_machine + [f"{each.what} in {_name_runs(runs)}: {each.why}" for each, runs in numbers.items()]


def level_sentences(series: RunSeries) -> list[str]:
    """By what it is known who disturbed the runs."""
    if series.level.reason is not None:
        return [f"attribution: counters, because {printable(series.level.reason)}"]
    numbers: dict[str, list[int]] = {}
    for each in series.repetitions:
        if isinstance(each.repetition.trace, str):
            numbers.setdefault(each.repetition.trace, []).append(each.repetition.number)
    exceptions = [f"of {_name_runs(runs)} counters, because {printable(reason)}" for reason, runs in numbers.items()]
    return ["; ".join(["attribution: kernel trace", *exceptions])]


def _name_runs(numbers: list[int]) -> str:
    """`runs 3,7-9`."""
    return f"run{'s' * (len(numbers) > 1)} {format_cpu_list(numbers)}"


def machine_sentences(conclusion: RunConclusion) -> list[str]:
    """Where the machine was not the same after the series as before it, or nobody knows."""
    change, unknown = conclusion.speed_change, conclusion.change_unknown
    if change is not None and change.is_too_much:
        return [
            f"the machine is not what it was: after the series the same work took {share_text(abs(change.share))} "
            f"{'more' if change.share > 0 else 'less'} time on CPU {change.cpu} than before it"
        ]
    return [] if unknown is None else [f"whether the machine is what it was is unknown: {printable(unknown)}"]


def ending_sentences(series: RunSeries) -> list[str]:
    """Why fewer runs were made than were wanted."""
    if series.ended_by is not None:
        return [f"the series was ended by {signal.Signals(series.ended_by).name}"]
    return [] if series.failed is None else [f"the series ended with run {series.failed}, which failed"]
