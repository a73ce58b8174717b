"""Which times of a source are a rhythm, and how a rhythm is described."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from noisewatch.model.rhythm import Rhythm, rhythm_of, rhythm_of_intervals, steady_rate

_MS = 1_000_000
_TRACE_NS = 5_000 * _MS


def _rhythm(runs: list[tuple[int, int]], length_ns: int = _TRACE_NS) -> Rhythm | None:
    """Return the rhythm of runs, given as pairs of start and length."""
    assert all(start + length <= later for (start, length), (later, _) in pairwise(runs))
    return rhythm_of([start for start, _ in runs], [start + length for start, length in runs], length_ns)


def _regular_runs(period_ms: float, ms: float, length_ns: int = _TRACE_NS) -> list[tuple[int, int]]:
    count = int(length_ns / _MS / period_ms)
    return [(round((number + 0.3) * period_ms * _MS), round(ms * _MS)) for number in range(count)]


def test_sleeping_hog_is_described_by_its_rate_and_length() -> None:
    rhythm = _rhythm(_regular_runs(100, 5))
    assert rhythm == Rhythm(100 * _MS, 50, 5 * _MS, 5 * _MS, 5 * _MS)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, 5 ms each"


def test_ticks_within_a_disturbance_do_not_divide_it() -> None:
    tick_ns = 5_000
    runs = [
        (start + part * _MS + (tick_ns if part else 0), _MS - (tick_ns if part else 0))
        for start, _ in _regular_runs(100, 5)
        for part in range(5)
    ]
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert (rhythm.period_ns, rhythm.count, rhythm.usual_ns) == (100 * _MS, 50, 5 * _MS - 4 * tick_ns)


def test_delayed_starts_are_still_regular() -> None:
    chance = random.Random(1)
    rhythm = _rhythm([(start + chance.randrange(8 * _MS), length) for start, length in _regular_runs(100, 5)])
    assert rhythm is not None
    assert rhythm.text == "10 times a second, 5 ms each"


@pytest.mark.parametrize(
    ("period_ms", "ms", "length_s", "text"),
    [
        (1, 0.002, 5, "1,000 times a second, 2 µs each"),
        (4, 0.0024, 5, "250 times a second, 2.4 µs each"),
        (400, 1.5, 5, "2.5 times a second, 1.5 ms each"),
        (1_000, 20, 10, "every 1 s, 20 ms each"),
        (2_000, 20, 20, "every 2 s, 20 ms each"),
        (60_000, 1_200, 900, "every 60 s, 1.2 s each"),
    ],
)
def test_frequent_rhythm_has_a_rate_and_a_rare_one_a_period(
    period_ms: float, ms: float, length_s: int, text: str
) -> None:
    rhythm = _rhythm(_regular_runs(period_ms, ms, length_s * 1000 * _MS), length_s * 1000 * _MS)
    assert rhythm is not None
    assert rhythm.text == text


def test_different_lengths_are_a_range() -> None:
    runs = [(start, (1 + number % 10) * _MS) for number, (start, _) in enumerate(_regular_runs(100, 5))]
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, mostly 2 to 9 ms each"
    short = [(start, 50_000 if number % 2 else 2 * _MS) for number, (start, _) in enumerate(_regular_runs(100, 5))]
    rhythm = _rhythm(short)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, mostly 50 µs to 2 ms each"


def test_single_long_disturbance_does_not_change_the_usual_length() -> None:
    runs = _regular_runs(100, 5)
    runs[20] = (runs[20][0], 70 * _MS)
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, 5 ms each"


@pytest.mark.parametrize("count", range(5))
def test_few_disturbances_are_no_rhythm(count: int) -> None:
    assert _rhythm(_regular_runs(1_000, 5, count * 1_000 * _MS), count * 1_000 * _MS) is None


def test_five_disturbances_need_the_regularity_of_a_timer() -> None:
    five = _regular_runs(1_000, 5)
    assert len(five) == 5
    assert _rhythm(five) is not None
    assert _rhythm([*five[:2], (five[2][0] + 60 * _MS, 5 * _MS), *five[3:]]) is None


def test_burst_in_a_part_of_the_time_is_no_rhythm() -> None:
    """A burst is rejected although all but one of the times between its disturbances are alike."""
    burst = [(start + 100 * _MS, length) for start, length in _regular_runs(1, 0.01, 500 * _MS)]
    assert _rhythm(burst) is None
    later = [(start + 4_000 * _MS, length) for start, length in burst]
    assert _rhythm([*burst, *later]) is None


def test_rhythm_that_ended_before_the_trace_is_none() -> None:
    assert _rhythm(_regular_runs(100, 5, 3_000 * _MS)) is None


def test_missing_disturbances_are_irregular() -> None:
    assert _rhythm([run for number, run in enumerate(_regular_runs(100, 5)) if number % 4]) is None


def _random_runs(seconds: Callable[[random.Random], float], chance: random.Random) -> Iterator[tuple[int, int]]:
    at = round(seconds(chance) * 1_000 * _MS)
    while at < _TRACE_NS:
        length = 1 + round(chance.expovariate(1 / _MS))
        yield at, length
        at += length + 1 + round(seconds(chance) * 1_000 * _MS)


@pytest.mark.parametrize(
    "seconds",
    [
        lambda chance: chance.expovariate(1 / 0.1),
        lambda chance: chance.expovariate(1 / 0.5),
        lambda chance: chance.expovariate(1 / 0.7),
        lambda chance: chance.lognormvariate(0, 1) / 5,
        lambda chance: chance.paretovariate(1.5) / 10,
        lambda chance: chance.uniform(0.06, 0.14),
        lambda chance: chance.uniform(0, 1),
    ],
    ids=["often", "seldom", "hardly", "lognormal", "heavy tail", "within 40%", "uniform"],
)
def test_random_times_are_no_rhythm(seconds: Callable[[random.Random], float]) -> None:
    chance = random.Random(7)
    regular = [runs for _ in range(1_000) if _rhythm(runs := list(_random_runs(seconds, chance))) is not None]
    assert not regular


def _noise_every(period: int, count: int = 120) -> list[float | None]:
    return [120e6 if number % period == 3 else 20_000.0 for number in range(count)]


def test_noise_in_every_tenth_interval_is_a_rhythm() -> None:
    rhythm = rhythm_of_intervals(_noise_every(10), 1.0)
    assert rhythm is not None
    assert rhythm.text == "every 10 s, 120 ms each"


def test_period_between_two_numbers_of_intervals_is_their_mean() -> None:
    starts = {round(number * 7.5) for number in range(16)}
    rhythm = rhythm_of_intervals([30e6 if number in starts else 0.0 for number in range(120)], 2.0)
    assert rhythm is not None
    assert rhythm.text == "every 15 s, 60 ms each"


def test_disturbance_in_two_intervals_is_counted_once() -> None:
    noise = [200e6 if number % 10 in (3, 4) else 0.0 for number in range(120)]
    rhythm = rhythm_of_intervals(noise, 1.0)
    assert rhythm is not None
    assert rhythm.text == "every 10 s, 400 ms each"


@pytest.mark.parametrize(
    "noise",
    [
        [],
        [0.0] * 120,
        [5e6] * 120,
        [None, *_noise_every(10)],
        [*_noise_every(10, 60), *[0.0] * 60],
        [80e6 if number in (3, 9, 30, 41, 44, 70, 71, 99, 119) else 0.0 for number in range(120)],
    ],
    ids=["empty", "none", "always", "unknown", "ended", "irregular"],
)
def test_irregular_or_unknown_noise_of_intervals_is_no_rhythm(noise: list[float | None]) -> None:
    assert rhythm_of_intervals(noise, 1.0) is None


def test_like_counts_of_intervals_are_a_rate_whose_length_is_a_mean() -> None:
    rates = [10.0, 9.0, 11.0, 10.0, 10.0, 10.0, 9.0, 10.0, 11.0, 10.0, 10.0, 20.0]
    rate = steady_rate(rates, [5e6 * rate for rate in rates], 1.0)
    assert rate is not None
    assert (rate.count, rate.alike) == (12, 11)
    assert rate.text == "11 times a second, 5 ms each on average"


@pytest.mark.parametrize(
    "rates",
    [
        [10.0] * 9,
        [1.0] * 30,
        [10.0, 30.0] * 10,
        [10.0] * 8 + [20.0] * 4,
        [0.0] * 12,
    ],
    ids=["too few intervals", "too few runs", "in turn", "a new rate", "none"],
)
def test_unlike_counts_are_no_rate(rates: list[float]) -> None:
    assert steady_rate(rates, [5e6 * rate for rate in rates], 1.0) is None


def test_unlike_lengths_are_no_rate() -> None:
    assert steady_rate([10.0] * 20, [20e6, 80e6] * 10, 1.0) is None


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.3])
def test_noise_in_random_intervals_is_no_rhythm(share: float) -> None:
    chance = random.Random(7)
    intervals = [[100e6 if chance.random() < share else 0.0 for _ in range(120)] for _ in range(500)]
    assert [noise for noise in intervals if rhythm_of_intervals(noise, 1.0) is not None] == []


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_counts_of_random_times_are_no_steady_rate(share: float) -> None:
    """Random counts with a mean of 5 or 10 runs in each interval are seldom alike."""
    chance = random.Random(7)
    counts = [[sum(chance.random() < share for _ in range(100)) for _ in range(30)] for _ in range(300)]
    assert [rates for rates in counts if steady_rate([*map(float, rates)], [5e6 * rate for rate in rates], 1.0)] == []
