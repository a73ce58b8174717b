"""Thinning of a long history: the newest entries are kept, older ones evenly over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from noisewatch.model.history.thinning import Thinning

_MINUTE_S, _DAY_S = 60, 86_400


def _kept_numbers(times: Sequence[float], facts: Sequence[object] | None = None, accepted: int = 0) -> list[int]:
    """Return the numbers of the kept entries, the oldest first."""
    thinning: Thinning[int] = Thinning()
    for number in reversed(range(len(times))):
        fact = facts[number] if facts is not None else None
        thinning.add("series", times[number], fact, number, is_usual=number >= accepted)
    return sorted(thinning.kept)


def _every(seconds: float, count: int) -> list[float]:
    return [1.79e9 + seconds * number for number in range(count)]


def test_up_to_200_entries_are_all_kept() -> None:
    for seconds in (1, 600, 7 * _DAY_S):
        assert _kept_numbers(_every(seconds, 200)) == list(range(200))


def test_newest_40_entries_are_kept_and_older_ones_evenly_back_to_the_first() -> None:
    kept = _kept_numbers(_every(10 * _MINUTE_S, 4 * 7 * 144))
    assert kept[-40:] == list(range(4032 - 40, 4032))
    *_, last = older = kept[:-40]
    assert 80 <= len(older) <= 160
    distances = [later - earlier for earlier, later in pairwise(older)]
    assert older[0] == 0
    assert max(distances[1:-1]) <= min(distances[1:-1]) + 1
    assert 4032 - 40 - last <= max(distances)


def test_kept_entry_stays_until_stretches_get_longer() -> None:
    times = _every(10 * _MINUTE_S, 3000)
    before, after = set(_kept_numbers(times[:2950])[:-40]), set(_kept_numbers(times)[:-40])
    assert before < after


def test_first_entry_with_other_facts_is_kept() -> None:
    for changed in (700, 701, 702, 1500):
        facts = ["old"] * changed + ["new"] * (2000 - changed)
        assert changed in _kept_numbers(_every(10 * _MINUTE_S, 2000), facts)


def test_constantly_changing_facts_leave_the_thinning_even() -> None:
    older = _kept_numbers(_every(10 * _MINUTE_S, 4000), [number % 2 for number in range(4000)])[:-40]
    assert 80 <= len(older) <= 160
    assert sum(number < 2000 for number in older) >= 40


@pytest.mark.parametrize("strange", [0.0, -5.0, 1e15, 1e308])
def test_wrong_clock_of_some_entries_costs_no_other_entries(strange: float) -> None:
    times = _every(10 * _MINUTE_S, 4000)
    times[::500] = [strange] * len(times[::500])
    older = _kept_numbers(times)[:-40]
    assert len(older) <= 160
    assert sum(number < 2000 for number in older) >= 30


def test_of_entries_before_the_acceptance_only_the_newest_are_kept() -> None:
    assert _kept_numbers(_every(600, 300), accepted=280) == list(range(260, 300))
    assert _kept_numbers(_every(600, 300), accepted=200) == list(range(200, 300))


def test_each_series_is_thinned_separately_and_only_the_newest_series_are_kept() -> None:
    thinning: Thinning[tuple[int, int]] = Thinning()
    for number in range(100):
        for series in range(20):
            thinning.add(series, number, None, (series, number))
    assert {series for series, _ in thinning.kept} == set(range(16))
    assert len(thinning.kept) == 1600
