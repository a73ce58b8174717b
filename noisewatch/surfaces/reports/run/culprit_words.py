"""The culprits of a series and the remedies against them, in words that text and Markdown share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from noisewatch.cpus import fitting_cpu_list, name_cpus
from noisewatch.judgement.finding_words import commands_of
from noisewatch.judgement.remedies import Remedy
from noisewatch.judgement.run.reasons import ReasonKind, named
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.run.conclusion import remedy_in
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.parts.sections import Table
from noisewatch.text import printable
from noisewatch.units import describe_ns

_MOST_CULPRITS, _MOST_REMEDIES = 6, 3
_LIST_WIDTH = 24  # columns for a list of CPUs


def name_of_culprit(culprit: RunCulprit) -> str:
    """Return the culprit's name for people: `stress-ng (pid 812)`, `cc1 (pid 812 and 41 more)`, `irq eth0-rx-3`."""
    name = printable(culprit.name)
    if culprit.pids:
        rest = len(culprit.pids) - 1
        name += f" (pid {culprit.pids[0]}" + (f" and {rest} more)" if rest else ")")
    return named(culprit.noise, name)


def time_of_culprit(culprit: RunCulprit) -> str:
    """Return the time that the culprit took from all repetitions; `?` if it is unknown."""
    return ("~" if culprit.is_estimate and culprit.ns is not None else "") + describe_ns(culprit.ns)


def culprit_table(culprits: Sequence[RunCulprit]) -> Table:
    """Return the table of the first culprits, the costliest first."""
    rows = [
        (name_of_culprit(culprit), time_of_culprit(culprit), str(len(culprit.numbers)), _where(culprit))
        for culprit in culprits[:_MOST_CULPRITS]
    ]
    return Table(("who", "time", "runs", "where"), rows, len(culprits) - len(rows), "who", ("where", "runs"))


def remedies_in(series: RunSeries, culprits: Sequence[RunCulprit]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the remedies of the first culprits: a sentence, and its commands as (purpose, command) pairs.

    No remedy is listed twice.
    """
    remedies = ((culprit, remedy_in(series, culprit)) for culprit in culprits)
    first: dict[Remedy, RunCulprit] = {}
    for culprit, remedy in islice(remedies, _MOST_CULPRITS):
        if remedy is not None and len(first) < _MOST_REMEDIES:
            first.setdefault(remedy, culprit)
    return [
        (printable(f"{name_of_culprit(culprit)}: {remedy.said}"), commands_of(remedy.fix))
        for remedy, culprit in first.items()
    ]


def fitting_cpu_names(cpus: Iterable[int]) -> str:
    return name_cpus(cpus, lambda cpus: fitting_cpu_list(cpus, _LIST_WIDTH))


def _where(culprit: RunCulprit) -> str:
    if not culprit.cpus:
        return ""
    where = fitting_cpu_names(culprit.cpus)
    return f"sibling {where}" if culprit.kind == ReasonKind.SIBLING else where
