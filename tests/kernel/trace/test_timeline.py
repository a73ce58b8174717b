"""The timeline of one CPU, from pages as the kernel writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.kernel.trace import timeline as trace_timeline
from noisewatch.kernel.trace.events import events_of_senders, events_on_target, records
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kernel.trace.timeline import CpuTrace, Source, round_ns, take_back
from noisewatch.kinds import Kind
from tests.kernel.trace.ring_buffer import event_format, page, record, switch

_EVENTS = events_on_target(event_format)
_TICK, _TICK_ENDS = record("irq_vectors/local_timer_entry", 7), record("irq_vectors/local_timer_exit", 7)
_CALL = "irq_vectors/call_function_single"


def _trace(*pages: bytes, end_ns: int = 0, sends: Sends | None = None) -> CpuTrace:
    trace = CpuTrace(1, _EVENTS, sends or Sends({}), 0)
    for content in pages:
        trace.feed(content)
    if end_ns:
        trace.finish(end_ns)
    return trace


def _times(trace: CpuTrace) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Return the count and time of each source that occurred."""
    return {
        (source.kind, source.name, source.number): (run.count, run.own_ns)
        for source, run in zip(trace.sources, trace.stats, strict=True)
        if run.count and source.kind != "idle"
    }


def _pieces(trace: CpuTrace) -> list[tuple[int, int, str]]:
    columns = zip(trace.pieces[::3], trace.pieces[1::3], trace.pieces[2::3], strict=True)
    return [(start, end, trace.sources[number].kind) for start, end, number in columns]


def _expiry(function: int) -> bytes:
    return record("timer/hrtimer_expire_entry", 7, function=function)


