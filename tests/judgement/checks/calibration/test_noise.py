"""The noise floor against its budget, and who made the gaps: by a trace, or by who was seen meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.checks.calibration import noise
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.verdict import Finding, Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import Trace, parse_trace
from noisewatch.kinds import Kind, Work
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.interval.disturbance import Disturbance
from tests.judgement.checks.calibration.calibrating import every_third_slow, verdict_of
from tests.judgement.judging import calibrated_by, finding, found_in
from tests.model.interval.sampling import interval_of
from tests.written import WrittenMachine
from tests.written.calibration import CHAIN_NS, WORK_NS, steady, written_calibration
from tests.written.quiet_machine import ANSWERS, process, quiet_files
from tests.written.trace import written_trace

_MS = 1_000_000
_GAP = (10 * _MS, 5 * _MS, 1, 0)
_BEGIN_NS = 900_000_000  # a tenth of a second before the calibration
_PIECES = [0, 110 * _MS, 1, 110 * _MS, 115 * _MS, 5, 115 * _MS, 500 * _MS, 1]


def test_only_the_noise_floor_blocks() -> None:
    assert [each.id for each in CATALOGUE if each.asks_calibration and each.severity == "blocking"] == [
        "noise-floor-above-budget"
    ]


def test_a_floor_above_the_budget_makes_the_machine_unstable_and_says_where_and_why() -> None:
    verdict = verdict_of(work=every_third_slow)
    found = finding(verdict, "noise-floor-above-budget")
    assert verdict.verdict == "unstable"
    assert found.answer.cpus <= {2, 3}
    assert found.answer.evidence["dominated_by"] == "throughput"


def test_interruptions_are_told_from_throughput() -> None:
    def interrupted(at_ns: int) -> int:
        return WORK_NS + (2 * _MS if at_ns % (3 * _MS) < WORK_NS else 0)

    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 5))
    found = finding(verdict_of(gaps=gaps, work=interrupted, budget=Budget(_MS)), "noise-floor-above-budget")
    assert (found.status, found.answer.evidence["dominated_by"]) == ("fail", "interruptions")


def test_a_clock_that_moves_as_much_as_the_work_is_to_blame() -> None:
    def slower(length: int) -> Any:
        return lambda at_ns: length * (3 if at_ns // (50 * _MS) % 3 == 0 else 2)

    found = finding(verdict_of(work=slower(WORK_NS // 2), chain=slower(CHAIN_NS // 2)), "noise-floor-above-budget")
    assert found.answer.evidence["dominated_by"] == "frequency"


def test_a_budget_within_the_interval_is_unknown() -> None:
    floor = verdict_of(work=every_third_slow).case.calibrated
    assert floor is not None
    assert floor.floor is not None
    within = Budget(max_cv=floor.floor.cv_expected, work=Work.MIXED)
    verdict = verdict_of(work=every_third_slow, budget=within)
    found = finding(verdict, "noise-floor-above-budget")
    assert (found.status, verdict.verdict) == ("unknown", "unknown")
    assert (found.answer.reason or "").endswith(": passes from 90%")


def test_a_generous_budget_passes() -> None:
    assert (
        finding(verdict_of(work=every_third_slow, budget=Budget(max_cv=5.0)), "noise-floor-above-budget").status
        == "pass"
    )


def test_the_worst_sample_has_a_budget_too() -> None:
    tight = Budget(at_ns=_MS, max_cv=5.0, max_inflation=1.1)
    assert finding(verdict_of(work=every_third_slow, budget=tight), "noise-floor-above-budget").status == "fail"


def test_an_unbounded_worst_sample_is_no_pass_of_its_budget() -> None:
    budget = Budget(at_ns=100 * _MS, samples=1_000, max_inflation=1.5)
    found = finding(verdict_of(budget=budget), "noise-floor-above-budget")
    assert (found.status, "bound" in (found.answer.reason or "")) == ("unknown", True)


def test_samples_that_had_to_be_extrapolated_never_pass() -> None:
    found = finding(verdict_of(budget=Budget(at_ns=10_000 * _MS)), "noise-floor-above-budget")
    assert (found.status, "extrapolated" in (found.answer.reason or "")) == ("unknown", True)


def test_the_floor_is_the_verdicts_own() -> None:
    verdict = verdict_of(work=steady)
    calibrated = verdict.case.calibrated
    assert calibrated is not None
    assert calibrated.floor in calibrated.floors
    assert replace(calibrated, budget=Budget(at_ns=3)).floor is None


def _interrupted(trace: Trace | str) -> Finding:
    """Return the finding on interruptions of a machine whose CPU 2 lost 5 ms."""
    return finding(_verdict(trace, (_GAP,)), "target-cpus-interrupted")


def _verdict(trace: Trace | str, gaps: tuple[tuple[int, int, int, int], ...]) -> Verdict:
    files = quiet_files() | process(30, "kworker/2:1", 2, 5, flags=0x0020_0000, allowed="0-3")
    files |= process(901, "hog", 2, 5, allowed="0-3")
    snapshot = read_snapshot(
        WrittenMachine(files, answers=ANSWERS), SnapshotOptions(), TaskReader(asks_all_affinities=True)
    )
    meanwhile = ConcurrentObservations(trace, snapshot)
    calibrated = calibrated_by(written_calibration((2,), gaps=gaps), cpus=frozenset({2}), meanwhile=meanwhile)
    return judge(Case(snapshot, calibrated=calibrated))


def _trace(**changes: Any) -> Trace:
    said = written_trace(begin_ns=_BEGIN_NS)
    said["cpus"][0] |= {"pieces": _PIECES, **changes}
    said["cpus"][0]["sources"][5] = ["thread", "hog", 901, None]
    said["threads"]["901"] = {"name": "hog", "pid": 901, "is_kernel": False}
    return parse_trace(said)


def test_the_thread_that_made_the_gap_is_the_culprit() -> None:
    found = _interrupted(_trace())
    assert found.status == "fail"
    (culprit,) = found.answer.culprits
    assert (culprit.kind, culprit.name, culprit.pid, culprit.stolen_ns) == ("thread", "hog", 901, 5 * _MS)
    assert not culprit.is_inferred


@pytest.mark.parametrize("trace", [_trace(lost_events=1), _trace(lost_events=None), "permission denied"])
def test_a_trace_that_cannot_be_believed_names_nobody(trace: Trace | str) -> None:
    found = _interrupted(trace)
    assert (found.status, found.answer.culprits, found.answer.fix) == ("fail", (), None)


def test_without_a_trace_those_who_were_seen_meanwhile_are_the_culprits() -> None:
    before = process(901, "hog", 2, 0, allowed="0-3")
    interval = interval_of(before, process(901, "hog", 2, 40_000_000, allowed="0-3"))
    meanwhile = ConcurrentObservations("permission denied", None, interval)
    calibrated = calibrated_by(written_calibration((2,), gaps=(_GAP,)), cpus=frozenset({2}), meanwhile=meanwhile)
    found = found_in(Case(interval.after, calibrated=calibrated), "target-cpus-interrupted")
    assert (found.status, found.answer.culprits[0].name, found.answer.culprits[0].pid) == ("fail", "hog", 901)


@pytest.mark.parametrize(("stolen_share", "is_explained"), [(0.0001, False), (0.009, True)])
def test_a_culprit_that_explains_little_of_the_gaps_gives_them_no_fix_and_settles_nothing(
    stolen_share: float, is_explained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 220))  # 1.1%
    hog = Disturbance(Kind.THREAD, "hog", 2, round(stolen_share * 1e9), stolen_share, None, 901, 901)
    monkeypatch.setattr(noise, "culprits_on", lambda case, cpu: (hog,))
    verdict = _verdict("permission denied", gaps)
    found = finding(verdict, "target-cpus-interrupted")
    assert ("unexplained: noisewatch trace" in found.answer.said) is not is_explained
    assert (found.answer.fix is not None) is is_explained
    (cause,) = [each for each in causes_of(verdict) if found in each.findings]
    assert (found in cause.settles, cause.fix is not None) == (is_explained, is_explained)
    assert cause.advice is None


def test_what_helps_against_the_first_is_the_fix() -> None:
    said = written_trace(begin_ns=_BEGIN_NS)
    said["cpus"][0]["pieces"] = [*_PIECES[:3], 110 * _MS, 115 * _MS, 3, *_PIECES[6:]]
    fix = _interrupted(parse_trace(said)).answer.fix
    assert fix is not None
    assert fix.now == "echo 0-1 | sudo tee /proc/irq/25/smp_affinity_list"
