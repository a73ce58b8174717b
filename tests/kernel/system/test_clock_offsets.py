"""Clocks that are read one after the other."""

from __future__ import annotations

from noisewatch.kernel.system.clock import ahead_ns


def test_a_clock_that_was_read_later_because_of_an_interruption_is_not_taken_to_have_moved() -> None:
    monotonic = iter([1_000, 5_001_000, 6_000_000, 6_000_200])
    clock = iter([5_000_900 + 70, 6_000_100 + 70])
    assert ahead_ns(clock.__next__, monotonic.__next__) == 70


def test_the_try_that_was_interrupted_the_least_counts_where_all_were() -> None:
    times = [at for number in range(1, 11) for at in (number * 10**9, number * 10**9 + (11 - number) * 10**6)]
    clock = iter([number * 10**9 + (11 - number) * 10**6 // 2 + 7 * number for number in range(1, 11)])
    assert ahead_ns(clock.__next__, iter(times).__next__) == 70
