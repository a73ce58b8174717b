"""How the kernel describes its trace events."""

from __future__ import annotations

from noisewatch.kernel.trace.events import TraceField, parse_trace_format
from tests.kernel.trace.ring_buffer import format_text


def test_an_event_has_a_number_and_fields() -> None:
    found = parse_trace_format(format_text("sched/sched_switch"))
    assert found.id == 372
    assert found.fields["next_pid"] == TraceField(56, 4)
    assert found.fields["next_comm"] == TraceField(40, 16)
    assert found.fields["common_pid"] == TraceField(4, 4)


def test_a_field_whose_place_is_told_elsewhere_and_a_pointer_are_fields_too() -> None:
    assert parse_trace_format(format_text("irq/irq_handler_entry")).fields["name"] == TraceField(12, 4)
    assert parse_trace_format(format_text("csd/csd_queue_cpu")).fields["func"] == TraceField(24, 8)
