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
    ("missing", "source"),
    [((f"{CPUS}/online",), "/proc/stat"), ((f"{CPUS}/online", "/proc/stat"), "/proc/cpuinfo")],
)
def test_the_file_that_lists_the_online_cpus_is_named(missing: tuple[str, ...], source: str) -> None:
    verdict = judged_by_settings(WrittenMachine(without(quiet_files(), *missing), answers=ANSWERS))
    assert finding(verdict, "target-cpu-unusable").answer.evidence["online_by"] == source


def _snapshot(granted: list[int], previous: Snapshot | None = None, seconds: float = 0.0) -> Snapshot:
    machine = WrittenMachine(quiet_files(seconds), answers=ANSWERS | {"pin to CPUs": {"granted": granted}})
    snapshot = read_snapshot(machine, SnapshotOptions(TARGET), previous=previous)
    return replace(snapshot, taken_at_ns=snapshot.taken_at_ns + round(seconds * 1e9))


@pytest.mark.parametrize("granted", [([2, 3], [2], [2, 3]), ([2, 3], [2, 3], [2]), ([2], [2, 3], [2, 3])], ids=str)
def test_a_cpu_that_a_cpuset_excludes_in_one_snapshot_fails(granted: tuple[list[int], ...]) -> None:
    before = _snapshot(granted[0])
    after = _snapshot(granted[1], before, 3.0)
    last = _snapshot(granted[2], after, 6.0)
    case = Case(after, interval_between(before, after), under_load=interval_between(after, last))
    result = finding(judge(case), "target-cpu-unusable")
    assert (result.status, set(result.answer.cpus)) == ("fail", {3})


def test_pinning_to_another_target_is_tried_again() -> None:
    answers = ANSWERS | {"pin to CPUs": {"granted": [2]}}
    before = read_snapshot(WrittenMachine(quiet_files(), answers=answers), SnapshotOptions(frozenset({2})))
    other = WrittenMachine(quiet_files(), answers={"pin to CPUs 3": {"reason": "invalid argument"}})
    after = read_snapshot(other, SnapshotOptions(frozenset({3})), previous=before)
    assert before.pin_trial.granted == frozenset({2})
    assert after.pin_trial.reason == "invalid argument"
