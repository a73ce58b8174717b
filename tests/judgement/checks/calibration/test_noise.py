"""The noise floor against its budget, and the culprits of gaps, by a trace or by threads that ran meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.cause_words import short_title
from noisewatch.judgement.causes import causes_of
from noisewatch.judgement.checks.calibration import noise
from noisewatch.judgement.finding_words import full_statement
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.verdict import Finding, Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.runs import Trace, parse_trace
from noisewatch.kinds import Kind, Work
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.interval.disturbance import Disturbance
from tests.judgement.checks.calibration.calibrating import every_third_slow, interrupted_verdict, verdict_of
from tests.judgement.judging import calibrated_by, finding, finding_in
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
    assert [check.id for check in CATALOGUE if check.asks_calibration and check.severity == "blocking"] == [
        "noise-floor-above-budget"
    ]


def test_a_floor_above_the_budget_is_unstable_and_names_its_cpus_and_cause() -> None:
    verdict = verdict_of(work=every_third_slow)
    result = finding(verdict, "noise-floor-above-budget")
    assert verdict.verdict == "unstable"
    assert result.answer.cpus <= {2, 3}
    assert result.answer.evidence["dominated_by"] == "throughput"


def test_interruptions_are_distinguished_from_throughput() -> None:
    result = finding(interrupted_verdict(), "noise-floor-above-budget")
    assert (result.status, result.answer.evidence["dominated_by"]) == ("fail", "interruptions")


def test_a_clock_that_moves_as_much_as_the_work_is_the_main_cause() -> None:
    def slower(length: int) -> Any:
        return lambda at_ns: length * (3 if at_ns // (50 * _MS) % 3 == 0 else 2)

    result = finding(verdict_of(work=slower(WORK_NS // 2), chain=slower(CHAIN_NS // 2)), "noise-floor-above-budget")
    assert result.answer.evidence["dominated_by"] == "frequency"


def test_a_budget_within_the_interval_is_unknown() -> None:
    calibrated = verdict_of(work=every_third_slow).case.calibrated
    assert calibrated is not None
    assert calibrated.floor is not None
    budget = Budget(max_cv=calibrated.floor.cv_expected, work=Work.MIXED)
    verdict = verdict_of(work=every_third_slow, budget=budget)
    result = finding(verdict, "noise-floor-above-budget")
    assert (result.status, verdict.verdict) == ("unknown", "unknown")
    assert (result.answer.reason or "").startswith("needs a chance of 90%; ")


def test_a_generous_budget_passes() -> None:
    assert (
        finding(verdict_of(work=every_third_slow, budget=Budget(max_cv=5.0)), "noise-floor-above-budget").status
        == "pass"
    )


def test_the_worst_sample_has_a_budget_too() -> None:
    tight = Budget(at_ns=_MS, max_cv=5.0, max_inflation=1.1)
    assert finding(verdict_of(work=every_third_slow, budget=tight), "noise-floor-above-budget").status == "fail"


def test_an_unbounded_worst_sample_is_unknown() -> None:
    budget = Budget(at_ns=100 * _MS, samples=1_000, max_inflation=1.5)
    result = finding(verdict_of(budget=budget), "noise-floor-above-budget")
    assert (result.status, "bound" in (result.answer.reason or "")) == ("unknown", True)


def test_extrapolated_samples_are_unknown() -> None:
    result = finding(verdict_of(budget=Budget(at_ns=10_000 * _MS)), "noise-floor-above-budget")
    assert (result.status, "extrapolated" in (result.answer.reason or "")) == ("unknown", True)


def test_the_floor_is_one_of_the_measured_floors() -> None:
    verdict = verdict_of(work=steady)
    calibrated = verdict.case.calibrated
    assert calibrated is not None
    assert calibrated.floor in calibrated.floors
    assert replace(calibrated, budget=Budget(at_ns=3)).floor is None


def _interruption_finding(trace: Trace | str) -> Finding:
    """Return the finding on interruptions of CPU 2, which lost 5 ms in one gap."""
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
    written = written_trace(begin_ns=_BEGIN_NS)
    written["cpus"][0] |= {"pieces": _PIECES, **changes}
    written["cpus"][0]["sources"][5] = ["thread", "hog", 901, None]
    written["threads"]["901"] = {"name": "hog", "pid": 901, "is_kernel": False}
    return parse_trace(written)


def test_the_thread_that_made_the_gap_is_the_culprit() -> None:
    result = _interruption_finding(_trace())
    assert result.status == "fail"
    (culprit,) = result.answer.culprits
    assert (culprit.kind, culprit.name, culprit.pid, culprit.stolen_ns) == ("thread", "hog", 901, 5 * _MS)
    assert not culprit.is_inferred


@pytest.mark.parametrize("trace", [_trace(lost_events=1), _trace(lost_events=None), "permission denied"])
def test_an_incomplete_or_missing_trace_names_no_culprit(trace: Trace | str) -> None:
    result = _interruption_finding(trace)
    assert (result.status, result.answer.culprits, result.answer.fix) == ("fail", (), None)


def test_without_a_trace_threads_that_ran_meanwhile_are_the_culprits() -> None:
    before = process(901, "hog", 2, 0, allowed="0-3")
    interval = interval_of(before, process(901, "hog", 2, 40_000_000, allowed="0-3"))
    meanwhile = ConcurrentObservations("permission denied", None, interval)
    calibrated = calibrated_by(written_calibration((2,), gaps=(_GAP,)), cpus=frozenset({2}), meanwhile=meanwhile)
    result = finding_in(Case(interval.after, calibrated=calibrated), "target-cpus-interrupted")
    assert (result.status, result.answer.culprits[0].name, result.answer.culprits[0].pid) == ("fail", "hog", 901)


@pytest.mark.parametrize(("stolen_share", "is_explained"), [(0.0001, False), (0.009, True)])
def test_a_culprit_that_explains_little_of_the_gaps_gives_them_no_fix_and_settles_nothing(
    stolen_share: float, is_explained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = tuple((at * _MS, 2 * _MS, 1, 0) for at in range(0, 5_000, 220))  # 1.1%
    hog = Disturbance(Kind.THREAD, "hog", 2, round(stolen_share * 1e9), stolen_share, None, 901, 901)
    monkeypatch.setattr(noise, "culprits_on", lambda case, cpu: (hog,))
    verdict = _verdict("permission denied", gaps)
    result = finding(verdict, "target-cpus-interrupted")
    text = full_statement(result.answer)
    assert ("unexplained: noisewatch trace" in text) is not is_explained
    (cause,) = [candidate for candidate in causes_of(verdict) if result in candidate.findings]
    if not is_explained:  # the title names the culprit, then the unexplained rest and the command that explains it
        rest = "1.11% unexplained: noisewatch trace, as root with tracefs mounted, names the rest"
        assert text.endswith(f"(allowed: 1 ms): {rest}")
        assert short_title(cause, verdict.case).text.endswith(f": hog [901] 0.01%; {rest}")
    assert (result.answer.fix is not None) is is_explained
    assert (result in cause.settles, cause.fix is not None) == (is_explained, is_explained)
    assert cause.advice is None


def test_the_fix_is_that_of_the_first_culprit() -> None:
    written = written_trace(begin_ns=_BEGIN_NS)
    written["cpus"][0]["pieces"] = [*_PIECES[:3], 110 * _MS, 115 * _MS, 3, *_PIECES[6:]]
    fix = _interruption_finding(parse_trace(written)).answer.fix
    assert fix is not None
    assert fix.now == "echo 0-1 | sudo tee /proc/irq/25/smp_affinity_list"
