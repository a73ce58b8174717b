"""The figures of the clock screen, and the reasons for unknown ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from noisewatch.kernel.frequency.idle import MOST_CPUS
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.copied import CopiedTree
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import (
    ClockCpu,
    ClockFigures,
    ClockGroup,
    ClockPackage,
    Temperature,
    decode_frame,
    encode_frame,
)
from noisewatch.operations.sampling import sample_frames
from tests.surfaces.running import quiet_tree
from tests.surfaces.tui.framing import frame
from tests.written import Files, WrittenMachine, without
from tests.written.clocked import RANGE_UJ, SECONDS, intel_files
from tests.written.quiet.frequency import CHIP, ZONE
from tests.written.quiet_machine import ANSWERS, CPUS, quiet_files

Figures = Callable[[Sequence[Files]], list[ClockFigures]]


@pytest.fixture
def figures(tmp_path: Path) -> Figures:
    """Return a function that records moments and returns the clock figures of the recording's frames."""
    return partial(_figures, tmp_path / "machine.nw")


def _figures(path: Path, moments: Sequence[Files]) -> list[ClockFigures]:
    machine, options, snapshot = WrittenMachine(*moments, answers=ANSWERS), SnapshotOptions(asks_clock=True), None
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, SECONDS)
        for number in range(len(moments)):
            if number:
                machine.advance()
            snapshot = read_snapshot(recorder, options, previous=snapshot)
        recorder.close()
    frames = list(sample_frames(Recording(str(path)), SnapshotOptions(), 1.0))
    assert [decode_frame(encode_frame(clock_frame)) for clock_frame in frames] == frames
    return [clock_frame.clock for clock_frame in frames if clock_frame.clock is not None]


def _cpu(clock: ClockFigures, cpu: int) -> ClockCpu:
    return next(row for row in clock.cpus if row.cpu == cpu)


def test_an_intel_machine_has_all_figures(figures: Figures) -> None:
    last = figures([intel_files(at) for at in range(3)])[-1]
    assert last.groups == (
        ClockGroup(
            cpus="0-3",
            driver="acpi-cpufreq",
            governor="performance",
            min_khz=3_000_000,
            max_khz=3_000_000,
            hardware_min_khz=1_200_000,
            hardware_max_khz=3_000_000,
            base_khz=2_500_000,
            preference="performance",
        ),
    )
    assert last.packages == (
        ClockPackage(
            package=0,
            cpus="0-3",
            celsius=41.0,
            critical_celsius=100.0,
            watts=65.0,
            long_limit_w=65.0,
            short_limit_w=160.0,
            rated_w=125.0,
            throttles=34,
            slowed_ms=620,
            uncore_khz=2_400_000,
            uncore_min_khz=2_400_000,
            uncore_max_khz=2_400_000,
        ),
    )
    assert _cpu(last, 2) == ClockCpu(
        cpu=2,
        awake_share=0.0,
        idle_shares=(0.0, 0.25, 0.0, 0.75),
        celsius=39.0,
        critical_celsius=100.0,
        throttles=12,
        slowed_ms=310,
        power_limit_count=7,
    )
    assert _cpu(last, 0).awake_share == 1.0
    assert (last.idle_names, last.packages_age_s, last.reasons) == (("POLL", "C1", "C1E", "C6"), 0.0, {})


def test_cores_and_packages_are_read_every_five_seconds_and_have_an_age(figures: Figures) -> None:
    clocks = figures([intel_files(at) for at in range(5)])
    assert [clock.packages_age_s for clock in clocks] == [0.0, 3.0, 0.0, 3.0, 0.0]
    assert [clock.packages[0].watts is not None for clock in clocks] == [False, False, True, True, True]
    assert clocks[0].reasons["watts"] == clocks[1].reasons["watts"] == "known after five seconds"


def test_an_energy_counter_that_wraps_around_gives_power_if_its_range_is_known(figures: Figures) -> None:
    near_end = [intel_files(at, energy_uj=RANGE_UJ - 100_000_000) for at in range(3)]
    assert figures(near_end)[-1].packages[0].watts == pytest.approx(65.0, rel=1e-4)
    without_range = [without(files, f"{ZONE}/max_energy_range_uj") for files in near_end]
    assert figures(without_range)[-1].packages[0].watts is None


def test_an_energy_counter_that_does_not_advance_gives_no_power(figures: Figures) -> None:
    last = figures([intel_files(at, watts=0.0) for at in range(3)])[-1]
    assert (last.packages[0].watts, last.reasons["watts"]) == (None, "the energy counter did not advance")


def test_a_cpu_that_slept_through_the_interval_has_no_awake_share(figures: Figures) -> None:
    frozen = {path: text for path, text in intel_files(0).items() if re.search(r"cpu[23]/cpuidle/state\d/time", path)}
    last = figures([intel_files(at) | frozen for at in range(3)])[-1]
    assert (_cpu(last, 2).awake_share, _cpu(last, 2).idle_shares) == (None, None)
    assert last.reasons["idle_shares"] == "a sleep is only counted when it ends"


def test_a_sleep_that_began_before_the_interval_gives_no_idle_shares(figures: Figures) -> None:
    long = {f"{CPUS}/cpu2/cpuidle/state3/time": "9000000\n"}
    assert _cpu(figures([intel_files(0), intel_files(1) | long])[-1], 2).idle_shares is None


