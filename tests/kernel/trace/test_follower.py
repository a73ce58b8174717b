"""Following one command after another in pages as the kernel writes them. CPU 1 is traced."""

from __future__ import annotations

import os

from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kinds import Kind
from tests.kernel.trace.followed import BEFORE, CHILD, COMMAND, HOG, US, birth, followed_trace, own_us, times_of_others
from tests.kernel.trace.ring_buffer import record, switch


def test_command_and_its_child_are_own_and_another_thread_is_not() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)), (200, birth(CHILD, COMMAND)))
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
    threads = {thread.name: (thread.tid, thread.ran_ns // US, thread.moves) for thread in window.threads}
    assert threads == {"run": (COMMAND, 620, {}), "child": (CHILD, 100, {})}


def test_time_before_and_after_the_command_is_not_in_its_window() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target(
            (20, switch("hog", HOG)),
            (150, switch("run", COMMAND, HOG)),
            (900, switch("hog", HOG, COMMAND)),
            (2000, switch("idle", 0, HOG)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert (own_us(window), times_of_others(window)) == (750, {"hog": 50 + 100})


def test_thread_that_runs_last_has_the_cpu_to_the_end() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (300, switch("hog", HOG, COMMAND)))
        followed.begin(100)
        assert times_of_others(followed.end(1000)) == {"hog": 700}
        followed.on_others((2000, birth(COMMAND, BEFORE)))
        followed.on_target((2500, switch("run", COMMAND, HOG)), (2900, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        window = followed.end(3000)
    assert (own_us(window), times_of_others(window)) == (400, {"hog": 400})


def test_looks_in_between_change_nothing() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("hog", HOG)), (200, switch("run", COMMAND, HOG)))
        followed.begin(100)
        followed.follower.look()
        followed.on_others((300, birth(CHILD, COMMAND)))
        followed.on_target((400, switch("hog", HOG, COMMAND)), (450, switch("child", CHILD, HOG)))
        followed.follower.look()
        followed.on_target((800, switch("idle", 0, CHILD)))
        window = followed.end(1000)
    assert (own_us(window), times_of_others(window)) == (200 + 350, {"hog": 150})


def test_lost_events_make_a_window_unknown_until_the_next_command() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)))
        followed.on_target((500, switch("run", COMMAND)), is_after_loss=True)
        followed.begin(100)
        assert "CPU 1 were lost" in str(followed.end(1000))
        followed.on_others((2000, birth(COMMAND, BEFORE)))
        followed.on_target((2500, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert own_us(followed.end(3000)) == 400


def test_lost_births_make_a_window_unknown_until_the_next_command() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_others((500, birth(CHILD, COMMAND)), is_after_loss=True)
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: parent processes are unknown"
        followed.on_others((2000, birth(COMMAND, BEFORE)))
        followed.on_target((3000, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert own_us(followed.end(3000)) == 900


def test_malformed_page_of_births_is_a_loss() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.buffers.started.written[1] = [b"rubbish"]
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert followed.end(1000) == "events were lost: parent processes are unknown"


def test_cpu_without_events_makes_a_window_unknown() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.begin(100)
        assert "there were none yet" in str(followed.end(1000))


def test_trace_without_the_command_is_rejected() -> None:
    """Another process may have switched the trace off."""
    with followed_trace() as followed:
        followed.on_target((20, switch("idle", 0, HOG)))
        followed.begin(100)
        assert followed.end(1000) == "the command's start is missing from the trace"
        followed.on_others((2000, birth(COMMAND, BEFORE)))
        followed.begin(2100)
        assert followed.end(3000) == "the command's start is missing from the trace"


def test_call_that_the_command_sent_is_its_own() -> None:
    call = "irq_vectors/call_function_single"
    with followed_trace() as followed:
        followed.on_others(
            (10, birth(COMMAND, BEFORE)),
            (20, birth(CHILD, COMMAND)),
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


def _doubtful_times(first: int, second: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the doubtful times (µs) if the trace missed a switch from `first` to `second`.

    The first value is the doubtful time of the command. The list has the time of other threads and its doubtful part.
    """
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
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


def test_time_of_another_thread_without_its_start_may_have_been_idle_or_the_commands() -> None:
    assert _doubtful_times(0, HOG) == (0, [(200, 200)])
    assert _doubtful_times(COMMAND, HOG) == (0, [(200, 200)])
    assert _doubtful_times(CHILD, HOG) == (0, [(200, 0)])  # it does not matter which of two other threads ran


def test_time_of_the_command_without_its_start_may_have_been_another_threads() -> None:
    assert _doubtful_times(0, COMMAND) == (200, [])
    assert _doubtful_times(HOG, COMMAND) == (200, [])
    assert _doubtful_times(COMMAND, COMMAND) == (0, [])


def test_trace_that_was_switched_off_is_rejected_until_it_shows_the_running_thread() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (500, switch("hog", HOG, COMMAND)))
        followed.begin(100)
        followed.buffers.started.is_on = False
        assert followed.end(1000) == "the trace was switched off or changed during the command"
        followed.buffers.started.is_on = True
        followed.on_others((2000, birth(COMMAND, BEFORE)))
        followed.on_target((2500, switch("run", COMMAND, HOG)), (2900, switch("idle", 0, COMMAND)))
        followed.begin(2100)
        assert "CPU 1 were lost" in str(followed.end(3000))


def test_ended_thread_of_the_command_that_still_has_the_cpu_shows_that_events_are_missing() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        assert "CPU 1: a thread's end is missing from the trace" in str(followed.end(1000))


def test_process_that_the_command_left_running_may_have_the_cpu() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)), (15, birth(os.getpid(), COMMAND)))
        followed.on_target((20, switch("run", COMMAND)), (300, switch("left", os.getpid(), COMMAND)))
        followed.begin(100)
        assert own_us(followed.end(1000)) == 900


def test_moves_are_in_order_of_time_if_one_cpu_is_read_further_than_another() -> None:
    """The first look reads later events of CPU 1; the earlier events of CPU 2 come with the next look."""
    with followed_trace(1, 2) as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
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
