"""Whether the target CPUs ran at the clock that they were calibrated at."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.clock_speed import clock_reasons
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.model.run.repetition import CommandUse, Repetition
from tests.written.quiet_machine import CPUS
from tests.written.repetitions import ALLOWED, ALONE, MS, THREADED, ran, repeat

_KHZ = {2: 3_000_000.0, 3: 3_000_000.0}


def _repetition(
    mhz: Sequence[int | None],
    use: CommandUse = ALONE,
    busy_ms: float = 1000,
    looks: Sequence[int] = (0, 1, 2),
    tickless: str = "",
) -> Repetition:
    """Return a repetition with looks a second apart, at which CPU 2 has these clocks."""
    moments = [
        ran({2: busy_ms * at}, 1.0 * at)
        | {f"{CPUS}/nohz_full": f"{tickless}\n"}
        | ({f"{CPUS}/cpu2/cpufreq/scaling_cur_freq": f"{clock * 1000}\n"} if clock is not None else {})
        for at, clock in enumerate(mhz)
    ]
    return repeat(*moments, looks=looks, own_ms=busy_ms * (len(mhz) - 1), use=use)


def _verdict(repetition: Repetition) -> RepetitionVerdict:
    return judge_repetition(repetition, frozenset(), ALLOWED, _KHZ)


def test_a_clock_that_went_down_disturbs_a_repetition() -> None:
    verdict = _verdict(_repetition([3000, 2400, 3000]))
    assert verdict.outcome == RunOutcome.DISTURBED
    (reason,) = verdict.reasons
    assert (reason.kind, reason.cpu) == (ReasonKind.CLOCK_LOWERED, 2)
    assert (reason.begin_ns, reason.end_ns) == (0, 1000 * MS)


@pytest.mark.parametrize("mhz", [[3000, 2900, 3100], [2400, 3000, 3000]])
def test_a_small_step_or_a_low_clock_at_the_start_does_not_disturb(mhz: list[int]) -> None:
    assert _verdict(_repetition(mhz)) == RepetitionVerdict(RunOutcome.UNDISTURBED)


def test_a_clock_read_after_the_end_of_a_repetition_is_ignored() -> None:
    whole = _repetition([3000, 3000, 2400])
    assert clock_reasons(whole, _KHZ) != ([], [])
    assert clock_reasons(replace(whole, ended_ns=whole.ended_ns - MS), _KHZ) == ([], [])


def test_the_clock_of_a_command_that_sleeps_is_ignored() -> None:
    assert clock_reasons(_repetition([3000, 2400, 2400], busy_ms=500), _KHZ) == ([], [])


def test_a_command_of_several_threads_may_have_lowered_the_clock_itself() -> None:
    verdict = _verdict(_repetition([3000, 2400, 2400], use=THREADED))
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert [reason.kind for reason in verdict.own] == [ReasonKind.CLOCK_LOWERED]


def test_the_clock_of_a_tickless_cpu_is_not_watched() -> None:
    repetition = _repetition([3000, 2400, 2400], tickless="2")
    assert clock_reasons(repetition, _KHZ) == ([], [])
    (blind_spot,) = (item for item in not_watched(repetition.span.after, _KHZ) if "clock" in item.what)
    assert blind_spot.what == "the clock of CPU 2"
    assert "nohz_full" in blind_spot.why


def test_clocks_are_not_compared_without_a_calibration() -> None:
    assert clock_reasons(_repetition([3000, 2400, 2400]), {}) == ([], [])


def test_clocks_are_watched_where_they_are_readable_and_calibrated() -> None:
    machine = _repetition([3000, 3000, 3000]).span.after
    assert not [item for item in not_watched(machine, _KHZ) if "clock" in item.what]
    assert [item for item in not_watched(machine, None) if "there was no calibration" in item.why]


def test_unreadable_clocks_are_not_watched_and_change_no_verdict() -> None:
    paths = [f"{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in range(4)]
    unreadable = repeat(ran(), ran({2: 1000}, 1.0), own_ms=1000, gone=paths)
    assert _verdict(unreadable) == RepetitionVerdict(RunOutcome.UNDISTURBED)
    assert [item for item in not_watched(unreadable.span.after, _KHZ) if item.what == "the clock of CPUs 2-3"]


def test_uncounted_heat_and_steal_are_not_watched() -> None:
    machine = repeat(ran(), ran(seconds=1.0)).span.after
    text = " ".join(map(str, not_watched(machine, _KHZ)))
    assert "steal" not in text  # on bare metal there is none
    counts = replace(machine.background.throttling, count_by_core_cpu={2: None})
    uncounted = replace(machine, background=replace(machine.background, throttling=counts))
    assert "heat" in " ".join(map(str, not_watched(uncounted, _KHZ)))
    virtual = replace(machine, platform=replace(machine.platform, virtual="kvm"))
    assert "steal" in " ".join(map(str, not_watched(virtual, _KHZ)))
    times = {cpu: replace(time, ticks=(*time.ticks[:7], 1)) for cpu, time in (machine.cpu_time or {}).items()}
    assert "steal" not in " ".join(map(str, not_watched(replace(virtual, cpu_time=times), _KHZ)))


def test_the_clock_of_an_uncalibrated_target_cpu_is_not_watched() -> None:
    machine = _repetition([3000, 3000, 3000]).span.after
    (blind_spot,) = (item for item in not_watched(machine, {2: 3e6}) if "clock" in item.what)
    assert blind_spot.what == "the clock of CPU 3"
    assert "calibration" in blind_spot.why


@pytest.mark.parametrize(
    ("repetition", "words"),
    [
        (_repetition([3000, 3000, 3000]), None),
        (_repetition([3000, 3000, 3000], looks=(0, 2)), None),
        (_repetition([3000, 3000, 3000], busy_ms=500), "no target CPU was busy for the whole time"),
        (_repetition([3000, 3000, 3000], use=THREADED), "several threads"),
        (_repetition([3000, 3000, 3000], tickless="2-3"), None),
    ],
    ids=["watched", "by one look", "it slept", "threads", "tickless"],
)
def test_a_repetition_without_a_compared_clock_has_the_reason(repetition: Repetition, words: str | None) -> None:
    verdict = _verdict(repetition)
    assert verdict.outcome == RunOutcome.UNDISTURBED
    assert [item.what for item in verdict.unwatched] == ["the clock"] * (words is not None)
    assert words is None or words in verdict.unwatched[0].why


def test_a_repetition_that_ended_before_the_first_look_has_no_compared_clock() -> None:
    whole = _repetition([3000, 3000, 3000], looks=(0, 2))
    (blind_spot,) = _verdict(replace(whole, ended_ns=whole.ended_ns - MS)).unwatched
    assert "not read while the command ran" in blind_spot.why


def test_looks_that_compared_a_clock_have_to_cover_half_of_a_repetition_whose_thread_moves() -> None:
    moments = [
        ran({2: at_2, 3: at_3}, 1.0 * at) | {f"{CPUS}/nohz_full": "\n"}
        for at, (at_2, at_3) in enumerate([(0, 0), (1000, 0), (1500, 500), (2000, 1000), (3000, 1000)])
    ]
    half = repeat(*moments, looks=range(5), own_ms=4000)
    assert _verdict(half).unwatched == ()
    assert len(_verdict(replace(half, windows=half.windows[1:])).unwatched) == 1
