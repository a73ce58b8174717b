"""Calibrating beside busy processes: where they run, and what is recorded of them."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.calibration import BusyLoad, describe_load, parse_busy_load
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.machine import Json
from noisewatch.operations.calibrate import cpus_for_load
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files


def _snapshot(changes: Files | None = None, cpus: frozenset[int] | None = None) -> Snapshot:
    machine = WrittenMachine({**quiet_files(), **(changes or {})}, answers=ANSWERS)
    return read_snapshot(machine, SnapshotOptions(cpus))


@pytest.mark.parametrize(
    ("isolated", "target", "expected"),
    [
        ("2-3\n", {2, 3}, {0, 1}),
        ("2-3\n", {2}, {0, 1, 3}),
        ("2-3\n", {1, 2}, {0, 1, 3}),
        ("\n", {2, 3}, {0, 1, 2, 3}),
    ],
    ids=["the others", "other isolated ones as well", "a target that is not isolated", "all where none is"],
)
def test_the_load_may_be_wherever_no_target_is_isolated(isolated: str, target: set[int], expected: set[int]) -> None:
    assert cpus_for_load(_snapshot({f"{CPUS}/isolated": isolated}, frozenset(target))) == expected


def test_a_load_is_read_as_it_was_written_down() -> None:
    load = BusyLoad(frozenset({0, 5}), 7, 0.96)
    assert parse_busy_load(describe_load(load)) == load


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"cpus": ["x"], "processes": 1, "busy_millionths": 1},
        {"cpus": [-1], "processes": 1, "busy_millionths": 1},
        {"cpus": [1], "processes": -1, "busy_millionths": 1},
        {"cpus": [1], "processes": 1},
    ],
)
def test_what_is_no_load_is_refused(answer: Json) -> None:
    with pytest.raises(Malformed):
        parse_busy_load(answer)
