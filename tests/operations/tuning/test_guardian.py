"""A host that is tuned while a command runs is restored, even if noisewatch is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from noisewatch.kernel.system.tuning import FileChange, GroupChange, Session
from noisewatch.operations.tuning.guardian import tuned_host
from noisewatch.operations.tuning.plan import PlannedChange, Step, TuningPlan
from noisewatch.operations.tuning.tune import Restoring, has_journal, new_session, read_tuning, restore_host, tune_host
from tests.judgement.judging import finding, judged_by_settings
from tests.operations.tuning.host import WrittenHost, published
from tests.written.quiet_machine import quiet_machine

_SWAPPINESS, _STAT = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"
_DEADLINE_S = 20.0


@pytest.fixture
def host(tmp_path: Path) -> WrittenHost:
    return WrittenHost(tmp_path / "root", {_SWAPPINESS: "60", _STAT: "1"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tune.jsonl"


def _plan(path: str, value: str) -> TuningPlan:
    verdict = judged_by_settings(quiet_machine())
    step = Step(finding(verdict, "turbo-enabled"), ((PlannedChange(FileChange(path, value), None),),))
    return TuningPlan(verdict, (step,), ())


def _session() -> Session:
    return new_session(frozenset({2, 3}))


def _ignore(outcome: object) -> None:
    pass


def _until(is_so: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + _DEADLINE_S
    while not is_so() and time.monotonic() < end_s:
        time.sleep(0.01)
    return is_so()


def test_the_host_is_tuned_inside_and_restored_afterwards(host: WrittenHost, path: Path) -> None:
    with suppress(KeyError), tuned_host(_plan(_SWAPPINESS, "1"), _session(), _ignore, host, path):
        assert host.read(_SWAPPINESS) == "1"
        assert [session.settings for session in published(path).sessions] == [1]
        raise KeyError
    assert host.read(_SWAPPINESS) == "60"
    assert not has_journal(path)
    assert not (path.parent / "tuned.json").exists()


def test_an_earlier_session_stays_tuned(host: WrittenHost, path: Path) -> None:
    tune_host(_plan(_STAT, "60"), _session(), host, path)
    with tuned_host(_plan(_SWAPPINESS, "1"), _session(), _ignore, host, path):
        pass
    assert (host.read(_SWAPPINESS), host.read(_STAT)) == ("60", "60")
    assert [outcome.before for outcome in read_tuning(settings=host, path=path).changes] == ["1"]
    assert [session.settings for session in published(path).sessions] == [1]
    restore_host(settings=host, path=path)
    assert host.read(_STAT) == "1"


def test_a_journal_that_was_lost_meanwhile_is_reported(host: WrittenHost, path: Path) -> None:
    reports: list[Restoring] = []
    with tuned_host(_plan(_SWAPPINESS, "1"), _session(), reports.append, host, path):
        path.unlink()
    assert host.read(_SWAPPINESS) == "1"
    assert [(report.is_complete, report.outcomes) for report in reports] == [(False, ())]
    assert "the journal is missing (tuned since" in str(reports[0].loss)


@pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_the_guardian_restores_if_the_process_group_is_killed(host: WrittenHost, path: Path, killed_by: int) -> None:
    owner = os.fork()
    if owner == 0:
        os.setpgrp()
        with tuned_host(_plan(_SWAPPINESS, "1"), _session(), _ignore, host, path):
            (host.root / "seen").write_text(host.read(_SWAPPINESS))
            os.killpg(0, killed_by)
            time.sleep(_DEADLINE_S)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(owner, 0)[1]) == -killed_by
    assert (host.root / "seen").read_text() == "1"
    assert _until(lambda: host.read(_SWAPPINESS) == "60")
    assert _until(lambda: not has_journal(path))


def test_the_guardian_waits_for_a_killed_command_to_leave_its_group(host: WrittenHost, path: Path) -> None:
    group, process = "/sys/fs/cgroup/benchmark", f"{host.root}/sys/fs/cgroup/benchmark/process"
    (host.root / "sys/fs/cgroup").mkdir(parents=True)
    owner = os.fork()
    if owner == 0:
        verdict = judged_by_settings(quiet_machine())
        step = Step(finding(verdict, "turbo-enabled"), ((PlannedChange(GroupChange(group), None),),))
        with tuned_host(TuningPlan(verdict, (step,), ()), _session(), _ignore, host, path):
            Path(process).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(owner, 0)
    time.sleep(0.2)  # the guardian's first attempt fails
    assert has_journal(path)
    os.unlink(process)
    assert _until(lambda: not has_journal(path))
    assert not host.has_group(group)
