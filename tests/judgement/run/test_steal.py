"""Time that a hypervisor took within a repetition."""

from __future__ import annotations

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from tests.written.quiet_machine import stat_file
from tests.written.repetitions import judge, ran, repeat


def _judge(*steal_ticks: int, seconds: float, marks: tuple[int, int] = (0, -1)) -> RepetitionVerdict:
    """Return the verdict with these ticks stolen from CPU 2 since the start, at each moment."""
    moments = [
        ran(seconds=seconds * at) | {"/proc/stat": stat_file({}, round(seconds * at * 100), {2: ticks})}
        for at, ticks in enumerate(steal_ticks)
    ]
    return judge(repeat(*moments, seconds=seconds, marks=marks))


def test_several_ticks_within_a_repetition_disturb_it() -> None:
    (reason,) = _judge(0, 5, seconds=1.0).reasons
    assert (reason.kind, reason.cpu, reason.ns, reason.is_estimate) == (ReasonKind.STEAL, 2, 50_000_000, False)


def test_a_single_tick_of_steal_is_an_estimate() -> None:
    (reason,) = _judge(0, 1, seconds=0.1).reasons
    assert reason.is_estimate


def test_a_single_tick_of_steal_does_not_disturb_a_long_repetition() -> None:
    assert _judge(0, 1, seconds=3.0).outcome == RunOutcome.UNDISTURBED


def test_steal_does_not_exceed_the_length_of_the_repetition() -> None:
    (reason,) = _judge(0, 0, 5, 5, seconds=0.02, marks=(1, 2)).reasons
    assert (reason.ns, reason.share) == (20_000_000, 1.0)


def test_steal_around_a_short_repetition_makes_it_unknown() -> None:
    """Steal is counted in whole ticks, so stolen time may be counted later."""
    verdict = _judge(0, 0, 0, 2, seconds=0.1, marks=(1, 2))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "too coarse" in verdict.unknowns[0]


def test_steal_around_a_long_repetition_does_not_disturb_it() -> None:
    assert _judge(0, 0, 0, 2, seconds=3.0, marks=(1, 2)).outcome == RunOutcome.UNDISTURBED


def test_a_kernel_that_does_not_count_steal_makes_a_repetition_unknown() -> None:
    def cut(files: dict[str, str]) -> dict[str, str]:
        rows = [" ".join(row.split()[:8]) if row.startswith("cpu") else row for row in files["/proc/stat"].splitlines()]
        return files | {"/proc/stat": "\n".join(rows) + "\n"}

    verdict = judge(repeat(cut(ran()), cut(ran(seconds=1.0))))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "hypervisor" in verdict.unknowns[0]
