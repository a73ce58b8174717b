"""The history of a host's calibrations: its file, its drift, and its recordings."""

from __future__ import annotations

import gzip
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.errors import Unreadable, UsageError
from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.calibration import (
    BUSY_LOAD_QUESTION,
    QUESTION,
    BusyLoad,
    CalibrationOptions,
    describe_load,
    parse_calibration,
)
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.trace.runs import QUESTION as TRACE
from noisewatch.machine import Machine
from noisewatch.machine.history_file import machine_key
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.format import SAMPLE
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.operations.calibrate import CalibrateOptions, calibrate
from noisewatch.operations.history import CalibrationHistory, drift_in
from noisewatch.operations.preflight import PreflightOptions, preflight
from tests.operations.listening import SilentListener
from tests.written import WrittenMachine
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files, quiet_machine

_MS, _DAY_S = 1_000_000, 86_400


def _swinging(at_ns: int) -> int:
    return WORK_NS + at_ns // (3 * _MS) % 5 * 20_000


_WRITTEN = written_calibration(seconds=2.0, work=_swinging)
_SAMPLES = parse_calibration(_WRITTEN)
_CALIBRATED = calibrated_with(_SAMPLES, Budget(10 * _MS))
_SNAPSHOT = read_snapshot(quiet_machine(), SnapshotOptions(asks_inventory=True))


def _entry(at: float, cv: Any = 0.02, **others: Any) -> dict[str, Any]:
    fields = {"kind": "calibration", "at": at, "machine": machine_key(), "core": "native", "cpus": [2, 3]}
    cvs = cv if isinstance(cv, dict | list) else {"latency": {str(_MS): cv, str(10 * _MS): cv}}
    return {**fields, "cv": cvs, **others}


