"""Candidates are measured off and on, interleaved, and all settings are restored whatever happens."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.judgement.fixes.actions import MakePartition
from noisewatch.judgement.fixes.changes import changes_of
from noisewatch.judgement.noise.tuning_effect import Period, Worth
from noisewatch.machine.tuning import LiveThread
from noisewatch.operations.tuning.measure import INTERRUPTED, TOO_LATE, Switch, TuningMeasurement, measure_tuning
from noisewatch.operations.tuning.schedule import Candidate, Schedule, plan_schedule
from noisewatch.operations.tuning.tune import failed, has_journal, new_session, restore_host, tune_host
from noisewatch.operations.tuning.tuner import Outcome
from tests.operations.tuning.candidates import ON, candidate, candidate_of
from tests.operations.tuning.host import WrittenHost

_SWAPPINESS, _STAT, _PRINTK = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval", "/proc/sys/kernel/printk"
_FILES = {_SWAPPINESS: "60", _STAT: "10", _PRINTK: "7\t4\t1\t7"}
_GROUPS = "/sys/fs/cgroup"
_CANDIDATES = (candidate(_SWAPPINESS), candidate(_STAT), candidate(_PRINTK))


class MeasuredHost:
    """A written host, whose noise falls by 20 points while swappiness is on; a period passes in no time."""

    def __init__(self, root: Path) -> None:
        self.settings = WrittenHost(root / "root", _FILES)
        self.path = root / "state" / "tune.jsonl"
        self.before = self.settings.state()
        self.states: list[tuple[str, str]] = []  # of each period: the candidate, and which settings were on
        self.now_s = 0.0
        self.lateness_s = 0.5  # of a period
        self.rng = random.Random(5)
        self.meanwhile: Callable[[int], None] = lambda number: None

    def measure(self, seconds: float, candidate: Candidate) -> Period:
        on = [path.rpartition("/")[2] for path in _FILES if self.settings.read(path) == ON]
        self.states.append((candidate.name, " ".join(on)))
        self.now_s += seconds + self.lateness_s
        self.meanwhile(len(self.states))
        lost = 0.3 + self.rng.uniform(0, 0.1) - 0.2 * ("swappiness" in on)
        return Period(lost, 6000 * self.rng.uniform(0.99, 1.01))

    def run(self, candidates: tuple[Candidate, ...] = _CANDIDATES, total_s: float = 150.0) -> TuningMeasurement:
        return self.run_schedule(plan_schedule(candidates, total_s, 2))

    def run_schedule(self, schedule: Schedule) -> TuningMeasurement:
        session = new_session(frozenset({2, 3}), is_until_exit=True)
        return measure_tuning(schedule, session, self.measure, self.settings, self.path, lambda: self.now_s)

    def is_restored(self) -> bool:
        return self.settings.state() == self.before and not has_journal(self.path)


@pytest.fixture
def host(tmp_path: Path) -> MeasuredHost:
    return MeasuredHost(tmp_path)


def _outcomes(measurement: TuningMeasurement) -> dict[str, str]:
    """Return for each candidate its worth, what ended its measurement, or why it was not measured."""
    return {
        result.candidate.name: str(result.effect.worth if result.effect else result.outcome or result.reason)
        for result in measurement.results
    }


def test_only_the_setting_with_an_effect_is_worth_it(host: MeasuredHost) -> None:
    measurement = host.run()
    not_shown = str(Worth.NOT_SHOWN)
    assert _outcomes(measurement) == {"swappiness": "worth it", "stat_interval": not_shown, "printk": not_shown}
    effect = measurement.results[0].effect
    assert effect is not None
    assert effect.noise.interval.low < 0.2 < effect.noise.interval.high
    assert (measurement.restoring.is_complete, measurement.interrupt) == (True, None)
    assert host.is_restored()


def test_a_candidate_is_alone_on_and_in_blocks(host: MeasuredHost) -> None:
    host.run()
    by_name = {name: [on for of, on in host.states if of == name] for name, _ in host.states}
    assert [*by_name] == ["swappiness", "stat_interval", "printk"]
    for name, states in by_name.items():
        blocks = {tuple(states[at : at + 4]) for at in range(0, len(states), 4)}
        assert blocks == {("", name, name, ""), (name, "", "", name)}
        assert states.count(name) == states.count("")


def test_an_on_is_restored_before_an_off(host: MeasuredHost) -> None:
    journals = []
    host.meanwhile = lambda number: journals.append(has_journal(host.path))
    host.run()
    assert journals == [bool(on) for _, on in host.states]


@pytest.mark.parametrize("at", [1, 2, 3, 4, 6, 24, 29, 33])
def test_an_interrupt_restores_and_keeps_the_results(host: MeasuredHost, at: int) -> None:
    def interrupt(number: int) -> None:
        if number == at:
            raise KeyboardInterrupt

    host.meanwhile = interrupt
    measurement = host.run(total_s=120.0)
    outcomes = _outcomes(measurement)
    assert isinstance(measurement.interrupt, KeyboardInterrupt)
    assert len(host.states) == at
    assert outcomes["swappiness"] == (INTERRUPTED if at <= 6 else "worth it")
    assert outcomes["printk"] == INTERRUPTED
    assert host.is_restored()


def test_a_refused_candidate_is_not_measured(host: MeasuredHost) -> None:
    host.settings.refused[_SWAPPINESS] = "Invalid argument"
    measurement = host.run()
    refused = measurement.results[0]
    assert (refused.effect, refused.outcome) == (None, Outcome.REFUSED)
    assert [changed.reason for changed in refused.troubles] == ["invalid argument"]
    assert ("swappiness", "swappiness") not in host.states
    assert _outcomes(measurement)["stat_interval"] == str(Worth.NOT_SHOWN)
    assert host.is_restored()


def test_a_candidate_that_is_refused_in_part_is_measured_without_that_part(host: MeasuredHost) -> None:
    host.settings.refused[_STAT] = "Invalid argument"
    measurement = host.run((candidate(_SWAPPINESS, _STAT),))
    result = measurement.results[0]
    assert result.effect is not None
    assert (result.made, result.candidate.settings) == (1, 2)
    assert [changed.outcome for changed in result.troubles] == [Outcome.REFUSED]
    assert host.is_restored()


def test_a_value_that_the_kernel_keeps_is_not_measured(host: MeasuredHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.settings, "write", lambda path, text: None)
    measurement = host.run((_CANDIDATES[0],))
    assert _outcomes(measurement) == {"swappiness": "refused"}
    assert measurement.results[0].troubles[0].reason == "the kernel kept 60"


def test_a_setting_that_is_already_set_is_not_measured(host: MeasuredHost) -> None:
    host.settings.write(_STAT, ON)
    assert "nothing to change" in _outcomes(host.run())["stat_interval"]


@pytest.mark.parametrize("value", ["30", "60"])
def test_a_setting_that_another_program_changes_while_it_is_on_is_left(host: MeasuredHost, value: str) -> None:
    def change(number: int) -> None:
        if host.states[-1] == ("swappiness", "swappiness"):
            host.settings.write(_SWAPPINESS, value)

    host.meanwhile = change
    measurement = host.run()
    assert _outcomes(measurement)["swappiness"] == str(Outcome.FOREIGN)
    assert _outcomes(measurement)["printk"] == str(Worth.NOT_SHOWN)
    assert host.settings.read(_SWAPPINESS) == value
    assert [changed.change for changed in failed(measurement.restoring.outcomes)] == [
        _CANDIDATES[0].plan.steps[0].changes[0].change
    ][: value == "30"]


def test_a_setting_that_another_program_changes_while_it_is_off_is_left(host: MeasuredHost) -> None:
    def change(number: int) -> None:
        if number > 4 and host.states[-1] == ("swappiness", ""):
            host.settings.write(_SWAPPINESS, "30")

    host.meanwhile = change
    measurement = host.run()
    assert _outcomes(measurement)["swappiness"] == str(Outcome.FOREIGN)
    assert host.settings.read(_SWAPPINESS) == "30"
    assert measurement.restoring.is_complete


def test_a_restore_of_another_process_ends_the_candidate(host: MeasuredHost) -> None:
    def restore(number: int) -> None:
        if host.states[-1] == ("swappiness", "swappiness"):
            restore_host(settings=host.settings, path=host.path)

    host.meanwhile = restore
    assert _outcomes(host.run())["swappiness"] == str(Outcome.FOREIGN)
    assert host.is_restored()


class _NewHost(WrittenHost):
    """A host that, like Linux since 6.2, gives threads their affinities back when a partition is removed."""

    def write(self, path: str, text: str) -> None:
        earlier = dict(self.affinities)
        super().write(path, text)
        if path.endswith(".partition"):
            if text == "isolated":
                self.requested = earlier
            else:
                self.affinities = self.requested


def test_affinities_that_the_kernel_restores_itself_are_no_foreign_change(tmp_path: Path) -> None:
    host = _NewHost(tmp_path / "root", {f"{_GROUPS}/cpuset.cpus.effective": "0-7"})
    host.threads = {13: LiveThread("bash", 7, False)}
    host.affinities = {13: frozenset({2})}
    before = host.state()
    changes = changes_of(MakePartition(f"{_GROUPS}/benchmark", frozenset({2, 3})))
    assert changes is not None
    session = new_session(frozenset({2, 3}), is_until_exit=True)
    switch = Switch(candidate_of("partition", changes), session, host, tmp_path / "state" / "tune.jsonl")
    assert switch.turn(True)
    assert host.affinities[13] == host.all_cpus - {2, 3}
    assert switch.turn(False)
    assert (host.state(), switch.troubles) == (before, [])


def test_what_cannot_be_measured_is_named(host: MeasuredHost) -> None:
    def fail(number: int) -> None:
        if host.states[-1][0] == "stat_interval":
            raise CannotMeasure("CPU 3: it went offline")

    host.meanwhile = fail
    assert _outcomes(host.run())["stat_interval"] == "CPU 3: it went offline"
    assert host.is_restored()


@pytest.mark.parametrize("lateness_s", [0.0, 0.5, 2.0, 9.0, 60.0])
def test_the_time_is_bounded_however_slow_the_machine_is(host: MeasuredHost, lateness_s: float) -> None:
    host.lateness_s = lateness_s
    schedule = plan_schedule(_CANDIDATES, 60.0, 2)
    measurement = host.run_schedule(schedule)
    period_s = schedule.period_s + lateness_s
    assert host.now_s <= 60.0 + period_s * len(_CANDIDATES)
    assert len(measurement.results) == len(_CANDIDATES)
    if lateness_s == 60.0:
        assert all("too few for an interval" in outcome for outcome in _outcomes(measurement).values())


def test_candidates_without_time_are_not_measured(host: MeasuredHost) -> None:
    assert _outcomes(host.run(total_s=40.0)) == {
        "swappiness": "worth it",
        "stat_interval": str(Worth.NOT_SHOWN),
        "printk": TOO_LATE,
    }


def test_a_tuned_machine_is_refused(host: MeasuredHost) -> None:
    session = new_session(frozenset({2, 3}))
    tune_host(_CANDIDATES[0].plan, session, host.settings, host.path)
    with pytest.raises(UsageError, match="the machine is tuned: restore it first"):
        host.run()
    assert host.states == []


def test_a_guardian_restores_if_the_measurement_is_killed(host: MeasuredHost) -> None:
    def kill(number: int) -> None:
        if host.states[-1][1]:
            (host.settings.root / "seen").write_text(host.settings.read(_SWAPPINESS))
            os.killpg(0, signal.SIGKILL)

    owner = os.fork()
    if owner == 0:
        os.setpgrp()
        host.meanwhile = kill
        host.run((_CANDIDATES[0],))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(owner, 0)[1]) == -signal.SIGKILL
    assert (host.settings.root / "seen").read_text() == ON
    (host.settings.root / "seen").unlink()
    end_s = time.monotonic() + 20
    while not host.is_restored() and time.monotonic() < end_s:
        time.sleep(0.01)
    assert host.is_restored()
