"""A check that raises is unknown with its name, and all other checks are answered."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.documents.document import to_json
from noisewatch.faults import RAISED
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import SHARED, STRICT, Rules
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.json import describe_verdict
from noisewatch.surfaces.reports.verdict.text import render
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files


@pytest.fixture
def contain_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let noisewatch contain faults, as it does outside of tests."""
    monkeypatch.delenv(RAISED)


def _divide(*_: object) -> Answer:
    raise ZeroDivisionError("division\nby zero")


def _case(rules: Rules | None = None) -> Case:
    case = Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions(frozenset({2, 3}))))
    return case if rules is None else replace(case, rules=rules)


def _checks_with_fault(check_id: str) -> list[object]:
    return [replace(check, answer=_divide) if check.id == check_id else check for check in CATALOGUE]


def test_a_check_that_raises_is_unknown_and_the_others_are_answered(contain_faults: None) -> None:
    sound = judge(_case())
    broken = judge(_case(), _checks_with_fault("target-cpu-unusable"))  # type: ignore[arg-type]  # they are checks
    (failed,) = [finding for finding in broken.findings if finding.check.id == "target-cpu-unusable"]
    assert failed.status == "unknown"
    reason = "target-cpu-unusable: internal error: ZeroDivisionError: division by zero (test_faults.py:"
    assert (failed.answer.reason or "").startswith(reason)
    others = [(finding.check.id, finding.status) for finding in sound.findings if finding.check.id != failed.check.id]
    assert [(finding.check.id, finding.status) for finding in broken.findings if finding is not failed] == others
    assert broken.verdict == "unknown"
    assert "ZeroDivisionError" in render(broken, RenderOptions(0, 0.0))
    assert "ZeroDivisionError" in to_json(describe_verdict(broken, None, 0))


def test_no_profile_excuses_a_check_that_raises(contain_faults: None) -> None:
    hidden = [
        check.id
        for check in CATALOGUE
        if check.is_hidden_from_guests and SHARED not in check.not_asked_in and not check.asks_rates
    ]
    files = quiet_files() | {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    snapshot = read_snapshot(WrittenMachine(files, answers=ANSWERS), SnapshotOptions(frozenset({2, 3})))
    case = Case(snapshot, no_sample_reason="for the test", rules=Rules(SHARED))
    broken = [replace(check, answer=_divide) if check.id in hidden else check for check in CATALOGUE]
    findings = judge(case, broken).findings
    statuses = {finding.check.id: finding.status for finding in findings if finding.check.id in hidden}
    assert len(statuses) > 3
    assert set(statuses.values()) == {"unknown"}


def test_an_excused_check_keeps_the_reason_of_its_unknown_answer() -> None:
    files = quiet_files() | {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    snapshot = read_snapshot(WrittenMachine(files, answers=ANSWERS), SnapshotOptions(frozenset({2, 3})))
    case = Case(snapshot, no_sample_reason="for the test")
    strict, shared = (judge(replace(case, rules=Rules(profile))).findings for profile in (STRICT, SHARED))
    excused = {
        finding.check.id: finding.answer.evidence["unknown_because"]
        for finding in shared
        if (finding.status, finding.answer.reason) == ("not-applicable", "unknown to this guest")
    }
    reasons = {finding.check.id: finding.answer.reason for finding in strict}
    assert len(excused) > 3
    assert excused == {id_: reasons[id_] for id_ in excused}


def test_in_the_tests_a_fault_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        judge(_case(), _checks_with_fault("target-cpu-unusable"))  # type: ignore[arg-type]  # they are checks
