"""Threads of a trace that are a command's own."""

from __future__ import annotations

from itertools import permutations

import pytest

from noisewatch.kernel.trace.own_threads import MOST_THREADS, OwnPlaces, OwnStates, OwnThreads, StateTimes, TracedThread
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kernel.trace.sends import Birth
from tests.kernel.trace.followed import BEFORE, CHILD, COMMAND, HOG, US, birth, followed_trace, own_us, times_of_others
from tests.kernel.trace.ring_buffer import record, switch


def _own(*births: tuple[int, int, int]) -> OwnThreads:
    own = OwnThreads(100)
    own.add_births([Birth(*birth) for birth in births])
    return own


def test_descendants_of_the_command_are_its_own() -> None:
    own = _own((1, 100, 7), (5, 101, 100), (6, 102, 101), (7, 200, 7), (8, 201, 200))
    assert [own.is_own(tid, 10) for tid in (100, 101, 102, 200, 201, 7)] == [True, True, True, False, False, False]
    assert own.has_begun


def test_command_without_a_traced_birth_has_not_begun() -> None:
    assert not _own((5, 101, 100)).has_begun


def test_reused_number_belongs_to_each_thread_in_its_time() -> None:
    own = _own((1, 100, 7), (10, 300, 100), (20, 300, 7), (30, 300, 100))
    assert [own.is_own(300, at) for at in (5, 10, 15, 20, 29, 30, 40)] == [False, True, True, False, False, True, True]


def test_owner_of_a_number_is_remembered_until_the_next_look() -> None:
    own = _own((1, 100, 7), (10, 300, 100))
    own.add_births([])
    assert own.is_own(300, 11)
    own.add_births([Birth(20, 300, 7)])
    assert [own.is_own(300, at) for at in (15, 25)] == [True, False]
    own.add_births([])
    assert not own.is_own(300, 30)


def test_child_of_a_reused_number_belongs_to_its_last_thread() -> None:
    own = _own((1, 100, 7), (10, 300, 100), (20, 300, 7), (25, 301, 300))
    assert not own.is_own(301, 30)


_RUNS = [(9, "bench", 1, 0, 10), (9, "bench", 2, 20, 50), (9, "bench", 1, 60, 70), (8, "other", 2, 10, 20)]


def _by_tid(places: OwnPlaces) -> dict[int, TracedThread]:
    return {thread.tid: thread for thread in places.threads}


@pytest.mark.parametrize("runs", [*permutations(_RUNS)], ids=str)
def test_order_of_cpus_does_not_matter(runs: list[tuple[int, str, int, int, int]]) -> None:
    places = OwnPlaces()
    for run in runs:
        places.add(*run)
    places.settle(100)
    thread = _by_tid(places)[9]
    assert (thread.name, thread.ran_ns, thread.ns_by_cpu) == ("bench", 50, {1: 20, 2: 30})
    assert thread.moves == {(1, 2): 1, (2, 1): 1}
    assert _by_tid(places)[8] == TracedThread(8, "other", {2: 10}, {})


def test_move_waits_for_events_of_the_other_cpu() -> None:
    """The trace of CPU 1 is complete until 70, the trace of CPU 2 only until 15."""
    places = OwnPlaces()
    places.add(9, "bench", 1, 0, 10)
    places.add(9, "bench", 1, 60, 70)
    places.settle(15)
    places.add(9, "bench", 2, 20, 50)
    places.settle(100)
    assert _by_tid(places)[9].moves == {(1, 2): 1, (2, 1): 1}


def test_run_in_two_parts_is_not_a_move() -> None:
    places = OwnPlaces()
    places.add(9, "bench", 1, 0, 10)
    places.settle(10)
    places.add(9, "", 1, 10, 20)
    places.settle(20)
    assert _by_tid(places)[9] == TracedThread(9, "bench", {1: 20}, {})


def test_least_running_of_many_threads_are_summed() -> None:
    places = OwnPlaces()
    for tid in range(3 * MOST_THREADS):
        places.add(tid, "crowd", tid % 2, tid, tid + 1)
        places.settle(tid)
    places.add(0, "bench", 1, 10_000, 20_000)
    places.settle(20_000)
    assert len(places.threads) <= 2 * MOST_THREADS
    assert sum(thread.ran_ns for thread in places.threads) + places.other_ns == 3 * MOST_THREADS + 10_000
    assert max(_by_tid(places).values(), key=lambda thread: thread.ran_ns).tid == 0


