"""A check that raises is unknown, by its name, and costs no other check its answer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.documents.document import written
from noisewatch.faults import RAISED
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.rules import SHARED, Rules
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.json import describe_verdict
from noisewatch.surfaces.reports.verdict.text import render
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files


@pytest.fixture
def as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults are contained, as they are outside tests."""
    monkeypatch.delenv(RAISED)


def _divide(*_: object) -> Answer:
    raise ZeroDivisionError("division\nby zero")


def _case(rules: Rules | None = None) -> Case:
    case = Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions(frozenset({2, 3}))))
    return case if rules is None else replace(case, rules=rules)


def _with_fault(check_id: str) -> list[object]:
    return [replace(each, answer=_divide) if each.id == check_id else each for each in CATALOGUE]


def test_a_check_that_raises_is_unknown_by_its_name_and_the_others_are_answered(as_for_users: None) -> None:
    sound = judge(_case())
    broken = judge(_case(), _with_fault("target-cpu-unusable"))  # type: ignore[arg-type]  # they are checks
    (found,) = [each for each in broken.findings if each.check.id == "target-cpu-unusable"]
    assert found.status == "unknown"
    said = "target-cpu-unusable: internal error: ZeroDivisionError: division by zero (test_faults.py:"
    assert (found.answer.reason or "").startswith(said)
    others = [(each.check.id, each.status) for each in sound.findings if each.check.id != "target-cpu-unusable"]
    assert [(each.check.id, each.status) for each in broken.findings if each is not found] == others
    assert broken.verdict == "unknown"
    assert "ZeroDivisionError" in render(broken, RenderOptions(0, 0.0))
    assert "ZeroDivisionError" in written(describe_verdict(broken, None, 0))


def test_no_profile_excuses_a_check_that_raises(as_for_users: None) -> None:
    hidden = [
        each.id
        for each in CATALOGUE
        if each.is_hidden_from_guests and SHARED not in each.not_asked_in and not each.asks_rates
    ]
    files = quiet_files() | {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    snapshot = read_snapshot(WrittenMachine(files, answers=ANSWERS), SnapshotOptions(frozenset({2, 3})))
    case = Case(snapshot, no_sample_reason="for the test", rules=Rules(SHARED))
    broken = [replace(each, answer=_divide) if each.id in hidden else each for each in CATALOGUE]
    statuses = {each.check.id: each.status for each in judge(case, broken).findings if each.check.id in hidden}
    assert len(statuses) > 3
    assert set(statuses.values()) == {"unknown"}


def test_in_the_tests_a_fault_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        judge(_case(), _with_fault("target-cpu-unusable"))  # type: ignore[arg-type]  # they are checks
