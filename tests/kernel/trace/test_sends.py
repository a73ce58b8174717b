"""Calls of other CPUs with their senders, and threads with their ancestors."""

from __future__ import annotations

from noisewatch.kernel.trace.events import events_of_senders
from noisewatch.kernel.trace.sends import Sends
from tests.kernel.trace.ring_buffer import event_format, page, record

_CLONE_THREAD = 0x10000


def test_call_sent_within_an_interrupt_has_no_sender() -> None:
    sends = Sends(events_of_senders(event_format))
    for flags in (0x08, 0x10, 0x40):
        sends.feed(page([(90, record("csd/csd_queue_cpu", 456, flags, cpu=1, func=7))]))
        assert sends.take(1, "call_function_single", 100) == (0, 7)
    sends.feed(page([(90, record("csd/csd_queue_cpu", 456, 0x01, cpu=1, func=7))]))
    assert sends.take(1, "call_function_single", 100) == (456, 7)


def test_calls_and_reschedules_are_distinguished() -> None:
    sends = Sends(events_of_senders(event_format))
    both = [(10, record("csd/csd_queue_cpu", 456, cpu=1, func=7)), (20, record("csd/csd_queue_cpu", 457, cpu=1))]
    sends.feed(page(both))
    senders = [sends.take(1, vector, 30) for vector in ("irq_work", "reschedule", "call_function", "reschedule")]
    assert senders == [(0, 0), (457, 0), (456, 7), (0, 0)]
    sends.feed(page(both))
    assert [sends.take(1, "ipi", 30) for _ in range(2)] == [(456, 7), (0, 0)]  # on ARM, a call or a reschedule


def test_old_call_without_an_interrupt_is_not_the_sender_later() -> None:
    sends = Sends(events_of_senders(event_format))
    queued, sent = (record("csd/csd_queue_cpu", tid, cpu=1, func=tid) for tid in (100, 200))
    sends.feed(page([(1_000_000, queued), (10_000_000, sent)]))
    sends.sort()
    assert sends.take(1, "call_function_single", 10_002_000) == (200, 200)


def test_first_of_simultaneous_calls_caused_the_interrupt() -> None:
    sends = Sends(events_of_senders(event_format))
    first, second = (record("csd/csd_queue_cpu", tid, cpu=1, func=tid) for tid in (100, 200))
    sends.feed(page([(1_000, first), (2_000, second)]))
    sends.sort()
    assert sends.take(1, "call_function_single", 5_000) == (100, 100)
    assert sends.take(1, "call_function_single", 6_000) == (0, 0)


def test_ancestors_are_listed_up_to_the_first_traced_one() -> None:
    sends = Sends(events_of_senders(event_format))
    births = [(10, 900, 901, 0), (20, 901, 902, _CLONE_THREAD), (30, 902, 903, _CLONE_THREAD)]
    events = ((at, record("task/task_newtask", tid, pid=new, clone_flags=flags)) for at, tid, new, flags in births)
    sends.feed(page(events))
    assert list(sends.ancestors(903)) == [(902, True), (901, True), (900, False)]
    assert list(sends.ancestors(900)) == []


def test_reused_number_has_no_endless_ancestors() -> None:
    sends = Sends(events_of_senders(event_format))
    sends.feed(page([(at, record("task/task_newtask", tid, pid=new)) for at, tid, new in ((10, 7, 8), (20, 8, 7))]))
    assert list(sends.ancestors(8)) == [(7, False)]
