"""Whether the target CPUs can be used: online, and granted by each cpuset."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.model.interval.interval import interval_between
from tests.judgement.judging import finding, judged_by_settings
from tests.written import WrittenMachine, without
from tests.written.quiet_machine import (
    ANSWERS,
    CPUS,
    TARGET,
    quiet_files,
)


@pytest.mark.parametrize(
    ("gone", "said_by"),
    [((f"{CPUS}/online",), "/proc/stat"), ((f"{CPUS}/online", "/proc/stat"), "/proc/cpuinfo")],
)
def test_online_cpus_may_be_told_by_another_file_which_is_then_named(gone: tuple[str, ...], said_by: str) -> None:
    verdict = judged_by_settings(WrittenMachine(without(quiet_files(), *gone), answers=ANSWERS))
    assert finding(verdict, "target-cpu-unusable").answer.evidence["online_by"] == said_by


def _granted(granted: list[int], previous: Snapshot | None = None, seconds: float = 0.0) -> Snapshot:
    machine = WrittenMachine(quiet_files(seconds), answers=ANSWERS | {"pin to CPUs": {"granted": granted}})
    snapshot = read_snapshot(machine, SnapshotOptions(TARGET), previous=previous)
    return replace(snapshot, taken_at_ns=snapshot.taken_at_ns + round(seconds * 1e9))


@pytest.mark.parametrize("granted", [([2, 3], [2], [2, 3]), ([2, 3], [2, 3], [2]), ([2], [2, 3], [2, 3])], ids=str)
def test_a_cpu_that_a_cpuset_took_away_while_we_looked_fails(granted: tuple[list[int], ...]) -> None:
    before = _granted(granted[0])
    after = _granted(granted[1], before, 3.0)
    last = _granted(granted[2], after, 6.0)
    case = Case(after, interval_between(before, after), under_load=interval_between(after, last))
    found = finding(judge(case), "target-cpu-unusable")
    assert (found.status, set(found.answer.cpus)) == ("fail", {3})


def test_another_target_is_tried_anew() -> None:
    answers = ANSWERS | {"pin to CPUs": {"granted": [2]}}
    before = read_snapshot(WrittenMachine(quiet_files(), answers=answers), SnapshotOptions(frozenset({2})))
    other = WrittenMachine(quiet_files(), answers={"pin to CPUs 3": {"reason": "invalid argument"}})
    after = read_snapshot(other, SnapshotOptions(frozenset({3})), previous=before)
    assert before.pin_trial.granted == frozenset({2})
    assert after.pin_trial.reason == "invalid argument"
