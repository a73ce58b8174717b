"""`noisewatch tune --measure` lists what it measures, measures after a yes, and reports which changes are worth it."""

from __future__ import annotations

import os

import pytest

from noisewatch.judgement.noise.tuning_effect import Gain, TuningEffect
from noisewatch.model.run.series import Bounds
from noisewatch.operations.tuning.measure import CandidateResult, TuningMeasurement
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from noisewatch.operations.tuning.schedule import Candidate, Schedule, candidates_of
from noisewatch.operations.tuning.tune import Restoring
from noisewatch.operations.tuning.tuner import Changed, Outcome
from tests.judgement.judging import judged_by_settings
from tests.surfaces.running import Run, changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_MEASURING = "noisewatch.surfaces.cli.measuring"
_GOVERNOR: dict[str, str | None] = {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"}
_GAIN = Gain(0.05, Bounds(0.04, 0.06))
_NO_GAIN = Gain(0.001, Bounds(-0.002, 0.004))


def _plan() -> TuningPlan:
    return plan_tuning(judged_by_settings(machine_of(changed(quiet_files(), _GOVERNOR))), makes_partition=False)


def _candidate() -> Candidate:
    return candidates_of(_plan())[0]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> TuningMeasurement:
    """Return the result of every measurement on this host, for the test to fill."""
    measurement = TuningMeasurement()

    def measure_tuning(schedule: Schedule, *others: object) -> TuningMeasurement:
        assert [candidate.name for candidate in schedule.measured] == ["governor-not-performance"]
        return measurement

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("noisewatch.surfaces.cli.commands.tune.plan_of", lambda arguments: (_plan(), True))
    monkeypatch.setattr(f"{_MEASURING}.measure_on_host", lambda *arguments: None)
    monkeypatch.setattr(f"{_MEASURING}.measure_tuning", measure_tuning)
    return measurement


def test_a_dry_run_lists_what_is_measured_and_for_how_long(run: Run) -> None:
    result = run("tune", "--measure", "--dry-run", "--minutes", "2", _GOVERNOR)
    assert (result.status, result.err) == (0, "")
    assert "To be measured in about 2.0 minutes: governor-not-performance\n" in result.out
    assert "(20 blocks of off, on, on, off or on, off, off, on; each of the 80 periods takes 1 s)" in result.out


def test_a_dry_run_lists_what_there_is_no_time_for(run: Run) -> None:
    result = run("tune", "--measure", "--dry-run", "--minutes", "0.5", "--set", "aslr=off", _GOVERNOR)
    assert "minutes: governor-not-performance\n" in result.out
    assert result.out.endswith("No time for: aslr=off (increase --minutes)\n")


def test_too_little_time_is_refused(run: Run) -> None:
    result = run("tune", "--measure", "--dry-run", "--minutes", "0.1", _GOVERNOR)
    assert (result.status, result.out) == (2, "")
    assert "--minutes 0.1 is too short: one check takes 0.3 minutes here" in result.err


def test_without_a_finding_there_is_nothing_to_measure(run: Run) -> None:
    result = run("tune", "--measure", "--dry-run", "--ignore", "governor-not-performance", _GOVERNOR)
    assert result.status == 0
    assert "nothing to tune" in result.out
    assert "measured" not in result.out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--minutes", "2"], "--minutes and --work are options of --measure"),
        (["--work", "memory"], "--minutes and --work are options of --measure"),
        (["--measure", "--status"], "--measure restores the settings itself"),
        (["--measure", "--until-exit", "--", "true"], "--measure restores the settings itself"),
        (["--measure", "--minutes", "0"], "expected a number of minutes, more than 0"),
        (["--measure", "--minutes", "nan"], "expected a number of minutes, more than 0"),
        (["--measure", "--work", "sleep"], "expected one of latency"),
    ],
)
def test_options_that_do_not_apply_are_refused(run: Run, words: list[str], error: str) -> None:
    result = run("tune", *words)
    assert (result.status, result.out) == (2, "")
    assert error in result.err


def test_another_user_gets_the_command_to_type(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    words = ("--work", "memory", "--set", "aslr=off", "--measure", "--minutes", "1.5")
    result = run("tune", *words)
    assert (result.status, result.out) == (2, "")
    assert result.err.rstrip().endswith(" ".join(words))


def test_the_user_is_asked_first(run: Run, measured: TuningMeasurement) -> None:
    result = run("tune", "--measure")
    assert result.status == 2
    assert "no terminal to ask on: add --yes" in result.err


def test_the_report_has_the_effect_and_the_verdict(run: Run, measured: TuningMeasurement) -> None:
    measured.results = [CandidateResult(_candidate(), TuningEffect(40, 0.09, 0.04, _GAIN, _NO_GAIN), made=1)]
    result = run("tune", "--measure", "--yes")
    assert result.status == 0
    assert "9% -> 4%" in result.out
    assert "worth it: less noise" in result.out
    assert result.out.endswith("All settings are restored.\n")


def test_a_difference_that_is_not_shown_has_its_limits(run: Run, measured: TuningMeasurement) -> None:
    measured.results = [CandidateResult(_candidate(), TuningEffect(40, 0.09, 0.09, _NO_GAIN, None), made=1)]
    assert "no difference shown (noise less than 0.4%)" in run("tune", "--measure", "--yes").out


def test_a_refused_change_is_listed_with_its_reason(run: Run, measured: TuningMeasurement) -> None:
    candidate = _candidate()
    change = candidate.plan.steps[0].changes[0].change
    refused = Changed(change, Outcome.REFUSED, "powersave", "powersave", "invalid argument")
    measured.results = [CandidateResult(candidate, None, outcome=Outcome.REFUSED, troubles=(refused,))]
    result = run("tune", "--measure", "--yes")
    assert result.status == 3
    assert "refused: invalid argument" in result.out
    assert f"{CPUS}/cpu2/cpufreq/scaling_governor: refused (invalid argument)" in result.out


def test_a_setting_of_another_program_is_listed_as_left(run: Run, measured: TuningMeasurement) -> None:
    candidate = _candidate()
    change = candidate.plan.steps[0].changes[0].change
    foreign = Changed(change, Outcome.FOREIGN, "powersave", "ondemand", "tune had set performance")
    measured.results = [CandidateResult(candidate, None, outcome=Outcome.FOREIGN, troubles=(foreign,))]
    measured.restoring = Restoring([foreign])
    result = run("tune", "--measure", "--yes")
    assert result.status == 3
    assert "changed by another program to ondemand (tune had set performance)" in result.out
    assert "1 setting not restored" in result.out


def test_an_interrupt_prints_the_partial_report(run: Run, measured: TuningMeasurement) -> None:
    measured.results = [CandidateResult(_candidate(), None, "interrupted")]
    measured.interrupt = KeyboardInterrupt()
    result = run("tune", "--measure", "--yes")
    assert result.status == 130
    assert "not measured: interrupted" in " ".join(result.out.split())
    assert "interrupted, so the report is partial" in result.err
