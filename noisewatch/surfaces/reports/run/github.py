"""A series as workflow commands, which GitHub Actions shows as annotations of the run."""

from __future__ import annotations

from noisewatch.judgement.run.reasons import RunOutcome, conclude_repetition, unmeasured_words
from noisewatch.operations.run.conclusion import CommandConclusion, conclude, gate_of_run
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.workflow import annotation_lines, workflow_command
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.sentences import (
    advice_parts_of,
    command_sentences,
    command_words,
    condition_sentences,
    counts_of,
    difference_sentences,
    ending_sentences,
    letter_of,
    machine_sentences,
    not_watched_sentences,
    selection_rows,
    selection_words,
)
from noisewatch.text import printable


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format github`.

    A notice has the result; then follow the reasons for a missing result, and the runs that were not undisturbed. The
    reasons are errors if the series ended early or --gate found it disturbed; all other annotations are warnings.
    """
    conclusion = conclude(series)
    texts = [_command_text(series, options, command) for command in conclusion.commands]
    texts += [*difference_sentences(series, conclusion), *condition_sentences(series), *not_watched_sentences(series)]
    lines = [workflow_command("notice", f"noisewatch: {counts_of(series)}", "\n".join(texts))]
    wrong = [*machine_sentences(conclusion), *ending_sentences(series)]
    wrong += [
        letter_of(series, command.command) + selection_words(command.selected)
        for command in conclusion.commands
        if command.selected.is_refused
    ]
    gate = gate_of_run(series, options.results is not None, options.results)
    level = "error" if series.has_ended_early or (options.is_gated and gate == RunOutcome.DISTURBED) else "warning"
    run_messages = [("run", message) for message in wrong]
    judged = [judged_run for judged_run in series.repetitions if not judged_run.is_undisturbed]
    annotations = [_annotation(series, judged_run) for judged_run in judged]
    if level == "error":
        lines += annotation_lines("error", run_messages) + annotation_lines("warning", annotations)
    else:
        lines += annotation_lines("warning", run_messages + annotations)
    return "".join(f"{line}\n" for line in lines)


def _command_text(series: RunSeries, options: SeriesOptions, command: CommandConclusion) -> str:
    words = command_words(series.options.commands[command.command], options.identifies)
    rows = [f"{name}: {text}" for name, text in selection_rows(command.selected)]
    advice = [": ".join(parts) for parts in advice_parts_of(series, command, options.identifies)]
    return "\n".join([letter_of(series, command.command) + words, *rows, *command_sentences(command), *advice])


def _annotation(series: RunSeries, judged: JudgedRepetition) -> tuple[str, str]:
    sentence = conclude_repetition(judged.verdict, judged.repetition.length_ns)
    why = unmeasured_words(judged.repetition)
    name = f"{letter_of(series, judged.repetition.command)}run {judged.repetition.number}"
    return name, printable(sentence if why is None else f"{why}; {sentence}")
