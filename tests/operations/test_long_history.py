"""The history of a machine that is judged every ten minutes for weeks, with a change on a Friday."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.history.development import development_of
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kinds import Work
from noisewatch.machine.history_file import machine_key
from noisewatch.model.history.entries import Entry, Past
from noisewatch.model.history.fact_table import facts_of
from noisewatch.model.history.facts import FactClass, Facts
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history import entry_line, facts_line, read_past
from tests.judgement.judging import finding
from tests.written.quiet_machine import quiet_machine

_BEGIN = datetime(2026, 10, 30, 18, tzinfo=UTC)
_FRIDAY, _MONDAY = _BEGIN + timedelta(days=21), _BEGIN + timedelta(days=23, hours=15)
_CPUS = frozenset({2, 3})


def _past(path: Path, new: Facts) -> Past:
    """Return a history of three weeks, after which a new kernel makes all work take 5% longer."""
    rng, machine = random.Random(5), {"machine": machine_key()}
    old = {**new, FactClass.KERNEL: {**new[FactClass.KERNEL], "kernel": "6.1.0"}}
    lines: list[dict[str, Any]] = [facts_line(old) | machine, facts_line(new) | machine]
    at = _BEGIN
    while at < _MONDAY:
        is_old = at < _FRIDAY
        latency = 1e6 * rng.gauss(1, 0.003) * (1 if is_old else 1.05)
        cvs = {Work.LATENCY: {1_000_000: 0.01}}
        entry = Entry(at.timestamp(), "native", _CPUS, cvs, {Figure.LATENCY: latency}, old if is_old else new, "boot")
        lines.append(entry_line(entry) | machine)
        at += timedelta(minutes=10)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return read_past(path)


def test_a_slowdown_by_a_new_kernel_on_friday_is_still_a_departure_on_monday(tmp_path: Path) -> None:
    snapshot = read_snapshot(quiet_machine(), SnapshotOptions(_CPUS, asks_inventory=True))
    past = _past(tmp_path / "history.jsonl", facts_of(snapshot))
    development = development_of(past.like(past.entries[-1]))
    (departure,), (move,) = development.departures, development.moves
    assert departure.figure == Figure.LATENCY
    assert departure.change == pytest.approx(0.05, abs=0.01)
    assert move.first_new.at_s == _FRIDAY.timestamp()
    assert [fact.name for fact in move.changed] == ["kernel"]
    answer = finding(judge(Case(snapshot, past=past)), "machine-changed").answer
    assert answer.status == "fail"
    assert answer.said.startswith("changed: kernel: 6.1.0 → ")
