"""A series as a JUnit report: a suite for each command, a case for each repetition.

A disturbed repetition is a failure; a repetition with an unknown verdict, and one whose command failed, is an error.
Trouble of the whole series (the machine changed, fewer runs than requested) is a separate case with an error, because a
report of passed cases alone would look like success.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.run.reasons import RunOutcome, describe_reason, describe_reasons
from noisewatch.model.run.repetition import Repetition
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.junit import add_case, add_result, add_suite, document_with_totals, timestamp
from noisewatch.surfaces.reports.run.conditions import load_words
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.sentences import (
    COMMANDS,
    command_words,
    ending_sentences,
    machine_sentences,
    not_watched_clauses,
)

_RESULTS = {RunOutcome.DISTURBED: "failure", RunOutcome.UNKNOWN: "error"}


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format junit`."""
    root = Element("testsuites", name="noisewatch run")
    began = timestamp(series.repetitions[0].repetition.began_wall_ns / 1e9)
    for number, argv in enumerate(series.options.commands):
        judged = series.of_command(number)
        seconds = sum(judged_run.repetition.seconds for judged_run in judged)
        properties = _properties(series, command_words(argv, options.identifies))
        suite = add_suite(root, f"run.{COMMANDS[number]}", began, properties)
        suite.set("time", f"{seconds:.6f}")
        for judged_run in judged:
            _add_case(suite, judged_run)
    troubles = [*machine_sentences(conclude(series)), *ending_sentences(series)]
    if troubles:
        suite = add_suite(root, "run.series", began)
        for trouble in troubles:
            add_result(add_case(suite, "series"), "error", trouble, "series")
    return document_with_totals(root, f"{sum(judged_run.repetition.seconds for judged_run in series.repetitions):.6f}")


def _properties(series: RunSeries, command: str) -> dict[str, str]:
    unwatched = not_watched_clauses(series)
    return {
        "noisewatch": __version__,
        "machine": describe_host(series.machine),
        "target": format_cpu_list(series.machine.target.cpus),
        "command": command,
        **({"load": load_words(series.load)} if series.load is not None else {}),
        **({"not watched": "; ".join(unwatched)} if unwatched else {}),
    }


def _add_case(suite: Element, judged: JudgedRepetition) -> None:
    repetition, verdict = judged.repetition, judged.verdict
    case = add_case(suite, f"repetition {repetition.number}", f"{repetition.seconds:.6f}")
    failed = _failure_of(repetition)
    if verdict.outcome in _RESULTS:
        add_result(case, _RESULTS[verdict.outcome], describe_reasons(verdict), verdict.outcome, _details(judged))
    elif failed:
        add_result(case, "error", failed, "command")


def _details(judged: JudgedRepetition) -> Iterator[str]:
    yield from map(describe_reason, judged.verdict.reasons)
    if judged.verdict.outcome == RunOutcome.UNKNOWN:
        yield from judged.verdict.unknowns
    failed = _failure_of(judged.repetition)
    if failed:
        yield failed


def _failure_of(repetition: Repetition) -> str:
    status = repetition.status
    if repetition.is_cut_short:
        return "cut short: the series was interrupted"
    if status < 0:
        return f"the command ended by signal {-status}"
    return f"the command ended with status {status}" if status else ""
