"""Every check has an example that passes, one that does not, and one that is unknown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.answer import LIMIT, MINIMUM, Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.checks import check_with_id
from noisewatch.judgement.finding_words import said_in_full
from noisewatch.judgement.rules import PROFILES
from noisewatch.judgement.terms import Area, Severity
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.model.interval.interval import interval_between
from tests.judgement.example import VIRTUAL, Example, all_examples
from tests.judgement.judging import finding, judged, judged_by_settings, quiet_calibration
from tests.written import WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files

_EXAMPLES = all_examples()
_READ = [each for each in CATALOGUE if not each.asks_calibration]
_IDS_READ = {each.id for each in _READ}
_OF_HARDWARE = {
    *("deep-idle-states", "energy-bias-not-performance", "uncore-frequency-moves", "platform-profile-saves-power"),
    *("clock-boosted-after-io", "machine-checks-polled-often", "power-limit-lowered", "memory-errors", "pcie-errors"),
}


def _name(example: Example) -> str:
    return example.name


def _statuses(check: Check) -> set[str]:
    """Return the statuses of the check's examples; where none of them passes, the quiet machine does."""
    return {example.status for example in _EXAMPLES if example.id == check.id}


def test_the_quiet_machine_is_stable_and_answers_everything() -> None:
    verdict = judged(WrittenMachine(quiet_files(), quiet_files(3.0), loaded_files(), answers=ANSWERS))
    others = {each.check.id: each.status for each in verdict.findings if each.status != "pass"}
    without_subject = ["hypervisor-steal", "partition-invalid", "memory-from-other-nodes", "not-the-machine-wanted"]
    without_subject += ["under-voltage"]
    without_subject += [each.id for each in CATALOGUE if each.area == Area.HISTORY]
    assert others == dict.fromkeys(without_subject, "not-applicable")
    assert (verdict.verdict, verdict.exit_status) == ("stable", 0)


def _lies_on_its_side_of_the_limit(answer: Answer) -> bool:
    """Whether a failure is above a limit, or below a minimum, and a pass is not."""
    if answer.measured is None or answer.limit is None or answer.limit_role not in (LIMIT, MINIMUM):
        return True
    above = (answer.measured - answer.limit) * (1 if answer.limit_role == LIMIT else -1)
    return bool({"fail": above >= 0, "pass": above <= 0}.get(answer.status, True))


@pytest.mark.parametrize("example", _EXAMPLES, ids=_name)
def test_a_check_says_so(example: Example) -> None:
    found = example.found()
    said = " ".join(
        [said_in_full(found.answer), found.answer.reason or "", *(each.name for each in found.answer.culprits)]
    )
    assert (found.status, example.named in said) == (example.status, True), said
    assert _lies_on_its_side_of_the_limit(found.answer), (found.answer.measured, found.answer.limit)
    assert set(found.answer.cpus) == example.cpus or not example.cpus


@pytest.mark.parametrize("check", _READ, ids=lambda check: check.id)
def test_each_check_has_a_machine_with_the_fault_and_one_where_it_is_unknown(check: Check) -> None:
    statuses = _statuses(check)
    is_complete = "unknown" in statuses and not statuses.isdisjoint({"fail", "warn"})
    assert is_complete, f"{check.id}: tests/judgement/examples/ has {sorted(statuses)}, needs fail or warn, and unknown"


@pytest.mark.parametrize(
    "example", [each for each in _EXAMPLES if each.status == "unknown" and each.id in _IDS_READ], ids=_name
)
def test_where_the_file_is_missing_nothing_blocking_passes(example: Example) -> None:
    found = example.found(is_calibrated=False)
    assert (found.status, bool(found.answer.reason)) == ("unknown", True)
    if found.severity == Severity.BLOCKING:
        calibrated = example.judged()
        assert example.judged(is_calibrated=False).exit_status in (1, 3)
        assert finding(calibrated, example.id).answered_by or calibrated.exit_status in (1, 3)


@pytest.mark.parametrize(
    "example", [each for each in _EXAMPLES if each.status == "not-applicable" and each.id in _OF_HARDWARE], ids=_name
)
def test_hardware_that_is_not_there_may_be_the_hosts_in_a_virtual_machine(example: Example) -> None:
    found = replace(example, changed={**example.changed, **VIRTUAL}).found()
    assert (found.status, found.answer.reason is not None and "host" in found.answer.reason) == ("unknown", True)


def test_without_a_sample_the_time_of_the_calibration_tells_what_happens_under_load() -> None:
    count = f"{CPUS}/cpu2/thermal_throttle/core_throttle_count"
    machine = WrittenMachine(quiet_files(3.0), loaded_files() | {count: "70\n"}, answers=ANSWERS)
    before = read_snapshot(machine, SnapshotOptions(asks_jobs=True))
    machine.advance()
    loaded = interval_between(before, read_snapshot(machine, SnapshotOptions(), None, before))
    verdict = judge(Case(before, calibrated=quiet_calibration(), under_load=loaded))
    assert finding(verdict, "throttled").status == "fail"
    statuses = {each.check.id: each.status for each in verdict.findings if each.check.sees_load}
    assert {status for name, status in statuses.items() if name != "throttled"} == {"pass"}
    assert len(statuses) > 5
    assert finding(verdict, "target-cpu-busy").status == "ignored"


def test_nothing_is_said_of_rates_that_nobody_asked_for() -> None:
    verdict = judged_by_settings(WrittenMachine(quiet_files(), answers=ANSWERS))
    ignored = {each.check.id for each in verdict.findings if each.status == "ignored"}
    assert ignored == {each.id for each in CATALOGUE if each.asks_rates or each.asks_calibration}
    assert verdict.verdict == "stable"


def test_every_check_is_declared_in_full() -> None:
    incomplete = [
        each.id
        for each in CATALOGUE
        if not (each.question.endswith("?") and each.why and each.remedy and each.reads and each.sources)
    ]
    unreasoned = [limit.name for each in CATALOGUE for limit in each.limits if not limit.reason or not limit.unit]
    assert len({each.id for each in CATALOGUE}) == len(CATALOGUE)
    assert (incomplete, unreasoned) == ([], [])


def test_each_check_is_found_by_its_id_and_nothing_else_is() -> None:
    assert [check_with_id(each.id) for each in CATALOGUE] == list(CATALOGUE)
    assert [check_with_id(name) for name in ("", "cpu", "quota", "no-such-check", "cpu-quota ")] == [None] * 5


def test_what_can_block_says_on_what_ground() -> None:
    """Each blocking check states its ground, as only one of the three grounds blocks regardless of the effect."""
    blocking = {
        each.id for each in CATALOGUE if Severity.BLOCKING in (each.severity_under(profile) for profile in PROFILES)
    }
    assert blocking <= {each.id for each in CATALOGUE if each.ground is not None}
