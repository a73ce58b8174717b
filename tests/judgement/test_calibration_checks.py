"""What the checks say of calibrations that a test writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from noisewatch.judgement.case import Case, calibrated_with
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.noise_floor import Budget
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.interval import interval_between
from tests.judgement.judging import finding
from tests.written import Files, WrittenMachine, without
from tests.written.calibration import CHAIN_NS, WORK_NS, steady, written_calibration
from tests.written.quiet_machine import ANSWERS, CPUS, loaded_files, quiet_files

_MS = 1_000_000
_CHECKS = [each.id for each in CATALOGUE if each.asks_calibration]


def _verdict(files: Files | None = None, budget: Budget | None = None, **written: Any) -> Verdict:
    """Of the quiet machine, calibrated as the test says."""
    both = dict(quiet_files()) if files is None else files
    machine = WrittenMachine(both, _moved(both, quiet_files(3.0)), _moved(both, loaded_files()), answers=ANSWERS)
    reader = TaskReader(asks_all_affinities=True)
    before = read_snapshot(machine, SnapshotOptions(), reader)
    machine.advance()
    after = read_snapshot(machine, SnapshotOptions(), reader, before)
    calibrated = calibrated_with(parse_calibration(written_calibration(**written)), budget or Budget())
    machine.advance()
    under_load = interval_between(after, read_snapshot(machine, SnapshotOptions(), None, after))
    return judge(Case(after, interval_between(before, after), calibrated=calibrated, under_load=under_load))


def _moved(files: Files, later: Files) -> Files:
    """The files at a later moment, of those that are there."""
    return dict(files) | {path: text for path, text in later.items() if path in files}


def _guest(*gone: str) -> Files:
    """A virtual machine, without what cannot be seen there."""
    files = without(quiet_files(), *gone)
    cpuinfo = files["/proc/cpuinfo"].replace("fpu tsc", "fpu hypervisor tsc")
    return {**files, "/proc/cpuinfo": cpuinfo}


_NO_CPUFREQ = (*(f"{CPUS}/cpu{cpu}/cpufreq" for cpu in range(4)), f"{CPUS}/cpufreq", f"{CPUS}/intel_pstate")


def _every_third_slow(at_ns: int) -> int:
    return WORK_NS * (2 if at_ns // (50 * _MS) % 3 == 0 else 1)


def test_a_quiet_calibration_passes_all() -> None:
    verdict = _verdict()
    assert {each: finding(verdict, each).status for each in _CHECKS} == dict.fromkeys(_CHECKS, "pass")
    assert verdict.verdict == "stable"


@pytest.mark.parametrize(
    ("check_id", "status", "written", "named"),
    [
        ("noise-floor-above-budget", "fail", {"work": _every_third_slow}, "CPU "),
        ("target-cpus-interrupted", "fail", {"gaps": ((10 * _MS, 5 * _MS, 1, 0),)}, "5 ms"),
        ("target-cpus-interrupted", "warn", {"gaps": ((10 * _MS, 200_000, 1, 0),)}, "200 µs"),
        ("fixed-work-unsteady", "fail", {"work": _every_third_slow}, "than the median"),
        ("memory-unsteady", "fail", {"work": lambda at_ns: WORK_NS + at_ns // (2 * _MS) % 2 * 20_000}, "deviate by"),
        ("throughput-drifts", "fail", {"work": lambda at_ns: WORK_NS + at_ns // (100 * _MS) * 500}, "third"),
        ("throughput-drifts", "warn", {"work": lambda at_ns: WORK_NS + at_ns // (100 * _MS) * 60}, "third"),
        ("throughput-drifts", "fail", {"work": lambda at_ns: 2 * WORK_NS - at_ns // (100 * _MS) * 500}, "third"),
        ("throughput-multimodal", "warn", {"work": lambda at_ns: WORK_NS + at_ns // (50 * _MS) % 2 * 2_000}, "mvalue"),
        ("effective-frequency-moves", "fail", {"chain": lambda at_ns: CHAIN_NS + at_ns // (500 * _MS) * 500}, "clock"),
        ("effective-frequency-moves", "warn", {"chain": lambda at_ns: CHAIN_NS + at_ns // _MS % 3 * 100}, "clock"),
    ],
)
def test_a_fault_is_found(check_id: str, status: str, written: dict[str, Any], named: str) -> None:
    found = finding(_verdict(**written), check_id)
    assert (found.status, named in found.answer.said) == (status, True), found.answer.said


@pytest.mark.parametrize(
    ("core", "clock_ns", "status", "named"),
    [
        ("native", 149, "pass", "ns a reading (CPU 2)"),
        ("native", 160, "warn", "passes up to 150"),
        ("native", 1100, "fail", "1100 ns"),
        ("python", 160, "pass", "from Python"),
        ("python", 1100, "warn", "from Python"),
        ("python", 2100, "fail", "from Python"),
    ],
)
def test_a_reading_of_the_clock_has_a_price_that_depends_on_who_reads(
    core: str, clock_ns: int, status: str, named: str
) -> None:
    spun_ns = written_calibration(core=core)["cpus"][0]["spun_ns"]
    found = finding(_verdict(core=core, changes={2: {"iterations": spun_ns // clock_ns}}), "slow-clock-reading")
    assert (found.status, named in found.answer.said) == (status, True), found.answer.said


def test_only_the_noise_floor_blocks() -> None:
    assert [each.id for each in CATALOGUE if each.asks_calibration and each.severity == "blocking"] == [
        "noise-floor-above-budget"
    ]


def test_a_floor_above_the_budget_makes_the_machine_unstable_and_says_where_and_why() -> None:
    verdict = _verdict(work=_every_third_slow)
    found = finding(verdict, "noise-floor-above-budget")
    assert verdict.verdict == "unstable"
    assert found.answer.cpus <= {2, 3}
    assert found.answer.evidence["dominated_by"] == "throughput"


def test_interruptions_are_told_from_throughput() -> None:
    def interrupted(at_ns: int) -> int:
        return WORK_NS + (2 * _MS if at_ns % (3 * _MS) < WORK_NS else 0)

    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 5))
    found = finding(_verdict(gaps=gaps, work=interrupted, budget=Budget(_MS)), "noise-floor-above-budget")
    assert (found.status, found.answer.evidence["dominated_by"]) == ("fail", "interruptions")


def test_a_clock_that_moves_as_much_as_the_work_is_to_blame() -> None:
    def slower(length: int) -> Any:
        return lambda at_ns: length * (3 if at_ns // (50 * _MS) % 3 == 0 else 2)

    found = finding(_verdict(work=slower(WORK_NS // 2), chain=slower(CHAIN_NS // 2)), "noise-floor-above-budget")
    assert found.answer.evidence["dominated_by"] == "frequency"


def test_a_budget_within_the_interval_is_unknown() -> None:
    floor = _verdict(work=_every_third_slow).case.calibrated
    assert floor is not None
    assert floor.floor is not None
    within = Budget(max_cv=(floor.floor.cv_low + floor.floor.cv_high) / 2)
    verdict = _verdict(work=_every_third_slow, budget=within)
    found = finding(verdict, "noise-floor-above-budget")
    assert (found.status, verdict.verdict) == ("unknown", "unknown")
    assert "lies within" in (found.answer.reason or "")


def test_a_generous_budget_passes() -> None:
    assert (
        finding(_verdict(work=_every_third_slow, budget=Budget(max_cv=5.0)), "noise-floor-above-budget").status
        == "pass"
    )


def test_the_worst_sample_has_a_budget_too() -> None:
    tight = Budget(at_ns=_MS, max_cv=5.0, max_inflation=1.1)
    assert finding(_verdict(work=_every_third_slow, budget=tight), "noise-floor-above-budget").status == "fail"


def test_an_unbounded_worst_sample_is_no_pass_of_its_budget() -> None:
    budget = Budget(at_ns=100 * _MS, samples=1_000, max_inflation=1.5)
    found = finding(_verdict(budget=budget), "noise-floor-above-budget")
    assert (found.status, "bound" in (found.answer.reason or "")) == ("unknown", True)


def test_samples_that_had_to_be_extrapolated_never_pass() -> None:
    found = finding(_verdict(budget=Budget(at_ns=10_000 * _MS)), "noise-floor-above-budget")
    assert (found.status, "extrapolated" in (found.answer.reason or "")) == ("unknown", True)


def test_a_cpu_that_went_offline_is_unknown_and_named() -> None:
    verdict = _verdict(changes={3: {"state": "moved"}})
    found = finding(verdict, "noise-floor-above-budget")
    assert (found.status, verdict.verdict) == ("unknown", "unknown")
    assert "CPU 3: it went offline" in (found.answer.reason or "")
    statuses = {finding(verdict, each).status for each in _CHECKS}
    assert statuses == {"unknown"}


def test_a_noisy_cpu_fails_though_another_could_not_be_measured() -> None:
    assert _verdict(work=_every_third_slow, changes={3: {"state": "refused"}}).verdict == "unstable"


def test_no_calibration_that_was_wanted_is_unknown_with_its_reason() -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    case = Case(read_snapshot(machine, SnapshotOptions()), no_calibration_reason="a copied tree cannot be asked")
    verdict = judge(case)
    answers = {finding(verdict, each).answer.reason for each in _CHECKS}
    assert answers == {"a copied tree cannot be asked"}
    assert verdict.verdict == "unknown"


def test_a_calibration_that_nobody_wanted_is_not_asked_for() -> None:
    verdict = judge(Case(read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())))
    assert {finding(verdict, each).status for each in _CHECKS} == {"ignored"}


@pytest.mark.parametrize("check_id", ["governor-not-performance", "turbo-enabled", "frequency-window-open"])
def test_a_guest_that_cannot_see_its_clock_is_answered_by_the_measured_one(check_id: str) -> None:
    verdict = _verdict(_guest(*_NO_CPUFREQ))
    assert finding(verdict, check_id).status == "unknown"
    assert finding(verdict, check_id).answered_by == "effective-frequency-moves"


def test_a_guest_whose_host_reports_no_steal_is_answered_by_the_gaps() -> None:
    verdict = _verdict(_guest())
    assert finding(verdict, "hypervisor-steal").answered_by == "target-cpus-interrupted"
    assert not finding(verdict, "hypervisor-steal").is_blocking_unknown


def test_a_clock_that_was_not_measured_answers_nothing() -> None:
    changed = {cpu: {"state": "moved"} for cpu in (2, 3)}
    verdict = _verdict(_guest(*_NO_CPUFREQ), changes=changed)
    assert finding(verdict, "governor-not-performance").answered_by is None


def test_without_the_compiled_core_steady_work_stands_for_a_steady_clock() -> None:
    assert finding(_verdict(core="python"), "effective-frequency-moves").status == "pass"


def test_without_the_compiled_core_unsteady_work_says_nothing_of_the_clock() -> None:
    assert finding(_verdict(core="python", work=_every_third_slow), "effective-frequency-moves").status == "unknown"


def test_the_floor_is_the_verdicts_own() -> None:
    verdict = _verdict(work=steady)
    calibrated = verdict.case.calibrated
    assert calibrated is not None
    assert calibrated.floor in calibrated.floors
    assert replace(calibrated, budget=Budget(at_ns=3)).floor is None


def test_a_target_cpu_that_was_not_calibrated_is_unknown() -> None:
    """As when a recording is judged for other CPUs than those it was calibrated on."""
    samples = parse_calibration(written_calibration((2,)))
    calibrated = calibrated_with(samples, Budget(), frozenset({2, 3}))
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    verdict = judge(Case(snapshot, calibrated=calibrated))
    assert {finding(verdict, each).status for each in _CHECKS} == {"unknown"}
    assert "CPU 3: it was not calibrated" in (finding(verdict, "noise-floor-above-budget").answer.reason or "")


def test_a_cpu_that_is_no_target_does_not_count() -> None:
    noisy = written_calibration((1,), work=_every_third_slow)["cpus"][0]
    said = written_calibration((1, 2, 3), changes={1: noisy})
    assert calibrated_with(parse_calibration(said), Budget(), frozenset({2, 3})).cpus_above_budget == frozenset()
    assert calibrated_with(parse_calibration(said), Budget()).cpus_above_budget == frozenset({1})


def test_a_cpu_that_hardly_ran_is_no_pass() -> None:
    """A spinner that was starved is done, and has nothing to show."""
    starved = {"work": [], "native_work": [], "gaps": [], "spins": [], "spun_ns": 0, "iterations": 0}
    verdict = _verdict(changes={3: starved})
    assert finding(verdict, "noise-floor-above-budget").status == "unknown"
    assert finding(verdict, "target-cpus-interrupted").status == "unknown"
    assert finding(verdict, "fixed-work-unsteady").status == "unknown"


def test_a_known_fault_outranks_a_cpu_that_hardly_ran() -> None:
    starved = {"work": [], "native_work": [], "gaps": [], "spins": [], "spun_ns": 0, "iterations": 0}
    verdict = _verdict(work=_every_third_slow, changes={3: starved})
    assert finding(verdict, "fixed-work-unsteady").status == "fail"
    assert finding(verdict, "noise-floor-above-budget").answer.cpus == {2}


def test_a_measurement_that_failed_answers_nothing() -> None:
    verdict = _verdict(_guest(*_NO_CPUFREQ), chain=lambda at_ns: CHAIN_NS + at_ns // (500 * _MS) * 500)
    assert finding(verdict, "effective-frequency-moves").status == "fail"
    assert finding(verdict, "governor-not-performance").answered_by is None
    assert verdict.verdict == "unknown"


def test_work_that_is_now_and_then_faster_is_unsteady_too() -> None:
    found = finding(
        _verdict(work=lambda at_ns: WORK_NS * (4 if at_ns // (50 * _MS) % 10 else 3)), "fixed-work-unsteady"
    )
    assert found.status == "fail"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("is_realtime", True, "real-time priority"),
        ("command", ["sleep"], "a workload was measured"),
    ],
)
def test_what_does_not_stand_for_the_machine_is_no_pass(field: str, value: Any, named: str) -> None:
    calibrated = calibrated_with(parse_calibration({**written_calibration(), field: value}), Budget())
    snapshot = read_snapshot(WrittenMachine(quiet_files(), answers=ANSWERS), SnapshotOptions())
    verdict = judge(Case(snapshot, calibrated=calibrated))
    assert {finding(verdict, check_id).status for check_id in _CHECKS} == {"unknown"}
    for check_id in ("noise-floor-above-budget", "target-cpus-interrupted"):
        assert named in (finding(verdict, check_id).answer.reason or "")


def test_a_spinner_that_was_stopped_for_a_while_is_no_pass() -> None:
    """Its slots went by: what it measured before and after is quiet."""
    whole = written_calibration((3,))["cpus"][0]
    pairs = list(zip(whole["work"][::2], whole["work"][1::2], strict=True))
    kept = [word for pair in pairs if not 1_000 * _MS < pair[0] < 3_000 * _MS for word in pair]
    found = finding(_verdict(changes={3: {"work": kept}}), "noise-floor-above-budget")
    assert (found.status, "measured for only" in (found.answer.reason or "")) == ("unknown", True)


def test_gaps_that_found_no_room_are_no_pass() -> None:
    lost = {3: {"lost_gaps": 5, "lost_gaps_ns": 10_000, "lost_gaps_max_ns": 3_000}}
    assert finding(_verdict(changes=lost), "noise-floor-above-budget").status == "unknown"