def _write_history(path: Path, *entries: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def _drift(path: Path) -> Drift:
    return drift_in(CalibrationHistory(LiveMachine(), path).recall(), _SAMPLES)


def test_a_remembered_calibration_is_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener, path = SilentListener(), tmp_path / "history.jsonl"
    for number in range(4):
        assert _drift(path).changes == max(number - 1, 0)
        monkeypatch.setattr(time, "time", lambda number=number: 1_000.0 + 60 * number)
        CalibrationHistory(LiveMachine(), path).remember(_CALIBRATED, _SNAPSHOT, listener)
    assert listener.remarks == []
    facts, entry, *others = map(json.loads, path.read_text().splitlines())
    assert (len(others), entry["facts"]) == (3, facts["digest"]), "the facts did not change, so they are there once"
    assert facts["facts"]["hardware"]["memory"] == "16316412 kB"
    assert entry["figures"]["throughput work"] > 0
    floor = next(floor for floor in _CALIBRATED.floors_by_work["latency"].floors if floor.sample_ns == 10 * _MS)
    assert entry["cv"]["latency"][str(10 * _MS)] == floor.cv_expected > 0
    assert (entry["core"], entry["cpus"]) == ("native", [2, 3])


@pytest.mark.parametrize(
    "doubtful",
    [
        calibrated_with(replace(_SAMPLES, is_realtime=True), Budget(10 * _MS)),
        calibrated_with(replace(_SAMPLES, command=("bench",)), Budget(10 * _MS)),
        calibrated_with(_SAMPLES, Budget(10 * _MS), frozenset({2, 3, 7})),
        calibrated_with(parse_calibration(written_calibration(seconds=0.01)), Budget(10 * _MS)),
    ],
    ids=["in doubt", "of a command", "not of all CPUs", "too short"],
)
def test_a_doubtful_calibration_is_not_remembered_with_a_remark(tmp_path: Path, doubtful: Any) -> None:
    path = tmp_path / "history.jsonl"
    listener = SilentListener()
    CalibrationHistory(LiveMachine(), path).remember(doubtful, _SNAPSHOT, listener)
    assert [remark.partition(": ")[0] for remark in listener.remarks] == ["not remembered"]
    assert not path.exists()


@pytest.mark.parametrize(
    "other",
    [
        _entry(1_060, machine="another"),
        _entry(1_060, core="python"),
        _entry(1_060, cpus=[2]),
        _entry(1_060, kind="verdict"),
        _entry(1_060, cv={"latency": {str(_MS): -1}}),
        _entry(1_060, cv={"latency": {"x": 1}}),
        _entry(1_060, cv=[]),
        _entry(1_060, cv={}),
        _entry(1_060, cv={"latency": {}}),
        _entry(1_060, cv=1e300),
        _entry(1_060, cv=100.1),
        _entry(1_060, cv=float("nan")),
        _entry(1_060, cv=10**400),
        _entry(float("nan")),
        _entry(10**400),
        {"kind": "calibration"},
        7,
    ],
    ids=lambda entry: json.dumps(entry)[-40:],
)
def test_a_damaged_or_dissimilar_entry_is_ignored(tmp_path: Path, other: object) -> None:
    path = _write_history(tmp_path / "history.jsonl", _entry(1_000), other)
    assert _drift(path) == USUAL_DRIFT
    path = _write_history(tmp_path / "history.jsonl", _entry(1_000), other, _entry(1_060))
    assert _drift(path).changes == 1


@pytest.mark.parametrize(
    ("times", "changes"),
    [
        ((0, 30), 1),
        ((0, 29), 0),
        ((0, _DAY_S), 1),
        ((0, _DAY_S + 1), 0),
        ((100, 60), 0),
        ((100, 0, 60), 1),
        ((0, 10, 20, 30, 40, 50, 60), 2),
    ],
    ids=str,
)
def test_drift_is_between_calibrations_that_are_neither_too_close_nor_days_apart(
    tmp_path: Path, times: tuple[int, ...], changes: int
) -> None:
    assert _drift(_write_history(tmp_path / "history.jsonl", *map(_entry, times))).changes == changes


def test_an_unwritable_history_is_a_remark(tmp_path: Path) -> None:
    listener, path = SilentListener(), tmp_path / "history.jsonl"
    history = CalibrationHistory(LiveMachine(), path)
    path.mkdir()
    history.remember(_CALIBRATED, _SNAPSHOT, listener)
    (remark,) = listener.remarks
    assert remark == f"not remembered: {path}: is a directory"


def test_an_invalid_history_is_an_error_before_anything_is_measured(tmp_path: Path) -> None:
    """The error comes before any snapshot, any spinning on a CPU and any waiting."""
    path = _write_history(tmp_path / "foreign.txt", "somebody else's")
    machine = LiveMachine()
    with pytest.raises(UsageError, match="not a history"):
        preflight(machine, PreflightOptions(history=path, wait_s=100.0), _RefusesMeasuring())
    with pytest.raises(UsageError, match="not a history"):
        calibrate(machine, CalibrateOptions(history=path), _RefusesMeasuring())


class _RefusesMeasuring(SilentListener):
    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        raise AssertionError("measured")

    def on_calibrating(self, progress: Progress) -> None:
        raise AssertionError("measured")


def test_without_a_history_file_the_drift_is_the_usual_one() -> None:
    sink = io.BytesIO()
    recorder = Recorder(LiveMachine(), sink, 1.0)
    history = CalibrationHistory(recorder, None)
    for _ in range(2):
        history.remember(_CALIBRATED, _SNAPSHOT, SilentListener())
        assert drift_in(history.recall(), _SAMPLES) == USUAL_DRIFT
    recorder.close()
    assert b"history" not in gzip.decompress(sink.getvalue())


def test_a_recorded_history_has_neither_machine_keys_nor_invalid_json(tmp_path: Path) -> None:
    entries = [_entry(0), _entry(60, cv=float("inf")), _entry(70, machine="another"), _entry(80, note=float("nan"))]
    sink = io.BytesIO()
    recorder = Recorder(LiveMachine(), sink, 1.0)
    CalibrationHistory(recorder, _write_history(tmp_path / "history.jsonl", *entries)).recall()
    recorder.close()
    line = gzip.decompress(sink.getvalue()).splitlines()[-1]
    (asides,) = json.loads(line, parse_constant=pytest.fail).values()
    (facts, *calibrations), accepted, doubt = asides["ask history"].values()
    assert (sorted(facts), accepted, doubt) == (["digest", "facts", "kind"], 0, None)
    fields = ["at", "boot", "core", "cpus", "cv", "facts", "figures", "kind"]
    assert [sorted(calibration) for calibration in calibrations] == [fields] * 2


class _WithoutAnswers(WrittenMachine):
    def ask(self, question: str, answer: Callable[[], Any]) -> Any:
        raise Unreadable(question, "not in the recording")


def test_a_recording_without_a_history_has_the_usual_drift(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history = CalibrationHistory(_WithoutAnswers(), path)
    assert drift_in(history.recall(), _SAMPLES) == USUAL_DRIFT
    history.remember(_CALIBRATED, _SNAPSHOT, SilentListener())
    assert not path.exists(), "a replay must not add a calibration to the history"


@pytest.mark.parametrize("answer", [None, 7, {"a": 1}, [7, None, _entry(0, cpus=["x"])]])
def test_a_damaged_recording_has_the_usual_drift(answer: Any) -> None:
    history = CalibrationHistory(WrittenMachine(answers={"history": answer}), None)
    assert drift_in(history.recall(), _SAMPLES) == USUAL_DRIFT


class _AdvancingMachine(WrittenMachine):
    """A written machine that advances with each snapshot."""

    _has_begun = False

    def begin_snapshot(self) -> None:
        if self._has_begun and self.has_next:
            self.advance()
        self._has_begun = True


_CHANGES = [_entry(60 * number, 0.02 * (1 + number % 2)) for number in range(8)]
_LOAD = describe_load(BusyLoad(frozenset({0, 1}), 2, 0.5))


def _advancing_machine() -> _AdvancingMachine:
    answers = {"history": _CHANGES, QUESTION: _WRITTEN, TRACE: "not traced", BUSY_LOAD_QUESTION: _LOAD, SAMPLE: True}
    return _AdvancingMachine(*(quiet_files(3.0 * number) for number in range(9)), answers={**ANSWERS, **answers})


def _record(path: Path, measure: Callable[[Machine], object]) -> Recording:
    with path.open("wb") as sink:
        recorder = Recorder(_advancing_machine(), sink, 1.0)
        measure(recorder)
        recorder.close()
    return Recording(str(path))


@pytest.mark.parametrize("busy_processes", [None, 2], ids=["idle", "under load"])
def test_a_calibration_is_replayed_with_the_recorded_drift(tmp_path: Path, busy_processes: int | None) -> None:
    options = CalibrateOptions(busy_processes=busy_processes, budget=Budget(10 * _MS))
    live = calibrate(_advancing_machine(), options, SilentListener())
    recording = _record(tmp_path / "r.nw", lambda machine: calibrate(machine, options, SilentListener()))
    replayed = calibrate(recording, options, SilentListener())
    assert replayed.calibrated.drift.changes == 7
    assert (replayed.calibrated.drift, replayed.calibrated.floors) == (live.calibrated.drift, live.calibrated.floors)
    if busy_processes is not None:
        assert replayed.under_load is not None
        assert live.under_load is not None
        assert replayed.under_load.load == live.under_load.load
        assert replayed.under_load.calibrated.drift == replayed.calibrated.drift
        assert replayed.under_load.calibrated.floors == live.under_load.calibrated.floors


def test_a_preflight_is_replayed_with_the_recorded_drift(tmp_path: Path) -> None:
    options = PreflightOptions(sample_s=0.0, calibration=CalibrationOptions(2.0), rules=Rules(budget=Budget(10 * _MS)))

    def run_preflight(machine: Machine) -> Any:
        verdict = preflight(machine, options, SilentListener()).verdict
        calibrated = verdict.case.calibrated
        assert calibrated is not None
        return (
            calibrated.drift,
            [kind.floors for kind in calibrated.floors_by_work.values()],
            verdict.verdict,
            [finding.answer for finding in verdict.findings],
        )

    replayed = run_preflight(_record(tmp_path / "r.nw", run_preflight))
    assert replayed[0].changes == 7
    assert replayed == run_preflight(_advancing_machine())
