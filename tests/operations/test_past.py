"""What of a calibration becomes an entry, and which lines of a file are a machine's past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history.calibrations import past_of
from noisewatch.operations.history.measured import entry_of
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import quiet_machine


def _line(number: int) -> dict[str, Any]:
    said = {"kind": "calibration", "machine": "own", "at": number, "core": "native", "cpus": [2]}
    return said | {"cv": {"latency": {"1000000": 0.01}}}


def test_every_cpu_counts_in_a_figure() -> None:
    calibrated = calibrated_with(parse_calibration(written_calibration(seconds=2.0)), Budget())
    one, other = calibrated.calibration.cpus
    assert one.clock_ns is not None
    slowed = replace(calibrated.calibration, cpus=(one, replace(other, clock_ns=3 * one.clock_ns)))
    snapshot = read_snapshot(quiet_machine(), SnapshotOptions(asks_inventory=True))
    entry = entry_of(replace(calibrated, calibration=slowed), snapshot, 0.0, None)
    assert entry is not None
    assert entry.figures[Figure.CLOCK_READING] == pytest.approx(2 * one.clock_ns)


def test_the_newest_200_entries_count_and_of_these_what_came_before_it_was_accepted() -> None:
    lines = [_line(number) for number in range(250)]
    accepted = {"kind": "accepted", "machine": "own"}
    past = past_of([*lines[:240], accepted, *lines[240:]], "own")
    assert [entry.at_s for entry in past.entries] == [float(number) for number in range(50, 250)]
    assert past.accepted == 190
    assert past_of([lines[0], accepted, *lines[1:]], "own").accepted == 0
