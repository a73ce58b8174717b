"""The noise floor with and without a requested kind of work."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.verdict import Finding
from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import (
    BANDWIDTH,
    CACHE,
    LATENCY,
    MEMORY,
    OF_WORK,
    STARTED,
    THROUGHPUT,
)
from tests.judgement.checks.calibration.calibrating import every_third_slow, interrupted_verdict, verdict_of
from tests.judgement.judging import finding
from tests.written.calibration import WORK_NS, Length, written_calibration

_MS = 1_000_000
_SLOW_MEMORY: dict[str, Length] = {MEMORY: every_third_slow}


def _floor(others: Mapping[str, Length] | None = None, work: Work | None = None, **budget: float) -> Finding:
    verdict = verdict_of(others=others, budget=Budget(work=work, **budget))  # type: ignore[arg-type]
    return finding(verdict, "noise-floor-above-budget")


def test_a_kind_over_the_budget_fails_and_kinds_that_would_pass_are_named() -> None:
    result = _floor(_SLOW_MEMORY)
    assert result.status == "fail"
    assert "over the budget on CPUs" in result.answer.said or "over the budget on CPU " in result.answer.said
    assert ": memory, mainly" in result.answer.said
    assert "--work latency would pass" in result.answer.said
    by_work = result.answer.evidence["by_work"]
    assert by_work["memory"]["cv_low"] > 0.01 > by_work["interruptions"]["cv_high"]


@pytest.mark.parametrize(("work", "status"), [(Work.LATENCY, "pass"), (Work.MIXED, "pass"), (Work.MEMORY, "fail")])
def test_the_requested_kind_decides(work: Work, status: str) -> None:
    result = _floor(_SLOW_MEMORY, work)
    assert (result.status, result.answer.evidence["work"]) == (status, work)


def test_without_a_requested_kind_all_kinds_have_to_pass() -> None:
    assert _floor().status == "pass"
    assert _floor({THROUGHPUT: every_third_slow}).status == "fail"


def test_interruptions_are_the_same_for_all_kinds_and_fail_alone() -> None:
    result = finding(interrupted_verdict(), "noise-floor-above-budget")
    by_work = result.answer.evidence["by_work"]
    assert result.status == "fail"
    assert "would pass" not in result.answer.said
    assert all(floor["cv_expected"] > 0.1 for floor in by_work.values())


def test_bandwidth_over_the_budget_is_a_warning_unless_it_is_requested() -> None:
    others = {BANDWIDTH: every_third_slow}
    result = _floor(others)
    assert result.status == "warn"
    assert "copies of large blocks exceed the budget on CPUs 2-3: --work bandwidth" in result.answer.said
    assert _floor(others, Work.BANDWIDTH).status == "fail"
    assert _floor(others, Work.MEMORY).status == "pass"
    assert _floor({**others, THROUGHPUT: every_third_slow}).status == "fail"


def test_bandwidth_that_may_exceed_the_budget_is_a_warning() -> None:
    """The expected CV equals the budget's maximum: samples stay within the budget with a chance of about one half."""
    slight = {BANDWIDTH: lambda at_ns: WORK_NS + at_ns // (300 * _MS) % 2 * 4_000}
    bandwidth = _floor(slight).answer.evidence["by_work"]["bandwidth"]
    result = _floor(slight, max_cv=bandwidth["cv_expected"])
    assert 0.1 < result.answer.evidence["by_work"]["bandwidth"]["chance"] < 0.9
    assert (result.status, "copies of large blocks may exceed the budget: --work" in result.answer.said) == (
        "warn",
        True,
    )
    assert _floor(slight, Work.BANDWIDTH, max_cv=bandwidth["cv_expected"]).status == "unknown"


def test_bandwidth_over_the_budget_is_a_warning_even_if_it_was_not_measured_on_all_cpus() -> None:
    slots = written_calibration((2,))["cpus"][0]["slots"]
    kept = [slot for slot in slots if slot[0] != BANDWIDTH]
    verdict = verdict_of(
        others={BANDWIDTH: every_third_slow}, changes={3: {"slots": kept, BANDWIDTH: []}}, budget=Budget()
    )
    result = finding(verdict, "noise-floor-above-budget")
    assert result.status == "warn"
    assert "copies of large blocks exceed the budget on CPU 2: --work bandwidth" in result.answer.said


def test_bandwidth_that_was_not_measured_is_only_required_if_it_is_requested() -> None:
    """Recordings by version 0.2.0 contain no bandwidth."""
    slots = written_calibration((2,))["cpus"][0]["slots"]
    kept = [slot for slot in slots if slot[0] != BANDWIDTH]
    changes: dict[int, dict[str, list[int]]] = {3: {"slots": kept, BANDWIDTH: []}}
    for work, status in ((None, "pass"), (Work.BANDWIDTH, "unknown")):
        verdict = verdict_of(changes=changes, budget=Budget(work=work))
        assert finding(verdict, "noise-floor-above-budget").status == status
    assert "bandwidth" not in finding(verdict_of(changes=changes), "noise-floor-above-budget").answer.said


@pytest.mark.parametrize("work", [Work.LATENCY, Work.THROUGHPUT, Work.INTERPRETER, Work.CACHE, Work.MEMORY])
def test_interruptions_that_only_the_gaps_show_make_every_kind_unknown(work: Work) -> None:
    gaps = tuple((at * _MS, 900_000, 1, 0) for at in range(10, 5_000, 20))
    result = finding(verdict_of(gaps=gaps, budget=Budget(_MS, work=work)), "noise-floor-above-budget")
    assert result.status == "unknown"


def test_a_budget_inside_the_interval_of_one_kind_is_unknown_and_names_it() -> None:
    memory = _floor(_SLOW_MEMORY).answer.evidence["by_work"]["memory"]
    result = _floor(_SLOW_MEMORY, max_cv=memory["cv_expected"])
    assert result.status == "unknown"
    assert 0.4 < result.answer.evidence["by_work"]["memory"]["chance"] < 0.7
    assert re.search(
        r"^needs a chance of 90% \(memory: (\d\d%)\);.*chance \1 \(memory work\)", result.answer.reason or ""
    )


@pytest.mark.parametrize("cpus", [(2, 3), (3,)])
def test_a_kind_that_was_not_measured_on_one_cpu_is_unknown(cpus: tuple[int, ...]) -> None:
    missing = {LATENCY, MEMORY}
    slots = written_calibration((2,))["cpus"][0]["slots"]
    kept = [slot for slot in slots if STARTED.get(slot[0], slot[0]) not in missing]
    changes = {cpu: {"slots": kept, **{key: [] for key in missing}} for cpu in cpus}
    result = finding(verdict_of(changes=changes), "noise-floor-above-budget")
    assert result.status == "unknown"
    assert "measured" in (result.answer.reason or "")
    assert "latency, memory" in (result.answer.reason or "")
    for work, status in ((Work.MEMORY, "unknown"), (Work.MIXED, "unknown"), (Work.INTERPRETER, "pass")):
        verdict = verdict_of(changes=changes, budget=Budget(work=work))
        assert finding(verdict, "noise-floor-above-budget").status == status, work
    slow = finding(verdict_of(changes=changes, others={THROUGHPUT: every_third_slow}), "noise-floor-above-budget")
    assert slow.status == "fail", "a kind over the budget fails although others are unknown"


def test_a_cpu_with_the_worst_cv_does_not_hide_one_with_a_worse_chance() -> None:
    """CPU 2 always varies a little; CPU 3 is steady except for some long stops."""
    stops = [(at * _MS, 30 * _MS, 1, 0) for at in range(50, 5_000, 200)]
    still = {**written_calibration((3,))["cpus"][0], "gaps": [word for stop in stops for word in stop]}
    uneven = lambda at_ns: WORK_NS + at_ns // (20 * _MS) % 2 * 2_000  # noqa: E731
    verdict = verdict_of(work=uneven, changes={3: still}, budget=Budget(10 * _MS, max_cv=0.02))
    calibrated = verdict.case.calibrated
    assert calibrated is not None
    by_cpu = calibrated.floors_by_work["latency"].at_budget_by_cpu
    assert by_cpu[3].cv_expected < by_cpu[2].cv_expected
    assert (by_cpu[3].chance or 0) < 0.9 < (by_cpu[2].chance or 0)
    assert finding(verdict, "noise-floor-above-budget").status == "unknown"


@pytest.mark.parametrize(("series", "work"), [(CACHE, Work.CACHE), (MEMORY, Work.MEMORY), (BANDWIDTH, Work.BANDWIDTH)])
def test_cache_memory_and_bandwidth_are_separate_kinds(series: str, work: Work) -> None:
    by_work = _floor({series: every_third_slow}).answer.evidence["by_work"]
    assert [kind for kind, floor in by_work.items() if floor["cv_low"] > 0.01] == [work]


def test_a_requested_kind_that_was_not_measured_is_unknown() -> None:
    unmeasured: dict[int, dict[str, list[int]]] = {cpu: {series: [] for series in OF_WORK} for cpu in (2, 3)}
    verdict = verdict_of(changes=unmeasured, budget=Budget(work=Work.LATENCY))
    assert finding(verdict, "noise-floor-above-budget").status == "unknown"


def test_work_of_constant_length_has_no_noise_in_any_kind() -> None:
    by_work = _floor({LATENCY: lambda at_ns: WORK_NS * 2}).answer.evidence["by_work"]
    assert all(floor["cv_expected"] < 1e-3 for floor in by_work.values())
