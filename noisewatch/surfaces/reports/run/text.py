"""What a series came to, for people: the undisturbed runs first, then what was disturbed, and by whom."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.conclusion import CommandConclusion, conclude
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.reason_words import describe_reasons
from noisewatch.surfaces.reports.run.sentences import (
    command_sentences,
    difference_sentences,
    letter_of,
    machine_sentences,
)
from noisewatch.surfaces.reports.run.words import selection_rows
from noisewatch.text import printable
from noisewatch.units import describe_ns

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
    for command in conclusion.commands:
        lines += ["", *_command_lines(series, command, width)]
    lines += _paragraph(difference_sentences(series, conclusion), width)
    lines += _paragraph(machine_sentences(conclusion), width)
    lines += _disturbed_lines(series, width)
    return "\n".join(lines) + "\n"


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _command_lines(series: RunSeries, command: CommandConclusion, width: int) -> Iterator[str]:
    argv = series.options.commands[command.command]
    yield (letter_of(series, command.command) + printable(shlex.join(argv)))[:width]
    for title, words in selection_rows(command.selected):
        yield from textwrap.wrap(f"{title:<16}  {words}", width, initial_indent="  ", subsequent_indent=" " * 20)
    for words in command_sentences(command):
        yield from textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="    ")


def _paragraph(sentences: Sequence[str], width: int) -> list[str]:
    lines = [line for each in sentences for line in textwrap.wrap(each, width, subsequent_indent="  ")]
    return ["", *lines] if lines else []


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
