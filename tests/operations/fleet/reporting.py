"""Files with the verdicts of many machines."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from noisewatch.judgement.fleet import Fleet, FleetHost
from noisewatch.operations.fleet import FleetOptions, gather
from tests.surfaces.reports.verdicts import failed_verdict, quiet_verdict, rendered, unknown_verdict

NOW_S = 1_800_000_000.0


@cache
def _render(outcome: str, output_format: str) -> str:
    verdict = {"stable": quiet_verdict, "unstable": failed_verdict, "unknown": unknown_verdict}[outcome]()
    return rendered(output_format, verdict)


def verdict(outcome: str = "stable", **changes: Any) -> dict[str, Any]:
    """Return a verdict as `preflight --format json` writes it, with some keys changed."""
    return {**json.loads(_render(outcome, "json")), **changes}


def verdict_lines(outcome: str) -> str:
    """Return a verdict as `preflight --format jsonl` writes it."""
    return _render(outcome, "jsonl")


def write(path: Path, outcome: str = "stable", **changes: Any) -> Path:
    """Write a report to the path, and create its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(verdict(outcome, **changes)))
    return path


def floor(expected: float) -> list[dict[str, Any]]:
    """Return the noise floor of a verdict at 100 ms."""
    return [{"sample_ns": 100_000_000, "cv_low": expected * 0.8, "cv_expected": expected, "cv_high": expected * 1.25}]


def calibration(*piece_ns: float, khz: float = 3e6) -> dict[str, Any]:
    """Return the parts of a calibration that a fleet reads, with blocks of about 1 ms.

    `piece_ns` is the time of one piece of latency work on each CPU.
    """
    cpus = [{"cpu": cpu, "effective_khz": khz, "latency_work": _block(ns)} for cpu, ns in enumerate(piece_ns)]
    return {"core": "native", "cpus": cpus}


def _block(piece_ns: float) -> dict[str, Any]:
    pieces = round(1e6 / piece_ns)
    return {"median_ns": piece_ns * pieces, "pieces": pieces}


def gather_fleet(*places: Path, baseline: Path | None = None) -> Fleet:
    """Return the fleet of the reports in these places."""
    return gather(
        FleetOptions(places=[str(place) for place in places], baseline=None if baseline is None else str(baseline))
    )


def only_host(*places: Path) -> FleetHost:
    """Return the only host of these places."""
    (host,) = gather_fleet(*places).hosts
    return host
