"""Judging the values that a thread measured by its counters."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from noisewatch.judgement.run.measured_values import judge_value, judge_values
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.model.run.benchmark_run import MeasuredValue, ValuesAround

_MS = 1_000_000


def _value(
    number: int = 1,
    *,
    length_ms: float = 100,
    waited_ms: float | None = 0,
    rest_ms: float = 0,
    others_ms: float = 0,
    sleeps: int = 0,
) -> MeasuredValue:
    return MeasuredValue(
        number=number,
        began_ns=0,
        length_ns=round(length_ms * _MS),
        ran_ns=round((length_ms - (waited_ms or 0) - rest_ms) * _MS),
        waited_ns=None if waited_ms is None else round(waited_ms * _MS),
        others_ns=round(others_ms * _MS),
        preemptions=2 if waited_ms else 0,
        sleeps=sleeps,
    )


def _around(
    interrupted_ms: float | None = 0,
    steal_ms: int | None = 0,
    busy_ms_by_sibling: Mapping[int, int] | None = None,
    unknowns: tuple[str, ...] = (),
) -> ValuesAround:
    return ValuesAround(
        length_ns=1000 * _MS,
        interrupted_ns=None if interrupted_ms is None else round(interrupted_ms * _MS),
        steal_ns=None if steal_ms is None else steal_ms * _MS,
        busy_ns_by_sibling={cpu: ms * _MS for cpu, ms in (busy_ms_by_sibling or {}).items()},
        unknowns=unknowns,
    )


@pytest.mark.parametrize(
    ("value", "outcome", "words"),
    [
        (_value(), "undisturbed", None),
        (_value(waited_ms=0.4), "undisturbed", None),
        (_value(waited_ms=12), "disturbed", "waited 12 ms for its CPU (2 preemptions)"),
        (_value(waited_ms=12, others_ms=30), "unknown", "perhaps for its own threads"),
        (_value(waited_ms=None), "unknown", "does not report"),
        (_value(rest_ms=3), "disturbed", "interrupts or the hypervisor took 3 ms"),
        (_value(rest_ms=3, sleeps=4), "unknown", "slept 4 times, or was interrupted, for 3 ms"),
        (_value(others_ms=30), "unknown", "other threads and processes"),
        (_value(length_ms=1), "unknown", "too short"),
    ],
)
def test_a_value_is_judged_by_its_waits_and_unexplained_time(
    value: MeasuredValue, outcome: str, words: str | None
) -> None:
    verdict = judge_value(value)
    assert verdict.outcome == outcome
    assert (words or "") in (verdict.reason or "")
    assert (words is None) == (verdict.reason is None)


@pytest.mark.parametrize(
    ("around", "outcome"),
    [
        (_around(), "undisturbed"),
        (_around(interrupted_ms=8), "disturbed"),
        (_around(steal_ms=10), "unknown"),  # one step of the counter: most of it may have been before
        (_around(steal_ms=30), "disturbed"),
        (_around(busy_ms_by_sibling={3: 400}), "disturbed"),
        (_around(busy_ms_by_sibling={3: 10}), "unknown"),
        (_around(unknowns=("not pinned",)), "unknown"),
    ],
)
def test_values_are_as_disturbed_as_the_cpu_around_them(around: ValuesAround, outcome: str) -> None:
    assert judge_values([_value()], around).outcome == outcome


def test_one_disturbed_value_disturbs_all_values_and_is_named() -> None:
    verdict = judge_values([_value(1), _value(2, waited_ms=20), _value(3)], _around(unknowns=("no siblings",)))
    assert verdict.outcome == RunOutcome.DISTURBED
    assert [value.outcome for value in verdict.values] == ["undisturbed", "disturbed", "undisturbed"]
    assert verdict.reasons == ("value 2: waited 20 ms for its CPU (2 preemptions)", "no siblings")


def test_without_values_the_outcome_is_unknown() -> None:
    assert judge_values([], _around()).outcome == RunOutcome.UNKNOWN
