"""A series in Markdown, to paste into an issue or a pull request: what it comes to, and which runs were disturbed."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch import __version__
from noisewatch.cpus import name_cpus
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.conclusion import CommandConclusion, conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.fitting import MOST_BYTES, fitting
from noisewatch.surfaces.reports.parts.tables import cell, code, prose, table
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.reason_words import describe_reasons
from noisewatch.surfaces.reports.run.receipt import command_words
from noisewatch.surfaces.reports.run.sentences import (
    command_sentences,
    counts_of,
    difference_sentences,
    ending_sentences,
    letter_of,
    machine_sentences,
)
from noisewatch.surfaces.reports.run.words import selection_rows
from noisewatch.text import printable
from noisewatch.units import describe_ns

_MOST_ROWS = 50


def render(series: RunSeries, options: SeriesOptions) -> str:
    """All of `run --format markdown`."""
    return markdown_of_series(series, options, MOST_BYTES)


def markdown_of_series(series: RunSeries, options: SeriesOptions, most_bytes: int) -> str:
    """As much of it as fits, from the top."""
    conclusion = conclude(series)
    parts = [f"### noisewatch run: {counts_of(series)}\n", _particulars(series)]
    parts += [_of_command(series, options, each) for each in conclusion.commands]
    sentences = [
        *difference_sentences(series, conclusion),
        *machine_sentences(conclusion),
        *ending_sentences(series),
    ]
    parts += [f"{prose(each)}\n" for each in sentences]
    return fitting([*parts, *_disturbed(series)], most_bytes)


def _particulars(series: RunSeries) -> str:
    target = series.machine.target
    rows = [
        ("target", f"{name_cpus(target.cpus)} ({target.chosen_by})"),
        ("machine", describe_host(series.machine)),
        ("noisewatch", __version__),
    ]
    return table(("", ""), [(name, cell(value)) for name, value in rows])


def _of_command(series: RunSeries, options: SeriesOptions, command: CommandConclusion) -> str:
    words = command_words(series.options.commands[command.command], options.identifies)
    rows = [*selection_rows(command.selected), *(("", sentence) for sentence in command_sentences(command))]
    heading = f"#### {letter_of(series, command.command)}{code(words)}\n"
    return "\n".join([heading, table(("", ""), [(name, cell(said)) for name, said in rows])])


def _disturbed(series: RunSeries) -> Iterator[str]:
    judged = [each for each in series.repetitions if each.verdict.outcome != RunOutcome.UNDISTURBED]
    if judged:
        yield table(("run", "time", "verdict", "why"), [_row(series, each) for each in judged[:_MOST_ROWS]])
    if judged[_MOST_ROWS:]:
        yield f"and {len(judged) - _MOST_ROWS} more\n"


def _row(series: RunSeries, judged: JudgedRepetition) -> tuple[str, str, str, str]:
    repetition = judged.repetition
    return (
        f"{letter_of(series, repetition.command)}{repetition.number}",
        describe_ns(repetition.length_ns),
        judged.verdict.outcome,
        cell(printable(describe_reasons(judged.verdict))),
    )
