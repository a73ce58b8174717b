"""Slewing of the clock."""

from __future__ import annotations

import pytest

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.system.clock import QUESTION, ahead_ns, clock_rate_of, read_clock_rate
from noisewatch.machine import Json
from noisewatch.machine.live import LiveMachine
from tests.written import reading


@pytest.mark.parametrize(
    ("tick", "freq", "ppm"), [(10_000, 0, 0.0), (10_001, 0, 100.0), (9_999, 65_536, -99.0), (10_000, -32_768, -0.5)]
)
def test_deviation_is_the_sum_of_tick_and_frequency(tick: int, freq: int, ppm: float) -> None:
    rate = clock_rate_of({"status": 0x40, "tick": tick, "freq": freq})
    assert rate is not None
    assert rate.deviation_ppm == pytest.approx(ppm)
    assert not rate.is_synchronised


def test_clock_is_synchronised_without_the_flag() -> None:
    rate = clock_rate_of({"status": 0x2001, "tick": 10_000, "freq": 0})
    assert rate is not None
    assert rate.is_synchronised


@pytest.mark.parametrize("answer", [None, [], {}, {"status": 0, "tick": 10_000}, {"status": 0, "tick": "1", "freq": 0}])
def test_malformed_answer_is_unknown(answer: Json) -> None:
    assert clock_rate_of(answer) is None


def test_refused_question_is_unknown() -> None:
    reader = reading({})
    assert read_clock_rate(reader) is None
    assert QUESTION in reader.reason_by_path


def test_this_host_answers_with_a_possible_rate_or_refuses() -> None:
    reader = Reader(LiveMachine())
    rate = read_clock_rate(reader)
    assert (rate is None) == (QUESTION in reader.reason_by_path)
    assert rate is None or abs(rate.deviation_ppm) <= 100_500


def test_interrupted_reading_of_a_clock_is_repeated() -> None:
    monotonic = iter([1_000, 5_001_000, 6_000_000, 6_000_200])
    clock = iter([5_000_900 + 70, 6_000_100 + 70])
    assert ahead_ns(clock.__next__, monotonic.__next__) == 70


def test_least_interrupted_reading_counts_if_all_were_interrupted() -> None:
    times = [at for number in range(1, 11) for at in (number * 10**9, number * 10**9 + (11 - number) * 10**6)]
    clock = iter([number * 10**9 + (11 - number) * 10**6 // 2 + 7 * number for number in range(1, 11)])
    assert ahead_ns(clock.__next__, iter(times).__next__) == 70
