"""Every check has an example that passes, one that does not, and one that is unknown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.answer import LIMIT, MINIMUM, Answer
from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.check import Check
from noisewatch.judgement.checks import check_with_id
from noisewatch.judgement.finding_words import full_statement
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
_READ = [check for check in CATALOGUE if not check.asks_calibration]
_IDS_READ = {check.id for check in _READ}
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
    others = {result.check.id: result.status for result in verdict.findings if result.status != "pass"}
    without_subject = ["hypervisor-steal", "partition-invalid", "memory-from-other-nodes", "not-the-machine-wanted"]
    without_subject += ["under-voltage"]
    without_subject += [check.id for check in CATALOGUE if check.area == Area.HISTORY]
    assert others == dict.fromkeys(without_subject, "not-applicable")
    assert (verdict.verdict, verdict.exit_status) == ("stable", 0)


def _agrees_with_limit(answer: Answer) -> bool:
    """Return whether a failure is above its limit, or below its minimum, and a pass is not."""
    if answer.measured is None or answer.limit is None or answer.limit_role not in (LIMIT, MINIMUM):
        return True
    above = (answer.measured - answer.limit) * (1 if answer.limit_role == LIMIT else -1)
    return bool({"fail": above >= 0, "pass": above <= 0}.get(answer.status, True))


@pytest.mark.parametrize("example", _EXAMPLES, ids=_name)
def test_each_example_has_its_status_words_and_cpus(example: Example) -> None:
    result = example.found()
    text = " ".join(
        [
            full_statement(result.answer),
            result.answer.reason or "",
            *(culprit.name for culprit in result.answer.culprits),
        ]
    )
    assert (result.status, example.named in text) == (example.status, True), text
    assert _agrees_with_limit(result.answer), (result.answer.measured, result.answer.limit)
    assert set(result.answer.cpus) == example.cpus or not example.cpus


@pytest.mark.parametrize("check", _READ, ids=lambda check: check.id)
def test_each_check_has_a_machine_with_the_fault_and_one_where_it_is_unknown(check: Check) -> None:
    statuses = _statuses(check)
    is_complete = "unknown" in statuses and not statuses.isdisjoint({"fail", "warn"})
    assert is_complete, f"{check.id}: tests/judgement/examples/ has {sorted(statuses)}, needs fail or warn, and unknown"


@pytest.mark.parametrize(
    "example", [example for example in _EXAMPLES if example.status == "unknown" and example.id in _IDS_READ], ids=_name
)
def test_a_missing_file_prevents_a_pass_of_blocking_checks(example: Example) -> None:
    result = example.found(is_calibrated=False)
    assert (result.status, bool(result.answer.reason)) == ("unknown", True)
    if result.severity == Severity.BLOCKING:
        calibrated = example.judged()
        assert example.judged(is_calibrated=False).exit_status in (1, 3)
        assert finding(calibrated, example.id).answered_by or calibrated.exit_status in (1, 3)


@pytest.mark.parametrize(
    "example",
    [example for example in _EXAMPLES if example.status == "not-applicable" and example.id in _OF_HARDWARE],
    ids=_name,
)
def test_missing_hardware_is_unknown_in_a_virtual_machine(example: Example) -> None:
    result = replace(example, changed={**example.changed, **VIRTUAL}).found()
    assert (result.status, result.answer.reason is not None and "host" in result.answer.reason) == ("unknown", True)


def test_without_a_sample_the_calibration_answers_checks_of_load() -> None:
    count = f"{CPUS}/cpu2/thermal_throttle/core_throttle_count"
    machine = WrittenMachine(quiet_files(3.0), loaded_files() | {count: "70\n"}, answers=ANSWERS)
    before = read_snapshot(machine, SnapshotOptions(asks_jobs=True))
    machine.advance()
    loaded = interval_between(before, read_snapshot(machine, SnapshotOptions(), None, before))
    verdict = judge(Case(before, calibrated=quiet_calibration(), under_load=loaded))
    assert finding(verdict, "throttled").status == "fail"
    statuses = {result.check.id: result.status for result in verdict.findings if result.check.sees_load}
    assert {status for name, status in statuses.items() if name != "throttled"} == {"pass"}
    assert len(statuses) > 5
    assert finding(verdict, "target-cpu-busy").status == "ignored"


def test_checks_of_rates_are_ignored_where_no_sample_was_requested() -> None:
    verdict = judged_by_settings(WrittenMachine(quiet_files(), answers=ANSWERS))
    ignored = {result.check.id for result in verdict.findings if result.status == "ignored"}
    assert ignored == {check.id for check in CATALOGUE if check.asks_rates or check.asks_calibration}
    assert verdict.verdict == "stable"


def test_every_check_is_declared_in_full() -> None:
    incomplete = [
        check.id
        for check in CATALOGUE
        if not (check.question.endswith("?") and check.why and check.remedy and check.reads and check.sources)
    ]
    unreasoned = [limit.name for check in CATALOGUE for limit in check.limits if not limit.reason or not limit.unit]
    assert len({check.id for check in CATALOGUE}) == len(CATALOGUE)
    assert (incomplete, unreasoned) == ([], [])


def test_each_check_is_found_by_its_id_and_nothing_else_is() -> None:
    assert [check_with_id(check.id) for check in CATALOGUE] == list(CATALOGUE)
    assert [check_with_id(name) for name in ("", "cpu", "quota", "no-such-check", "cpu-quota ")] == [None] * 5


def test_each_check_that_can_block_states_its_ground() -> None:
    """One of the three grounds alone blocks regardless of the effect."""
    blocking = {
        check.id for check in CATALOGUE if Severity.BLOCKING in (check.severity_under(profile) for profile in PROFILES)
    }
    assert blocking <= {check.id for check in CATALOGUE if check.ground is not None}
