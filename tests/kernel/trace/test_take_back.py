"""What is known at the end, given the time that it had."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.kernel.trace.timeline import take_back

_THREAD, _OTHER, _IRQ, _NMI = 1, 2, 3, 4


def _taken(pieces: list[int], ns: int, end_ns: int, since_ns: int = 0, giver: int = _THREAD) -> tuple[int, list[int]]:
    left = list(pieces)
    return take_back(left, _IRQ, ns, end_ns, giver, since_ns), left


def test_the_time_right_before_the_end_is_taken_from_the_thread() -> None:
    assert _taken([0, 100, _THREAD], 30, 100) == (30, [0, 70, _THREAD, 70, 100, _IRQ])
    assert _taken([0, 100, _THREAD], 100, 100) == (100, [0, 100, _IRQ])


def test_what_interrupted_it_in_turn_keeps_its_own() -> None:
    pieces = [0, 80, _THREAD, 80, 90, _NMI, 90, 100, _THREAD]
    assert _taken(pieces, 30, 100) == (30, [0, 60, _THREAD, 60, 80, _IRQ, 80, 90, _NMI, 90, 100, _IRQ])


def test_idleness_is_taken_first() -> None:
    assert _taken([0, 50, _NMI], 30, 100) == (30, [0, 50, _NMI, 70, 100, _IRQ])
    assert _taken([], 30, 100) == (30, [70, 100, _IRQ])


def test_nothing_is_taken_from_before_the_thread_had_the_cpu() -> None:
    assert _taken([0, 50, _OTHER, 50, 100, _THREAD], 70, 100, since_ns=50) == (50, [0, 50, _OTHER, 50, 100, _IRQ])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20), st.integers(1, 4))),
    st.integers(0, 300),
    st.integers(0, 99),
)
def test_no_time_is_had_twice_and_none_is_lost(steps: list[tuple[int, int, int]], ns: int, since_ns: int) -> None:
    pieces: list[int] = []
    at = 0
    for idle, length, number in steps:
        pieces += (at + idle, at + idle + length, number)
        at += idle + length
    taken, left = _taken(pieces, ns, at, since_ns)
    starts, ends, numbers = left[::3], left[1::3], left[2::3]
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))

    def had(by: int, pieces: list[int]) -> int:
        columns = zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
        return sum(end - start for start, end, number in columns if number == by)

    assert had(_IRQ, left) == had(_IRQ, pieces) + taken
    assert taken <= ns
    assert [had(by, left) for by in (_OTHER, _NMI)] == [had(by, pieces) for by in (_OTHER, _NMI)]
    assert numbers.count(_IRQ) >= (1 if taken else 0)
