"""`noisewatch tune` lists before it changes anything, and changes nothing without root and a yes."""

from __future__ import annotations

import os

import pytest

from noisewatch.kernel.system.tuned import Tuned, TunedSession
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from tests.judgement.judging import judged_by_settings
from tests.surfaces.running import Run, changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_TUNE = "noisewatch.surfaces.cli.commands.tune"
_GOVERNOR: dict[str, str | None] = {f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n"}


@pytest.fixture(autouse=True)
def _no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("changed")

    for name in ("tune_host", "read_tuning"):
        monkeypatch.setattr(f"noisewatch.surfaces.cli.commands.tune.{name}", refuse)
    for name in ("restore_host", "read_tuning"):
        monkeypatch.setattr(f"noisewatch.surfaces.cli.commands.restore.{name}", refuse)


def test_a_dry_run_lists_the_changes_of_any_machine(run: Run) -> None:
    result = run("tune", "--dry-run", _GOVERNOR)
    assert result.status == 0
    assert f"  {CPUS}/cpu2/cpufreq/scaling_governor: powersave -> performance" in result.out.splitlines()
    assert result.out.startswith("governor-not-performance: ")


def test_checks_are_selected_as_in_preflight(run: Run) -> None:
    assert "nothing to tune" in run("tune", "--dry-run", "--select", "memory", _GOVERNOR).out
    assert "nothing to tune" in run("tune", "--dry-run", "--ignore", "governor-not-performance", _GOVERNOR).out
    assert "no such check or area" in run("tune", "--dry-run", "--select", "nonsense", _GOVERNOR).err


def test_only_this_host_is_tuned(run: Run) -> None:
    result = run("tune", "--yes", _GOVERNOR)
    assert (result.status, result.out) == (2, "")
    assert "only this host can be tuned" in result.err


@pytest.mark.parametrize(
    "words", [["tune"], ["tune", "--yes", "--select", "clock"], ["restore"], ["restore", "--force"]]
)
def test_another_user_gets_the_command_to_type(run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("noisewatch.surfaces.cli.commands.restore.has_journal", lambda: True)
    result = run(*words)
    assert (result.status, result.out) == (2, "")
    named = " ".join(word for word in words if word != "--yes")
    assert f"{words[0]} needs root: sudo " in result.err
    assert result.err.rstrip().endswith(named)


def test_nothing_is_changed_without_a_yes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("noisewatch.surfaces.cli.commands.tune._plan", lambda arguments: _plan())
    result = run("tune")
    assert result.status == 2
    assert "no terminal to ask on: add --yes" in result.err


def _plan() -> tuple[TuningPlan, bool]:
    return plan_tuning(judged_by_settings(machine_of(changed(quiet_files(), _GOVERNOR))), makes_partition=False), True


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((), "not tuned: no change of noisewatch tune is in effect\n"),
        ((TunedSession("7 8 9 noisewatch", 0.0, "2-3", False, 12),), ": 12 settings\nthe list: sudo "),
    ],
    ids=["not tuned", "tuned"],
)
def test_another_user_reads_whether_the_machine_is_tuned(
    run: Run, monkeypatch: pytest.MonkeyPatch, sessions: tuple[TunedSession, ...], expected: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(f"{_TUNE}.read_public_tuning", lambda: Tuned("boot", sessions))
    result = run("tune", "--status")
    assert (result.status, result.err) == (0, "")
    assert expected in result.out
