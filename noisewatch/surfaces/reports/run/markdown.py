"""A series in Markdown, to paste into an issue or a pull request: its result, and which runs were disturbed."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch import __version__
from noisewatch.cpus import name_cpus
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.run.reasons import describe_run
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion, conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.colours import plain_row
from noisewatch.surfaces.reports.parts.tables import MOST_BYTES, cell, code, facts_table, fenced, fitting, prose, table
from noisewatch.surfaces.reports.run.command_words import command_words
from noisewatch.surfaces.reports.run.culprit_words import CULPRIT_HEAD, culprit_rows_of, more_culprits, remedies_in
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.picture import picture_rows
from noisewatch.surfaces.reports.run.sentences import (
    advice_sentences,
    command_sentences,
    counts_of,
    difference_sentences,
    ending_sentences,
    left_sentences,
    letter_of,
    level_sentences,
    machine_sentences,
    not_watched_sentences,
    run_name,
    selection_rows,
)
from noisewatch.surfaces.tui.draw.glyphs import UNICODE
from noisewatch.text import printable
from noisewatch.units import describe_ns

_MOST_ROWS = 50
_WIDTH = 100  # columns of the picture


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format markdown`."""
    return markdown_of_series(series, options, MOST_BYTES)


def markdown_of_series(series: RunSeries, options: SeriesOptions, most_bytes: int) -> str:
    """Return the Markdown report, cut at the end to at most `most_bytes`."""
    conclusion = conclude(series)
    parts = [f"### noisewatch run: {counts_of(series)}\n", _particulars(series)]
    parts += [_of_command(series, options, command) for command in conclusion.commands]
    sentences = [
        *difference_sentences(series, conclusion),
        *machine_sentences(conclusion),
        *level_sentences(series),
        *ending_sentences(series),
        *left_sentences(series),
        *not_watched_sentences(series),
    ]
    parts += [f"{prose(sentence)}\n" for sentence in sentences]
    rows = picture_rows(series, conclusion.culprits, _WIDTH, UNICODE)
    picture = [fenced("text", [plain_row(row) for row in rows])] if rows else []
    return fitting([*parts, *_culprits(series, conclusion), *picture, *_disturbed(series)], most_bytes)


def _particulars(series: RunSeries) -> str:
    target = series.machine.target
    rows = [
        ("target", f"{name_cpus(target.cpus)} ({target.chosen_by})"),
        ("machine", describe_host(series.machine)),
        ("noisewatch", __version__),
    ]
    return facts_table(rows)


def _of_command(series: RunSeries, options: SeriesOptions, command: CommandConclusion) -> str:
    words = command_words(series.options.commands[command.command], options.identifies)
    sentences = [*command_sentences(command), *advice_sentences(series, command, options.identifies)]
    rows = [*selection_rows(command.selected), *(("", sentence) for sentence in sentences)]
    heading = f"#### {letter_of(series, command.command)}{code(words)}\n"
    return "\n".join([heading, facts_table(rows)])


def _culprits(series: RunSeries, conclusion: RunConclusion) -> Iterator[str]:
    """Yield the table of culprits, the costliest first, then the remedies."""
    if conclusion.culprits:
        rows = [(cell(who), *rest) for who, *rest in culprit_rows_of(conclusion.culprits)]
        yield table(CULPRIT_HEAD, rows)
    more = more_culprits(conclusion.culprits)
    if more:
        yield f"{more}\n"
    for sentence, commands in remedies_in(series, conclusion.culprits):
        yield f"{prose(sentence)}\n"
        for name, command in commands:
            yield f"{name}:\n\n{fenced('text' if name == 'persist' else 'sh', [command])}"


def _disturbed(series: RunSeries) -> Iterator[str]:
    judged = [judged_run for judged_run in series.repetitions if not judged_run.is_undisturbed]
    if judged:
        yield table(("run", "time", "verdict", "why"), [_row(series, judged_run) for judged_run in judged[:_MOST_ROWS]])
    if judged[_MOST_ROWS:]:
        yield f"and {len(judged) - _MOST_ROWS} more\n"


def _row(series: RunSeries, judged: JudgedRepetition) -> tuple[str, str, str, str]:
    repetition = judged.repetition
    return (
        run_name(series, repetition),
        describe_ns(repetition.length_ns),
        judged.standing,
        cell(printable(describe_run(judged.verdict, repetition))),
    )
