"""Reads of a live machine while the clock screen is open: none of them wakes a target CPU."""

from __future__ import annotations

import os
import time
from itertools import islice
from pathlib import Path

import pytest

from noisewatch.kernel.reader import may_interrupt as interrupts
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.record import RecordOptions, record
from noisewatch.operations.sampling import Request, sample_frames
from tests.operations.listening import SilentListener
from tests.written import WrittenMachine, without
from tests.written.clocked import intel_files
from tests.written.quiet.frequency import CHIP, UNCORE, ZONE
from tests.written.quiet_machine import ANSWERS


class _Host(WrittenMachine):
    is_live = True


def _reads_of_host(target: frozenset[int], is_requested: bool, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the paths that each look at a live machine reads, from the second on."""
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    machine = _Host(*(intel_files(at) for at in range(6)), answers=ANSWERS)
    clock = Request()
    clock.set_enabled(is_requested)
    looks: list[list[str]] = []

    def sleep(_: float) -> None:
        machine.advance()
        machine.reads.clear()

    for _ in islice(sample_frames(machine, SnapshotOptions(target), 1.0, sleep, clock=clock), 6):
        looks.append(list(machine.reads))
    return looks[1:]


def _reads_for_clock(reads: list[str]) -> list[str]:
    words = (
        "energy_uj",
        "/time",
        "total_time_ms",
        "current_freq_khz",
        "temp2_input",
        "temp4_input",
    )
    return [path for path in reads if path.endswith(words)]


def test_clock_files_are_not_read_while_the_screen_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [_reads_for_clock(reads) for reads in _reads_of_host(frozenset({2, 3}), False, monkeypatch)] == [[]] * 5


def test_power_limits_of_target_cpus_are_counted_while_the_screen_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = _reads_of_host(frozenset({2, 3}), False, monkeypatch)
    counts = {path for reads in looks for path in reads if path.endswith("power_limit_count")}
    assert counts == {
        f"/sys/devices/system/cpu/cpu{name}_power_limit_count"
        for name in ("2/thermal_throttle/core", "3/thermal_throttle/core", "2/thermal_throttle/package")
    }


def test_heat_and_power_are_read_from_a_housekeeping_cpu_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = _reads_of_host(frozenset({2, 3}), True, monkeypatch)
    assert [f"{ZONE}/energy_uj" in reads for reads in looks] == [False, True, False, True, False]
    assert [f"{CHIP}/temp2_input" in reads for reads in looks] == [False, True, False, True, False]
    assert not any(f"{CHIP}/temp4_input" in reads for reads in looks)  # the sensor of core 2
    intrusive = {path for reads in looks for path in reads if interrupts(path, {2, 3}, (6, 14))}
    assert {path.rpartition("/")[0] for path in intrusive} == {ZONE, UNCORE}  # CPU 0 answers for the package


def test_a_package_for_which_a_target_cpu_answers_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _reads_of_host(frozenset({0, 3}), True, monkeypatch)
    assert {path for reads in looks for path in reads if interrupts(path, {0, 3}, (6, 14))} == set()
    assert not any(path.endswith("temp2_input") for reads in looks for path in reads)


def test_a_package_that_is_not_read_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    machine = _Host(*(intel_files(at) for at in range(4)), answers=ANSWERS)
    clock = Request()
    clock.set_enabled(True)
    options = SnapshotOptions(frozenset({0, 3}))
    *_, last = islice(sample_frames(machine, options, 1.0, lambda _: machine.advance(), clock=clock), 4)
    assert last.clock is not None
    assert last.clock.packages[0].watts is None
    assert last.clock.packages[0].long_limit_w == 65.0  # the limit at the start
    assert {last.clock.reasons[name] for name in ("watts", "uncore_khz", "core_celsius", "celsius")} == {
        "reading it would interrupt a target CPU"
    }


def test_missing_files_have_another_reason_than_unread_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    missing = ("/sys/class/powercap", "/sys/class/hwmon", UNCORE.rpartition("/")[0])
    machine = _Host(*(without(intel_files(at), *missing) for at in range(4)), answers=ANSWERS)
    clock = Request()
    clock.set_enabled(True)
    options = SnapshotOptions(frozenset({0, 3}))
    *_, last = islice(sample_frames(machine, options, 1.0, lambda _: machine.advance(), clock=clock), 4)
    assert last.clock is not None
    assert last.clock.reasons.keys() == {"watts", "limits", "celsius", "core_celsius", "uncore", "uncore_khz"}
    assert "reading it would interrupt a target CPU" not in last.clock.reasons.values()


def _reads_of_recording(monkeypatch: pytest.MonkeyPatch, path: Path, target: str) -> list[list[str]]:
    """Return the paths that each look of `record` reads, from the second on."""
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    machine = _Host(*(intel_files(at) for at in range(4)), answers=ANSWERS)
    looks: list[list[str]] = []

    def sleep(_: float) -> None:
        looks.append(list(machine.reads))
        machine.advance()
        machine.reads.clear()

    monkeypatch.setattr(time, "sleep", sleep)
    with path.open("wb") as sink:
        options = RecordOptions(machine=MachineOptions(cpus=target), interval_s=0.1, duration_s=0.3)
        record(machine, sink, options, SilentListener())
    return [*looks[1:], list(machine.reads)]


def test_a_recording_has_the_figures_of_the_clock_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "machine.nw"
    _reads_of_recording(monkeypatch, path, "2-3")
    *_, last = sample_frames(Recording(str(path)), SnapshotOptions(), 1.0)
    assert last.clock is not None
    assert last.clock.packages[0].watts == 65.0
    assert [row.awake_share for row in last.clock.cpus] == [1.0, 1.0, 0.0, 0.0]


def test_recording_wakes_no_target_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks = _reads_of_recording(monkeypatch, tmp_path / "machine.nw", "0,3")
    assert len(looks) == 3
    assert {path for reads in looks for path in reads if interrupts(path, {0, 3}, (6, 14))} == set()


@pytest.mark.parametrize("value", [None, 1, "yes", {}, False])
def test_only_true_requests_the_clock(value: object) -> None:
    clock = Request()
    clock.set_enabled(value)
    assert clock.is_enabled is False


@pytest.mark.parametrize(("kind", "is_requested"), [(_Host, False), (_Host, True), (WrittenMachine, False)])
def test_passing_answers_are_sent_on_request_and_for_machines_that_are_not_live(
    kind: type[WrittenMachine], is_requested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    machine = kind(*(intel_files(at) for at in range(4)), answers=ANSWERS)
    answers = Request()
    answers.set_enabled(is_requested)
    frames = sample_frames(machine, SnapshotOptions(), 1.0, lambda _: machine.advance(), answers=answers)
    *_, last = islice(frames, 4)
    passed = last.answers or {}
    assert bool(passed) == (is_requested or not machine.is_live)
    assert not passed.keys() & {finding.id for finding in last.findings}
    if is_requested:
        assert "performance" in passed["governor-not-performance"]
