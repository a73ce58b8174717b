"""Interrupts and softirqs on the target CPUs, with their exact times from the kernel's trace."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.kernel.trace.runs import Thread, TracedTime
from noisewatch.kinds import Kind
from noisewatch.model.run.repetition import CommandUse
from tests.written.repetitions import ALONE, MS, THREADED, judge, ran, repeat
from tests.written.trace_windows import interruption_time, thread_time, traced

_FOREIGNER = Thread(900, "mapper", 900, False)
_CALL = "call_function_single"


def _judge(*times: TracedTime, use: CommandUse = THREADED, untraced: tuple[str, ...] = ()) -> RepetitionVerdict:
    """Judge a second on CPUs 2 and 3; 5 ms are allowed on each."""
    return judge(traced(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=use), *times, own_ms=900, untold=untraced))


def _times_ms(verdict: RepetitionVerdict) -> tuple[list[float], list[float]]:
    """Return the times (ms) of the verdict's reasons, and of the command's own interruptions."""
    reasons, own = verdict.reasons, verdict.own
    return [(reason.ns or 0) / 1e6 for reason in reasons], [(reason.ns or 0) / 1e6 for reason in own]


def test_an_interrupt_of_a_device_disturbs_by_the_time_that_it_took() -> None:
    verdict = _judge(interruption_time(Kind.IRQ, "24", 12.5, 3, irq=24))
    (reason,) = verdict.reasons
    assert (reason.name.split(" (")[0], reason.irq, reason.ns) == ("24 eth0-rx-0", 24, 12_500_000)
    assert (reason.noise, reason.is_estimate) == (Kind.IRQ, False)
    assert _judge(interruption_time(Kind.IRQ, "24", 4.5, 3000, irq=24)).outcome == RunOutcome.UNDISTURBED


def test_the_tick_and_its_softirqs_do_not_disturb() -> None:
    tick = interruption_time(Kind.TICK, "local_timer", 20, 1000, function="tick_nohz_handler")
    companions = [interruption_time(Kind.SOFTIRQ, name, 6, 1000) for name in ("TIMER", "SCHED", "HRTIMER")]
    assert _judge(tick, *companions).outcome == RunOutcome.UNDISTURBED
    assert _judge(*companions).outcome == RunOutcome.DISTURBED


def test_a_long_softirq_of_the_tick_disturbs_unless_it_frees_memory_of_the_command() -> None:
    tick = interruption_time(Kind.TICK, "local_timer", 20, 1000, function="tick_nohz_handler")
    assert _times_ms(_judge(tick, interruption_time(Kind.SOFTIRQ, "TIMER", 20, 100))) == ([20], [])
    freed = _judge(tick, interruption_time(Kind.SOFTIRQ, "RCU", 20, 100), use=replace(THREADED, system_ns=80 * MS))
    assert _times_ms(freed) == ([], [20])


def test_callbacks_beyond_a_quarter_of_the_system_time_are_foreign() -> None:
    callbacks = interruption_time(Kind.SOFTIRQ, "RCU", 20, 100)
    assert _times_ms(_judge(callbacks)) == ([20], [])
    assert _times_ms(_judge(callbacks, use=replace(THREADED, system_ns=40 * MS))) == ([10], [10])


def test_at_most_a_tenth_of_the_repetition_in_callbacks_is_own() -> None:
    callbacks = interruption_time(Kind.SOFTIRQ, "RCU", 130, 100)
    assert _times_ms(_judge(callbacks, use=replace(THREADED, system_ns=900 * MS))) == ([30], [100])


def test_reclaiming_threads_reduce_the_own_callbacks() -> None:
    thread = thread_time("ksoftirqd/2", 30, 8, is_kernel=True)
    callbacks = interruption_time(Kind.SOFTIRQ, "RCU", 10, 100)
    assert _times_ms(_judge(thread, callbacks, use=replace(THREADED, system_ns=40 * MS))) == ([8], [8, 2])


def test_a_timer_that_is_not_the_tick_is_named_by_its_function() -> None:
    timer = interruption_time(Kind.TICK, "local_timer", 20, 1000, function="perf_swevent_hrtimer")
    (reason,) = _judge(timer).reasons
    assert (reason.noise, reason.name) == (Kind.TIMER, "perf_swevent_hrtimer (a profiler's)")


def test_timers_are_own_up_to_the_number_of_sleeps() -> None:
    timer = interruption_time(Kind.TICK, "local_timer", 20, 1000, function="hrtimer_wakeup")
    assert _times_ms(_judge(timer, use=replace(THREADED, switches=1000))) == ([], [20])
    assert _times_ms(_judge(timer, use=replace(THREADED, switches=100))) == ([18], [2])


def test_calls_between_own_threads_are_own_and_those_of_others_are_named() -> None:
    own = interruption_time(Kind.IPI, _CALL, 50, 10_000, function="flush_tlb_func", is_own=True)
    assert _times_ms(_judge(own)) == ([], [50])
    foreign = interruption_time(Kind.IPI, _CALL, 50, 10_000, function="flush_tlb_func", sender=_FOREIGNER)
    (reason,) = _judge(own, foreign).reasons
    assert (reason.name, reason.pid, reason.ns) == ("flush_tlb_func, called by mapper", 900, 50_000_000)


def test_wakeup_calls_of_any_sender_are_own_up_to_the_number_of_sleeps() -> None:
    wakes = [
        interruption_time(Kind.IPI, "reschedule", 10, 100),
        interruption_time(Kind.IPI, _CALL, 10, 100, function="sched_ttwu_pending", sender=_FOREIGNER),
    ]
    assert _judge(*wakes, use=replace(ALONE, switches=200)).outcome == RunOutcome.UNDISTURBED
    assert _times_ms(_judge(*wakes, use=replace(ALONE, switches=100)))[0] == [10]
    flush = interruption_time(Kind.IPI, _CALL, 10, 100, function="flush_tlb_func")
    assert _judge(flush, use=replace(ALONE, switches=200)).outcome == RunOutcome.DISTURBED


def test_interrupts_of_the_disk_that_the_command_uses_are_own() -> None:
    block = interruption_time(Kind.SOFTIRQ, "BLOCK", 10, 100)
    assert _times_ms(_judge(block, use=replace(THREADED, blocks_out=800))) == ([], [10])
    assert _times_ms(_judge(block)) == ([10], [])


def test_counters_are_used_for_interrupts_that_the_kernel_does_not_trace() -> None:
    flush = interruption_time(Kind.IPI, _CALL, 10, 100, function="flush_tlb_func")
    assert _judge(flush).outcome == RunOutcome.DISTURBED
    assert _judge(flush, untraced=("interrupts between CPUs",)).outcome == RunOutcome.UNDISTURBED
