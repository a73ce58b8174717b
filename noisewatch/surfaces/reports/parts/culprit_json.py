"""Sources of noise, as JSON."""

from __future__ import annotations

from typing import Any

from noisewatch.judgement.declaration import Fix
from noisewatch.model.calibration.gap_causes import GapCause, Part
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import Culprit
from noisewatch.model.trace.interruptions import Interruption


def describe_culprit(culprit: Disturbance) -> dict[str, Any]:
    """One source of noise."""
    return {
        "kind": culprit.kind,
        "name": culprit.name,
        "pid": culprit.pid,
        "tid": culprit.tid,
        "irq": culprit.irq,
        "cpu": culprit.cpu,
        "share": culprit.share,
        "rate_per_s": culprit.rate_per_s,
        "stolen_ns": culprit.stolen_ns,
        "inferred": culprit.is_inferred,
    }


def describe_source(culprit: Culprit) -> dict[str, Any]:
    """The same with how often it had the CPU, and for how long each time."""
    lengths = sorted(culprit.count_by_length.items())
    return {
        **describe_culprit(culprit.disturbance),
        "count": culprit.count,
        "p50_ns": culprit.quantile_ns(0.5),
        "p99_ns": culprit.quantile_ns(0.99),
        "max_ns": culprit.max_ns,
        "lengths_ns": [length for length, _ in lengths],
        "counts": [count for _, count in lengths],
    }


def describe_gap(cause: GapCause) -> dict[str, Any]:
    """One gap; times are ns, since the calibration began. `traced_ns` is null without a trace."""
    return {
        "at_ns": cause.start_ns,
        "length_ns": cause.length_ns,
        "kind": cause.kind,
        "name": cause.name,
        "traced_ns": cause.kernel_ns,
        "parts": [_part(each) for each in cause.parts],
    }


def describe_interruption(stretch: Interruption) -> dict[str, Any]:
    """Time that others had, without a break; ns since the trace began."""
    parts = [_part(each) for each in stretch.parts]
    return {"at_ns": stretch.start_ns, "length_ns": stretch.length_ns, "parts": parts}


def _part(part: Part) -> dict[str, Any]:
    thread = part.source.thread
    return {
        "kind": part.source.kind,
        "name": part.name,
        "tid": thread.tid if thread is not None and part.crowd is None else None,
        "irq": part.source.irq,
        "ns": part.ns,
    }


def describe_fix(fix: Fix) -> dict[str, Any]:
    """The commands."""
    return {
        "now": fix.now,
        "persist": fix.persist,
        "undo": fix.undo,
        "undo_persist": fix.undo_persist,
        "needs_root": fix.needs_root,
        "needs_reboot": fix.needs_reboot,
        "persist_needs_reboot": fix.persist_needs_reboot,
    }
