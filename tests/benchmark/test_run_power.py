"""Shares of detected differences and false alarms, by trials with a result."""

from __future__ import annotations

import pytest

from tests.benchmark.run_power import UNDISTURBED, PowerTrial, answer_in, shares_of


def test_a_trial_without_a_result_counts_as_a_missed_difference() -> None:
    hit, miss = PowerTrial(0.01, 0.02, True, False), PowerTrial(0.03, 0.06, False, True)
    trials = [hit, miss, PowerTrial(0.02, 0.04, None, None), PowerTrial(None)]
    stated, power, alarms = shares_of(trials)
    assert "stated 3 of 4" in stated
    assert "median 2.00%" in stated
    assert "found 1 of 3" in power
    assert power.endswith("no result in 1")
    assert "false alarms 1 of 2" in alarms
    assert alarms.endswith("no result in 1")


def test_shares_of_no_trials_are_0_of_0() -> None:
    assert all("0 of 0" in line for line in shares_of([]))


@pytest.mark.parametrize(
    ("key", "is_refused", "answer"), [(UNDISTURBED, False, 1), (UNDISTURBED, True, None), ("all", True, 1)]
)
def test_a_refused_difference_is_not_an_answer(key: str, is_refused: bool, answer: int | None) -> None:
    assert answer_in({key: {"share": 1}, "is_difference_refused": is_refused}, key, "share") == answer
    assert answer_in({key: None, "is_difference_refused": is_refused}, key, "share") is None
