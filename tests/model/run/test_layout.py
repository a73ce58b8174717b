"""Layouts that a series draws, and the analysis of their effect on made-up times."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from noisewatch.model.run.layout import LayoutEffect, draw_layout, draw_turns, layout_effect
from noisewatch.model.run.series import statistics_of
from tests.model.run.noises import NOISES, Noise, normal

_LAYOUTS, _WITHIN = 25, 0.01  # the deviation of the noises


def made_up_effect(rng: np.random.Generator, noise: Noise, layouts: int, between: float, seed: int) -> LayoutEffect:
    """Return the effect in a series in the drawn order, in which layouts deviate by a standard deviation `between`."""
    times_by_layout: dict[int, list[float]] = defaultdict(list)
    deviations = between * rng.standard_normal(layouts)
    for turn, time in zip(draw_turns(layouts, 0, seed), noise(rng, 2 * layouts), strict=True):
        times_by_layout[turn.layout].append(float(time + deviations[turn.layout]))
    return layout_effect([(first, second) for first, second in times_by_layout.values()])


def _shown_share(noise: Noise, between: float, series: int = 400) -> float:
    rng = np.random.default_rng(7)
    effects = [made_up_effect(rng, noise, _LAYOUTS, between, seed) for seed in range(series)]
    return sum(effect.is_shown is True for effect in effects) / series


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_layouts_without_an_effect_are_rarely_blamed(noise: Noise) -> None:
    """The noise may drift, and neighbours may be alike; the limit is three standard errors above 5%."""
    assert _shown_share(noise, between=0) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_smallest_effect_is_shown_with_its_power() -> None:
    rng = np.random.default_rng(8)
    smallest = made_up_effect(rng, normal, 2000, 0, 1)
    assert smallest.smallest_shown == pytest.approx(0.0025, rel=0.2)
    of_series = [made_up_effect(rng, normal, _LAYOUTS, 0, seed).smallest_shown or 0 for seed in range(50)]
    assert 0.7 < _shown_share(normal, between=float(np.mean(of_series))) < 0.9


def test_known_deviations_are_recovered() -> None:
    effect = made_up_effect(np.random.default_rng(9), normal, 2000, 0.016, 3)
    assert effect.is_shown
    assert effect.between == pytest.approx(0.016, rel=0.1)
    assert effect.within == pytest.approx(_WITHIN, rel=0.1)


def test_example_of_the_analysis_by_hand() -> None:
    """The mean squares are 2 * 2 / 2 = 2 between and 6 / 3 / 2 = 1 within; F is 2 with 2 and 3 degrees of freedom."""
    half = math.sqrt(0.5)
    effect = layout_effect([(8 - half, 8 + half), (10 - half, 10 + half), (9 - half, 9 + half)])
    assert effect.within == pytest.approx(1 / 9)
    assert effect.between == pytest.approx(math.sqrt(0.5) / 9)
    assert effect.probability == pytest.approx(3**1.5 / (3 + 2 * 2) ** 1.5, abs=1e-9)
    assert effect.is_shown is False
    least, usual = (1.5 * (share ** (-2 / 3) - 1) for share in (0.05, 0.8))  # inverse of F's upper tail
    assert effect.smallest_shown == pytest.approx(math.sqrt((least / usual - 1) / 2) / 9, rel=1e-6)


@pytest.mark.parametrize("times", [[], [(1.0, 2.0)], [(1.0, 2.0)] * 2])
def test_too_few_layouts_show_nothing(times: list[tuple[float, float]]) -> None:
    assert layout_effect(times) == LayoutEffect(len(times), None, None, None, None)
    assert layout_effect(times).is_shown is None


def test_equal_times_are_no_error() -> None:
    assert layout_effect([(1.0, 1.0)] * 3).is_shown is False
    assert layout_effect([(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]).is_shown is True


def test_turns_give_each_layout_both_orders_and_are_drawn_by_the_seed() -> None:
    turns = draw_turns(50, 2, seed=5)
    assert turns == draw_turns(50, 2, seed=5) != draw_turns(50, 2, seed=6)
    assert Counter(turns) == {(layout, is_first): 1 for layout in range(52) for is_first in (True, False)}
    assert [turn.layout for turn in turns[100:]] == [50, 50, 51, 51]
    neighbours = sum(turns[at].layout == turns[at + 1].layout for at in range(99))
    assert neighbours < 10


def test_layouts_are_drawn_by_the_seed_and_differ() -> None:
    layouts = [draw_layout(5, number, "./bench") for number in range(500)]
    assert layouts == [draw_layout(5, number, "./bench") for number in range(500)]
    assert layouts != [draw_layout(6, number, "./bench") for number in range(500)]
    sizes = [layout.environment_bytes for layout in layouts]
    assert 0 <= min(sizes) < 100
    assert 4000 < max(sizes) <= 4096
    assert {layout.argv0_bytes for layout in layouts} == set(range(0, 66, 2))
    assert all(len(layout.variable) == len("NOISEWATCH_LAYOUT=") + layout.environment_bytes for layout in layouts)


@pytest.mark.parametrize(
    ("argv0", "padded"),
    [
        ("./bench", "././././bench"),
        ("/bench", "/./././bench"),
        ("/opt/b/bench", "/opt/b/./././bench"),
        ("b/\udcff", "b/./././\udcff"),
        ("bench", "bench"),
        ("", ""),
    ],
)
def test_argv0_grows_behind_its_last_slash(argv0: str, padded: str) -> None:
    layouts = [draw_layout(5, number, argv0) for number in range(500)]
    assert (padded == argv0) == (not any(layout.argv0_bytes for layout in layouts))
    assert padded in [layout.padded(argv0) for layout in layouts]
    assert all(len(layout.padded(argv0)) - len(argv0) == layout.argv0_bytes for layout in layouts)


def test_argv0_stays_shorter_than_the_longest_path() -> None:
    argv0 = "d/" * 2040 + "bench"
    assert {draw_layout(5, number, "d/" * 2100 + "bench").argv0_bytes for number in range(50)} == {0}
    long = "ü/" * 1360 + "bench"
    assert max(len(draw_layout(5, number, long).padded(long).encode()) for number in range(500)) == 4095
    assert {len(draw_layout(5, number, argv0).padded(argv0)) for number in range(500)} == set(range(4085, 4096, 2))


def test_runs_of_one_layout_do_not_narrow_the_interval() -> None:
    times = [1.0, 1.2, 1.1, 1.4]
    alone, shared = statistics_of(times), statistics_of([*times, *times], [0, 1, 2, 3, 0, 1, 2, 3])
    assert shared.mean_interval_s == pytest.approx(alone.mean_interval_s)
    assert statistics_of(times, [4, 5, 6, 7]) == alone
    wider, narrower = shared.cv_interval, statistics_of([*times, *times]).cv_interval
    assert wider is not None
    assert narrower is not None
    assert wider.high > narrower.high


def test_single_layout_has_no_interval() -> None:
    series = statistics_of([1.0, 1.2], [3, 3])
    assert (series.mean_interval_s, series.cv_interval) == (None, None)
    assert series.sd_s


@pytest.mark.parametrize("between", [0.0, 0.03])
def test_interval_contains_the_mean_in_95_of_100_series(between: float) -> None:
    rng, contained = np.random.default_rng(11), 0
    for seed in range(500):
        turns = draw_turns(_LAYOUTS, 0, seed)
        deviations = between * rng.standard_normal(_LAYOUTS)
        layouts = [turn.layout for turn in turns]
        interval = statistics_of((normal(rng, 2 * _LAYOUTS) + deviations[layouts]).tolist(), layouts).mean_interval_s
        assert interval is not None
        contained += interval.low <= 1 <= interval.high
    assert contained / 500 > 0.92
