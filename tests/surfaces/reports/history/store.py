"""A history as a host may have stored it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from noisewatch.machine.history_file import machine_key
from noisewatch.operations.history import digest
from tests.surfaces.running import Ran

History = Callable[..., Ran]
DAY_S = 86_400
BEGIN_S = 1_790_000_000


def facts_line(**settings: str) -> dict[str, Any]:
    placeholder = "-".join(settings.values()) or "none"
    facts = {"kernel": {"kernel": "6.14.0"}, "settings": settings}
    return {"kind": "facts", "digest": placeholder, "facts": facts, "machine": machine_key()}


def entry_line(number: int, latency: float, facts: str, **others: Any) -> dict[str, Any]:
    return {
        "kind": "calibration",
        "machine": machine_key(),
        "at": BEGIN_S + number * DAY_S,
        "core": "native",
        "cpus": [2, 3],
        "cv": {"latency": {"1000000": 0.01}},
        "figures": {"latency work": latency, "clock": 3.1e6, "noise floor at 10 ms": 0.002},
        "facts": facts,
        "boot": f"boot {number}",
        **others,
    }


def slowdown_lines(count: int = 20, after: int = 6) -> list[dict[str, Any]]:
    rng = random.Random(3)
    old = [entry_line(number, 1e6 * rng.gauss(1, 0.002), "performance") for number in range(count)]
    new = [entry_line(count + number, 1.041e6 * rng.gauss(1, 0.002), "powersave") for number in range(after)]
    return [facts_line(governor="performance"), *old, facts_line(governor="powersave"), *new]


def write_history(tmp_path: Path, lines: list[Any]) -> str:
    """Write a history with these lines, replace placeholders of facts by their digests, and return its path."""
    path = tmp_path / "history.jsonl"
    facts = [line for line in lines if isinstance(line, dict) and line["kind"] == "facts"]
    digests = {line["digest"]: digest(line["facts"]) for line in facts}
    path.write_text("".join(_text(line, digests) + "\n" for line in lines))
    return str(path)


def _text(line: Any, digests: Mapping[str, str]) -> str:
    if isinstance(line, str):
        return line
    placeholders = {name: value for name in ("digest", "facts") if isinstance(value := line.get(name), str)}
    return json.dumps(line | {name: digests.get(value, value) for name, value in placeholders.items()})
