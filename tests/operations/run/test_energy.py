"""The energy counters are read around a repetition, and often enough within it."""

from __future__ import annotations

import os

import pytest

from noisewatch.kernel.frequency.powercap import FOLDER
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.run.energy import EnergyMeter
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import run_series
from tests.kernel.frequency.test_energy import zone
from tests.operations.run.test_series import Listener
from tests.written import BARE, WrittenMachine


def _machine(*joules: int, seconds_between: float = 10.0) -> WrittenMachine:
    moments = ({**BARE, **zone("0", "package-0", 1_000_000 * used)} for used in joules)
    return WrittenMachine(*moments, seconds_between=seconds_between)


def _energy_reads(machine: WrittenMachine) -> int:
    return machine.reads.count(f"{FOLDER}/intel-rapl:0/energy_uj")


def test_the_counters_are_read_before_and_after() -> None:
    machine = _machine(100, 350)
    meter = EnergyMeter(machine, True, {})
    meter.begin()
    machine.advance()
    energy = meter.end()
    assert (energy.package_j, energy.watts, energy.interval_ns) == (250.0, 25.0, 10_000_000_000)
    assert _energy_reads(machine) == 2


def test_a_long_repetition_is_read_before_the_counter_can_wrap_twice() -> None:
    machine = _machine(*range(100, 1600, 100))
    meter = EnergyMeter(machine, True, {})
    meter.begin()
    for _ in range(14):
        machine.advance()
        meter.look()
    assert meter.end().package_j == 1400.0
    assert _energy_reads(machine) == 1 + 7 + 1  # each time at the first look after 16 s


def test_a_repetition_without_looks_is_unknown_if_the_counter_may_have_wrapped_twice() -> None:
    machine = _machine(100, 200, seconds_between=60)
    meter = EnergyMeter(machine, True, {})
    meter.begin()
    machine.advance()
    assert meter.end().reason == "not read for 60 s, so the counter may have wrapped more than once"


def test_nothing_is_read_without_the_option() -> None:
    machine = _machine(100, 200)
    meter = EnergyMeter(machine, False, {})
    meter.begin()
    meter.look()
    assert not meter.end().is_requested
    assert machine.reads == []


@pytest.mark.usefixtures("restored_process")
def test_a_series_has_the_energy_of_each_repetition_or_the_reason() -> None:
    options = RunOptions(
        argv=("sleep", "0.05"), machine=MachineOptions(cpus=str(max(os.sched_getaffinity(0)))), measures_energy=True
    )
    energy = run_series(LiveMachine([os.getpid()]), options, Listener()).repetitions[0].repetition.energy
    assert energy.is_requested
    assert (energy.package_j is None) == (energy.reason is not None)
    if not os.path.exists(FOLDER):
        assert "virtual machines have none" in str(energy.reason)