def test_an_amd_machine_has_a_sensor_without_a_package_and_no_limits(figures: Figures) -> None:
    missing = ("constraint_0_name", "constraint_1_name", "constraint_0_power_limit_uw", "constraint_0_max_power_uw")
    amd = {f"{CHIP}/name": "k10temp\n", f"{CHIP}/temp1_label": "Tctl\n"}
    moments = [
        without(intel_files(at), *(f"{ZONE}/{name}" for name in missing), f"{CHIP}/temp4_label") | amd
        for at in range(3)
    ]
    last = figures(moments)[-1]
    assert last.sensors == (Temperature("k10temp Tctl", 41.0, 100.0),)
    (package,) = last.packages
    assert (package.celsius, package.watts, package.long_limit_w) == (41.0, 65.0, None)
    assert set(last.reasons) == {"limits", "core_celsius"}


def test_an_arm_machine_has_the_clocks_and_the_sensors_of_its_clusters(figures: Figures) -> None:
    missing = ("/sys/class/powercap", f"{CPUS}/intel_uncore_frequency", "/sys/class/hwmon/hwmon1")
    no_package = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": "-1\n" for cpu in range(4)}
    clusters = {
        "/sys/class/hwmon/hwmon2/name": "bigcore0_thermal\n",
        "/sys/class/hwmon/hwmon2/temp1_input": "52000\n",
        "/sys/class/hwmon/hwmon3/name": "littlecore_thermal\n",
        "/sys/class/hwmon/hwmon3/temp1_input": "47000\n",
    }
    throttles = [f"{CPUS}/cpu{cpu}/thermal_throttle" for cpu in range(4)]
    last = figures([without(intel_files(at), *missing, *throttles) | no_package | clusters for at in range(3)])[-1]
    assert [(sensor.name, sensor.celsius) for sensor in last.sensors] == [
        ("bigcore0_thermal", 52.0),
        ("littlecore_thermal", 47.0),
    ]
    assert (last.packages, last.groups[0].max_khz) == ((), 3_000_000)
    assert _cpu(last, 2).idle_shares == (0.0, 0.25, 0.0, 0.75)
    assert last.reasons["throttles"].startswith("no such file")
    assert last.reasons["watts"].startswith("the package of CPU 2 is unknown")


def test_a_vm_without_any_figure_has_the_reasons(figures: Figures) -> None:
    folders = ("cpufreq", "cpuidle", "thermal_throttle", "acpi_cppc")
    missing = [f"{CPUS}/cpu{cpu}/{name}" for cpu in range(4) for name in folders]
    missing += ["/sys/class/powercap", "/sys/class/hwmon", f"{CPUS}/intel_uncore_frequency", f"{CPUS}/cpufreq"]
    last = figures([without(intel_files(at), *missing) for at in range(3)])[-1]
    assert (last.cpus, last.sensors, last.idle_names) == ((), (), ())
    unknown = {"current_khz", "governor", "window", "hardware_max_khz", "base_khz", "preference", "turbo"}
    unknown |= {"throttles", "slowed_ms", "idle_shares", "core_celsius", "watts", "limits", "celsius", "uncore"}
    assert last.reasons.keys() == unknown | {"uncore_khz"}
    assert last.reasons["current_khz"] == f"no such file ({CPUS}/cpu2/cpufreq)"
    assert last.reasons["idle_shares"] == f"no such file ({CPUS}/cpu2/cpuidle)"


def test_a_copied_tree_has_the_figures_of_its_files(tmp_path: Path) -> None:
    tree = CopiedTree(str(quiet_tree(tmp_path, intel_files(0))))
    (copied,) = sample_frames(tree, SnapshotOptions(), 1.0)
    assert copied.clock is not None
    assert (_cpu(copied.clock, 2).celsius, copied.clock.packages[0].long_limit_w) == (39.0, 65.0)
    assert copied.clock.reasons.keys() == {"watts", "idle_shares"}


@pytest.mark.parametrize("text", ["", "rubbish\n", "-500000\n", "9" * 30 + "\n", "\0\n"])
def test_invalid_file_contents_make_the_figures_unknown(figures: Figures, text: str) -> None:
    words = (
        "energy_uj",
        "/time",
        "_input",
        "total_time_ms",
        "current_freq_khz",
        "power_limit_uw",
        "max_energy_range_uj",
    )
    moments = [
        {path: text if path.endswith(words) else old for path, old in intel_files(at).items()} for at in range(3)
    ]
    last = figures(moments)[-1]
    (package,) = last.packages
    assert (package.watts, package.celsius, package.long_limit_w, package.uncore_khz) == (None, None, None, None)
    assert _cpu(last, 2).idle_shares is None
    assert last.reasons.keys() >= {"watts", "celsius", "limits", "uncore_khz", "idle_shares", "slowed_ms"}


def test_target_cpus_are_read_first_among_many_cpus() -> None:
    count = 2 * MOST_CPUS
    files = quiet_files() | {f"{CPUS}/online": f"0-{count - 1}\n", f"{CPUS}/isolated": f"{count - 2}-{count - 1}\n"}
    for cpu in range(count):
        files[f"{CPUS}/cpu{cpu}/topology/core_id"] = f"{cpu}\n"
    machine = WrittenMachine(files, answers=ANSWERS)
    read_snapshot(machine, SnapshotOptions(frozenset({count - 1}), asks_clock=True))
    cpus = {int(match[1]) for path in machine.reads if (match := re.search(r"cpu(\d+)/cpuidle/$", path))}
    assert count - 1 in cpus
    assert len(cpus) <= MOST_CPUS + 1


@pytest.mark.parametrize("field", ['{"groups":1}', "[1]", '{"groups":[],"cpus":[{"boo":1}]}', "5", '{"groups":[{}]}'])
def test_a_line_with_invalid_figures_is_not_a_frame(field: str) -> None:
    line = encode_frame(frame()).replace(b'"clock":null', f'"clock":{field}'.encode())
    with pytest.raises(ValueError, match="no frame"):
        decode_frame(line)
