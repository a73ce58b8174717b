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

_COVERING = [each for each in CATALOGUE if each.covers_calibration]
_BY_ID = {each.id: each for each in CATALOGUE}
_LAST_SETTINGS = {"target-cpu-unusable"}  # a calibration on the CPU is itself the proof
_FAILING = [each for each in all_examples() if _BY_ID[each.id].covers_calibration and each.status == "fail"]


def _cut(case: Case) -> Case:
    assert case.calibrated is not None
    assert case.under_load is not None
    return replace(case, under_load=None)


def _found_cut(example: Example) -> Finding:
    return finding(judge(_cut(example.judged().case)), example.id)


@pytest.mark.parametrize("check", _COVERING, ids=lambda check: check.id)
def test_the_sample_alone_lets_nothing_pass_that_covers_the_calibration(check: Check) -> None:
    whole = judged(quiet_machine())
    found = finding(judge(_cut(whole.case)), check.id)
    if check.id in ("hypervisor-steal", "under-voltage"):  # on a machine that has one
        found = _found_cut(next(each for each in all_examples() if (each.id, each.status) == (check.id, "pass")))
    else:
        assert finding(whole, check.id).status == "pass"
    assert (found.status, found.answer.reason) == ("unknown", NOT_READ_AFTER)


def test_the_machine_is_not_stable_then() -> None:
    verdict = judge(_cut(judged(quiet_machine()).case))
    assert (verdict.verdict, verdict.exit_status) == ("unknown", 3)
    without_calibration = replace(verdict.case, calibrated=None)
    assert judge(without_calibration).verdict == "stable"


@pytest.mark.parametrize("example", [each for each in _FAILING if not each.loaded], ids=lambda example: example.name)
def test_what_the_sample_has_found_stays_found(example: Example) -> None:
    assert (example.found().status, _found_cut(example).status) == ("fail", "fail")


@pytest.mark.parametrize(
    ("check_id", "status"), [("timers-on-target", "warn"), ("target-cpu-busy", "unknown")], ids=["warns", "blocks"]
)
def test_a_warning_may_be_a_failure_then(check_id: str, status: str) -> None:
    examples = [each for each in all_examples() if (each.id, each.status) == (check_id, "warn") and not each.loaded]
    found = _found_cut(examples[0])
    assert (found.status, found.answer.reason) == (status, NOT_READ_AFTER)


class _Watched(Case, frozen=True):
    """A case that notes whether it was asked for the time of the calibration."""

    was_asked: ClassVar[bool] = False

    def __getattribute__(self, name: str) -> Any:
        if name == "under_load":
            type(self).was_asked = True
        return super().__getattribute__(name)


def _asks_for_it(check: Check, case: Case) -> bool:
    _Watched.was_asked = False
    check.answer(_Watched(**asdict(case)))
    return _Watched.was_asked


def test_each_check_that_looks_at_the_calibrations_time_covers_it() -> None:
    case = judged(quiet_machine()).case
    asking = {each.id for each in CATALOGUE if _asks_for_it(each, case) or _asks_for_it(each, _cut(case))}
    covering = {each.id for each in _COVERING}
    assert asking - covering == _LAST_SETTINGS
    assert {each.id for each in CATALOGUE if "the calibration" in " ".join(each.reads)} <= covering
