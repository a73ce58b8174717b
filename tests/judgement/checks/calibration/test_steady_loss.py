"""A steady loss of time: it does not raise the CV, but moves the mean between two sessions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from noisewatch.judgement.checks.calibration import noise
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import Rules
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance
from tests.judgement.checks.calibration.calibrating import NO_CPUFREQ, guest, verdict_of
from tests.judgement.checks.calibration.meanwhile import intervals_until
from tests.judgement.judging import finding
from tests.written.calibration import WORK_NS
from tests.written.quiet_machine import process

_MS = 1_000_000
_PERIOD_NS = 2 * _MS
_GAPS = "target-cpus-interrupted"


def _work_with_stops(stop_ns: int) -> Callable[[int], int]:
    """Return a function that maps the start of a unit of work to its length; each period begins with a stop."""

    def length_at(begin_ns: int) -> int:
        at_ns, left_ns = begin_ns, WORK_NS
        while left_ns > 0:
            at_ns += max(stop_ns - at_ns % _PERIOD_NS, 0)
            worked_ns = min(left_ns, _PERIOD_NS - at_ns % _PERIOD_NS)
            at_ns, left_ns = at_ns + worked_ns, left_ns - worked_ns
        return at_ns - begin_ns

    return length_at


def _verdict_on_loss(share: float, max_cv: float, is_guest: bool = False, switches: int = 0) -> Verdict:
    """Return the verdict on a machine whose CPUs lose the same share of every 2 ms."""
    stop_ns = round(share * _PERIOD_NS)
    gaps = tuple((at, stop_ns, switches, 0) for at in range(0, 5_000 * _MS, _PERIOD_NS))
    budget = Budget(max_cv=max_cv, confidence=0.7)
    rules = Rules("shared" if is_guest else "micro", budget=budget)
    return verdict_of(
        guest(*NO_CPUFREQ) if is_guest else None,
        budget,
        rules,
        gaps=gaps if stop_ns else (),
        work=_work_with_stops(stop_ns),
    )


@pytest.mark.parametrize("is_guest", [False, True])
@pytest.mark.parametrize("max_cv", [0.01, 0.02, 0.05, 0.1, 0.2])
def test_a_steady_loss_of_a_fifth_blocks_though_the_floor_passes(max_cv: float, is_guest: bool) -> None:
    verdict = _verdict_on_loss(0.2, max_cv, is_guest)
    result = finding(verdict, _GAPS)
    assert (verdict.verdict, result.is_blocking_failure) == ("unstable", True)
    assert result.answer.measured == pytest.approx(0.2, abs=1e-3)
    assert max_cv < 0.02 or finding(verdict, "noise-floor-above-budget").status == "pass"


@pytest.mark.parametrize(("share", "max_cv"), [(0.002, 0.002), (0.004, 0.005), (0.0006, 0.001)])
def test_a_loss_above_half_of_a_small_budget_blocks(share: float, max_cv: float) -> None:
    """Each loss is below the limit at the default budget."""
    result = finding(_verdict_on_loss(share, max_cv), _GAPS)
    assert result.is_blocking_failure
    assert result.answer.limit == pytest.approx(max_cv / 2)


def test_a_loss_below_half_of_the_budget_does_not_block() -> None:
    verdict = _verdict_on_loss(0.02, 0.05)
    assert (verdict.verdict, finding(verdict, _GAPS).is_blocking_failure) == ("stable", False)


@pytest.mark.parametrize(
    ("share", "is_guest", "blocks"), [(0.03, False, True), (0.03, True, False), (0.06, True, True)]
)
def test_a_guest_blocks_only_above_a_larger_steady_loss(share: float, is_guest: bool, blocks: bool) -> None:
    assert finding(_verdict_on_loss(share, 0.02, is_guest), _GAPS).is_blocking_failure is blocks


@pytest.mark.parametrize(
    ("kind", "share", "blocks"),
    [(Kind.THREAD, 0.025, True), (Kind.IRQ, 0.025, True), (Kind.THREAD, 0.015, False), (Kind.OUTSIDE, 0.03, False)],
)
def test_a_guest_blocks_where_its_own_culprits_take_more_than_the_budget(
    kind: Kind, share: float, blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two culprits is below the limit of the checks of tasks."""
    half = Disturbance(kind, "taker", 2, round(share / 2 * 1e9), share / 2, None)
    monkeypatch.setattr(noise, "culprits_on", lambda case, cpu: (half, replace(half, name="other")))
    assert finding(_verdict_on_loss(0.03, 0.02, is_guest=True), _GAPS).is_blocking_failure is blocks


def test_without_a_sample_only_a_task_that_ran_in_the_calibration_fails() -> None:
    """`preflight --sample 0` takes no sample."""
    case = _verdict_on_loss(0.2, 0.1, switches=1).case
    samples = case.calibrated.calibration.samples if case.calibrated is not None else None
    assert samples is not None
    hog = [process(901, "hog", 2, ran_ms * _MS, allowed="2") for ran_ms in (0, 600)]
    sample, loaded = intervals_until(hog[1], hog[0], samples.lost_share_by_cpu, hog[0])
    case = replace(case, snapshot=sample.after, interval=None, under_load=loaded)
    verdict = judge(case)
    assert finding(verdict, "tasks-on-target").status == "fail"
    assert "hog" in finding(verdict, "tasks-on-target").answer.said
    assert finding(verdict, "target-cpu-busy").status == "ignored"
    allowed = Rules(value_by_limit={("tasks-on-target", "fails"): 0.9})
    assert finding(judge(replace(case, rules=allowed)), "tasks-on-target").status == "ignored"
    left_out = Rules(ignored=frozenset({"tasks-on-target"}))
    assert finding(judge(replace(case, rules=left_out)), "tasks-on-target").status == "ignored"
    calm = judge(replace(case, under_load=intervals_until({})[1]))
    assert finding(calm, "tasks-on-target").status == "ignored"
