"""Calibrations of this host, their length, and the conditions in frames."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.judgement.case import calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import CalibrationOptions, parse_calibration
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kinds import Work
from noisewatch.machine.live import LiveMachine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.calibration.buffer import LATENCY
from noisewatch.model.history.entries import Past
from noisewatch.operations.calibrate import CalibrationRun, calibrate_cpus, cpus_for_load, with_length_of
from noisewatch.operations.frame.frame import ClockLimits, Conditions, CoolingLine, Frame, Temperature, Throttled
from noisewatch.operations.history import CalibrationHistory, until_accurate
from noisewatch.operations.sampling import sample_frames
from tests.surfaces.running import record
from tests.written import Files, WrittenMachine
from tests.written.calibration import WORK_NS, written_calibration
from tests.written.quiet.frequency import CHIP, THERMAL
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

_CPU = max(os.sched_getaffinity(0))


class _FailingCollector(TraceCollector):
    """A collector that starts, but cannot be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def drain(self) -> None:
        raise CannotMeasure("tracefs: input/output error")


def test_a_failing_trace_does_not_change_the_calibration() -> None:
    machine = LiveMachine()
    snapshot = read_snapshot(machine, SnapshotOptions(), TaskReader())
    options = CalibrationOptions(0.5)
    run = calibrate_cpus(
        machine, snapshot, frozenset({_CPU}), options, watch=lambda progress: None, tracing=_FailingCollector
    )
    assert isinstance(run, CalibrationRun)
    assert [(cpu.cpu, cpu.trouble) for cpu in run.samples.cpus] == [(_CPU, None)]
    assert run.observations.trace == "tracefs: input/output error"


_MS = 1_000_000


def _history_line(at: float, cv: float, cpus: list[int]) -> dict[str, object]:
    return {"kind": "calibration", "at": at, "core": "native", "cpus": cpus, "cv": {"latency": {str(10 * _MS): cv}}}


def _in_bursts(at_ns: int) -> int:
    return WORK_NS * (9 if at_ns // (400 * _MS) % 5 == 0 else 1)


def test_an_adaptive_calibration_is_settled_with_the_drift_of_its_history() -> None:
    samples = parse_calibration(written_calibration(seconds=3.0, others={LATENCY: _in_bursts}))
    floor = calibrated_with(samples, Budget(10 * _MS, work=Work.LATENCY)).floor
    assert floor is not None
    budget = Budget(10 * _MS, max_cv=floor.cv_high * 1.01, work=Work.LATENCY)
    swings = [(60.0 * number, 0.01 if number % 2 else 1.0) for number in range(20)]
    wild, elsewhere = ([_history_line(*swing, cpus) for swing in swings] for cpus in ([2, 3], [2]))
    enough = []
    for history in ([], wild, elsewhere):
        past = CalibrationHistory(WrittenMachine(answers={"history": history}), None).recall()
        is_enough = until_accurate(past, CalibrationOptions(30.0, is_auto=True), budget).is_enough
        assert is_enough is not None
        enough.append(is_enough(samples))
    assert enough == [True, False, True], "entries of other CPUs do not count"
    assert until_accurate(Past(), CalibrationOptions(5.0), budget) == CalibrationOptions(5.0)


def test_a_calibration_under_load_is_as_long_as_the_idle_one() -> None:
    written = written_calibration(seconds=7.25)
    calibrated = calibrated_with(parse_calibration(written), Budget())
    again = with_length_of(calibrated, CalibrationOptions(30.0, is_realtime=True, is_auto=True))
    assert again == CalibrationOptions(7.25, is_realtime=True)
    assert until_accurate(Past(), again, Budget()).is_enough is None
    fixed = CalibrationOptions(5.0)
    assert with_length_of(calibrated, fixed) is fixed


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
    ids=["the others", "including other isolated ones", "a target that is not isolated", "none isolated"],
)
def test_the_load_runs_on_all_cpus_except_isolated_targets(isolated: str, target: set[int], expected: set[int]) -> None:
    assert cpus_for_load(_snapshot({f"{CPUS}/isolated": isolated}, frozenset(target))) == expected


