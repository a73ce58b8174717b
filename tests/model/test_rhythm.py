"""Which times of a source are a rhythm, and how a rhythm is described."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from noisewatch.model.rhythm import Rhythm, rhythm_of

_MS = 1_000_000
_TRACE_NS = 5_000 * _MS


def _rhythm(runs: list[tuple[int, int]], length_ns: int = _TRACE_NS) -> Rhythm | None:
    """Return the rhythm of runs, given as pairs of start and length."""
    assert all(start + length <= later for (start, length), (later, _) in pairwise(runs))
    return rhythm_of([start for start, _ in runs], [start + length for start, length in runs], length_ns)


def _each(period_ms: float, ms: float, length_ns: int = _TRACE_NS) -> list[tuple[int, int]]:
    count = int(length_ns / _MS / period_ms)
    return [(round((number + 0.3) * period_ms * _MS), round(ms * _MS)) for number in range(count)]


def test_sleeping_hog_is_described_by_its_rate_and_length() -> None:
    rhythm = _rhythm(_each(100, 5))
    assert rhythm == Rhythm(100 * _MS, 50, 5 * _MS, 5 * _MS, 5 * _MS)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, 5 ms each"


def test_ticks_within_a_disturbance_do_not_divide_it() -> None:
    tick_ns = 5_000
    runs = [
        (start + part * _MS + (tick_ns if part else 0), _MS - (tick_ns if part else 0))
        for start, _ in _each(100, 5)
        for part in range(5)
    ]
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert (rhythm.period_ns, rhythm.count, rhythm.usual_ns) == (100 * _MS, 50, 5 * _MS - 4 * tick_ns)


def test_delayed_starts_are_still_regular() -> None:
    chance = random.Random(1)
    rhythm = _rhythm([(start + chance.randrange(8 * _MS), length) for start, length in _each(100, 5)])
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
    rhythm = _rhythm(_each(period_ms, ms, length_s * 1000 * _MS), length_s * 1000 * _MS)
    assert rhythm is not None
    assert rhythm.text == text


def test_different_lengths_are_a_range() -> None:
    runs = [(start, (1 + number % 10) * _MS) for number, (start, _) in enumerate(_each(100, 5))]
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, mostly 2 to 9 ms each"
    short = [(start, 50_000 if number % 2 else 2 * _MS) for number, (start, _) in enumerate(_each(100, 5))]
    rhythm = _rhythm(short)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, mostly 50 µs to 2 ms each"


def test_single_long_disturbance_does_not_change_the_usual_length() -> None:
    runs = _each(100, 5)
    runs[20] = (runs[20][0], 70 * _MS)
    rhythm = _rhythm(runs)
    assert rhythm is not None
    assert rhythm.text == "10 times a second, 5 ms each"


@pytest.mark.parametrize("count", range(5))
def test_few_disturbances_are_no_rhythm(count: int) -> None:
    assert _rhythm(_each(1_000, 5, count * 1_000 * _MS), count * 1_000 * _MS) is None


def test_five_disturbances_need_the_regularity_of_a_timer() -> None:
    five = _each(1_000, 5)
    assert len(five) == 5
    assert _rhythm(five) is not None
    assert _rhythm([*five[:2], (five[2][0] + 60 * _MS, 5 * _MS), *five[3:]]) is None


def test_burst_in_a_part_of_the_time_is_no_rhythm() -> None:
    """Also if all but one of the times between its disturbances are alike."""
    burst = [(start + 100 * _MS, length) for start, length in _each(1, 0.01, 500 * _MS)]
    assert _rhythm(burst) is None
    later = [(start + 4_000 * _MS, length) for start, length in burst]
    assert _rhythm([*burst, *later]) is None


def test_rhythm_that_ended_before_the_trace_is_none() -> None:
    assert _rhythm(_each(100, 5, 3_000 * _MS)) is None


def test_missing_disturbances_are_irregular() -> None:
    assert _rhythm([run for number, run in enumerate(_each(100, 5)) if number % 4]) is None


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
