"""Kernel threads that write, or free memory, for the command."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from tests.written.quiet_machine import process
from tests.written.repetitions import ALONE, MS, THREADED, judge, ran, repeat

_KERNEL = 0x0020_0000


def _judge(
    name: str,
    ms: int,
    blocks_out: int = 80_000,
    flags: int = _KERNEL,
    is_alone: bool = False,
    system_ms: int = 0,
) -> RepetitionVerdict:
    moments = [process(50, name, 2, used_ms * MS, allowed="2", flags=flags) for used_ms in (0, ms)]
    use = replace(ALONE if is_alone else THREADED, blocks_out=blocks_out, system_ns=system_ms * MS)
    use = replace(use, waited_ns=ms * MS)
    return judge(repeat(ran() | moments[0], ran({2: 900}, 1.0) | moments[1], own_ms=900 - ms, use=use))


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("name", ["kworker/u8:2+flush-8:0", "jbd2/sda1-8", "kworker/2:1H-kblockd", "loop0"])
def test_writing_for_the_command_is_its_own(name: str, is_alone: bool) -> None:
    verdict = _judge(name, 60, is_alone=is_alone)
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert [(reason.name, reason.ns) for reason in verdict.own] == [(name, 60 * MS)]


def test_a_writer_is_foreign_if_the_command_wrote_nothing() -> None:
    assert _judge("jbd2/sda1-8", 60, blocks_out=0).outcome == RunOutcome.DISTURBED


def test_more_writing_than_the_command_can_have_needed_is_foreign() -> None:
    verdict = _judge("jbd2/sda1-8", 300)
    assert [(reason.name, reason.ns) for reason in verdict.reasons] == [("jbd2/sda1-8", 200 * MS)]
    assert [(reason.name, reason.ns) for reason in verdict.own] == [("jbd2/sda1-8", 100 * MS)]


@pytest.mark.parametrize("name", ["kworker/2:1-events", "ksoftirqd/2", "kcompactd0"])
def test_kernel_threads_that_do_not_write_are_foreign(name: str) -> None:
    assert _judge(name, 60).outcome == RunOutcome.DISTURBED


def test_a_process_with_the_name_of_a_writer_is_foreign() -> None:
    assert _judge("jbd2/sda1-8", 60, flags=0).outcome == RunOutcome.DISTURBED


def test_several_writers_share_the_upper_bound_of_own_writing() -> None:
    moments = [
        process(50, "jbd2/sda1-8", 2, used_ms * MS, allowed="2", flags=_KERNEL)
        | process(51, "loop0", 2, used_ms * MS, allowed="2", flags=_KERNEL)
        for used_ms in (0, 80)
    ]
    use = replace(THREADED, blocks_out=80_000)
    verdict = judge(repeat(ran() | moments[0], ran({2: 900}, 1.0) | moments[1], own_ms=740, use=use))
    assert sum(reason.ns or 0 for reason in verdict.own) == 100 * MS
    assert sum(reason.ns or 0 for reason in verdict.reasons) == 60 * MS


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("name", ["ksoftirqd/2", "rcu_preempt", "rcuog/0", "rcuop/2", "rcuc/2"])
def test_freeing_memory_of_the_command_is_its_own(name: str, is_alone: bool) -> None:
    verdict = _judge(name, 10, is_alone=is_alone, system_ms=40)
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert [(reason.name, reason.ns) for reason in verdict.own] == [(name, 10 * MS)]


def test_a_reclaiming_thread_is_foreign_if_the_command_freed_nothing() -> None:
    assert _judge("ksoftirqd/2", 10).outcome == RunOutcome.DISTURBED


def test_reclaiming_beyond_a_quarter_of_the_system_time_is_foreign() -> None:
    verdict = _judge("ksoftirqd/2", 300, system_ms=60)
    assert [(reason.name, reason.ns) for reason in verdict.reasons] == [("ksoftirqd/2", 285 * MS)]
    assert [(reason.name, reason.ns) for reason in verdict.own] == [("ksoftirqd/2", 15 * MS)]


def test_at_most_a_fiftieth_of_the_repetition_in_reclaiming_threads_is_own() -> None:
    verdict = _judge("rcu_preempt", 26, system_ms=900)
    assert verdict.outcome == RunOutcome.DISTURBED
    assert [(reason.name, reason.ns) for reason in verdict.own] == [("rcu_preempt", 20 * MS)]


def test_a_writer_is_foreign_to_a_command_that_only_freed_memory() -> None:
    assert _judge("jbd2/sda1-8", 60, blocks_out=0, system_ms=900).outcome == RunOutcome.DISTURBED


def test_a_process_with_the_name_of_a_reclaiming_thread_is_foreign() -> None:
    assert _judge("ksoftirqd/2", 10, flags=0, system_ms=40).outcome == RunOutcome.DISTURBED
