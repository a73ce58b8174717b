"""The host is tuned, listed and restored by its journal; reports show what was done and what was left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.machine.tuning import JournalFile
from noisewatch.operations.tuning.defaults import set_defaults
from noisewatch.operations.tuning.plan import TuningPlan, plan_tuning
from noisewatch.operations.tuning.tune import (
    Restoring,
    failed,
    has_journal,
    new_session,
    read_tuning,
    restore_host,
    tune_host,
)
from noisewatch.surfaces.reports.tuning.text import text_of_plan, text_of_restoring, text_of_status, text_of_tuning
from tests.judgement.judging import judged_by_settings
from tests.operations.tuning.host import WrittenHost, published
from tests.surfaces.running import changed
from tests.written.quiet_machine import CPUS, quiet_files
from tests.written.topologies import machine_of

_GOVERNORS = {f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "powersave" for cpu in (2, 3)}
_BALANCING = "/proc/sys/kernel/numa_balancing"
_TARGET = frozenset({2, 3})


@pytest.fixture
def host(tmp_path: Path) -> WrittenHost:
    return WrittenHost(tmp_path / "root", _GOVERNORS | {_BALANCING: "1"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tune.jsonl"


@pytest.fixture
def plan() -> TuningPlan:
    return _plan(_GOVERNORS)


def _plan(files: Mapping[str, str]) -> TuningPlan:
    machine = machine_of(changed(quiet_files(), {path: f"{text}\n" for path, text in files.items()}))
    return plan_tuning(judged_by_settings(machine), makes_partition=False)


def test_a_tuned_host_is_listed_and_restored(host: WrittenHost, path: Path, plan: TuningPlan) -> None:
    before = host.state()
    governors = f"{CPUS}/cpu{{2,3}}/cpufreq/scaling_governor"
    assert f"  {governors}: powersave -> performance" in text_of_plan(plan).replace("[23]", "{2,3}")
    assert text_of_status(read_tuning(settings=host, path=path)).startswith("not tuned")
    outcomes = tune_host(plan, new_session(_TARGET), host, path)
    assert text_of_tuning(outcomes) == "2 settings changed until `noisewatch restore` or the next boot\n"
    assert host.state() != before
    status = text_of_status(read_tuning(settings=host, path=path)).splitlines()
    assert status[0].startswith("tuned since 20")
    assert status[0].endswith(" for CPUs 2-3: 2 settings")
    assert status[-1] == "restore: sudo noisewatch restore"
    assert text_of_restoring(restore_host(settings=host, path=path)) == "2 settings restored\n"
    assert host.state() == before
    assert not has_journal(path)
    assert text_of_restoring(restore_host(settings=host, path=path)).startswith("not tuned")


@pytest.mark.parametrize("damage", ["a line", "the end", "all"])
def test_changes_that_a_damaged_journal_lost_are_reported_until_the_defaults_are_set(
    damage: str, host: WrittenHost, path: Path, plan: TuningPlan
) -> None:
    tune_host(plan, new_session(_TARGET), host, path)
    lines = path.read_bytes().splitlines(keepends=True)
    (at,) = [number for number, line in enumerate(lines) if b"cpu3" in line]
    lines[at] = b"rubbish\n"
    path.write_bytes(b"".join({"a line": lines, "the end": lines[:at], "all": []}[damage]))
    before = [host.read(governor) for governor in _GOVERNORS]
    restoring = restore_host(settings=host, path=path)
    loss = restoring.loss
    expected = {
        "a line": "damaged lines of the journal (",
        "the end": "the end of the journal is missing",
        "all": "the journal is missing (",
    }
    assert loss is not None
    assert expected[damage] in loss
    assert loss in text_of_restoring(restoring)
    assert "not tuned" not in text_of_status(read_tuning(settings=host, path=path))
    assert published(path).sessions  # for all other users the machine is still tuned
    assert [host.read(governor) for governor in _GOVERNORS][1] == before[1] == "performance"
    with pytest.raises(UsageError, match="--to-defaults"):
        tune_host(plan, new_session(_TARGET), host, path)
    set_defaults(host, path)
    assert read_tuning(settings=host, path=path).loss is None
    assert text_of_status(read_tuning(settings=host, path=path)).startswith("not tuned")
    assert not (path.parent / "tuned.json").exists()


def test_an_unreadable_published_state_without_a_journal_is_no_proof(
    host: WrittenHost, path: Path, plan: TuningPlan
) -> None:
    tune_host(plan, new_session(_TARGET), host, path)
    path.unlink()
    (path.parent / "tuned.json").write_text("rubbish\n")
    assert restore_host(settings=host, path=path).loss == "the published state is unreadable"
    assert "not tuned" not in text_of_status(read_tuning(settings=host, path=path))


def test_a_full_disk_stops_no_restoring(
    host: WrittenHost, path: Path, plan: TuningPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = host.state()
    tune_host(plan, new_session(_TARGET), host, path)

    def refuse(*arguments: object, **options: object) -> None:
        raise UsageError("no space left on device")

    monkeypatch.setattr(JournalFile, "append", refuse)
    restoring = restore_host(settings=host, path=path)
    assert text_of_restoring(restoring) == "2 settings restored\n"
    assert host.state() == before
    assert not has_journal(path)
    assert read_tuning(settings=host, path=path).loss is None


def test_a_setting_that_another_program_changed_is_left_and_listed(
    host: WrittenHost, path: Path, plan: TuningPlan
) -> None:
    first, second = _GOVERNORS
    tune_host(plan, new_session(_TARGET), host, path)
    host.write(first, "ondemand")
    words = f"  {first}: changed by another program to ondemand (tune had set performance)"
    assert words in text_of_status(read_tuning(settings=host, path=path)).splitlines()
    restoring = restore_host(settings=host, path=path)
    assert [outcome.outcome.is_failure for outcome in failed(restoring.outcomes)] == [True]
    assert words in text_of_restoring(restoring).splitlines()
    assert "--force" in text_of_restoring(restoring)
    assert (host.read(first), host.read(second)) == ("ondemand", "powersave")
    restore_host(True, host, path)
    assert host.read(first) == "powersave"
    assert not has_journal(path)


def test_a_refused_setting_is_listed_with_the_reason(host: WrittenHost, path: Path, plan: TuningPlan) -> None:
    first, _ = _GOVERNORS
    host.refused = {first: "device or resource busy"}
    lines = text_of_tuning(tune_host(plan, new_session(_TARGET), host, path)).splitlines()
    assert lines[0] == f"  {first}: refused (device or resource busy)"
    assert lines[1].startswith("1 setting changed")


def test_the_changes_of_an_earlier_boot_are_forgotten(
    host: WrittenHost, path: Path, plan: TuningPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisewatch.operations.tuning.tune.boot_key", lambda: "earlier")
    tune_host(plan, new_session(_TARGET), host, path)
    monkeypatch.setattr("noisewatch.operations.tuning.tune.boot_key", lambda: "now")
    assert read_tuning(settings=host, path=path).changes == ()
    assert restore_host(settings=host, path=path) == Restoring([])
    assert host.read(next(iter(_GOVERNORS))) == "performance"  # as after a reboot that sets it: not ours to change


def test_a_file_that_is_no_journal_is_left_alone(host: WrittenHost, path: Path, plan: TuningPlan) -> None:
    path.parent.mkdir()
    path.write_text("notes\n")
    path.chmod(0o600)
    refused = r"tune\.jsonl: expected a journal of noisewatch tune.*move the file away"
    with pytest.raises(UsageError, match=refused):
        tune_host(plan, new_session(_TARGET), host, path)
    with pytest.raises(UsageError, match=refused):
        restore_host(settings=host, path=path)
    assert path.read_text() == "notes\n"


def test_no_boot_is_no_journal(path: Path, plan: TuningPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewatch.operations.tuning.tune.boot_key", lambda: None)
    with pytest.raises(UsageError, match="boot's ID is unreadable"):
        tune_host(plan, new_session(_TARGET), path=path)
    assert not path.exists()
