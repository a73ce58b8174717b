"""The result of a trace as JSON."""

from __future__ import annotations

from typing import Any

from noisewatch.documents.document import SCHEMA, to_builtins
from noisewatch.judgement.remedies import remedy_of
from noisewatch.kinds import Tracer
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import TracedCpu
from noisewatch.operations.trace import TraceRun
from noisewatch.surfaces.reports.parts.json import (
    describe_culprit,
    describe_fix,
    describe_share_of_gap,
    describe_source,
)

_MOST_INTERRUPTIONS = 100


def describe_followed(followed: TraceRun) -> dict[str, Any]:
    """Return the document of `noisewatch trace --format json`."""
    trace = followed.trace
    return {
        "schema": SCHEMA,
        "target": followed.target,
        "begin_monotonic_ns": None if trace is None else trace.begin_ns,
        "seconds": followed.seconds,
        "by": "counters" if trace is None else "trace",
        "tracer": Tracer.NONE if trace is None else trace.tracer,
        "reason": followed.reason,
        "untold": [] if trace is None else list(trace.uncovered),
        "cpus": [_by_counters(followed, cpu) for cpu in followed.target]
        if trace is None
        else [_by_trace(traced, followed) for traced in followed.cpus],
    }


def _by_trace(traced: TracedCpu, followed: TraceRun) -> dict[str, Any]:
    return {
        "cpu": traced.cpu,
        "lost_events": traced.lost_events,
        "unseen_switches": traced.unseen_switches,
        "works": None if traced.main_thread is None else describe_source(traced.main_thread),
        "stolen_ns": traced.stolen_ns,
        "culprits": [
            {**to_builtins(describe_source(culprit)), **_remedy(culprit.disturbance, followed)}
            for culprit in traced.culprits
        ],
        "longest_stretches": [  # in each, other tasks or interrupts ran without a break; ns since the trace began
            {
                "at_ns": stretch.start_ns,
                "length_ns": stretch.length_ns,
                "parts": [describe_share_of_gap(part) for part in stretch.parts],
            }
            for stretch in followed.interruptions(traced.cpu, _MOST_INTERRUPTIONS)
        ],
    }


def _by_counters(followed: TraceRun, cpu: int) -> dict[str, Any]:
    culprits, works = followed.other_culprits(cpu), followed.working_thread(cpu)
    return {
        "cpu": cpu,
        "lost_events": None,
        "unseen_switches": None,
        "works": None if works is None else _describe_counted(works),
        "stolen_ns": sum(culprit.stolen_ns or 0 for culprit in culprits),
        "culprits": [{**_describe_counted(culprit), **_remedy(culprit, followed)} for culprit in culprits],
    }


def _remedy(disturbance: Disturbance, followed: TraceRun) -> dict[str, Any]:
    remedy = remedy_of(disturbance, followed.case, followed.at_work)
    return {"remedy": remedy.said, "fix": describe_fix(remedy.fix)}


def _describe_counted(disturbance: Disturbance) -> dict[str, Any]:
    unknown = dict.fromkeys(("count", "p50_ns", "p99_ns", "max_ns"))
    return {**to_builtins(describe_culprit(disturbance)), **unknown, "lengths_ns": [], "counts": []}