def _frames(tmp_path: Path, *changes: Files) -> list[Frame]:
    """Return the frames of a recording of the quiet machine, with one moment for each set of changed files."""
    moments = [{**quiet_files(3.0 * number), **files} for number, files in enumerate(changes)]
    recording = Recording(str(record(tmp_path / "machine.nw", *moments)))
    return list(sample_frames(recording, SnapshotOptions(), 1.0))


def test_conditions_of_a_quiet_machine(tmp_path: Path) -> None:
    assert _frames(tmp_path, {}, {})[-1].conditions == Conditions(
        mains_power=True,
        clock_limits=(ClockLimits("0-3", 3_000_000, 3_000_000),),
        throttled=(),
        cooling=(),
        temperatures=(Temperature("coretemp Package id 0", 41.0, 100.0),),
    )


def test_cpus_with_other_clock_limits_have_a_line_of_their_own(tmp_path: Path) -> None:
    slower = {f"{CPUS}/cpu3/cpufreq/scaling_{end}_freq": "2000000\n" for end in ("min", "max")}
    (frame,) = _frames(tmp_path, slower)
    assert frame.conditions.clock_limits == (
        ClockLimits("0-2", 3_000_000, 3_000_000),
        ClockLimits("3", 2_000_000, 2_000_000),
    )


def test_grown_throttling_counters_name_the_target_cpus_of_the_core_and_the_package(tmp_path: Path) -> None:
    hot = {
        f"{CPUS}/cpu3/thermal_throttle/core_throttle_count": "14\n",
        f"{CPUS}/cpu2/thermal_throttle/package_throttle_count": "35\n",
    }
    _, second, third = _frames(tmp_path, {}, hot, hot)
    assert second.conditions.throttled == (Throttled("core", "3", 2), Throttled("package", "2-3", 1))
    assert third.conditions.throttled == ()


def test_power_limits_are_distinguished_from_heat(tmp_path: Path) -> None:
    path = f"{CPUS}/cpu3/thermal_throttle/core_power_limit_count"
    paths = (path, path.replace("cpu3", "cpu2"))
    moments = [dict.fromkeys(paths, "7\n"), dict.fromkeys(paths, "7\n") | {path: "13\n"}]
    assert _frames(tmp_path, *moments)[-1].conditions.throttled == (Throttled("core", "3", 6, "power"),)


def test_an_unreadable_throttling_counter_is_unknown(tmp_path: Path) -> None:
    unreadable = {f"{CPUS}/cpu3/thermal_throttle/core_throttle_count": "rubbish\n"}
    assert _frames(tmp_path, {}, unreadable)[-1].conditions.throttled == (Throttled("core", "3", None),)


def test_cooling_devices_of_one_kind_are_one_line(tmp_path: Path) -> None:
    both = {f"{THERMAL}/cooling_device3/type": "Processor\n", f"{THERMAL}/cooling_device3/cur_state": "3\n"}
    at_work = {**both, f"{THERMAL}/cooling_device1/cur_state": "2\n"}
    unreadable = {**both, f"{THERMAL}/cooling_device1/cur_state": "\n", f"{THERMAL}/cooling_device3/cur_state": "0\n"}
    assert _frames(tmp_path, at_work)[0].conditions.cooling == (CoolingLine("Processor", 2, 3),)
    assert _frames(tmp_path, unreadable)[0].conditions.cooling == (CoolingLine("Processor", None, None),)


def test_the_temperature_is_read_for_each_frame_and_may_be_unknown(tmp_path: Path) -> None:
    frames = _frames(tmp_path, {}, {f"{CHIP}/temp1_input": "97000\n"}, {f"{CHIP}/temp1_input": "\n"})
    assert [frame.conditions.temperatures[0].celsius for frame in frames] == [41.0, 97.0, None]


def test_a_sensor_that_would_interrupt_a_target_cpu_is_not_read(tmp_path: Path) -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    celsius_by_path = read_snapshot(machine, SnapshotOptions(frozenset({1}))).background.celsius_by_path
    assert celsius_by_path == {f"{CHIP}/temp1_input": 41.0}
    assert read_snapshot(machine, SnapshotOptions(frozenset({0}))).background.celsius_by_path == {}
    pairs = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    paired = WrittenMachine(quiet_files() | pairs, answers=ANSWERS)
    assert read_snapshot(paired, SnapshotOptions(frozenset({2}))).background.celsius_by_path == {}
