"""The clocks, temperatures and power of a machine in a frame."""

from __future__ import annotations

from pathlib import Path

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import ClockLimits, Conditions, CoolingLine, Frame, Temperature, Throttled
from noisewatch.operations.sampling import sample_frames
from tests.surfaces.running import record
from tests.written import Files, WrittenMachine
from tests.written.quiet.frequency import CHIP, THERMAL
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files


def _frames(tmp_path: Path, *changes: Files) -> list[Frame]:
    """Return the frames of a recording of the quiet machine, with one moment for each set of changed files."""
    moments = [{**quiet_files(3.0 * number), **each} for number, each in enumerate(changes)]
    recording = Recording(str(record(tmp_path / "machine.nw", *moments)))
    return list(sample_frames(recording, SnapshotOptions(), 1.0))


def test_a_quiet_machine(tmp_path: Path) -> None:
    assert _frames(tmp_path, {}, {})[-1].conditions == Conditions(
        mains_power=True,
        clock_limits=(ClockLimits("0-3", 3_000_000, 3_000_000),),
        throttled=(),
        cooling=(),
        temperatures=(Temperature("coretemp Package id 0", 41.0, 100.0),),
    )


def test_cpus_with_other_limits_have_a_line_of_their_own(tmp_path: Path) -> None:
    slower = {f"{CPUS}/cpu3/cpufreq/scaling_{end}_freq": "2000000\n" for end in ("min", "max")}
    (only,) = _frames(tmp_path, slower)
    assert only.conditions.clock_limits == (
        ClockLimits("0-2", 3_000_000, 3_000_000),
        ClockLimits("3", 2_000_000, 2_000_000),
    )


def test_counters_of_throttling_that_grew_name_the_target_cpus_of_the_core_and_the_package(tmp_path: Path) -> None:
    hot = {
        f"{CPUS}/cpu3/thermal_throttle/core_throttle_count": "14\n",
        f"{CPUS}/cpu2/thermal_throttle/package_throttle_count": "35\n",
    }
    _, second, third = _frames(tmp_path, {}, hot, hot)
    assert second.conditions.throttled == (Throttled("core", "3", 2), Throttled("package", "2-3", 1))
    assert third.conditions.throttled == ()


def test_power_limits_that_were_reached_are_told_apart_from_heat(tmp_path: Path) -> None:
    path = f"{CPUS}/cpu3/thermal_throttle/core_power_limit_count"
    paths = (path, path.replace("cpu3", "cpu2"))
    moments = [dict.fromkeys(paths, "7\n"), dict.fromkeys(paths, "7\n") | {path: "13\n"}]
    assert _frames(tmp_path, *moments)[-1].conditions.throttled == (Throttled("core", "3", 6, "power"),)


def test_a_counter_that_cannot_be_read_is_unknown_and_not_still(tmp_path: Path) -> None:
    unread = {f"{CPUS}/cpu3/thermal_throttle/core_throttle_count": "rubbish\n"}
    assert _frames(tmp_path, {}, unread)[-1].conditions.throttled == (Throttled("core", "3", None),)


def test_cooling_devices_of_one_kind_are_one_line(tmp_path: Path) -> None:
    both = {f"{THERMAL}/cooling_device3/type": "Processor\n", f"{THERMAL}/cooling_device3/cur_state": "3\n"}
    at_work = {**both, f"{THERMAL}/cooling_device1/cur_state": "2\n"}
    unread = {**both, f"{THERMAL}/cooling_device1/cur_state": "\n", f"{THERMAL}/cooling_device3/cur_state": "0\n"}
    assert _frames(tmp_path, at_work)[0].conditions.cooling == (CoolingLine("Processor", 2, 3),)
    assert _frames(tmp_path, unread)[0].conditions.cooling == (CoolingLine("Processor", None, None),)


def test_the_temperature_is_asked_anew_and_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    frames = _frames(tmp_path, {}, {f"{CHIP}/temp1_input": "97000\n"}, {f"{CHIP}/temp1_input": "\n"})
    assert [each.conditions.temperatures[0].celsius for each in frames] == [41.0, 97.0, None]


def test_a_sensor_that_interrupts_a_target_cpu_is_not_asked_again(tmp_path: Path) -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    asked = read_snapshot(machine, SnapshotOptions(frozenset({1}))).background.celsius_by_path
    assert asked == {f"{CHIP}/temp1_input": 41.0}
    assert read_snapshot(machine, SnapshotOptions(frozenset({0}))).background.celsius_by_path == {}
    pairs = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n" for cpu in range(4)}
    paired = WrittenMachine(quiet_files() | pairs, answers=ANSWERS)
    assert read_snapshot(paired, SnapshotOptions(frozenset({2}))).background.celsius_by_path == {}
