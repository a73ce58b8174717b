"""The report of a series as sections, the most important first, which are rendered as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch import __version__
from noisewatch.cpus import name_cpus
from noisewatch.judgement.finding_words import commands_of, describe_host
from noisewatch.judgement.remedies import Remedy
from noisewatch.judgement.run.reasons import MOST_NAMED, RunOutcome, describe_reasons, describe_run
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.run.conclusion import CommandConclusion, RunConclusion, conclude, remedy_in
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.drawing.accents import Accents, first_figure
from noisewatch.surfaces.drawing.colours import Meaning, paint
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.tables import MOST_BYTES, fitting
from noisewatch.surfaces.drawing.wraps import wrap, wrap_all
from noisewatch.surfaces.reports.parts.culprits import process_table
from noisewatch.surfaces.reports.parts.sections import Section, Table, markdown_of_section, text_of_section
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.picture import picture_rows
from noisewatch.surfaces.reports.run.sentences import (
    advice_parts_of,
    command_sentences,
    command_words,
    condition_sentences,
    counts_of,
    difference_sentences,
    headline_of,
    left_sentences,
    letter_of,
    level_sentences,
    name_of_culprit,
    not_watched_sentences,
    own_quota_sentences,
    selection_rows,
    undisturbed_words,
)
from noisewatch.surfaces.reports.run.words import MOST_CULPRITS, culprit_table, doubt_sentences
from noisewatch.text import printable
from noisewatch.units import describe_count, describe_ns

_MOST_ROWS, _MOST_ROWS_OF_MARKDOWN = 12, 50
_MOST_REMEDIES = 3
_MOST_PROCESSES = 3  # of one culprit, whose processes have one name
_NARROWEST = 20
_WIDTH = 100  # columns of the picture in Markdown


def render_text(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format text`."""
    conclusion, width = conclude(series), max(options.width, _NARROWEST)
    glyphs = UNICODE if options.in_unicode else ASCII
    disturbed = _disturbed_table(series, _MOST_ROWS, max_reasons=1)
    sections = _sections(series, conclusion, disturbed, options.identifies)
    pictures = _pictures(series, conclusion, width, glyphs)
    parts = [_head(series, conclusion, width, options.in_colour)]
    parts += [text_of_section(section, width, options.in_colour) for section in (*sections, *pictures)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _head(series: RunSeries, conclusion: RunConclusion, width: int, in_colour: bool) -> list[str]:
    """Return the target CPUs, the number of runs, the headline, doubts, and the source of the attribution."""
    target = series.machine.target
    count, requested = len(series.repetitions), series.options.requested_count
    repeated = f" ({requested} requested, {count - requested} repeated)" if count > requested else ""
    warm_up_count = len(series.warm_ups)
    after = f" after {describe_count(warm_up_count, 'warm-up')}" if warm_up_count else ""
    runs = f"{describe_count(count, 'run')}{repeated}{after}"
    about = f"noisewatch run · {name_cpus(target.cpus)} ({target.chosen_by}) · {runs}"
    headline = wrap(headline_of(conclusion), width)
    if in_colour:
        headline = [paint(line, _meaning_of(series, conclusion)) for line in headline]
    return [*wrap(about, width), *headline, *wrap_all(_series_sentences(series, conclusion), width)]


def _series_sentences(series: RunSeries, conclusion: RunConclusion) -> list[str]:
    return [
        *doubt_sentences(series, conclusion),
        *condition_sentences(series),
        *level_sentences(series),
    ]


def _meaning_of(series: RunSeries, conclusion: RunConclusion) -> Meaning:
    if conclusion.is_refused:
        return "bad"
    are_undisturbed = (judged.is_undisturbed for judged in series.repetitions)
    is_good = all(are_undisturbed) and not doubt_sentences(series, conclusion)
    return "good" if is_good else "doubt"


def render_markdown(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format markdown`."""
    return markdown_of_series(series, options, MOST_BYTES)


def markdown_of_series(series: RunSeries, options: SeriesOptions, max_bytes: int) -> str:
    """Return the Markdown report, to paste into an issue or a pull request, cut at the end to at most `max_bytes`."""
    conclusion, target = conclude(series), series.machine.target
    facts = (
        ("target", f"{name_cpus(target.cpus)} ({target.chosen_by})"),
        ("machine", describe_host(series.machine)),
        ("noisewatch", __version__),
    )
    sentences = [headline_of(conclusion), *_series_sentences(series, conclusion)]
    disturbed = _disturbed_table(series, _MOST_ROWS_OF_MARKDOWN)
    sections = _sections(series, conclusion, disturbed, options.identifies)
    pictures = _pictures(series, conclusion, _WIDTH, UNICODE)
    parts = [f"## noisewatch run: {counts_of(series)}\n"]
    for section in (Section(facts=facts, sentences=sentences), *sections, *pictures):
        parts += markdown_of_section(section)
    return fitting(parts, max_bytes)


def _sections(series: RunSeries, conclusion: RunConclusion, disturbed: Table, identifies: bool) -> Iterator[Section]:
    """Yield the sections between the head and the picture; without a measurement there are no culprits."""
    is_measured = any(command.selected.of_all is not None for command in conclusion.commands)
    if is_measured:
        differences = difference_sentences(series, conclusion)
        yield Section(sentences=differences, accents=first_figure(differences[0]) if differences else {})
    for command in conclusion.commands:
        yield _command_section(series, command, identifies)
    if is_measured:
        listed = conclusion.culprits[:MOST_CULPRITS]
        processes = [item for culprit in listed for item in list(culprit.identity_by_pid.items())[:_MOST_PROCESSES]]
        yield Section(table=culprit_table(conclusion.culprits))
        yield Section(table=process_table(processes, identifies))
        if fixes := _fixes(series, conclusion, identifies):
            accents: Accents = {name_of_culprit(culprit): "culprit" for culprit in listed}
            yield Section("fixes", steps=fixes, title_style="title", accents=accents)
        yield Section(sentences=[*left_sentences(series), *own_quota_sentences(series), *not_watched_sentences(series)])
    yield Section(table=disturbed)


def _command_section(series: RunSeries, command: CommandConclusion, identifies: bool) -> Section:
    facts = selection_rows(command.selected)
    return Section(
        title=letter_of(series, command.command),
        command=command_words(series.options.commands[command.command], identifies),
        title_style="title",
        facts=facts,
        accents={text.partition(" (")[0]: "strong" for _, text in facts},
        sentences=command_sentences(command, is_alone=len(series.options.commands) == 1),
    )


def _fixes(series: RunSeries, conclusion: RunConclusion, identifies: bool) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return advice on the placement of threads, then the remedies against the costliest culprits, without repetition.

    A fix is a sentence with its commands as (purpose, command) pairs.
    """
    placements = [
        (f"{letter_of(series, command.command)}{why}", [("instead", line)])
        for command in conclusion.commands
        for why, line in advice_parts_of(series, command, identifies)
    ]
    culprit_by_remedy: dict[Remedy, RunCulprit] = {}
    for culprit in conclusion.culprits[:MOST_CULPRITS]:
        if len(culprit_by_remedy) < _MOST_REMEDIES and (remedy := remedy_in(series, culprit)) is not None:
            culprit_by_remedy.setdefault(remedy, culprit)
    return placements + [
        (printable(f"{name_of_culprit(culprit)}: {remedy.advice}"), commands_of(remedy.fix))
        for remedy, culprit in culprit_by_remedy.items()
    ]


def _disturbed_table(series: RunSeries, max_rows: int, max_reasons: int = MOST_NAMED) -> Table:
    """Return a table of the first runs that were not undisturbed, with the reasons."""
    judged = [judged_run for judged_run in series.repetitions if not judged_run.is_undisturbed]
    rows = [
        (
            f"{letter_of(series, judged_run.repetition.command)}{judged_run.repetition.number}",
            describe_ns(judged_run.repetition.length_ns),
            judged_run.standing.value,
            printable(describe_run(judged_run.verdict, judged_run.repetition, max_reasons)),
        )
        for judged_run in judged[:max_rows]
    ]
    styles: list[Accents] = [
        {"verdict": "notable" if judged_run.standing.value == RunOutcome.UNKNOWN else "grave"}
        for judged_run in judged[:max_rows]
    ]
    return Table(("run", "time", "verdict", "why"), rows, len(judged) - len(rows), styles=styles)


def _pictures(series: RunSeries, conclusion: RunConclusion, width: int, glyphs: Glyphs) -> Iterator[Section]:
    if any(command.selected.of_all is not None for command in conclusion.commands):
        yield Section(chart=picture_rows(series, conclusion.culprits, width, glyphs))


def text_of_results(results: MarkedResults, width: int) -> str:
    """Return the number of undisturbed runs, and a table of all runs with the reasons for other verdicts."""
    title = f"{printable(results.file.path)} · {undisturbed_words(len(results.undisturbed), len(results.marked))}"
    rows = [
        (
            str(marked_run.run.run + 1),
            printable(marked_run.run.name),
            "?" if marked_run.run.length_ns is None else describe_ns(marked_run.run.length_ns),
            marked_run.verdict.outcome.value,
            ""
            if marked_run.verdict.outcome == RunOutcome.UNDISTURBED
            else printable(describe_reasons(marked_run.verdict)),
        )
        for marked_run in results.marked
    ]
    table = Table(("run", "benchmark", "time", "verdict", "why"), rows)
    return "\n".join([title, *table.lines(width)]) + "\n"
