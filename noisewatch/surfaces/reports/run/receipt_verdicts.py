"""Verdicts in the receipt: of repetitions, and of the runs in a file that the command wrote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome, RunReason
from noisewatch.text import clean, printable

if TYPE_CHECKING:
    from noisewatch.judgement.run.benchmark_runs import MarkedRun
    from noisewatch.judgement.run.run_culprits import RunCulprit
    from noisewatch.operations.run.results import MarkedResults

_MOST_CULPRITS, _MOST_PIDS = 20, 8


def describe_verdict(verdict: RepetitionVerdict) -> dict[str, Any]:
    """With all that decided it."""
    return {
        "verdict": verdict.outcome,
        "reasons": [_reason(each) for each in verdict.reasons],
        "own": [_reason(each) for each in verdict.own],
        "unknowns": [printable(each) for each in verdict.unknowns],
        "not_watched": [str(each) for each in verdict.unwatched],
    }


def _reason(reason: RunReason) -> dict[str, Any]:
    return {**asdict(reason), "name": printable(reason.name)}


def describe_culprits(culprits: Sequence[RunCulprit]) -> dict[str, Any]:
    """Those that cost most over the whole series, and how many more there are."""
    shown = culprits[:_MOST_CULPRITS]
    return {"culprits": [_culprit(each) for each in shown], "culprits_left_out": len(culprits) - len(shown)}


def _culprit(culprit: RunCulprit) -> dict[str, Any]:
    return {
        "kind": culprit.kind,
        "noise": culprit.noise,
        "name": printable(culprit.name),
        "irq": culprit.irq,
        "pids": culprit.pids[:_MOST_PIDS],
        "cpus": sorted(culprit.cpus),
        "ns": culprit.ns,
        "is_estimate": culprit.is_estimate,
        "repetitions": len(culprit.numbers),
    }


def describe_results(results: MarkedResults, identifies: bool) -> dict[str, Any]:
    """The runs that have values, in the order of the file; of its path the name alone, unless it `identifies`."""
    path = results.file.path
    outcomes = [each.verdict.outcome for each in results.marked]
    return {
        "file": printable(path) if identifies else clean(os.path.basename(path)),
        "counts": {outcome: outcomes.count(outcome) for outcome in RunOutcome},
        "runs": [_marked_run(each) for each in results.marked],
    }


def _marked_run(marked: MarkedRun) -> dict[str, Any]:
    """Its place in the file is as there: from 0 on. Its times are on CLOCK_MONOTONIC, as those of repetitions."""
    run = marked.run
    return {
        "benchmark": run.benchmark,
        "run": run.run,
        "name": printable(run.name),
        "began_ns": marked.began_ns,
        "ended_ns": marked.ended_ns,
        "wall_ns": run.length_ns,
        **describe_verdict(marked.verdict),
    }
