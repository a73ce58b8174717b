"""The machine's history above the monitor's screens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisewatch.machine.history_file import append_entry, machine_key
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.surfaces.drawing.text_row import length, text_of
from noisewatch.surfaces.tui.overlays.history import HistoryOverlay
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from tests.surfaces.tui.framing import cpu_line, frame

_SIZES = [(80, 24), (140, 40), (30, 10)]


def _write_history(path: Path, count: int = 20) -> Path:
    for number in range(count):
        latency = 1e6 * (1 + 0.001 * (number % 3)) * (1.05 if number >= 14 else 1.0)
        entry = {"kind": "calibration", "machine": machine_key(), "at": 86_400 * number, "core": "native", "cpus": [2]}
        figures = {"latency work": latency, "noise floor at 10 ms": 0.002}
        append_entry(path, {**entry, "cv": {"latency": {"1000000": 0.01}}, "figures": figures})
    return path


def _overlay(path: Path, origin: str | None = None) -> HistoryOverlay:
    overlay = HistoryOverlay.of(frame((cpu_line(2, "target"),)))
    overlay.origin = origin
    overlay.measure(MachineAccess(None, lambda: PreflightOptions(history=path)), lambda change: None)()
    return overlay


def _text(overlay: HistoryOverlay, width: int, height: int, in_unicode: bool = True) -> list[str]:
    return [text_of(row) for row in overlay.rows(width, height, in_unicode)]


@pytest.mark.parametrize("in_unicode", [True, False], ids=["unicode", "ascii"])
@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_the_history_fits_every_size(tmp_path: Path, width: int, height: int, in_unicode: bool) -> None:
    rows = _overlay(_write_history(tmp_path / "h.jsonl")).rows(width, height, in_unicode)
    assert len(rows) == height
    assert max(map(length, rows)) <= width


def test_moves_and_both_charts_are_on_one_screen(tmp_path: Path) -> None:
    text = "\n".join(_text(_overlay(_write_history(tmp_path / "h.jsonl")), 100, 30))
    assert "latency work: 5." in text
    assert "latency work: 20 entries" in text
    assert "noise floor at 10 ms: 20 entries" in text
    assert "moved" in text


def test_the_history_can_be_exported(tmp_path: Path) -> None:
    reports = _overlay(_write_history(tmp_path / "h.jsonl")).reports()
    assert json.loads(reports["json"])["moves"][0]["figure"] == "latency work"
    assert reports["md"].startswith("## noisewatch history")


def test_the_history_is_that_of_the_target_cpus_or_else_of_any_recorded_cpus(tmp_path: Path) -> None:
    path, other = _write_history(tmp_path / "h.jsonl"), tmp_path / "other.jsonl"
    entry = {"kind": "calibration", "machine": machine_key(), "at": 90_000_000, "core": "native", "cpus": [0, 1]}
    for file in (path, other):
        append_entry(file, {**entry, "cv": {"latency": {"1000000": 0.01}}, "figures": {"latency work": 1.0}})
    assert "CPU 2 · 20 entries" in " ".join(_text(_overlay(path), 200, 30))
    assert "CPUs 0-1 · 1 entry" in " ".join(_text(_overlay(other), 200, 30))


def test_an_unreadable_history_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("somebody else's")
    assert "not a history" in " ".join(_text(_overlay(path), 200, 24))


def test_a_recording_has_no_history(tmp_path: Path) -> None:
    assert "only this host keeps one" in " ".join(_text(_overlay(tmp_path / "none", "recording x.nw"), 100, 24))


def test_without_a_file_the_screen_explains_how_to_start_a_history(tmp_path: Path) -> None:
    assert "noisewatch preflight --history" in " ".join(_text(_overlay(tmp_path / "none"), 200, 24))
