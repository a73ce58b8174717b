"""`noisewatch tune` lists before it changes anything, and changes nothing without root and a yes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from noisewatch.judgement.terms import Status
from noisewatch.kernel.system.tuned import Tuned, TunedSession
from noisewatch.kernel.system.tuning import FileChange
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from noisewatch.operations.tuning.reserve import RESERVING
from noisewatch.operations.tuning.tuner import Changed, Outcome
from tests.judgement.judging import judged_by_settings
from tests.surfaces.running import Run, changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_TUNE = "noisewatch.surfaces.cli.commands.tune"
_TUNING = "noisewatch.surfaces.cli.tuning"
_RESTORE = "noisewatch.surfaces.cli.commands.restore"
_STAT_INTERVAL = Changed(FileChange("/proc/sys/vm/stat_interval", "1"), Outcome.DONE, "120", "1")
_ASLR = "/proc/sys/kernel/randomize_va_space"
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


def test_a_setting_that_no_check_asks_for_is_changed_on_request(run: Run) -> None:
    result = run("tune", "--dry-run", "--ignore", "governor-not-performance", "--set", "aslr=off", _GOVERNOR)
    assert result.out == "requested by --set:\n  /proc/sys/kernel/randomize_va_space: 2 -> 0\n"
    assert "randomize_va_space" not in run("tune", "--dry-run", {_ASLR: "0\n"}).out
    assert "nothing to tune" in run("tune", "--dry-run", "--set", "aslr=off", {_ASLR: "0\n"}).out
    unknown = run("tune", "--dry-run", "--set", "turbo=off", _GOVERNOR)
    assert (unknown.status, unknown.out) == (2, "")
    assert "--set accepts aslr=off, not 'turbo=off'" in unknown.err


def test_a_command_runs_on_a_tuned_machine_and_then_the_machine_is_restored(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = []

    @contextmanager
    def tuned(plan: TuningPlan, is_quiet: bool) -> Iterator[None]:
        events.append(f"tuned {len(plan.steps)}")
        yield
        events.append(f"restored {marker.read_text()}")

    marker = tmp_path / "marker"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(f"{_TUNING}.plan_of", lambda arguments, **options: _plan())
    monkeypatch.setattr(f"{_TUNING}.tuned_for_command", tuned)
    assert run("run", "--tune", "--", "sh", "-c", f"printf ran > {marker}").status == 0
    assert events == ["tuned 1", "restored ran"]


def test_a_command_runs_on_reserved_cpus(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    events = []

    @contextmanager
    def tuned(plan: TuningPlan, is_quiet: bool) -> Iterator[None]:
        asked = {finding.check.id for finding in plan.verdict.findings if finding.status != Status.IGNORED}
        events.append(asked == RESERVING and plan.verdict.case.target == {cpu})
        yield
        events.append(marker.read_text() == "ran")

    cpu = min(os.sched_getaffinity(0))  # not the default target
    marker = tmp_path / "marker"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(f"{_TUNING}.tuned_for_command", tuned)
    monkeypatch.setattr(f"{_TUNING}.unreserved_reasons", lambda plan: ["other processes may still use CPU 1"])
    command = ("--cpus", str(cpu), "--", "sh", "-c", f"printf ran > {marker}")
    assert run("run", "--reserve", *command).err.startswith("noisewatch: other processes may still use CPU 1\n")
    assert "other processes" not in run("run", "--reserve", "--quiet", *command).err
    assert events == [True] * 4


@pytest.mark.parametrize(
    ("tuned", "untuned"),
    [
        (["run", "--reserve"], [sys.executable, "-m", "noisewatch", "run", "--"]),
        (["run", "--tune"], [sys.executable, "-m", "noisewatch", "run", "--"]),
        (["tune", "--yes", "--until-exit"], ["env"]),
    ],
)
def test_a_command_has_the_same_cpus_with_and_without_tuning(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tuned: list[str], untuned: list[str]
) -> None:
    """Planning pins noisewatch to the housekeeping CPUs: neither the command nor the default target is on these."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for module in (_TUNE, _TUNING):
        monkeypatch.setattr(f"{module}.tuned_for_command", lambda *arguments: nullcontext())
    marker = tmp_path / "marker"
    command = ["sh", "-c", f"grep Cpus_allowed_list: /proc/self/status > {marker}"]
    assert run(*tuned, "--", *command).status == 0
    cpus = marker.read_text()
    subprocess.run([*untuned, *command], check=True)
    assert cpus == marker.read_text()


def test_a_machine_is_tuned_or_its_cpus_are_reserved(run: Run) -> None:
    result = run("run", "--reserve", "--tune", "--", "true")
    assert (result.status, result.out) == (125, "")
    assert "--tune: not allowed with argument --reserve" in result.err


def test_only_this_host_is_tuned(run: Run) -> None:
    result = run("tune", "--yes", _GOVERNOR)
    assert (result.status, result.out) == (2, "")
    assert "only this host can be tuned" in result.err


@pytest.mark.parametrize(
    "words",
    [["tune"], ["tune", "--yes", "--select", "clock", "--set", "aslr=off"], ["restore"], ["restore", "--force"]],
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
    monkeypatch.setattr(f"{_TUNE}.plan_of", lambda arguments, **options: _plan())
    result = run("tune")
    assert result.status == 2
    assert "no terminal to ask on: add --yes" in result.err


@pytest.mark.parametrize("option", ["--tune", "--reserve"])
def test_run_tunes_for_root_only(run: Run, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = run("run", option, "--", "true")
    assert (result.status, result.out) == (125, "")
    assert f"{option} needs root: sudo " in result.err
    assert f"noisewatch run --as-user {option}" in result.err


def _plan() -> tuple[TuningPlan, bool]:
    return plan_tuning(judged_by_settings(machine_of(changed(quiet_files(), _GOVERNOR))), makes_partition=False), True


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ((), "not tuned: no change made by noisewatch tune is in effect\n"),
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


def test_defaults_are_set_on_request_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{_RESTORE}.set_defaults", lambda: pytest.fail("changed"))
    monkeypatch.setattr(f"{_RESTORE}.preview_defaults", lambda: [_STAT_INTERVAL])
    result = run("restore", "--to-defaults")
    assert (result.status, result.out.splitlines()[0]) == (0, "  /proc/sys/vm/stat_interval: 120 -> 1")
    assert "a guess" in result.out
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refused = run("restore", "--to-defaults", "--yes")
    assert (refused.status, refused.out) == (2, "")
    assert "restore --to-defaults needs root: sudo " in refused.err
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(f"{_RESTORE}.set_defaults", lambda: [_STAT_INTERVAL])
    assert run("restore", "--to-defaults", "--yes").out.splitlines()[-1] == (
        "1 setting set to the kernel's defaults; services, threads and partitions are left as they are"
    )


@pytest.mark.parametrize(("option", "message"), [("--force", "lost journal"), ("--yes", "is only for --to-defaults")])
def test_options_of_restore_that_contradict_are_refused(run: Run, option: str, message: str) -> None:
    result = run("restore", option, *(["--to-defaults"] if option == "--force" else []))
    assert (result.status, result.out) == (2, "")
    assert message in result.err
