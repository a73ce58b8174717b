"""What counts as found, and of how many trials."""

from __future__ import annotations

import pytest

from tests.benchmark.run_power import UNDISTURBED, PowerTrial, answer_in, shares_of


def test_a_trial_without_a_result_has_not_found_what_was_there() -> None:
    found, missed = PowerTrial(0.01, 0.02, True, False), PowerTrial(0.03, 0.06, False, True)
    trials = [found, missed, PowerTrial(0.02, 0.04, None, None), PowerTrial(None)]
    stated, power, alarms = shares_of(trials)
    assert "stated 3 of 4" in stated
    assert "median 2.00%" in stated
    assert "found 1 of 3" in power
    assert power.endswith("no result in 1")
    assert "false alarms 1 of 2" in alarms
    assert alarms.endswith("no result in 1")


def test_of_no_trials_nothing_is_claimed() -> None:
    assert all("0 of 0" in line for line in shares_of([]))


@pytest.mark.parametrize(
    ("key", "is_refused", "answer"), [(UNDISTURBED, False, 1), (UNDISTURBED, True, None), ("all", True, 1)]
)
def test_a_difference_that_noisewatch_refuses_is_no_answer(key: str, is_refused: bool, answer: int | None) -> None:
    assert answer_in({key: {"share": 1}, "is_difference_refused": is_refused}, key, "share") == answer
    assert answer_in({key: None, "is_difference_refused": is_refused}, key, "share") is None