def test_control_characters_are_removed_from_names() -> None:
    places = OwnPlaces()
    places.add(9, "\x1b[2Jbench", 1, 0, 10)
    (thread,) = places.threads
    assert "\x1b" not in thread.name


READY, PREEMPTED, SLEEPS, WAITS, STOPPED, TRACED, EXITED = 0, 0x100, 1, 2, 4, 8, 0x20


def _window(*events: tuple[int, bytes], looks: bool = False, end_us: int = 1000) -> TraceWindow:
    """Return the window of a command that began at 100 µs, and whose first process started a child at 200."""
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)), (200, birth(CHILD, COMMAND)))
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
def test_command_that_leaves_an_idle_cpu_is_held_back_or_blocked(
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


def test_time_of_other_threads_does_not_hold_the_command_back() -> None:
    window = _window(
        (300, switch("hog", HOG, COMMAND, state=READY)),
        (400, switch("idle", 0, HOG, state=SLEEPS)),
        (600, switch("hog", HOG)),
        (700, switch("run", COMMAND, HOG, state=SLEEPS)),
        (900, switch("idle", 0, COMMAND, state=SLEEPS)),
    )
    assert (_us(window.states), times_of_others(window)) == ((200, 0, 0), {"hog": 200})


def test_parent_is_not_blocked_while_its_child_runs() -> None:
    window = _window(
        (300, switch("child", CHILD, COMMAND, state=WAITS)),
        (600, switch("run", COMMAND, CHILD, state=SLEEPS)),
        (900, switch("idle", 0, COMMAND, state=SLEEPS)),
    )
    assert _us(window.states) == (0, 0, 0)


def test_command_is_held_back_until_the_end() -> None:
    assert _us(_window((300, switch("idle", 0, COMMAND, state=READY))).states) == (700, 0, 0)


def test_thread_that_continues_elsewhere_is_no_longer_held_back() -> None:
    states = OwnStates()
    states.run(9, 1, 0)
    states.leave(9, 1, 10, READY)
    states.mark_idle(1, 10)
    states.run(9, 2, 50)
    states.settle(100)
    assert states.times_until(100) == StateTimes(held_ns=40)


def test_simultaneous_stops_of_threads_count_once_and_up_to_the_end() -> None:
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


def test_command_ends_when_its_first_process_leaves_the_cpu_for_good() -> None:
    window = _window(
        (500, switch("child", CHILD, COMMAND, state=SLEEPS)),
        (600, switch("run", COMMAND, CHILD, state=EXITED)),
        (700, switch("hog", HOG, COMMAND, state=EXITED)),
    )
    assert window.end_doubt_ns == 0
    assert ((window.end_ns - window.begin_ns) // US, own_us(window), times_of_others(window)) == (600, 600, {})


def test_command_that_is_preempted_at_its_end_has_ended_before() -> None:
    """The kernel has reported the end to noisewatch; the command leaves its CPU for good only later."""
    window = _window(
        (600, switch("hog", HOG, COMMAND, state=READY)),
        (1200, switch("run", COMMAND, HOG)),
        (1205, switch("hog", HOG, COMMAND, state=EXITED)),
    )
    assert window.end_doubt_ns == 0
    assert ((window.end_ns - window.begin_ns) // US, own_us(window), times_of_others(window)) == (500, 500, {})


def test_end_of_a_preempted_command_may_be_traced_after_it_was_noticed() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (600, switch("hog", HOG, COMMAND, state=READY)))
        last = [(1200, switch("run", COMMAND, HOG)), (1205, switch("hog", HOG, COMMAND, state=EXITED))]
        followed.buffers.happened.later.append(lambda: followed.on_target(*last))
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    assert window.end_doubt_ns == 0
    assert ((window.end_ns - window.begin_ns) // US, times_of_others(window)) == (500, {})


def test_command_that_runs_until_it_is_reaped_ends_then() -> None:
    window = _window((1005, switch("hog", HOG, COMMAND, state=EXITED)))
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US, own_us(window)) == (0, 900, 900)


def test_end_of_a_command_that_left_the_traced_cpus_is_missing() -> None:
    window = _window((600, switch("migration", HOG, COMMAND, state=READY)), (610, switch("idle", 0, HOG)))
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US) == (None, 900)


def test_end_of_a_command_that_moved_after_its_preemption_is_the_preemption() -> None:
    """The command is preempted on CPU 2, and leaves CPU 1 for good after it was reaped."""
    with followed_trace(1, 2) as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (600, switch("hog", HOG, COMMAND, state=READY)), cpu=2)
        followed.on_target(
            (20, switch("idle", 0)), (1200, switch("run", COMMAND)), (1205, switch("idle", 0, COMMAND, state=EXITED))
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow), window
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US) == (0, 500)


