"""The result of a series in a few sentences of the text report, for the receipt and its poster."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.documents.run import RunWordsPart
from noisewatch.judgement.run.reasons import ReasonKind
from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.operations.run.conclusion import RunConclusion
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.drawing.accents import Accents
from noisewatch.surfaces.reports.parts.sections import Table
from noisewatch.surfaces.reports.run.conditions import memory_sentences
from noisewatch.surfaces.reports.run.sentences import (
    difference_sentences,
    ending_sentences,
    fitting_cpu_names,
    headline_of,
    machine_sentences,
    name_of_culprit,
    time_of_culprit,
)

MOST_CULPRITS = 6
CulpritCells = tuple[str, str, str, str]


def words_of(series: RunSeries, conclusion: RunConclusion) -> RunWordsPart:
    """Return the headline, the doubts, the difference between two commands, and the first culprits."""
    return RunWordsPart(
        headline=headline_of(conclusion),
        doubts=doubt_sentences(series, conclusion),
        difference=difference_sentences(series, conclusion),
        culprits=list(map(_cells, conclusion.culprits[:MOST_CULPRITS])),
    )


def doubt_sentences(series: RunSeries, conclusion: RunConclusion) -> list[str]:
    """Return sentences on changes of the machine during the series, an early end, and a load that was too small."""
    return [*machine_sentences(conclusion), *memory_sentences(series, conclusion), *ending_sentences(series)]


def culprit_table(culprits: Sequence[RunCulprit]) -> Table:
    """Return the table of the first culprits, the costliest first."""
    return table_of_culprits(list(map(_cells, culprits[:MOST_CULPRITS])), len(culprits))


def table_of_culprits(rows: Sequence[CulpritCells], count: int) -> Table:
    """Return the table of the first of `count` culprits: name, time, number of disturbed runs, and place."""
    styles: list[Accents] = [{"who": "culprit", "time": "strong"}] * len(rows)
    return Table(("who", "time", "runs", "where"), rows, count - len(rows), "who", ("where", "runs"), styles=styles)


def _cells(culprit: RunCulprit) -> CulpritCells:
    return name_of_culprit(culprit), time_of_culprit(culprit), str(len(culprit.numbers)), _where(culprit)


def _where(culprit: RunCulprit) -> str:
    if not culprit.cpus:
        return ""
    where = fitting_cpu_names(culprit.cpus)
    return f"sibling {where}" if culprit.kind == ReasonKind.SIBLING else where
