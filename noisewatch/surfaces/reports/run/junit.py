"""A series as a JUnit report: a suite for each command, a case for each repetition.

A disturbed repetition is a failure; a repetition with an unknown verdict, and one whose command failed, is an error.
What concerns the whole series (the machine changed, fewer runs than requested) is a case of its own and an error,
because a report of passed cases alone would look like success.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.run.reasons import RunOutcome, describe_reason, describe_reasons
from noisewatch.model.run.repetition import Repetition
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.junit import add_properties, document_with_totals, error_case, timestamp
from noisewatch.surfaces.reports.run.command_words import command_words
from noisewatch.surfaces.reports.run.formats import SeriesOptions
from noisewatch.surfaces.reports.run.receipt import COMMANDS
from noisewatch.surfaces.reports.run.sentences import ending_sentences, machine_sentences, not_watched_clauses
from noisewatch.text import printable

_RESULTS = {RunOutcome.DISTURBED: "failure", RunOutcome.UNKNOWN: "error"}


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format junit`."""
    root = Element("testsuites", name="noisewatch run")
    began = timestamp(series.repetitions[0].repetition.began_wall_ns / 1e9)
    for number, argv in enumerate(series.options.commands):
        judged = series.of_command(number)
        seconds = sum(judged_run.repetition.seconds for judged_run in judged)
        name = f"noisewatch.run.{COMMANDS[number]}"
        suite = SubElement(root, "testsuite", name=name, timestamp=began, time=f"{seconds:.6f}")
        add_properties(suite, _properties(series, command_words(argv, options.identifies)))
        suite.extend(_case(judged_run, name) for judged_run in judged)
    troubles = [*machine_sentences(conclude(series)), *ending_sentences(series)]
    if troubles:
        name = "noisewatch.run.series"
        suite = SubElement(root, "testsuite", name=name, timestamp=began)
        suite.extend(error_case("series", name, trouble, "series") for trouble in troubles)
    return document_with_totals(root, f"{sum(judged_run.repetition.seconds for judged_run in series.repetitions):.6f}")


def _properties(series: RunSeries, command: str) -> dict[str, str]:
    unwatched = not_watched_clauses(series)
    return {
        "noisewatch": __version__,
        "machine": describe_host(series.machine),
        "target": format_cpu_list(series.machine.target.cpus),
        "command": command,
        **({"not watched": "; ".join(unwatched)} if unwatched else {}),
    }


def _case(judged: JudgedRepetition, suite: str) -> Element:
    repetition, verdict = judged.repetition, judged.verdict
    name = f"repetition {repetition.number}"
    case = Element("testcase", name=name, classname=suite, time=f"{repetition.seconds:.6f}")
    failed = _failure_of(repetition)
    if verdict.outcome in _RESULTS:
        reasons = printable(describe_reasons(verdict))
        result = SubElement(case, _RESULTS[verdict.outcome], message=reasons, type=verdict.outcome)
        result.text = "\n".join(map(printable, _details(judged)))
    elif failed:
        SubElement(case, "error", message=failed, type="command")
    return case


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
        return "cut short: the series was asked to end"
    return (
        f"the command ended by signal {-status}"
        if status < 0
        else f"the command ended with status {status}" * (status > 0)
    )