def _timers(trace: CpuTrace) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the count and time of the ticks, by the functions that they ran."""
    return {
        source.timers: (run.count, run.own_ns)
        for source, run in zip(trace.sources, trace.stats, strict=True)
        if source.kind in ("tick", "irq") and run.count
    }


def test_timer_interrupt_is_distinguished_by_its_functions() -> None:
    ticks = [(0, switch("x", 7)), (100, _TICK), (104, _expiry(0xA)), (110, _TICK_ENDS)]
    samples = [
        (200, _TICK),
        (203, _expiry(0xA)),
        (205, _expiry(0xB)),
        (230, _TICK_ENDS),
        (300, _TICK),
        (301, _TICK_ENDS),
    ]
    trace = _trace(page(ticks + samples))
    assert _timers(trace) == {(0xA,): (1, 10), (0xA, 0xB): (1, 30), (): (1, 1)}
    assert [
        (start, end, trace.sources[number].timers)
        for start, end, number in zip(trace.pieces[::3], trace.pieces[1::3], trace.pieces[2::3], strict=True)
        if trace.sources[number].kind == "tick"
    ] == [(100, 110, (0xA,)), (200, 230, (0xA, 0xB)), (300, 301, ())]


def test_numbered_timer_interrupt_has_functions_and_a_softirqs_timer_is_the_softirqs() -> None:
    irq, irq_ends = record("irq/irq_handler_entry", 7, irq=11), record("irq/irq_handler_exit", 7, irq=11)
    softirq, ends = record("irq/softirq_entry", 7, vec=8), record("irq/softirq_exit", 7, vec=8)
    trace = _trace(
        page(
            [
                (0, switch("x", 7)),
                (10, irq),
                (12, _expiry(0xB)),
                (20, irq_ends),
                (30, softirq),
                (31, _expiry(0xC)),
                (40, ends),
            ]
        )
    )
    assert _timers(trace) == {(0xB,): (1, 10)}
    assert _times(trace)["softirq", "", 8] == (1, 10)


def test_timer_outside_a_traced_interrupt_is_ignored() -> None:
    assert _timers(_trace(page([(0, switch("x", 7)), (10, _expiry(0xB)), (20, switch("", 0, 7))]))) == {}


def test_thread_has_the_cpu_from_switch_to_switch() -> None:
    trace = _trace(
        page([(100, switch("hog", 900)), (600, switch("other", 901, 900)), (700, switch("", 0, 901))]), end_ns=2_000
    )
    assert _times(trace) == {("thread", "hog", 900): (1, 500), ("thread", "other", 901): (1, 100)}
    assert _pieces(trace) == [(100, 600, "thread"), (600, 700, "thread")]


def test_innermost_source_has_the_time() -> None:
    softirq, ends = record("irq/softirq_entry", 7, vec=3), record("irq/softirq_exit", 7, vec=3)
    irq, irq_ends = record("irq/irq_handler_entry", 7, irq=36), record("irq/irq_handler_exit", 7, irq=36)
    trace = _trace(
        page([(0, switch("x", 7)), (100, softirq), (130, irq), (150, irq_ends), (200, ends), (300, switch("", 0, 7))])
    )
    assert _times(trace) == {("thread", "x", 7): (1, 200), ("softirq", "", 3): (1, 80), ("irq", "", 36): (1, 20)}
    assert [end - start for start, end, _ in _pieces(trace)] == [100, 30, 20, 50, 100]


def test_first_traced_thread_has_run_since_the_start() -> None:
    trace = _trace(page([(100, _TICK), (110, _TICK_ENDS)]), end_ns=200)
    assert _times(trace) == {("tick", "local_timer", 0): (1, 10), ("thread", "", 7): (1, 190)}


def test_untraced_switch_is_detected_by_the_thread_that_runs_afterwards() -> None:
    trace = _trace(
        page(
            [
                (0, switch("", 0)),
                (100, record("irq/softirq_entry", 0, vec=1)),
                (110, record("irq/softirq_exit", 0, vec=1)),
            ]
        ),
        page([(300, switch("", 0, current=900)), (400, switch("x", 7))], begin_ns=300),
    )
    assert (trace.unseen_switches, trace.unseen_ns) == (1, 190)
    assert _times(trace) == {("softirq", "", 1): (1, 10), ("thread", "", 900): (1, 190)}


@pytest.mark.parametrize(("woken", "untraced"), [(900, {}), (901, {280: (300, 0)})])
def test_thread_woken_on_an_idle_cpu_has_it_despite_an_untraced_switch(
    woken: int, untraced: dict[int, tuple[int, int]]
) -> None:
    wakes = record("sched/sched_wakeup", 0, comm="x", pid=woken, target_cpu=1)
    trace = _trace(page([(0, switch("", 0)), (280, wakes), (300, switch("", 0, current=900)), (400, switch("x", 7))]))
    assert (trace.unseen, trace.unseen_ns) == (untraced, 20 * len(untraced))
    assert _times(trace) == {("thread", "", 900): (1, 20)}


def test_woken_thread_has_the_cpu_from_its_traced_switch_on() -> None:
    wakes = record("sched/sched_wakeup", 0, comm="x", pid=900, target_cpu=1)
    pages = page([(0, switch("", 0)), (280, wakes), (290, switch("x", 900)), (300, switch("", 0, current=900))])
    trace = _trace(pages, end_ns=400)
    assert (trace.unseen_switches, _times(trace)) == (0, {("thread", "x", 900): (1, 10)})


def test_source_without_an_exit_ends_with_its_outer_source_or_the_next_switch() -> None:
    softirq, irq = record("irq/softirq_entry", 7, vec=3), record("irq/irq_handler_entry", 7, irq=36)
    ends = record("irq/softirq_exit", 7, vec=3)
    trace = _trace(page([(0, softirq), (10, irq), (30, ends), (40, softirq), (50, switch("", 0, current=7))]))
    assert _times(trace) == {("softirq", "", 3): (2, 20), ("irq", "", 36): (1, 20), ("thread", "", 7): (1, 10)}


def test_exit_without_an_entry_ends_nothing() -> None:
    trace = _trace(page([(10, _TICK_ENDS), (20, record("irq/softirq_exit", 7, vec=1)), (30, switch("", 0, 7))]))
    assert _times(trace) == {("thread", "", 7): (1, 30)}


def test_nmi_is_placed_before_the_event_at_its_end() -> None:
    trace = _trace(
        page([(0, switch("x", 7)), (500, record("nmi/nmi_handler", 7, delta_ns=200)), (600, switch("", 0, 7))])
    )
    assert _times(trace) == {("thread", "x", 7): (1, 400), ("nmi", "NMI", 0): (1, 200)}
    assert _pieces(trace) == [(0, 300, "thread"), (300, 500, "nmi"), (500, 600, "thread")]


def test_interrupt_between_cpus_is_of_the_last_caller_before_it() -> None:
    def call(cpu: int, function: int) -> bytes:
        return record("csd/csd_queue_cpu", 456, cpu=cpu, func=function)

    sends = Sends(events_of_senders(event_format))
    sends.feed(page([(90, call(1, 0xFFFF_FFFF_8100_0000)), (95, call(0, 5))]))
    sends.feed(page([(200, call(1, 9))]))
    sends.sort()
    entry, ends = record(f"{_CALL}_entry"), record(f"{_CALL}_exit")
    trace = _trace(page([(100, entry), (120, ends), (150, entry), (160, ends)]), sends=sends)
    assert [source for source in trace.sources if source.kind == "ipi"] == [
        Source(Kind.IPI, "call_function_single", 456, 0xFFFF_FFFF_8100_0000),
        Source(Kind.IPI, "call_function_single"),
    ]


def test_no_thread_has_the_cpu_after_a_loss_until_one_is_traced() -> None:
    first = page([(0, switch("hog", 7)), (100, _TICK)])
    second = page([(10_000, record("irq/softirq_exit", 0, vec=1)), (10_100, switch("x", 7))], is_after_loss=True)
    trace = _trace(first, second, end_ns=10_200)
    assert trace.lost_pages == 1
    assert _times(trace) == {("thread", "x", 7): (1, 100)}


def test_pieces_that_do_not_fit_are_counted_and_the_statistics_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_timeline, "_MOST_PIECES", 2)
    switches = [(100 * number, switch("x", 7 + number % 2, 8 - number % 2)) for number in range(6)]
    trace = _trace(page(switches), end_ns=600)
    assert (len(_pieces(trace)), trace.lost_pieces) == (2, 4)
    assert sum(count for count, _ in _times(trace).values()) == 6


def test_long_pauses_and_long_records_are_skipped() -> None:
    unknown = (5).to_bytes(2, "little") + bytes(198)
    times = [at for at, _, _ in records(page([(10, _TICK), (10 + (3 << 27), unknown), (20 + (3 << 27), _TICK_ENDS)]))]
    assert times == [10, 10 + (3 << 27), 20 + (3 << 27)]


@given(st.integers(0, 1 << 40))
def test_length_is_rounded_down_by_less_than_a_quarter(ns: int) -> None:
    assert ns * 3 // 4 <= round_ns(ns) <= ns
    assert round_ns(round_ns(ns)) == round_ns(ns)


@given(st.binary(max_size=400))
def test_page_of_rubbish_is_a_loss_at_worst(body: bytes) -> None:
    sends = Sends(events_of_senders(event_format))
    for size in (len(body), len(body) + 40):
        written = (5).to_bytes(8, "little") + size.to_bytes(8, "little") + body
        sends.feed(written)
        trace = _trace(page([(1, switch("x", 7))]), written, written[:9], end_ns=1 << 61)
        assert trace.lost_pages > 0
        assert [end - start for start, end, _ in _pieces(trace) if end < start] == []


def test_time_that_the_osnoise_tracer_reports_at_the_end_is_subtracted_from_the_thread() -> None:
    tick = record("osnoise/irq_noise", 7, duration=40, desc="local_timer", vector=236)
    disk = record("osnoise/irq_noise", 7, duration=20, desc="virtio1-req.0", vector=36)
    softirq = record("osnoise/softirq_noise", 7, duration=80, vector=4)
    nmi = record("osnoise/nmi_noise", 7, duration=10)
    trace = _trace(
        page([(0, switch("x", 7)), (100, tick), (130, disk), (210, softirq), (400, nmi), (500, switch("", 0, 7))])
    )
    assert _times(trace) == {
        ("thread", "x", 7): (1, 350),
        ("tick", "local_timer", 0): (1, 40),
        ("irq", "", 36): (1, 20),
        ("softirq", "", 4): (1, 80),
        ("nmi", "NMI", 0): (1, 10),
    }
    assert _pieces(trace)[:5] == [
        (0, 60, "thread"),
        (60, 100, "tick"),
        (100, 110, "thread"),
        (110, 130, "irq"),
        (130, 210, "softirq"),
    ]


def test_only_numbered_interrupts_of_the_osnoise_tracer_are_a_devices() -> None:
    heat = record("osnoise/irq_noise", 7, duration=20, desc="thermal_apic", vector=250)
    trace = _trace(page([(0, switch("x", 7)), (100, heat), (500, switch("", 0, 7))]))
    assert (Kind.LOCAL, "thermal_apic", 0) in _times(trace)


def test_interrupt_within_a_later_softirq_keeps_its_time() -> None:
    disk = record("osnoise/irq_noise", 7, duration=20, desc="virtio1-req.0", vector=36)
    softirq = record("osnoise/softirq_noise", 7, duration=80, vector=4)
    trace = _trace(page([(0, switch("x", 7)), (130, disk), (170, softirq), (500, switch("", 0, 7))]))
    kinds = [(0, 70, "thread"), (70, 110, "softirq"), (110, 130, "irq"), (130, 170, "softirq"), (170, 500, "thread")]
    assert _pieces(trace) == kinds
    assert _times(trace)["thread", "x", 7] == (1, 400)


def test_call_of_the_osnoise_tracer_has_its_sender() -> None:
    sends = Sends(events_of_senders(event_format))
    sends.feed(page([(50, record("csd/csd_queue_cpu", 456, cpu=1, func=77))]))
    sends.sort()
    call = record("osnoise/irq_noise", 7, duration=30, desc="call_function_single", vector=251)
    trace = _trace(page([(0, switch("x", 7)), (100, call)]), sends=sends)
    assert Source(Kind.IPI, "call_function_single", 456, 77) in trace.sources


_THREAD, _OTHER, _IRQ, _NMI = 1, 2, 3, 4


def _take(pieces: list[int], ns: int, end_ns: int, since_ns: int = 0, giver: int = _THREAD) -> tuple[int, list[int]]:
    left = list(pieces)
    return take_back(left, _IRQ, ns, end_ns, giver, since_ns), left


def test_time_right_before_the_end_is_taken_from_the_thread() -> None:
    assert _take([0, 100, _THREAD], 30, 100) == (30, [0, 70, _THREAD, 70, 100, _IRQ])
    assert _take([0, 100, _THREAD], 100, 100) == (100, [0, 100, _IRQ])


def test_time_of_a_nested_source_is_kept() -> None:
    pieces = [0, 80, _THREAD, 80, 90, _NMI, 90, 100, _THREAD]
    assert _take(pieces, 30, 100) == (30, [0, 60, _THREAD, 60, 80, _IRQ, 80, 90, _NMI, 90, 100, _IRQ])


def test_idle_time_is_taken_first() -> None:
    assert _take([0, 50, _NMI], 30, 100) == (30, [0, 50, _NMI, 70, 100, _IRQ])
    assert _take([], 30, 100) == (30, [70, 100, _IRQ])


def test_time_before_the_thread_had_the_cpu_is_kept() -> None:
    assert _take([0, 50, _OTHER, 50, 100, _THREAD], 70, 100, since_ns=50) == (50, [0, 50, _OTHER, 50, 100, _IRQ])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20), st.integers(1, 4))),
    st.integers(0, 300),
    st.integers(0, 99),
)
def test_time_is_neither_counted_twice_nor_lost(steps: list[tuple[int, int, int]], ns: int, since_ns: int) -> None:
    pieces: list[int] = []
    at = 0
    for idle, length, number in steps:
        pieces += (at + idle, at + idle + length, number)
        at += idle + length
    amount, left = _take(pieces, ns, at, since_ns)
    starts, ends, numbers = left[::3], left[1::3], left[2::3]
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))

    def time_of(kind: int, pieces: list[int]) -> int:
        columns = zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
        return sum(end - start for start, end, number in columns if number == kind)

    assert time_of(_IRQ, left) == time_of(_IRQ, pieces) + amount
    assert amount <= ns
    assert [time_of(kind, left) for kind in (_OTHER, _NMI)] == [time_of(kind, pieces) for kind in (_OTHER, _NMI)]
    assert numbers.count(_IRQ) >= (1 if amount else 0)
