"""The statistics of all runs and of the undisturbed ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.run.series import select_by_cause, statistics_of


def test_both_statistics_are_told_and_the_undisturbed_one_leads() -> None:
    found = select_by_cause([1.0, 1.1, 5.0, 1.2, 1.3], [True, True, False, True, True], 0.8)
    assert found.of_all == statistics_of([1.0, 1.1, 5.0, 1.2, 1.3])
    assert found.of_undisturbed == statistics_of([1.0, 1.1, 1.2, 1.3])
    assert (found.undisturbed, found.disturbed, found.unknown, found.is_refused) == (4, 1, 0, False)
    assert found.headline == found.of_undisturbed


def test_a_slow_run_that_nothing_disturbed_stays() -> None:
    found = select_by_cause([1.0, 9.0], [True, True], 1.0)
    assert found.headline == found.of_all


def test_too_few_undisturbed_runs_are_refused_but_told() -> None:
    found = select_by_cause([1.0, 1.1, 1.2, 1.3], [True, True, True, False], 0.8)
    assert (found.is_refused, found.headline) == (True, None)
    assert found.of_undisturbed == statistics_of([1.0, 1.1, 1.2])


def test_unknown_is_not_undisturbed() -> None:
    found = select_by_cause([1.0, 1.1, 1.2, 1.3, 1.4], [True, None, None, True, True], 0.8)
    assert (found.undisturbed, found.disturbed, found.unknown, found.is_refused) == (3, 0, 2, True)


@pytest.mark.parametrize("min_undisturbed", [0.0, 0.5])
def test_without_an_undisturbed_run_nothing_leads(min_undisturbed: float) -> None:
    found = select_by_cause([1.0, 2.0], [False, None], min_undisturbed)
    assert (found.of_undisturbed, found.headline, found.is_refused) == (None, None, True)


@given(st.integers(1, 100), st.integers(1, 100))
def test_exactly_the_share_that_was_asked_for_is_enough(percent: int, runs: int) -> None:
    kept = -(-percent * runs // 100)
    enough = select_by_cause([1.0] * runs, [at < kept for at in range(runs)], percent / 100)
    assert not enough.is_refused
    assert select_by_cause([1.0] * runs, [at < kept - 1 for at in range(runs)], percent / 100).is_refused


def test_each_time_needs_its_verdict() -> None:
    with pytest.raises(ValueError, match="zip"):
        select_by_cause([1.0, 2.0], [True], 0.5)
