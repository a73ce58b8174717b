"""The text report of a series: whether to trust it, its figures, culprits, remedies, a timeline, and marked results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import RunOutcome, describe_reasons, describe_run
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion, conclude
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.colours import Meaning, painted, painted_row, plain_row
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.surfaces.reports.parts.wraps import wrap, wrap_after, wrap_all
from noisewatch.surfaces.reports.run.command_words import command_words
from noisewatch.surfaces.reports.run.culprit_words import culprit_table, remedies_in
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.picture import picture_rows
from noisewatch.surfaces.reports.run.sentences import (
    advice_parts_of,
    command_sentences,
    difference_sentences,
    ending_sentences,
    headline_of,
    left_sentences,
    letter_of,
    level_sentences,
    machine_sentences,
    not_watched_sentences,
    run_name,
    selection_rows,
    undisturbed_words,
)
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE
from noisewatch.text import printable
from noisewatch.units import describe_count, describe_ns

_MOST_ROWS = 12
_LEAST_WHY = 30  # columns
_NARROWEST = 20


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format text`."""
    conclusion = conclude(series)
    width = max(options.width, _NARROWEST)
    lines = [*_head(series, conclusion, width, options.in_colour)]
    if all(command.selected.of_all is None for command in conclusion.commands):  # culprits do not matter then
        return "\n".join([*lines, *_disturbed_lines(series, width)]) + "\n"
    lines += _paragraph(difference_sentences(series, conclusion), width)
    for command in conclusion.commands:
        lines += ["", *_command_lines(series, command, width, options.identifies)]
    lines += _culprit_lines(series, conclusion, width, options.identifies)
    lines += _paragraph([*left_sentences(series), *not_watched_sentences(series)], width)
    lines += _disturbed_lines(series, width)
    rows = picture_rows(series, conclusion.culprits, width, UNICODE if options.in_unicode else ASCII)
    drawn = [painted_row(row) if options.in_colour else plain_row(row) for row in rows]
    return "\n".join([*lines, *([""] if drawn else []), *drawn]) + "\n"


def _head(series: RunSeries, conclusion: RunConclusion, width: int, in_colour: bool) -> Iterator[str]:
    """Yield what ran where, whether the result can be trusted, and what speaks against that."""
    target = series.machine.target
    count, requested = len(series.repetitions), series.options.runs * len(series.options.commands)
    repeated = f" ({requested} wanted, {count - requested} repeated)" if count > requested else ""
    runs = f"{describe_count(count, 'run')}{repeated}"
    about = f"noisewatch run · {name_cpus(target.cpus)} ({target.chosen_by}) · {runs}"
    yield from wrap(about, width)
    first, *more = wrap(headline_of(conclusion), width)
    yield painted(first, _meaning_of(series, conclusion)) if in_colour else first
    yield from more
    yield from wrap_all((*machine_sentences(conclusion), *ending_sentences(series), *level_sentences(series)), width)


def _meaning_of(series: RunSeries, conclusion: RunConclusion) -> Meaning:
    if conclusion.is_refused:
        return "bad"
    are_undisturbed = (judged.is_undisturbed for judged in series.repetitions)
    is_good = all(are_undisturbed) and not (*machine_sentences(conclusion), *ending_sentences(series))
    return "good" if is_good else "doubt"


def _command_lines(series: RunSeries, command: CommandConclusion, width: int, identifies: bool) -> Iterator[str]:
    argv = series.options.commands[command.command]
    yield (letter_of(series, command.command) + command_words(argv, identifies))[:width]
    for title, words in selection_rows(command.selected):
        yield from wrap(f"{title:<16}  {words}", width, "  ", "    ")
    for words in command_sentences(command, is_alone=len(series.options.commands) == 1):
        yield from wrap(words, width, "  ", "    ")


def _paragraph(sentences: Sequence[str], width: int) -> list[str]:
    lines = wrap_all(sentences, width)
    return ["", *lines] if lines else []


def _culprit_lines(series: RunSeries, conclusion: RunConclusion, width: int, identifies: bool) -> list[str]:
    """Return the culprits, the costliest first, then the remedies with their commands on separate lines to copy."""
    lines = culprit_table(conclusion.culprits, width)
    parts = [
        (letter_of(series, command.command), advice)
        for command in conclusion.commands
        for advice in advice_parts_of(series, command, identifies)
    ]
    fixes = [(f"{letter}{why}", [("instead", command)]) for letter, (why, command) in parts]
    fixes += remedies_in(series, conclusion.culprits)
    lines += ["", "fixes"] if fixes else []
    for sentence, commands in fixes:
        lines += wrap(sentence, width, "", "  ")
        lines += [f"    {name}: {command}" for name, command in commands]
    return ["", *lines] if lines and lines[0] else lines


def _disturbed_lines(series: RunSeries, width: int) -> list[str]:
    """Return a row for each run that was not undisturbed, with its reasons wrapped behind it."""
    judged = [judged_run for judged_run in series.repetitions if not judged_run.is_undisturbed]
    if not judged:
        return []
    shown = judged[:_MOST_ROWS]
    rows = [
        [
            "",
            run_name(series, judged_run.repetition),
            describe_ns(judged_run.repetition.length_ns),
            judged_run.standing.value,
        ]
        for judged_run in shown
    ]
    head, *table = align([["", "run", "time", "verdict"], *rows]).splitlines()
    begin = max(map(len, [head, *table])) + 2
    is_below = width - begin < _LEAST_WHY
    lines = ["", head if is_below else f"{head:<{begin}}why"]
    for row, judged_run in zip(table, shown, strict=True):
        reasons = describe_run(judged_run.verdict, judged_run.repetition, most=1)
        if is_below:
            lines += [row, *wrap(reasons, width, "    ")]
        else:
            lines += [line.rstrip() for line in wrap_after(f"{row:<{begin}}", reasons, width)]
    rest = len(judged) - len(shown)
    return lines + ([f"  and {rest} more"] if rest else [])


def text_of_results(results: MarkedResults, width: int) -> str:
    """Return the number of undisturbed runs, and a table of all runs with the reasons why the others were not."""
    title = f"{printable(results.file.path)} · {undisturbed_words(len(results.undisturbed), len(results.marked))}"
    rows = [
        [
            str(marked_run.run.run + 1),
            printable(marked_run.run.name),
            "?" if marked_run.run.length_ns is None else describe_ns(marked_run.run.length_ns),
            marked_run.verdict.outcome.value,
        ]
        for marked_run in results.marked
    ]
    header = ["run", "benchmark", "time", "verdict"]
    head, *lines = align([header, *rows]).splitlines()
    shown = [title, head]
    left = max(width - max(map(len, [head, *lines])) - 2, _LEAST_WHY)
    for line, marked_run in zip(lines, results.marked, strict=True):
        has_reasons = marked_run.verdict.outcome != RunOutcome.UNDISTURBED
        why = describe_reasons(marked_run.verdict) if has_reasons else ""
        shown += wrap_after(f"{line}  ", why, len(line) + 2 + left)
    return "\n".join(line.rstrip() for line in shown) + "\n"
