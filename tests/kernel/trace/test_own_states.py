"""For how long threads of a command were kept from running, by the states in which they left their CPU."""

from __future__ import annotations

import pytest

from noisewatch.kernel.trace.own_threads import OwnStates, StateTimes
from noisewatch.kernel.trace.runs import TraceWindow
from tests.kernel.trace.followed import BEFORE, CHILD, COMMAND, HOG, US, born, followed_trace, own_us, times_of_others
from tests.kernel.trace.ring_buffer import record, switch

READY, PREEMPTED, SLEEPS, WAITS, STOPPED, TRACED, ENDED = 0, 0x100, 1, 2, 4, 8, 0x20


def _window(*events: tuple[int, bytes], looks: bool = False, end_us: int = 1000) -> TraceWindow:
    """The command began at 100 µs, and its first process started a child at 200."""
    with followed_trace() as followed:
        followed.on_others((10, born(COMMAND, BEFORE)), (200, born(CHILD, COMMAND)))
        followed.on_target((20, switch("run", COMMAND)))
        followed.begin(100)
        for event in events:
            followed.on_target(event)
            if looks:
                followed.follower.look()
        window = followed.end(end_us)
    assert isinstance(window, TraceWindow), window
    return window


def _us(states: StateTimes) -> tuple[int, int, int]:
    return states.held_ns // US, states.blocked_ns // US, states.stopped_ns // US


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize(
    ("state", "held_us", "blocked_us"),
    [(READY, 300, 0), (PREEMPTED, 300, 0), (SLEEPS, 0, 0), (WAITS, 0, 300), (TRACED, 0, 300), (STOPPED, 0, 0)],
)
def test_a_command_that_leaves_an_idle_cpu_is_held_back_or_waits(
    state: int, held_us: int, blocked_us: int, looks: bool
) -> None:
    window = _window(
        (300, switch("idle", 0, COMMAND, state=state)),
        (600, switch("run", COMMAND)),
        (900, switch("idle", 0, COMMAND, state=SLEEPS)),
        looks=looks,
    )
    assert _us(window.states)[:2] == (held_us, blocked_us)
    assert window.states.debugged_ns == blocked_us * US * (state == TRACED)
    assert window.states.waits == (state == WAITS)


def test_what_others_had_while_it_was_ready_does_not_hold_it_back() -> None:
    window = _window(
        (300, switch("hog", HOG, COMMAND, state=READY)),
        (400, switch("idle", 0, HOG, state=SLEEPS)),
        (600, switch("hog", HOG)),
        (700, switch("run", COMMAND, HOG, state=SLEEPS)),
        (900, switch("idle", 0, COMMAND, state=SLEEPS)),
    )
    assert (_us(window.states), times_of_others(window)) == ((200, 0, 0), {"hog": 200})


def test_a_parent_that_waits_for_a_child_which_runs_or_sleeps_is_blocked_in_neither_case_while_it_runs() -> None:
    window = _window(
        (300, switch("child", CHILD, COMMAND, state=WAITS)),
        (600, switch("run", COMMAND, CHILD, state=SLEEPS)),
        (900, switch("idle", 0, COMMAND, state=SLEEPS)),
    )
    assert _us(window.states) == (0, 0, 0)


def test_it_is_held_back_until_the_end() -> None:
    assert _us(_window((300, switch("idle", 0, COMMAND, state=READY))).states) == (700, 0, 0)


def test_a_thread_that_goes_on_elsewhere_is_not_held_back_any_more() -> None:
    states = OwnStates()
    states.run(9, 1, 0)
    states.leave(9, 1, 10, READY)
    states.idle(1, 10)
    states.run(9, 2, 50)
    states.settle(100)
    assert states.times_until(100) == StateTimes(held_ns=40)


def test_stops_of_several_threads_at_a_time_count_once_and_up_to_the_end() -> None:
    states = OwnStates()
    for tid, begin_ns, stop_ns in ((8, 0, 10), (9, 10, 20)):
        states.run(tid, 1, begin_ns)
        states.leave(tid, 1, stop_ns, STOPPED)
    states.settle(30)
    states.run(8, 1, 40)
    states.leave(8, 1, 45, SLEEPS)
    states.run(9, 1, 50)
    states.leave(9, 1, 70, STOPPED)
    states.settle(100)
    assert states.times_until(100) == StateTimes(stopped_ns=40 + 30)


def test_it_ends_when_its_first_process_leaves_the_cpu_for_good_whoever_comes_then() -> None:
    window = _window(
        (500, switch("child", CHILD, COMMAND, state=SLEEPS)),
        (600, switch("run", COMMAND, CHILD, state=ENDED)),
        (700, switch("hog", HOG, COMMAND, state=ENDED)),
    )
    assert window.has_seen_end
    assert ((window.end_ns - window.begin_ns) // US, own_us(window), times_of_others(window)) == (600, 600, {})


def test_it_has_not_ended_while_a_thread_of_its_first_process_lives() -> None:
    with followed_trace() as followed:
        thread = record("task/task_newtask", COMMAND, pid=CHILD, clone_flags=0x10000)
        followed.on_others((10, born(COMMAND, BEFORE)), (200, thread))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (300, switch("thread", CHILD, COMMAND, state=ENDED)),
            (800, switch("idle", 0, CHILD, state=ENDED)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    assert (window.end_ns - window.begin_ns) // US == 700


def test_a_first_thread_whose_place_another_one_takes_lives_on() -> None:
    """A thread that calls execve(2) takes the place of the first thread."""
    window = _window(
        (300, switch("idle", 0, COMMAND, state=ENDED)),
        (500, switch("run", COMMAND)),
        (900, switch("idle", 0, COMMAND, state=ENDED)),
    )
    assert (window.end_ns - window.begin_ns) // US == 800