def test_end_of_a_command_that_was_preempted_before_a_look_is_the_preemption() -> None:
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (600, switch("hog", HOG, COMMAND, state=READY)))
        followed.begin(100)
        followed.follower.look()
        followed.on_target((1200, switch("run", COMMAND, HOG)), (1205, switch("hog", HOG, COMMAND, state=EXITED)))
        window = followed.end(1000)
    assert isinstance(window, TraceWindow), window
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US) == (0, 500)


def test_end_of_a_command_that_continued_on_an_untraced_cpu_is_missing() -> None:
    """The command slept at 300 µs, so it must have run elsewhere before it was reaped."""
    window = _window(
        (300, switch("idle", 0, COMMAND, state=SLEEPS)),
        (1200, switch("run", COMMAND)),
        (1205, switch("idle", 0, COMMAND, state=EXITED)),
    )
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US) == (None, 900)


@pytest.mark.parametrize(
    ("other", "again_us", "end_us", "doubt_us"), [(CHILD, 900, 905, 300), (CHILD, 700, 2000, 0), (HOG, 900, 905, 0)]
)
def test_command_may_have_ended_before_its_child_preempted_it(
    other: int, again_us: int, end_us: int, doubt_us: int
) -> None:
    """An ended thread leaves its CPU for good within some microseconds of CPU time."""
    window = _window(
        (600, switch("other", other, COMMAND, state=READY)),
        (again_us, switch("run", COMMAND, other, state=SLEEPS)),
        (end_us, switch("idle", 0, COMMAND, state=EXITED)),
        end_us=2200,
    )
    assert window.end_doubt_ns == doubt_us * US
    assert (window.end_ns - window.begin_ns) // US == end_us - 100


def test_command_has_not_ended_while_a_thread_of_its_first_process_lives() -> None:
    with followed_trace() as followed:
        thread = record("task/task_newtask", COMMAND, pid=CHILD, clone_flags=0x10000)
        followed.on_others((10, birth(COMMAND, BEFORE)), (200, thread))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (300, switch("thread", CHILD, COMMAND, state=EXITED)),
            (800, switch("idle", 0, CHILD, state=EXITED)),
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    assert (window.end_ns - window.begin_ns) // US == 700


def test_first_thread_that_another_one_replaces_lives_on() -> None:
    """A thread that calls execve(2) replaces the first thread."""
    window = _window(
        (300, switch("idle", 0, COMMAND, state=EXITED)),
        (500, switch("run", COMMAND)),
        (900, switch("idle", 0, COMMAND, state=EXITED)),
    )
    assert (window.end_ns - window.begin_ns) // US == 800


def test_first_thread_that_another_one_replaces_on_another_cpu_lives_on() -> None:
    with followed_trace(1, 2) as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)))
        followed.on_target((20, switch("run", COMMAND)), (300, switch("idle", 0, COMMAND, state=EXITED)), cpu=2)
        followed.on_target(
            (20, switch("idle", 0)), (500, switch("run", COMMAND)), (800, switch("idle", 0, COMMAND, state=SLEEPS))
        )
        followed.begin(100)
        window = followed.end(1000)
    assert isinstance(window, TraceWindow), window
    assert (window.end_doubt_ns, (window.end_ns - window.begin_ns) // US) == (None, 900)


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize(("state", "stopped_us"), [(4, 300), (1, 0), (8, 0)])
def test_stopped_child_is_reported_even_between_looks(state: int, stopped_us: int, looks: bool) -> None:
    """Sleeps and stops by a debugger do not count as stops, nor do stops of other processes."""
    with followed_trace() as followed:
        followed.on_others((10, birth(COMMAND, BEFORE)), (200, birth(CHILD, COMMAND)))
        followed.on_target(
            (20, switch("run", COMMAND)),
            (220, switch("child", CHILD, COMMAND, state=1)),
            (320, switch("hog", HOG, CHILD, state=state)),
        )
        followed.begin(100)
        if looks:
            followed.follower.look()
        followed.on_target(
            (400, switch("idle", 0, HOG, state=4)),
            (620, switch("child", CHILD)),
            (700, switch("run", COMMAND, CHILD, state=16)),
            (900, switch("idle", 0, COMMAND)),
        )
        window = followed.end(1000)
    assert isinstance(window, TraceWindow)
    assert window.states.stopped_ns // US == stopped_us
