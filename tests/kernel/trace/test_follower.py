"""One command after the other, followed in pages as the kernel writes them. CPU 1 is traced."""

from __future__ import annotations

import os

from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kinds import Kind
from tests.kernel.trace.followed import BEFORE, CHILD, COMMAND, HOG, US, born, followed_trace, own_us, times_of_others
from tests.kernel.trace.ring_buffer import record, switch


def test_the_command_and_its_child_are_own_and_another_thread_is_not() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)), (200, born(CHILD, COMMAND)))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (220, switch("child", CHILD, COMMAND)),
            (320, switch("hog", HOG, CHILD)),
            (400, switch("run", COMMAND, HOG)),
            (900, switch("idle", 0, COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert (own_us(window), times_of_others(window)) == (120 + 100 + 500, {"hog": 80})
    assert isinstance(window, TraceWindow)
    told = {thread.name: (thread.tid, thread.ran_ns // US, thread.moves) for thread in window.threads}
    assert told == {"run": (COMMAND, 620, {}), "child": (CHILD, 100, {})}


def test_what_was_before_and_what_comes_after_the_command_is_not_in_it() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target(
            (20, switch("hog", HOG)),
            (150, switch("run", COMMAND, HOG)),
            (900, switch("hog", HOG, COMMAND)),
            (2000, switch("idle", 0, HOG)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert (own_us(window), times_of_others(window)) == (750, {"hog": 50 + 100})


def test_who_has_the_cpu_when_nothing_happens_any_more_has_it_to_the_end() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (300, switch("hog", HOG, COMMAND)))
        followed.begin(100)
        assert times_of_others(followed.end(1000)) == {"hog": 700}
        followed.on_others((2000, born(COMMAND, BEFORE)))
        followed.on_target((2500, switch("run", COMMAND, HOG)), (2900, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        window = followed.end(3000)
    assert (own_us(window), times_of_others(window)) == (400, {"hog": 400})


def test_looks_on_the_way_change_nothing() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("hog", HOG)), (200, switch("run", COMMAND, HOG)))
        followed.begin(100)
        followed.follower.look()
        followed.on_others((300, born(CHILD, COMMAND)))
        followed.on_target((400, switch("hog", HOG, COMMAND)), (450, switch("child", CHILD, HOG)))
        followed.follower.look()
        followed.on_target((800, switch("idle", 0, CHILD)))
        window = followed.end(1000)
    assert (own_us(window), times_of_others(window)) == (200 + 350, {"hog": 150})


def test_events_that_were_lost_make_it_unknown_until_the_next_command() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)))
        followed.on_target((500, switch("run", COMMAND)), is_after_loss=True)
        followed.begin(100)
        assert "CPU 1 were lost" in str(followed.end(1000))
        followed.on_others((2000, born(COMMAND, BEFORE)))
        followed.on_target((2500, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert own_us(followed.end(3000)) == 400


def test_births_that_were_lost_make_it_unknown_until_the_next_command() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_others((500, born(CHILD, COMMAND)), is_after_loss=True)
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: parent processes are unknown"
        followed.on_others((2000, born(COMMAND, BEFORE)))
        followed.on_target((3000, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert own_us(followed.end(3000)) == 900


def test_a_page_of_births_that_makes_no_sense_is_a_loss() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.buffers.started.written[1] = [b"rubbish"]
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: parent processes are unknown"


def test_of_a_cpu_on_which_nothing_was_seen_yet_nothing_is_known() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.begin(100)
        assert "there was none yet" in str(followed.end(1000))


def test_a_trace_that_does_not_show_the_command_is_not_believed() -> None:
    """Another process may have switched the trace off."""
    with followed_trace() as followed:
        followed.on_target((20, switch("idle", 0, HOG)))
        followed.begin(100)
        assert followed.end(1000) == "the command's start is missing in the trace"
        followed.on_others((2000, born(COMMAND, BEFORE)))
        followed.begin(2100)
        assert followed.end(3000) == "the command's start is missing in the trace"


def test_a_call_that_the_command_sent_is_its_own() -> None:
    call = "irq_vectors/call_function_single"
    with followed_trace() as followed:
        followed.on_others(
            (10, born(COMMAND, BEFORE)),
            (20, born(CHILD, COMMAND)),
            (300, record("csd/csd_queue_cpu", CHILD, cpu=1, func=7)),
            (500, record("csd/csd_queue_cpu", HOG, cpu=1, func=7)),
        )
        followed.on_target(
            (30, switch("run", COMMAND)),
            (310, record(f"{call}_entry", COMMAND)),
            (320, record(f"{call}_exit", COMMAND)),
            (510, record(f"{call}_entry", COMMAND)),
            (530, record(f"{call}_exit", COMMAND)),
            (900, switch("idle", 0, COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    calls = {(time.is_own, time.ns // US) for time in window.times if time.source.kind == Kind.IPI}
    assert calls == {(True, 10), (False, 20)}


def _in_doubt(first: int, second: int) -> tuple[int, list[tuple[int, int]]]:
    """Return what is in doubt (µs) if the trace missed a switch from `first` to `second`.

    The first value is the doubtful time of the command. The list has the times of threads, and their doubtful part.
    """
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (300, switch("first", first, COMMAND)),
            (500, switch("run", COMMAND, second)),
            (900, switch("idle", 0, COMMAND)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    return window.doubt_ns // US, [(time.ns // US, time.doubt_ns // US) for time in window.times]


def test_time_of_a_stranger_whose_begin_was_not_seen_may_have_been_idle_or_the_commands() -> None:
    assert _in_doubt(0, HOG) == (0, [(200, 200)])
    assert _in_doubt(COMMAND, HOG) == (0, [(200, 200)])
    assert _in_doubt(CHILD, HOG) == (0, [(200, 0)])  # whose it was of two strangers does not matter


def test_time_of_the_command_whose_begin_was_not_seen_may_have_been_a_strangers() -> None:
    assert _in_doubt(0, COMMAND) == (200, [])
    assert _in_doubt(HOG, COMMAND) == (200, [])
    assert _in_doubt(COMMAND, COMMAND) == (0, [])


def test_a_trace_that_was_switched_off_is_not_believed_until_it_tells_who_has_the_cpu() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (500, switch("hog", HOG, COMMAND)))
        followed.begin(100)
        followed.buffers.started.is_on = False
        assert followed.end(1000) == "the trace was switched off or changed during the command"
        followed.buffers.started.is_on = True
        followed.on_others((2000, born(COMMAND, BEFORE)))
        followed.on_target((2500, switch("run", COMMAND, HOG)), (2900, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert "CPU 1 were lost" in str(followed.end(3000))


def test_a_thread_of_the_command_that_is_gone_and_has_the_cpu_all_the_same_shows_that_events_are_missing() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert "CPU 1: a thread's end is missing in the trace" in str(followed.end(1000))


def test_what_the_command_has_left_running_may_have_the_cpu() -> None:
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)), (15, born(os.getpid(), COMMAND)))
        followed.on_target((20, switch("run", COMMAND)), (300, switch("left", os.getpid(), COMMAND)))
        followed.begin(100)
        assert own_us(followed.end(1000)) == 900


def test_moves_are_in_order_of_time_though_one_cpu_is_read_further_than_another() -> None:
    """The first look reads later events of CPU 1; the earlier events of CPU 2 come with the next look."""
    with followed_trace(1, 2) as followed:
        followed.on_others((10, born(COMMAND, BEFORE)))
        followed.on_target((20, switch("idle", 0)), cpu=2)
        followed.on_target(
            (20, switch("run", COMMAND)),
            (300, switch("idle", 0, COMMAND)),
            (600_000, switch("run", COMMAND)),
            (600_100, switch("idle", 0, COMMAND)),
        )
        followed.begin(100)
        followed.follower.look()
        followed.on_target((500_000, switch("run", COMMAND)), (500_100, switch("idle", 0, COMMAND)), cpu=2)
        window = followed.end(700_000)
    assert isinstance(window, TraceWindow), window
    (thread,) = window.threads
    assert thread.moves == {(1, 2): 1, (2, 1): 1}
