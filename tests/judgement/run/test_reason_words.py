"""Reasons in words, for people in a hurry."""

from __future__ import annotations

import pytest

from noisewatch.judgement.run.reasons import (
    ReasonKind,
    RepetitionVerdict,
    RunOutcome,
    RunReason,
    conclude_repetition,
    describe_reason,
    name_with_kind,
)
from noisewatch.kinds import Kind
from tests.written.repetitions import MS


def _by(name: str, pid: int, ms: int, cpu: int = 1) -> RunReason:
    return RunReason(
        kind=ReasonKind.FOREIGN, name=name, noise=Kind.THREAD, cpu=cpu, pid=pid, ns=ms * MS, begin_ns=0, end_ns=100 * MS
    )


def _line(*reasons: RunReason) -> str:
    return conclude_repetition(RepetitionVerdict(RunOutcome.DISTURBED, reasons), 100 * MS)


def test_a_run_that_several_disturbed_tells_the_sum_and_each_once_the_most_first() -> None:
    several = (_by("a", 1, 9), _by("qemu-long", 2, 8), _by("qemu", 2, 4), _by("b", 3, 3), _by("c", 4, 1))
    assert _line(*several) == (
        "disturbed, 100 ms: 25 ms (25%) of noise on CPU 1, by qemu-long (pid 2) 12 ms, a (pid 1) 9 ms, b (pid 3) 3 ms "
        "and 1 more"
    )


def test_of_several_cpus_no_share_is_told() -> None:
    assert "100 ms: 20 ms of noise on CPUs 1-2, by a (pid 1) 20 ms" in _line(_by("a", 1, 10), _by("a", 1, 10, cpu=2))


def test_all_together_had_no_more_than_their_cpus_have() -> None:
    assert _line(_by("a", 1, 60), _by("b", 2, 60)).startswith(
        "disturbed, 100 ms: 100 ms (100%) of noise on CPU 1, by a"
    )
    assert "100 ms: 160 ms of noise on CPUs 1-2" in _line(_by("a", 1, 100), _by("b", 1, 60), _by("b", 1, 60, cpu=2))


def test_what_has_no_time_is_told_beside_the_sum() -> None:
    throttled = RunReason(kind=ReasonKind.THROTTLED, name="the processor got too hot", cpu=1)
    line = _line(_by("a", 1, 10), _by("b", 2, 5), throttled)
    assert line.endswith("; the processor got too hot on CPU 1")


def test_when_is_told_only_of_a_part() -> None:
    assert "between" not in describe_reason(_by("a", 1, 5), 100 * MS)
    assert describe_reason(_by("a", 1, 5), 200 * MS).endswith("between 0 and 100 ms")


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (Kind.TIMER, "timer interrupts", "timer interrupts"),
        (Kind.IPI, "Function call interrupts", "Function call interrupts"),
        (Kind.THREAD, "ended threads of make", "ended threads of make"),
        (Kind.SOFTIRQ, "RCU", "softirq RCU"),
        (Kind.IRQ, "eth0-rx-3", "irq eth0-rx-3"),
    ],
)
def test_a_name_that_says_its_kind_is_enough(kind: Kind, name: str, said: str) -> None:
    assert name_with_kind(kind, name) == said
