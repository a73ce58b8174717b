"""Every check has a machine that passes, one that does not, and one where nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.declaration import Answer, Check
from noisewatch.judgement.limit import LIMIT, MINIMUM
from noisewatch.judgement.terms import Severity
from noisewatch.judgement.verdict import judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.model.interval.interval import interval_between
from tests.judgement.example import VIRTUAL, Example, all_examples
from tests.judgement.judging import finding, judged, judged_by_settings, quiet_calibration
from tests.written import WrittenMachine, without
from tests.written.quiet_machine import ANSWERS, CPUS, crowd, loaded_files, process, quiet_files, stat_file

_EXAMPLES = all_examples()
_READ = [each for each in CATALOGUE if not each.asks_calibration]
_IDS_READ = {each.id for each in _READ}
_OF_HARDWARE = {
    *("deep-idle-states", "energy-bias-not-performance", "uncore-frequency-moves", "platform-profile-saves-power"),
    *("clock-boosted-after-io", "machine-checks-polled-often", "power-limit-lowered", "memory-errors", "pcie-errors"),
}
_FULL = "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"


def _name(example: Example) -> str:
    return example.name


def _statuses(check: Check) -> set[str]:
    """Those of the examples; of the quiet machine all that do not appear otherwise pass."""
    return {example.status for example in _EXAMPLES if example.id == check.id}


def test_the_quiet_machine_is_stable_and_answers_everything() -> None:
    verdict = judged(WrittenMachine(quiet_files(), quiet_files(3.0), loaded_files(), answers=ANSWERS))
    others = {each.check.id: each.status for each in verdict.findings if each.status != "pass"}
    assert others == {"hypervisor-steal": "not-applicable", "partition-invalid": "not-applicable"}
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
    said = " ".join([found.answer.said, found.answer.reason or "", *(each.name for each in found.answer.culprits)])
    assert (found.status, example.named in said) == (example.status, True), said
    assert _lies_on_its_side_of_the_limit(found.answer), (found.answer.measured, found.answer.limit)
    assert set(found.answer.cpus) == example.cpus or not example.cpus


@pytest.mark.parametrize("check", _READ, ids=lambda check: check.id)
def test_each_check_has_a_machine_with_the_fault_and_one_where_it_is_unknown(check: Check) -> None:
    assert _statuses(check) & {"fail", "warn"}
    assert "unknown" in _statuses(check)


@pytest.mark.parametrize(
    "example", [each for each in _EXAMPLES if each.status == "unknown" and each.id in _IDS_READ], ids=_name
)
def test_where_the_file_is_missing_nothing_blocking_passes(example: Example) -> None:
    found = example.found(is_calibrated=False)
    assert (found.status, bool(found.answer.reason)) == ("unknown", True)
    if found.severity == Severity.BLOCKING:
        assert example.judged(is_calibrated=False).exit_status in (1, 3)
        assert example.found().answered_by or example.judged().exit_status in (1, 3)


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


def test_a_busy_sibling_fails_and_names_what_runs_there() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = quiet_files() | siblings
    after = quiet_files(3.0) | siblings | process(901, "neighbour", 1, 1_500_000_000)
    after["/proc/stat"] = stat_file({1: 150}, 300)
    found = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "busy-sibling")
    (culprit,) = found.answer.culprits
    assert (found.status, set(found.answer.cpus)) == ("fail", {1})
    assert (culprit.kind, culprit.name, culprit.pid) == ("sibling", "neighbour", 901)


def test_all_tasks_waiting_for_memory_block_although_pressure_usually_warns() -> None:
    after = quiet_files(3.0) | {"/proc/pressure/memory": _FULL.format(total=100_000)}
    verdict = judged(WrittenMachine(quiet_files(), after, answers=ANSWERS))
    assert finding(verdict, "pressure-stall").severity == Severity.BLOCKING
    assert verdict.verdict == "unstable"


def test_a_virtual_machine_cannot_see_who_shares_its_cache() -> None:
    machine = WrittenMachine(quiet_files() | VIRTUAL, quiet_files(3.0) | VIRTUAL, answers=ANSWERS)
    found = finding(judged(machine), "busy-cache-neighbour")
    assert (found.status, found.answered_by) == ("unknown", "memory-unsteady")


def test_without_caches_the_package_is_looked_at_and_not_called_a_cache() -> None:
    caches = [f"{CPUS}/cpu{cpu}/cache" for cpu in range(4)]
    after = quiet_files(3.0) | {"/proc/stat": stat_file({1: 290}, 300)}
    machine = WrittenMachine(without(quiet_files(), *caches), without(after, *caches), answers=ANSWERS)
    found = finding(judged(machine), "busy-cache-neighbour")
    assert (found.status, "CPU 1, in one package" in found.answer.said) == ("fail", True)


def test_threads_are_spread_by_one_command_each_and_brought_back() -> None:
    several = crowd(900, "bench", [2, 2, 2], "2-3")
    machine = WrittenMachine(quiet_files() | several, quiet_files(3.0) | several, answers=ANSWERS)
    fix = finding(judged(machine), "threads-confined-to-isolated-cpus").answer.fix
    assert fix is not None
    assert fix.now == "sudo taskset -pc 2 900; sudo taskset -pc 3 901; sudo taskset -pc 2 902"
    assert fix.undo == "; ".join(f"sudo taskset -pc 2-3 {tid}" for tid in (900, 901, 902))


def test_steal_that_was_never_reported_is_unknown_in_a_virtual_machine() -> None:
    machine = WrittenMachine(quiet_files() | VIRTUAL, quiet_files(3.0) | VIRTUAL, answers=ANSWERS)
    verdict = judged(machine, is_calibrated=False)
    assert finding(verdict, "hypervisor-steal").status == "unknown"
    assert verdict.exit_status == 3


@pytest.mark.parametrize(
    ("gone", "said_by"),
    [((f"{CPUS}/online",), "/proc/stat"), ((f"{CPUS}/online", "/proc/stat"), "/proc/cpuinfo")],
)
def test_online_cpus_may_be_told_by_another_file_which_is_then_named(gone: tuple[str, ...], said_by: str) -> None:
    verdict = judged_by_settings(WrittenMachine(without(quiet_files(), *gone), answers=ANSWERS))
    assert finding(verdict, "target-cpu-unusable").answer.evidence["online_by"] == said_by


def test_nothing_is_said_of_rates_that_nobody_asked_for() -> None:
    verdict = judged_by_settings(WrittenMachine(quiet_files(), answers=ANSWERS))
    ignored = {each.check.id for each in verdict.findings if each.status == "ignored"}
    assert ignored == {each.id for each in CATALOGUE if each.asks_rates or each.asks_calibration}
    assert verdict.verdict == "stable"


def test_bare_metal_needs_no_sample_to_know_that_nobody_steals() -> None:
    case = Case(
        read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions()),
        no_sample_reason="stands still",
    )
    statuses = {each.check.id: each.status for each in judge(case).findings}
    assert (statuses["hypervisor-steal"], statuses["target-cpu-busy"]) == ("not-applicable", "unknown")
