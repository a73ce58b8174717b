"""Small noise that is allowed alone, but disturbs in sum."""

from __future__ import annotations

from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.kernel.trace.runs import TracedTime
from noisewatch.kinds import Kind
from tests.written.quiet_machine import stat_file
from tests.written.repetitions import THREADED, judge, ran, repeat
from tests.written.trace_windows import interruption_time, thread_time, traced

_HOG, _CARD = thread_time("hog", 900, 3), interruption_time(Kind.IRQ, "24", 3, 100, irq=24)


def _judge(*times: TracedTime) -> RepetitionVerdict:
    """Judge a second on CPUs 2 and 3; 5 ms are allowed on each."""
    return judge(traced(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=THREADED), *times, own_ms=900))


def test_tasks_and_interrupts_of_one_cpu_add_up() -> None:
    assert _judge(_HOG).outcome == RunOutcome.UNDISTURBED
    assert _judge(_CARD).outcome == RunOutcome.UNDISTURBED
    verdict = _judge(_HOG, _CARD)
    assert verdict.outcome == RunOutcome.DISTURBED
    assert [(reason.name.split(" (")[0], reason.ns) for reason in verdict.reasons] == [
        ("hog", 3_000_000),
        ("24 eth0-rx-0", 3_000_000),
    ]


def test_noise_of_different_cpus_does_not_add_up() -> None:
    elsewhere = interruption_time(Kind.IRQ, "24", 3, 100, cpu=3, irq=24)
    assert _judge(_HOG, elsewhere).outcome == RunOutcome.UNDISTURBED


def test_interruptions_by_the_command_itself_do_not_add_up() -> None:
    own = interruption_time(Kind.IPI, "call_function_single", 3, 100, is_own=True)
    assert _judge(_HOG, own).outcome == RunOutcome.UNDISTURBED


def test_a_tick_of_steal_adds_up_with_a_task() -> None:
    moments = [ran() | {"/proc/stat": stat_file({}, 0)}, ran({2: 2900}, 3.0)]
    moments[1] |= {"/proc/stat": stat_file({2: 290}, 300, {2: 1})}

    def judge_with(*times: TracedTime) -> RepetitionVerdict:
        return judge(traced(repeat(*moments, seconds=3.0, own_ms=2900, use=THREADED), *times, own_ms=2900))

    assert judge_with().outcome == RunOutcome.UNDISTURBED
    assert judge_with(thread_time("hog", 900, 10)).outcome == RunOutcome.DISTURBED


def test_a_reason_is_listed_once() -> None:
    verdict = _judge(thread_time("hog", 900, 9), _CARD)
    assert [reason.name for reason in verdict.reasons].count("hog") == 1
    assert len(verdict.reasons) == 2
