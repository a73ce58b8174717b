"""Calibrations that prove nothing about a CPU: it was not measured, or not for long enough."""

from __future__ import annotations

from typing import Any

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.by_work import options_to_try
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.spinning.calibration.buffer import OF_WORK
from tests.judgement.checks.calibration.calibrating import CALIBRATION_CHECKS, every_third_slow, verdict_of
from tests.judgement.judging import calibrated_by, finding
from tests.written import WrittenMachine
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import ANSWERS, quiet_files

_MS = 1_000_000
_STARVED: dict[str, Any] = {**{key: [] for key in OF_WORK}, "gaps": [], "spins": [], "spun_ns": 0, "iterations": 0}


def test_a_cpu_that_went_offline_is_unknown_and_named() -> None:
    verdict = verdict_of(changes={3: {"state": "moved"}})
    result = finding(verdict, "noise-floor-above-budget")
    assert (result.status, verdict.verdict) == ("unknown", "unknown")
    assert "CPU 3: it went offline" in (result.answer.reason or "")
    statuses = {finding(verdict, check_id).status for check_id in CALIBRATION_CHECKS}
    assert statuses == {"unknown"}


def test_a_noisy_cpu_fails_though_another_could_not_be_measured() -> None:
    assert verdict_of(work=every_third_slow, changes={3: {"state": "refused"}}).verdict == "unstable"


def test_a_requested_calibration_that_is_missing_is_unknown_with_its_reason() -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    case = Case(read_snapshot(machine, SnapshotOptions()), no_calibration_reason="not available in a copied tree")
    verdict = judge(case)
    answers = {finding(verdict, check_id).answer.reason for check_id in CALIBRATION_CHECKS}
    assert answers == {"not available in a copied tree"}
    assert verdict.verdict == "unknown"


def test_checks_of_a_calibration_that_was_not_requested_are_ignored() -> None:
    verdict = judge(Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())))
    assert {finding(verdict, check_id).status for check_id in CALIBRATION_CHECKS} == {"ignored"}


def test_a_target_cpu_that_was_not_calibrated_is_unknown() -> None:
    """A recording may be judged for CPUs other than the calibrated ones."""
    calibrated = calibrated_by(written_calibration((2,)), cpus=frozenset({2, 3}))
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    verdict = judge(Case(snapshot, calibrated=calibrated))
    assert {finding(verdict, check_id).status for check_id in CALIBRATION_CHECKS} == {"unknown"}
    assert "CPU 3: not calibrated" in (finding(verdict, "noise-floor-above-budget").answer.reason or "")


def test_a_cpu_that_is_not_a_target_does_not_count() -> None:
    noisy = written_calibration((1,), work=every_third_slow)["cpus"][0]
    written = written_calibration((1, 2, 3), changes={1: noisy})
    assert calibrated_by(written, cpus=frozenset({2, 3})).cpus_above_budget == frozenset()
    assert calibrated_by(written).cpus_above_budget == frozenset({1})


def test_a_cpu_that_hardly_ran_is_unknown() -> None:
    """A starved spinner has ended regularly, but without samples."""
    verdict = verdict_of(changes={3: _STARVED})
    assert finding(verdict, "noise-floor-above-budget").status == "unknown"
    assert finding(verdict, "target-cpus-interrupted").status == "unknown"
    assert finding(verdict, "fixed-work-unsteady").status == "unknown"


def test_a_known_fault_outranks_a_cpu_that_hardly_ran() -> None:
    verdict = verdict_of(work=every_third_slow, changes={3: _STARVED})
    assert finding(verdict, "fixed-work-unsteady").status == "fail"
    assert finding(verdict, "noise-floor-above-budget").answer.cpus == {2}


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("is_realtime", True, "real-time priority"),
        ("command", ["sleep"], "measured a workload"),
    ],
)
def test_a_calibration_that_is_not_representative_is_unknown(field: str, value: Any, named: str) -> None:
    calibrated = calibrated_by({**written_calibration(), field: value})
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    verdict = judge(Case(snapshot, calibrated=calibrated))
    assert {finding(verdict, check_id).status for check_id in CALIBRATION_CHECKS} == {"unknown"}
    for check_id in ("noise-floor-above-budget", "target-cpus-interrupted"):
        assert named in (finding(verdict, check_id).answer.reason or "")


def test_a_spinner_that_was_stopped_for_a_while_is_unknown() -> None:
    """The stop leaves slots without samples; all samples before and after it are quiet."""
    whole = written_calibration((3,))["cpus"][0]
    pairs = list(zip(whole["work"][::2], whole["work"][1::2], strict=True))
    kept = [word for pair in pairs if not 1_000 * _MS < pair[0] < 3_000 * _MS for word in pair]
    result = finding(verdict_of(changes={3: {"work": kept}}), "noise-floor-above-budget")
    assert (result.status, "measured for only" in (result.answer.reason or "")) == ("unknown", True)


@pytest.mark.parametrize(
    ("count", "advice"), [(5, "calibrate for a shorter time"), (1_000_000, "stop what interrupts the CPU")]
)
def test_lost_gaps_make_the_floor_unknown(count: int, advice: str) -> None:
    """A longer calibration never helps; a shorter one does, unless the gaps of one second are too many to be kept."""
    lost = {3: {"lost_gaps": count, "lost_gaps_ns": 10_000, "lost_gaps_max_ns": 3_000}}
    verdict = verdict_of(changes=lost)
    result = finding(verdict, "noise-floor-above-budget")
    assert (result.status, advice in (result.answer.reason or "")) == ("unknown", True)
    assert verdict.case.calibrated is not None
    assert options_to_try(verdict.case.calibrated) == ()
