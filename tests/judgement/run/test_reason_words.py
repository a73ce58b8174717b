"""One-line texts of the reasons of a repetition."""

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


def _reason(name: str, pid: int, ms: int, cpu: int = 1) -> RunReason:
    return RunReason(
        kind=ReasonKind.FOREIGN, name=name, noise=Kind.THREAD, cpu=cpu, pid=pid, ns=ms * MS, begin_ns=0, end_ns=100 * MS
    )


def _conclusion(*reasons: RunReason) -> str:
    return conclude_repetition(RepetitionVerdict(RunOutcome.DISTURBED, reasons), 100 * MS)


@pytest.mark.parametrize(
    ("share", "is_estimate", "time"),
    [
        (0.97, True, ""),
        (0.3, False, ", for 30 ms (30% of its CPU time)"),
        (0.3, True, ", for ~30 ms (30% of its CPU time)"),
    ],
)
def test_a_command_that_left_its_target_says_where_it_ran(share: float, is_estimate: bool, time: str) -> None:
    reason = RunReason(
        kind=ReasonKind.LEFT_TARGET,
        name="the command ran on CPU 0, not on the target",
        cpu=0,
        ns=30 * MS,
        share=share,
        is_estimate=is_estimate,
    )
    assert _conclusion(reason) == f"disturbed, 100 ms: {reason.name}{time}: it sets its own affinity"


def test_a_conclusion_has_the_sum_and_each_culprit_once_sorted_by_time() -> None:
    several = (
        _reason("a", 1, 9),
        _reason("qemu-long", 2, 8),
        _reason("qemu", 2, 4),
        _reason("b", 3, 3),
        _reason("c", 4, 1),
    )
    assert _conclusion(*several) == (
        "disturbed, 100 ms: 25 ms (25%) of noise on CPU 1, by qemu-long (pid 2) 12 ms, a (pid 1) 9 ms, b (pid 3) 3 ms "
        "and 1 more"
    )


def test_noise_on_several_cpus_has_no_share() -> None:
    assert "100 ms: 20 ms of noise on CPUs 1-2, by a (pid 1) 20 ms" in _conclusion(
        _reason("a", 1, 10), _reason("a", 1, 10, cpu=2)
    )


def test_the_sum_does_not_exceed_the_time_of_the_cpus() -> None:
    assert _conclusion(_reason("a", 1, 60), _reason("b", 2, 60)).startswith(
        "disturbed, 100 ms: 100 ms (100%) of noise on CPU 1, by a"
    )
    assert "100 ms: 160 ms of noise on CPUs 1-2" in _conclusion(
        _reason("a", 1, 100), _reason("b", 1, 60), _reason("b", 1, 60, cpu=2)
    )


def test_a_reason_without_a_time_follows_the_sum() -> None:
    throttled = RunReason(kind=ReasonKind.THROTTLED, name="the processor got too hot", cpu=1)
    line = _conclusion(_reason("a", 1, 10), _reason("b", 2, 5), throttled)
    assert line.endswith("; the processor got too hot on CPU 1")


def test_only_a_reason_for_part_of_the_repetition_has_a_time_span() -> None:
    assert "between" not in describe_reason(_reason("a", 1, 5), 100 * MS)
    assert describe_reason(_reason("a", 1, 5), 200 * MS).endswith("between 0 and 100 ms")


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (Kind.TIMER, "timer interrupts", "timer interrupts"),
        (Kind.IPI, "Function call interrupts", "Function call interrupts"),
        (Kind.THREAD, "ended threads of make", "ended threads of make"),
        (Kind.SOFTIRQ, "RCU", "softirq RCU"),
        (Kind.IRQ, "eth0-rx-3", "irq eth0-rx-3"),
    ],
)
def test_a_kind_is_added_only_to_a_name_that_lacks_it(kind: Kind, name: str, expected: str) -> None:
    assert name_with_kind(kind, name) == expected
