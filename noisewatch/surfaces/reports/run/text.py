"""What a series came to, for people."""

from __future__ import annotations

import shlex
import statistics
import textwrap
from collections.abc import Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.operations.run.series import JudgedRepetition, RunSeries
from noisewatch.surfaces.reports.parts.tables import align_within
from noisewatch.surfaces.reports.run.reason_words import describe_reasons
from noisewatch.text import printable
from noisewatch.units import describe_ns, describe_share

_MOST_COMMAND = 60


def text_of_series(series: RunSeries, width: int) -> str:
    """The whole report of `noisewatch run`."""
    lines = [f"noisewatch run · {name_cpus(series.machine.target.cpus)} · {len(series.repetitions)} repetitions"]
    for command, argv in enumerate(series.options.commands):
        of_command = series.of_command(command)
        lines += ["", printable(shlex.join(argv))[:_MOST_COMMAND], *_statistics(of_command)]
    lines += _disturbed_lines(series.repetitions, width)
    return "\n".join(lines) + "\n"


def _statistics(judged: Sequence[JudgedRepetition]) -> list[str]:
    undisturbed = [each for each in judged if each.verdict.outcome == RunOutcome.UNDISTURBED]
    return [
        f"  all          {_mean_of(judged)}",
        f"  undisturbed  {_mean_of(undisturbed)} ({len(undisturbed)} of {len(judged)})",
    ]


def _mean_of(judged: Sequence[JudgedRepetition]) -> str:
    lengths = [each.repetition.length_ns for each in judged]
    if not lengths:
        return "none"
    mean = statistics.fmean(lengths)
    if len(lengths) == 1:
        return describe_ns(mean)
    deviation = statistics.stdev(lengths)
    return f"{describe_ns(mean)} ± {describe_ns(deviation)}, CV {describe_share(deviation / mean)}"


def _disturbed_lines(judged: Sequence[JudgedRepetition], width: int) -> list[str]:
    rows = [
        ["", str(each.repetition.number), describe_ns(each.repetition.length_ns), each.verdict.outcome.value, told]
        for each in judged
        if each.verdict.outcome != RunOutcome.UNDISTURBED
        for told in textwrap.wrap(describe_reasons(each.verdict), 10_000)
    ]
    return ["", *align_within(width, [["", "#", "time", "verdict", "why"], *rows], "why", ())] if rows else []
