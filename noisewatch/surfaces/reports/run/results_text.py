"""The runs of a benchmark tool's results file with their marks, as text."""

from __future__ import annotations

import textwrap

from noisewatch.judgement.run.reasons import RunOutcome, describe_reasons
from noisewatch.operations.run.results import MarkedResults
from noisewatch.surfaces.reports.parts.tables import align
from noisewatch.surfaces.reports.run.sentences import undisturbed_words
from noisewatch.text import printable
from noisewatch.units import describe_ns

_LEAST_WHY = 30  # columns


def text_of_results(results: MarkedResults, width: int) -> str:
    """Return the number of undisturbed runs, and a table of all runs with the reasons why the others were not."""
    title = f"{printable(results.file.path)} · {undisturbed_words(len(results.undisturbed), len(results.marked))}"
    rows = [
        [
            str(each.run.run + 1),
            printable(each.run.name),
            "?" if each.run.length_ns is None else describe_ns(each.run.length_ns),
            each.verdict.outcome.value,
        ]
        for each in results.marked
    ]
    header = ["run", "benchmark", "time", "verdict"]
    head, *lines = align([header, *rows]).splitlines()
    shown = [head]
    left = max(width - max(map(len, [head, *lines])) - 2, _LEAST_WHY)
    for line, each in zip(lines, results.marked, strict=True):
        is_told = each.verdict.outcome != RunOutcome.UNDISTURBED
        why = textwrap.wrap(describe_reasons(each.verdict), left) if is_told else []
        shown += [f"{line}  {why[0]}" if why else line, *[" " * (len(line) + 2) + more for more in why[1:]]]
    return "\n".join(each.rstrip() for each in [title, *shown]) + "\n"
