"""Calibrations without a snapshot after them, as in a recording that was cut off."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from msgspec.structs import asdict, replace

from noisewatch.judgement.case import NOT_READ_AFTER, Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.verdict import Finding, judge
from tests.judgement.example import Example, all_examples
from tests.judgement.judging import finding, judged
from tests.written.quiet_machine import quiet_machine

_COVERING = [check for check in CATALOGUE if check.covers_calibration]
_BY_ID = {check.id: check for check in CATALOGUE}
_LAST_SETTINGS = {"target-cpu-unusable"}  # a calibration on the CPU proves that it is usable
_FAILING = [example for example in all_examples() if _BY_ID[example.id].covers_calibration and example.status == "fail"]


def _cut_off(case: Case) -> Case:
    assert case.calibrated is not None
    assert case.under_load is not None
    return replace(case, under_load=None)


def _cut_off_finding(example: Example) -> Finding:
    return finding(judge(_cut_off(example.judged().case)), example.id)


@pytest.mark.parametrize("check", _COVERING, ids=lambda check: check.id)
def test_a_check_that_covers_the_calibration_does_not_pass_by_the_sample_alone(check: Check) -> None:
    whole = judged(quiet_machine())
    result = finding(judge(_cut_off(whole.case)), check.id)
    if check.id in ("hypervisor-steal", "under-voltage"):  # not applicable on the quiet machine
        passing = [example for example in all_examples() if (example.id, example.status) == (check.id, "pass")]
        result = _cut_off_finding(passing[0])
    else:
        assert finding(whole, check.id).status == "pass"
    assert (result.status, result.answer.reason) == ("unknown", NOT_READ_AFTER)


def test_a_calibration_without_a_snapshot_after_it_is_not_stable() -> None:
    verdict = judge(_cut_off(judged(quiet_machine()).case))
    assert (verdict.verdict, verdict.exit_status) == ("unknown", 3)
    without_calibration = replace(verdict.case, calibrated=None)
    assert judge(without_calibration).verdict == "stable"


@pytest.mark.parametrize(
    "example", [example for example in _FAILING if not example.loaded], ids=lambda example: example.name
)
def test_a_failure_in_the_sample_stays_a_failure(example: Example) -> None:
    assert (example.found().status, _cut_off_finding(example).status) == ("fail", "fail")


@pytest.mark.parametrize(
    ("check_id", "status"), [("timers-on-target", "warn"), ("target-cpu-busy", "unknown")], ids=["warns", "blocks"]
)
def test_a_warning_in_the_sample_is_unknown_where_a_failure_would_block(check_id: str, status: str) -> None:
    warned = [example for example in all_examples() if (example.id, example.status) == (check_id, "warn")]
    result = _cut_off_finding(next(example for example in warned if not example.loaded))
    assert (result.status, result.answer.reason) == (status, NOT_READ_AFTER)


class _RecordingCase(Case, frozen=True):
    """A case that records whether its `under_load` was read."""

    was_read: ClassVar[bool] = False

    def __getattribute__(self, name: str) -> Any:
        if name == "under_load":
            type(self).was_read = True
        return super().__getattribute__(name)


def _reads_under_load(check: Check, case: Case) -> bool:
    _RecordingCase.was_read = False
    check.answer(_RecordingCase(**asdict(case)))
    return _RecordingCase.was_read


def test_checks_that_read_the_interval_of_the_calibration_cover_it() -> None:
    whole = judged(quiet_machine()).case
    cases = (whole, _cut_off(whole))
    readers = {check.id for check in CATALOGUE if any(_reads_under_load(check, case) for case in cases)}
    covered = {check.id for check in _COVERING}
    assert readers - covered == _LAST_SETTINGS
    assert {check.id for check in CATALOGUE if "the calibration" in " ".join(check.reads)} <= covered
