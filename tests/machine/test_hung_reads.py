"""When a read that hung is tried again: seldom, later each time, and never while it still hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from noisewatch.machine.live import AGAIN_AFTER, HungReads

_ENDED = threading.Thread()  # never started: not alive


@pytest.fixture
def hanging() -> Iterator[threading.Thread]:
    """A thread that hangs until the test is over."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield thread
    over.set()
    thread.join()


def test_what_never_hung_may_be_read() -> None:
    hung = HungReads()
    assert hung.may_try("/a", 0.0)
    assert "/a" not in hung


def test_it_is_tried_again_after_many_deadlines() -> None:
    hung = HungReads()
    hung.add("/a", _ENDED, 2.0, 100.0)
    assert not hung.may_try("/a", 100.0 + 2 * AGAIN_AFTER - 1)
    assert hung.may_try("/a", 100.0 + 2 * AGAIN_AFTER)
    assert hung.may_try("/b", 100.0)


def test_each_time_that_it_hangs_again_it_is_left_alone_for_longer_up_to_an_hour() -> None:
    hung, now_s, waits = HungReads(), 0.0, []
    for _ in range(9):
        hung.add("/a", _ENDED, 1.0, now_s)
        waits.append(next(wait_s for wait_s in range(10_000) if hung.may_try("/a", now_s + wait_s)))
        now_s += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_it_is_not_tried_while_a_thread_hangs_in_it(hanging: threading.Thread) -> None:
    hung = HungReads()
    hung.add("/a", hanging, 1.0, 0.0)
    assert not hung.may_try("/a", 1e9)
    assert hung.stuck == ["/a"]


def test_what_answered_may_be_read_and_starts_anew() -> None:
    hung = HungReads()
    hung.add("/a", _ENDED, 1.0, 0.0)
    hung.add("/a", _ENDED, 1.0, 60.0)
    hung.answered("/a")
    assert hung.may_try("/a", 60.0)
    hung.add("/a", _ENDED, 1.0, 60.0)
    assert hung.may_try("/a", 120.0)
    assert hung.stuck == []
