"""Names of timer interrupts, and formats of events."""

from __future__ import annotations

from noisewatch.kernel.trace.events import (
    TraceField,
    chosen_function,
    is_tick_function,
    name_of_timer,
    parse_trace_format,
)
from tests.kernel.trace.ring_buffer import format_text


def test_interrupt_is_named_after_the_function_other_than_the_tick() -> None:
    assert chosen_function(("tick_nohz_handler", "perf_swevent_hrtimer")) == "perf_swevent_hrtimer"
    assert chosen_function(("tick_sched_timer",)) == "tick_sched_timer"
    assert chosen_function(()) is None


def test_tick_functions_of_old_and_new_kernels_are_recognized() -> None:
    assert [is_tick_function(name) for name in ("tick_sched_timer", "tick_nohz_handler", "hrtimer_wakeup")] == [
        True,
        True,
        False,
    ]


def test_known_function_has_an_explanation() -> None:
    assert name_of_timer("perf_swevent_hrtimer") == "perf_swevent_hrtimer (a profiler's)"
    assert name_of_timer("some_driver_timer") == "some_driver_timer"


def test_event_has_a_number_and_fields() -> None:
    event_format = parse_trace_format(format_text("sched/sched_switch"))
    assert event_format.id == 372
    assert event_format.fields["next_pid"] == TraceField(56, 4)
    assert event_format.fields["next_comm"] == TraceField(40, 16)
    assert event_format.fields["common_pid"] == TraceField(4, 4)


def test_data_location_and_pointer_are_fields() -> None:
    assert parse_trace_format(format_text("irq/irq_handler_entry")).fields["name"] == TraceField(12, 4)
    assert parse_trace_format(format_text("csd/csd_queue_cpu")).fields["func"] == TraceField(24, 8)
