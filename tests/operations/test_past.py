"""Entries made from a calibration, and the lines of a history file that are a machine's past."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.history.measured import entry_of
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.history_file import machine_key
from noisewatch.machine.live import LiveMachine
from noisewatch.model.history.figures import Figure
from noisewatch.operations.history import CalibrationHistory, past_of, read_past
from tests.operations.listening import SilentListener
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import quiet_machine


def _line(number: int) -> dict[str, Any]:
    fields = {"kind": "calibration", "machine": "own", "at": number, "core": "native", "cpus": [2]}
    return fields | {"cv": {"latency": {"1000000": 0.01}}}


def test_a_figure_is_the_mean_of_all_cpus() -> None:
    calibrated = calibrated_with(parse_calibration(written_calibration(seconds=2.0)), Budget())
    one, other = calibrated.calibration.cpus
    assert one.clock_ns is not None
    slower = replace(calibrated.calibration, cpus=(one, replace(other, clock_ns=3 * one.clock_ns)))
    snapshot = read_snapshot(quiet_machine(), SnapshotOptions(asks_inventory=True))
    entry = entry_of(replace(calibrated, calibration=slower), snapshot, 0.0, None)
    assert entry is not None
    assert entry.figures[Figure.CLOCK_READING] == pytest.approx(2 * one.clock_ns)


def test_one_slow_cpu_among_many_is_a_figure_of_its_own() -> None:
    calibrated = calibrated_with(parse_calibration(written_calibration(seconds=2.0)), Budget())
    one = calibrated.calibration.cpus[0]
    assert one.latency_work is not None
    slow = replace(one.latency_work, median_ns=1.6 * one.latency_work.median_ns)
    sixty_four = tuple(
        replace(one, cpu=cpu, latency_work=slow if cpu == 7 else one.latency_work, effective_khz=1.0e6 + (cpu == 7))
        for cpu in range(64)
    )
    snapshot = read_snapshot(quiet_machine(), SnapshotOptions(asks_inventory=True))
    for cpus, expected in ((sixty_four, 1.6), (sixty_four[:7], 1.0), (sixty_four[7:8], None)):
        calibration = replace(calibrated.calibration, cpus=cpus)
        entry = entry_of(replace(calibrated, calibration=calibration), snapshot, 0.0, None)
        assert entry is not None
        assert entry.figures.get(Figure.SLOWEST_LATENCY) == (expected and pytest.approx(expected))
        assert entry.figures.get(Figure.SLOWEST_CLOCK) == (expected and pytest.approx(1.0)), "the lowest rate"


def test_up_to_200_entries_count_and_acceptance_divides_them() -> None:
    lines, accepted = [_line(number) for number in range(200)], {"kind": "accepted", "machine": "own"}
    past = past_of([*lines[:170], accepted, *lines[170:]], "own")
    assert [entry.at_s for entry in past.entries] == [float(number) for number in range(160, 200)]
    assert (past.accepted, past.thinned_out) == (10, 160)
    past = past_of([lines[0], accepted, *lines[1:]], "own")
    assert (len(past.entries), past.accepted) == (199, 0)


def test_each_set_of_cpus_and_each_core_has_entries_of_its_own() -> None:
    rare = [_line(0) | {"cpus": [2, 3]}, _line(1) | {"core": "python"}]
    past = past_of([*rare, *map(_line, range(2, 500))], "own")
    assert [(entry.core, len(entry.cpus)) for entry in past.entries[:3]] == [
        ("native", 2),
        ("python", 1),
        ("native", 1),
    ]


@pytest.mark.parametrize("fields", [{}, {"figures": {"latency work": 1.0}, "facts": "x", "boot": None}])
def test_a_long_file_has_the_same_entries_in_any_format(tmp_path: Path, fields: dict[str, Any]) -> None:
    path, accepted = tmp_path / "history.jsonl", {"kind": "accepted", "machine": machine_key()}
    lines = [_line(600 * number) | fields | {"machine": machine_key()} for number in range(1000)]
    others = [_line(number) | {"machine": f"other {number % 2}"} for number in range(250)]
    for written in ([*lines[:240], accepted, *lines[240:], *others], [*others, *lines[:240], accepted, *lines[240:]]):
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in written)
        path.write_text(text)
        past = read_past(path)
        assert 120 <= len(past.entries) <= 200
        assert (past.entries[0].at_s, past.entries[-1].at_s) == (600.0 * 240, 600.0 * 999)
        assert (past.accepted, past.other_machines, past.damaged) == (0, 2, ())
        assert past.thinned_out == 1000 - len(past.entries)
        path.write_text(text.replace('":', '": '))
        assert read_past(path) == past, "as another program may have written it"


def test_a_damaged_line_has_its_number(tmp_path: Path) -> None:
    path, key = tmp_path / "history.jsonl", {"machine": machine_key()}
    lines = [json.dumps(_line(number) | key, separators=(",", ":")) for number in range(5)]
    lines[3] = lines[3].replace('"cv":{', '"cv":{{')
    path.write_text("\n".join(lines) + "\n")
    past = read_past(path)
    assert ([entry.at_s for entry in past.entries], past.damaged) == ([0.0, 1.0, 2.0, 4.0], (4,))


def _text(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def test_a_long_file_of_many_machines_has_all_entries_of_this_one(tmp_path: Path) -> None:
    path, key = tmp_path / "history.jsonl", {"machine": machine_key()}
    own = [*[_line(number) | key for number in range(8)], {"kind": "accepted", **key}, _line(8) | key]
    others = _text([_line(number) | {"machine": f"other {number % 3}"} for number in range(9)])
    path.write_bytes(_text(own) + others * (20_000_000 // len(others)) + b"torn\n" + _text([_line(9) | key]))
    past = read_past(path)
    assert [entry.at_s for entry in past.entries] == [float(number) for number in range(10)]
    assert (past.accepted, past.other_machines) == (8, 3)
    assert past.doubt is None
    assert past.damaged == (path.read_bytes().count(b"\n") - 1,), "as an editor counts its lines"


def test_few_entries_at_the_end_of_a_huge_file_are_doubtful(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for count, is_doubtful in ((10, True), (200, False)):
        text = b"\n" + _text([_line(number) | {"machine": machine_key()} for number in range(count)])
        with path.open("wb") as file:
            file.truncate(300_000_000)  # a sparse file
            file.seek(0, os.SEEK_END)
            file.write(text)
        past = read_past(path)
        assert len(past.entries) == count
        assert past.damaged == ()
        assert ("256 MB" in (past.doubt or "")) == is_doubtful


def test_damaged_lines_are_remarked_once(tmp_path: Path) -> None:
    path, listener = tmp_path / "history.jsonl", SilentListener()
    good = json.dumps(_line(1) | {"machine": machine_key()})
    path.write_text(f"{good}\n{{\n{good}\nrubbish\n")
    history = CalibrationHistory(LiveMachine(), path)
    history.remark_damage(listener)
    for _ in range(2):
        assert len(history.recall().entries) == 2
    assert listener.remarks == [f"{path}: damaged in lines 2, 4: they are ignored"]
