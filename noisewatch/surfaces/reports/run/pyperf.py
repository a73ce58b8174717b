"""A series as a pyperf file: the wall times of undisturbed runs, and all runs with their verdicts.

Warm-ups, and runs with another verdict, have a pyperf warm-up instead of a value, so pyperf's statistics leave them
out. A command without an undisturbed run is left out.
https://pyperf.readthedocs.io/en/latest/api.html#run-class
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.documents.document import to_json
from noisewatch.errors import NothingUndisturbed
from noisewatch.judgement.run.reasons import describe_run
from noisewatch.operations.run.conclusion import conclude
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.pyperf_hook import BEGAN, ENDED, LOAD, NOT_WATCHED, REASONS, VERDICT, VERSION
from noisewatch.operations.run.series import RunSeries
from noisewatch.surfaces.reports.calibration.json import FORMAT_VERSION
from noisewatch.surfaces.reports.run.conditions import load_words
from noisewatch.surfaces.reports.run.options import SeriesOptions
from noisewatch.surfaces.reports.run.sentences import (
    COMMANDS,
    command_words,
    headline_of,
    not_watched_clauses,
)
from noisewatch.text import printable


def render(series: RunSeries, options: SeriesOptions) -> str:
    """Return the report of `run --format pyperf`.

    Raise NothingUndisturbed if no run was undisturbed, because pyperf cannot read a file without values.
    """
    benchmarks = []
    for number, argv in enumerate(series.options.commands):
        judged = series.of_command(number)
        warm_ups = [warm_up for warm_up in series.warm_ups if warm_up.repetition.command == number]
        if any(judged_run.is_undisturbed for judged_run in judged):
            letter = f" ({COMMANDS[number]})" if len(series.options.commands) > 1 else ""
            name = command_words(argv, options.identifies) + letter
            benchmarks.append({"metadata": {"name": name}, "runs": list(map(_run, [*warm_ups, *judged]))})
    if not benchmarks:
        raise NothingUndisturbed(
            f"pyperf: {headline_of(conclude(series))}; no file was written, because pyperf reads no file without values"
        )
    cpus = format_cpu_list(series.machine.target.cpus)
    metadata: dict[str, Any] = {"unit": "second", "loops": 1, "cpu_affinity": cpus, VERSION: __version__}
    if series.load is not None:
        metadata[LOAD] = load_words(series.load)
    clauses = not_watched_clauses(series)
    if clauses:
        metadata[NOT_WATCHED] = printable("; ".join(clauses))
    return to_json({"version": FORMAT_VERSION, "metadata": metadata, "benchmarks": benchmarks}, indent=1)


def _run(judged: JudgedRepetition) -> dict[str, Any]:
    repetition, verdict = judged.repetition, judged.verdict
    reasons = printable(describe_run(verdict, repetition))
    metadata = {
        "date": datetime.fromtimestamp(repetition.began_wall_ns // 1000 / 1e6).isoformat(" "),  # local, as in pyperf
        "duration": repetition.seconds,
        VERDICT: verdict.outcome,
        BEGAN: repetition.began_ns,
        ENDED: repetition.ended_ns,
        **({REASONS: reasons} if reasons else {}),
    }
    times = {"values": [repetition.seconds]} if judged.is_undisturbed else {"warmups": [[1, repetition.seconds]]}
    return {**times, "metadata": metadata}
