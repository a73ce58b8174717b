"""What a timer's interrupt is named after."""

from __future__ import annotations

from noisewatch.kernel.trace.events import chosen_function, is_tick_function, name_of_timer


def test_an_interrupt_is_named_after_what_came_beside_the_tick() -> None:
    assert chosen_function(("tick_nohz_handler", "perf_swevent_hrtimer")) == "perf_swevent_hrtimer"
    assert chosen_function(("tick_sched_timer",)) == "tick_sched_timer"
    assert chosen_function(()) is None


def test_the_tick_is_known_by_its_functions_of_old_and_new_kernels() -> None:
    assert [is_tick_function(name) for name in ("tick_sched_timer", "tick_nohz_handler", "hrtimer_wakeup")] == [
        True,
        True,
        False,
    ]


def test_a_function_has_a_meaning_where_it_is_known() -> None:
    assert name_of_timer("perf_swevent_hrtimer") == "perf_swevent_hrtimer (a profiler's)"
    assert name_of_timer("some_driver_timer") == "some_driver_timer"
