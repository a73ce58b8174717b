"""What a series came to, for people: the undisturbed runs first, then what was disturbed, and by whom."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion, conclude
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.reason_words import describe_reasons
from noisewatch.surfaces.reports.run.words import (
    SAME_LAYOUT,
    against_itself_words,
    difference_words,
    doubt_words,
    range_words,
    selection_rows,
    selection_words,
    variance_words,
)
from noisewatch.text import printable
from noisewatch.units import describe_ns, share_text

_NAMES = ("A", "B")
_MOST_ROWS = 25
_LEAST_WHY = 30  # columns


def render(series: RunSeries, options: SeriesOptions) -> str:
    """All of `run --format text`."""
    return text_of_series(series, options.width)


def text_of_series(series: RunSeries, width: int) -> str:
    """The whole report of `noisewatch run`."""
    conclusion = conclude(series)
    where = name_cpus(series.machine.target.cpus)
    lines = [f"noisewatch run · {where} ({series.machine.target.chosen_by}) · {_runs(len(series.repetitions))}"]
    for number, command in enumerate(conclusion.commands):
        lines += ["", *_command_lines(series, number, command, width)]
    lines += _difference_lines(series, conclusion, width)
    lines += _machine_lines(conclusion, width)
    lines += _disturbed_lines(series, width)
    return "\n".join(lines) + "\n"


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _command_lines(series: RunSeries, number: int, command: CommandConclusion, width: int) -> Iterator[str]:
    name = f"{_NAMES[number]}: " if len(series.options.commands) > 1 else ""
    yield (name + printable(shlex.join(series.options.commands[number])))[:width]
    for title, words in selection_rows(command.selected):
        yield from textwrap.wrap(f"{title:<16}  {words}", width, initial_indent="  ", subsequent_indent=" " * 20)
    statistics = command.selected.of_undisturbed or command.selected.of_all
    for words in (
        selection_words(command.selected),
        range_words(statistics),
        *doubt_words(statistics),
        variance_words(command.variances),
    ):
        yield from textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="    ")


def _difference_lines(series: RunSeries, conclusion: RunConclusion, width: int) -> list[str]:
    found = conclusion.difference or conclusion.of_all_pairs
    if found is None:
        return []
    which = "" if conclusion.difference is not None else "of all pairs, as none was undisturbed: "
    if series.options.is_aa:
        said = [which + against_itself_words(found), SAME_LAYOUT]
    else:
        said = [which + difference_words(found)]
    return ["", *(line for each in said for line in textwrap.wrap(each, width, subsequent_indent="  "))]


def _machine_lines(conclusion: RunConclusion, width: int) -> list[str]:
    change = conclusion.speed_change
    if change is None or not change.is_too_much:
        return []
    words = (
        f"the machine is not what it was: after the series the same work took {share_text(abs(change.share))} "
        f"{'more' if change.share > 0 else 'less'} time on CPU {change.cpu} than before it"
    )
    return ["", *textwrap.wrap(words, width, subsequent_indent="  ")]


def _disturbed_lines(series: RunSeries, width: int) -> list[str]:
    """A row for each of them, with its reasons below each other behind it."""
    judged = [each for each in series.repetitions if each.verdict.outcome != RunOutcome.UNDISTURBED]
    if not judged:
        return []
    shown = judged[:_MOST_ROWS]
    rows = [
        ["", str(each.repetition.number), describe_ns(each.repetition.length_ns), each.verdict.outcome.value]
        for each in shown
    ]
    head, *table = align([["", "run", "time", "verdict"], *rows]).splitlines()
    begin = max(map(len, table)) + 2
    lines = ["", f"{head:<{begin}}why"]
    for row, each in zip(table, shown, strict=True):
        why = textwrap.wrap(describe_reasons(each.verdict), max(width - begin, _LEAST_WHY)) or [""]
        lines += [f"{row:<{begin}}{why[0]}".rstrip(), *(" " * begin + line for line in why[1:])]
    rest = len(judged) - len(shown)
    return lines + ([f"  and {rest} more"] if rest else [])
