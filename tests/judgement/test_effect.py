"""The effect of tasks on a benchmark, by sample and calibration, with threads that yield to the loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.effect import effect
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.verdict import Finding, judge
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.machine.spinning.calibration.buffer import Slot, plan_slots
from tests.judgement.checks.calibration.meanwhile import SPINNER, case_of, intervals_until
from tests.judgement.judging import finding, finding_in
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import process, stat_file

_MS, _S = 1_000_000, 1_000_000_000
_BUDGETS = (0.01, 0.02, 0.05, 0.10, 0.20)
_CHECKS = ("tasks-on-target", "target-cpu-busy")


def _hog(ran_ms: int, waited_ms: int | None = 0, name: str = "hog") -> dict[str, str]:
    """Return the files of a process that may use CPU 2 only, without its schedstat if its waits are unknown."""
    files = process(901, name, 2, ran_ms * _MS, allowed="2")
    files["/proc/901/schedstat"] = f"{ran_ms * _MS} {(waited_ms or 0) * _MS} 10\n"
    return files if waited_ms is not None else {path: text for path, text in files.items() if "schedstat" not in path}


def _case(
    sampled_ms: int,
    later_ms: int = 0,
    waited_ms: int | None = 0,
    lost: float = 0.0,
    max_cv: float = 0.01,
    changes: Mapping[str, object] | None = None,
    slots: list[Slot] | None = None,
) -> Case:
    """Return a case with a hog on CPU 2 in a sample of 3 s (`sampled_ms`) and a calibration of 3 s (`later_ms`).

    In the calibration the hog waited for `waited_ms`, and the loop lost the share `lost` of its time to threads.
    """
    waited = [0, 0, waited_ms] if waited_ms is not None else [None] * 3
    ran_ms = (0, sampled_ms, sampled_ms + later_ms)
    before, at_start, after = (_hog(ran, waits) for ran, waits in zip(ran_ms, waited, strict=True))
    length = round(lost * 10 * _MS)
    gaps = tuple((at, length, 2, length) for at in range(0, 5 * _S, 10 * _MS)) if length else ()
    written = written_calibration(
        gaps=gaps, slots=slots, changes={2: {"tid": SPINNER}, 3: {"tid": SPINNER + 1, "gaps": []}}
    )
    written |= changes or {}
    at_start |= {"/proc/stat": stat_file({2: sampled_ms // 10}, 300)}
    after |= {"/proc/stat": stat_file({2: sampled_ms // 10 + 295, 3: 295}, 600)}
    sample, loaded = intervals_until(after, at_start, parse_calibration(written).lost_share_by_cpu, before)
    return case_of(sample, loaded, budget=Budget(max_cv=max_cv), written=written)


def _finding(case: Case, check_id: str = "tasks-on-target") -> Finding:
    return finding_in(case, check_id)


@pytest.mark.parametrize(
    ("sample_s", "load_s", "sampled", "later", "share"),
    [
        (3, 3, 0.02, 0.0, 0.01),
        (3, 9, 0.02, 0.0, 0.005),
        (9, 3, 0.02, 0.01, 0.0175),
        (3, 3, 0.0, 0.02, 0.02),
        (3, 27, 0.001, 0.02, 0.02),
        (3, 3, 0.0, 0.0, 0.0),
        (3, 3, 0.02, None, 0.02),
    ],
)
def test_sample_and_calibration_are_weighed_by_their_lengths(
    sample_s: int, load_s: int, sampled: float, later: float | None, share: float
) -> None:
    """The share is never below the calibration's, and the sample counts in full where the calibration's is unknown."""
    case = _case(0)
    assert case.interval is not None
    assert case.under_load is not None
    lengths = (replace(case.interval, length_ns=sample_s * _S), replace(case.under_load, length_ns=load_s * _S))
    case = replace(case, interval=lengths[0], under_load=lengths[1])
    assert effect(case, sampled, later) == pytest.approx(share)


def test_a_sample_or_calibration_alone_counts_in_full() -> None:
    case = _case(0)
    for alone in (replace(case, under_load=None), replace(case, interval=None)):
        assert effect(alone, 0.02, 0.01) == 0.02


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_hog_of_the_sample_alone_counts_half_where_the_calibration_is_as_long(check_id: str) -> None:
    assert _finding(_case(300), check_id).answer.measured == pytest.approx(0.05)
    assert _finding(_case(300, 150, 20, lost=0.05), check_id).answer.measured == pytest.approx(0.075, abs=1e-3)
    assert _finding(_case(0, 300, 20, lost=0.1), check_id).answer.measured == pytest.approx(0.1)


@pytest.mark.parametrize("check_id", _CHECKS)
@pytest.mark.parametrize("why", ["no gaps were measured", "real-time loops", "no tasks after it", "no calibration"])
def test_where_the_loss_to_threads_is_unknown_the_sample_counts_in_full(check_id: str, why: str) -> None:
    unmeasured = written_calibration(changes={cpu: {"spun_ns": 0, "gaps": [], "spins": []} for cpu in (2, 3)})
    changes = {"no gaps were measured": {"cpus": unmeasured["cpus"]}, "real-time loops": {"is_realtime": True}}
    case = _case(600, changes=changes.get(why))
    load = case.under_load
    assert load is not None
    if why == "no tasks after it":
        case = replace(case, under_load=replace(load, after=replace(load.after, tasks=None), runs=()))
    if why == "no calibration":
        case = replace(case, calibrated=None)
    assert _finding(case, check_id).answer.measured == pytest.approx(0.2)
    assert _finding(_case(600), check_id).answer.measured == pytest.approx(0.1)


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_hog_that_yields_to_the_loops_counts_with_the_time_that_it_got(check_id: str) -> None:
    """A hog of SCHED_IDLE, for example, had all of the CPU before the loops ran."""
    case = _case(2_990, 30, 2_970, lost=0.01)
    assert _finding(case, check_id).answer.measured == pytest.approx(0.01, abs=1e-3)
    statuses = {
        max_cv: _finding(_case(2_990, 30, 2_970, 0.01, max_cv), "tasks-on-target").status for max_cv in _BUDGETS
    }
    assert [statuses[max_cv] for max_cv in _BUDGETS] == ["fail", "warn", "warn", "warn", "warn"]


def test_time_of_a_yielding_hog_while_the_loops_pause_does_not_count() -> None:
    """The loops lost 1% to the hog, which ran for a twelfth of the time between the kinds of work."""
    assert _finding(_case(2_990, 250, 2_700, lost=0.01)).answer.measured == pytest.approx(0.01, abs=1e-3)


def test_time_of_a_yielding_hog_while_loops_of_another_cpu_run_does_not_count() -> None:
    """CPUs of one cache take turns: the loops run for 59% of the time."""
    slots = plan_slots((2, 3), {}, dict.fromkeys((2, 3), frozenset({2, 3})), 5 * _S)[2]
    result = _finding(_case(2_990, 1_230, 1_770, lost=0.003, max_cv=0.2, slots=slots))
    assert result.answer.measured == pytest.approx(0.003, abs=1e-3)
    assert result.status == "warn"


def test_time_of_a_yielding_hog_before_the_loops_start_does_not_count() -> None:
    """The hog has all of the CPU in the second between the snapshot and the loops, which run for 5 s."""
    case = _case(2_990, 1_421, 4_579, lost=0.01)
    assert case.under_load is not None
    case = replace(case, under_load=replace(case.under_load, length_ns=6 * _S))
    assert _finding(case).answer.measured == pytest.approx(0.01, abs=2e-3)


@pytest.mark.parametrize("check_id", _CHECKS)
@pytest.mark.parametrize(
    ("sampled_ms", "later_ms", "waited_ms", "lost", "least"),
    [(2_700, 1, 4, 0.0, 0.44), (1_200, 30, 120, 0.01, 0.18), (2_700, 300, 1_200, 0.0, 0.2)],
    ids=["a short wake-up", "a twentieth of the time", "half of the time"],
)
def test_a_hog_that_hardly_competed_with_the_loops_may_compete_later(
    check_id: str, sampled_ms: int, later_ms: int, waited_ms: int, lost: float, least: float
) -> None:
    """A hog that did not compete with the loops has not yielded to them."""
    result = _finding(_case(sampled_ms, later_ms, waited_ms, lost=lost), check_id)
    assert (result.answer.measured or 0) > least
    assert result.status == "fail"


def test_a_thread_without_a_gap_counts_as_it_ran_next_to_other_loops() -> None:
    """The thread ran for a tenth of the time, and the loops paused for only a thirteenth."""
    result = _finding(_case(0, 300, 1_200))
    assert (result.answer.measured or 0) > 0.02
    assert result.status == "fail"


@pytest.mark.parametrize("check_id", _CHECKS)
def test_a_hog_whose_waits_are_unknown_counts_in_full(check_id: str) -> None:
    result = _finding(_case(2_990, 30, None, lost=0.01, max_cv=0.2), check_id)
    assert result.status == "fail"
    assert (result.answer.measured or 0) > 0.5


@pytest.mark.parametrize("check_id", _CHECKS)
@pytest.mark.parametrize(
    "moved",
    [{"cpu": 1}, {"allowed": frozenset({1, 2})}, {"allowed": frozenset({1, 2}), "migrations": 3}],
    ids=["ended elsewhere", "may have waited elsewhere", "moved"],
)
def test_a_hog_that_waited_on_another_cpu_has_not_yielded_to_the_loops(check_id: str, moved: dict[str, Any]) -> None:
    """The hog may come back, and compete with the benchmark for half of the time."""
    case = _case(2_990, 30, 2_970, lost=0.01, max_cv=0.2)
    load = case.under_load
    assert load is not None
    assert load.after.tasks is not None
    by_tid = dict(load.after.tasks.by_tid)
    by_tid[901] = replace(by_tid[901], **moved)
    tasks = replace(load.after.tasks, by_tid=by_tid)
    loaded = replace(load, after=replace(load.after, tasks=tasks))
    assert _finding(case, check_id).status != "fail"
    assert _finding(replace(case, under_load=loaded), check_id).status == "fail"


@pytest.mark.parametrize("max_cv", [*_BUDGETS, 1.0, 1.5, 10.0])
def test_a_loop_of_equal_priority_fails_at_every_budget(max_cv: float) -> None:
    """The loop had all of the CPU, then half of it, and waited for the other half."""
    verdict = judge(_case(2_990, 1_500, 1_500, lost=0.5, max_cv=max_cv))
    for check_id in _CHECKS:
        result = finding(verdict, check_id)
        assert result.status == "fail"
        assert result.answer.measured == pytest.approx(0.75, abs=0.02)
        assert result.answer.culprits[0].name == "hog"
    assert verdict.verdict == "unstable"


@pytest.mark.parametrize("check_id", _CHECKS)
def test_one_of_two_loops_of_equal_priority_does_not_yield(check_id: str) -> None:
    """Three loops compete, including noisewatch's own: each runs for a third of the time and waits for two thirds."""
    result = _finding(_case(1_500, 1_000, 2_000, lost=1 / 3, max_cv=0.2), check_id)
    assert (result.status, result.answer.measured) == ("fail", pytest.approx(0.416, abs=0.02))


@pytest.mark.parametrize(
    ("max_cv", "status", "outcome"), [(0.01, "fail", "unstable"), (0.05, "fail", "unstable"), (0.2, "warn", "stable")]
)
def test_a_task_of_3_percent_fails_at_a_budget_of_5_percent_and_warns_at_20(
    max_cv: float, status: str, outcome: str
) -> None:
    verdict = judge(_case(90, 90, 2, lost=0.03, max_cv=max_cv))
    assert (finding(verdict, "tasks-on-target").status, verdict.verdict) == (status, outcome)


def test_the_sentence_has_the_weighed_share_and_the_fix_moves_the_hog() -> None:
    answer = _finding(_case(600, 150, 50, lost=0.05)).answer
    assert answer.said == "hog (pid 901): 12.5% of CPU 2 (20.0% in the sample)"
    assert answer.culprits[0].share == pytest.approx(answer.measured)
    assert answer.fix is not None
    assert "taskset -pc" in (answer.fix.now or "")
