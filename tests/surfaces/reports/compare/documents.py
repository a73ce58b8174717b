"""Documents as `preflight`, `calibrate` and `run` write them, for tests to change and compare."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.surfaces.running import Ran

Compare = Callable[..., Ran]

FACTS = {
    "identity": {"board": "Acme R1", "CPU model": "Acme 3000"},
    "firmware": {"microcode": "0x10", "BIOS": "1.2"},
    "kernel": {"kernel": "6.8.0"},
    "settings": {"turbo": "off", "governor": "performance"},
}
_WORK = {"count": 200, "mad_share": 0.001, "width_share": 0.004, "pieces": 5}


def with_facts(**changed: str | None) -> dict[str, dict[str, str | None]]:
    """Return the facts with some values replaced."""
    return {group: {name: changed.get(name, value) for name, value in facts.items()} for group, facts in FACTS.items()}


def cpu(speed: float = 1.0, gaps_per_s: float = 250.0, **changed: Any) -> dict[str, Any]:
    """Return one calibrated CPU that is `speed` times as fast as usual."""
    kinds = ("latency_work", "throughput", "interpreter", "cache", "memory")
    return {
        "cpu": 2,
        "trouble": "none",
        "gaps_per_s": gaps_per_s,
        "gaps_without_room": 0,
        "effective_khz": 3_000_000 * speed,
        "effective_khz_spread_share": 0.002,
        "histogram": {"edges_ns": [2000, 4000, 12000, 200000, 220000], "counts": [90, 6, 3, 1]},
        **{kind: {**_WORK, "median_ns": 1_000_000 / speed} for kind in kinds},
        **changed,
    }


def calibration(*cpus: Mapping[str, Any], cv: float = 0.001, **changed: Any) -> dict[str, Any]:
    """Return a document of `calibrate --format json`."""
    lengths = (1_000_000, 10_000_000, 100_000_000)
    return {
        "schema": 1,
        "target": [2],
        "facts": FACTS,
        "calibration": {"core": "native", "scheduler": "other", "clock_ns": 24.0, "cpus": [*(cpus or [cpu()])]},
        "noise_floor": [{"sample_ns": length, "cv_expected": cv, "extrapolated": False} for length in lengths],
        "noise_floor_of": "mixed work",
        "noise_floor_drift": {"changes_seen": 0, "margin_by_sample_ns": {str(length): 2.0 for length in lengths}},
        **changed,
    }


def under_load(*cpus: Mapping[str, Any], cv: float = 0.001, **changed: Any) -> dict[str, Any]:
    """Return a document of `calibrate --under-load --format json` with these CPUs and noise floor under load."""
    half = calibration(*cpus, cv=cv)
    names = ("calibration", "noise_floor", "noise_floor_of", "noise_floor_drift")
    load = {"processes": 2, "cpus": [0, 1], "busy_share": 0.99, "target_cpus_not_isolated": []}
    return calibration(under_load=load | {name: half[name] for name in names} | changed)


def against(target: Mapping[str, Any], other: Mapping[str, Any], cv: float = 0.001, other_cv: float = 0.001) -> Any:
    """Return a document of `calibrate --cpus 3 --against 0 --format json`."""
    floors = {name: calibration(cv=value)["noise_floor"] for name, value in (("target", cv), ("against", other_cv))}
    document = calibration({**target, "cpu": 3}, {**other, "cpu": 0}, cv=max(cv, other_cv))
    return document | {"target": [3], "against": [0], "comparison": {"noise_floor": floors}}


def finding(check_id: str, status: str, severity: str = "blocking", **changed: Any) -> dict[str, Any]:
    """Return one finding of a verdict."""
    words = {"said": f"{check_id} said", "reason": None, "answered_by": None}
    return {"id": check_id, "status": status, "severity": severity, **words, **changed}


def verdict(*findings: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    """Return a document of `preflight --format json --no-calibration`."""
    all_findings = [*findings] or [finding("target-cpu-busy", "pass"), finding("turbo-enabled", "warn", "warning")]
    return {
        "schema": 1,
        "verdict": "stable",
        "profile": "micro",
        "target": [2],
        "facts": FACTS,
        "findings": all_findings,
        "calibration": None,
        **changed,
    }


def header(**changed: Any) -> dict[str, Any]:
    """Return the first line of a receipt."""
    return {
        "schema": 1,
        "kind": "header",
        "target": [2],
        "facts": FACTS,
        "commands": [{"command": "a", "program": "bench"}],
        "options": {"min_undisturbed": 0.5},
        "opening": None,
        **changed,
    }


def repetition(seconds: float, verdict: str = "undisturbed", **changed: Any) -> dict[str, Any]:
    """Return one successful repetition of the first command."""
    end = {"by": "exit", "status": 0}
    wall_ns = round(seconds * 1e9)
    fields = {"kind": "repetition", "command": "a", "wall_ns": wall_ns, "verdict": verdict, "ended": end}
    return {**fields, "is_cut_short": False, **changed}


def receipt(times_s: Sequence[float], **changed: Any) -> list[dict[str, Any]]:
    """Return all lines of a receipt with undisturbed repetitions."""
    return [header(**changed), *map(repetition, times_s), {"kind": "footer"}]


def written(path: Path, document: object) -> Path:
    """Write the document, or the lines, to a file."""
    lines = document if isinstance(document, list) else [document]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def times(mean_s: float, count: int = 20, seed: int = 1) -> list[float]:
    """Return the times (s) of runs that vary by half a percent."""
    rng = random.Random(seed)
    return [mean_s * rng.gauss(1, 0.005) for _ in range(count)]
