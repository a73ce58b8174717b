"""Commands that run outside their target CPUs (2 and 3), and noise on these CPUs that cannot have disturbed them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.foreign_time import unusable_trace_reason
from noisewatch.judgement.run.left_target import LeftTarget, find_left_target, traced_outside_ns
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason, summarize_reasons
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.kernel.tasks.command_threads import ThreadLook
from noisewatch.model.run.leaving import TimeOutside
from noisewatch.model.run.placement import NOWHERE_ELSE, Placement
from noisewatch.model.run.repetition import CommandUse, Repetition
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, placement_of
from tests.model.run.test_placement import looks_of
from tests.written.quiet_machine import process
from tests.written.repetitions import ALLOWED, ALONE, MS, THREADED, ran, repeat
from tests.written.trace_windows import thread_time, traced

_TARGET = frozenset({2, 3})
_HOG = [process(900, "hog", 2, ms * MS, allowed="2") for ms in (0, 800)]
_LENGTH_NS = 1000 * MS


def _placement(*moments: list[ThreadLook]) -> Placement:
    return placement_of(looks_of(*moments), _TARGET, ONE_NODE, NOWHERE_ELSE)


def _judge(repetition: Repetition, placement: Placement | None = None) -> RepetitionVerdict:
    left = find_left_target(repetition, placement or _placement(), ALLOWED)
    return judge_repetition(repetition, frozenset(), ALLOWED, left=left)


def _text(verdict: RepetitionVerdict) -> str:
    return summarize_reasons(verdict, _LENGTH_NS)


def _next_to_a_hog(own_ms: float = 900, *, use: object = ALONE) -> Repetition:
    """Return a second in which a hog had 800 ms of CPU 2."""
    moments = (ran() | _HOG[0], ran({2: 800}, 1.0) | _HOG[1])
    return repeat(*moments, own_ms=own_ms, use=use)  # type: ignore[arg-type]  # a CommandUse


def test_trace_without_the_command_shows_that_it_left() -> None:
    verdict = _judge(traced(_next_to_a_hog(), thread_time("hog", 900, 800), own_ms=1))
    (reason,) = verdict.reasons
    assert (verdict.outcome, reason.kind, reason.is_estimate) == (RunOutcome.DISTURBED, ReasonKind.LEFT_TARGET, False)
    assert 895 * MS < (reason.ns or 0) < 900 * MS
    assert _text(verdict) == "the command ran on other CPUs, not on the target: it sets its own affinity"


def test_affinity_names_the_cpus() -> None:
    repetition = traced(_next_to_a_hog(), thread_time("hog", 900, 800), own_ms=1)
    outside = TimeOutside(850 * MS, 900 * MS, frozenset({0}))
    (reason,) = _judge(replace(repetition, first_outside=outside, allowed=frozenset({0}))).reasons
    assert (reason.cpu, reason.cpus) == (0, frozenset({0}))
    assert reason.name == "the command ran on CPU 0, not on the target"


def test_trace_that_the_counters_contradict_does_not_show_it() -> None:
    """CPU 2 ran tasks for 900 ms, of which the trace contains only 1 ms."""
    repetition = traced(repeat(ran(), ran({2: 900}, 1.0), own_ms=900), own_ms=1)
    assert find_left_target(repetition, _placement(), ALLOWED) is None


def test_doubtful_switches_do_not_show_it() -> None:
    repetition = traced(_next_to_a_hog(), thread_time("hog", 900, 899, doubt_ms=899), own_ms=1)
    assert find_left_target(repetition, _placement(), ALLOWED) is None


def test_trace_is_usable_although_the_command_waited_elsewhere() -> None:
    use = replace(ALONE, waited_ns=90 * MS)
    stayed = traced(_next_to_a_hog(use=use), own_ms=900)
    assert "waited" in (unusable_trace_reason(stayed, ALLOWED) or "")
    left = traced(_next_to_a_hog(use=use), thread_time("hog", 900, 8), own_ms=0)
    assert unusable_trace_reason(replace(left, books=replace(left.books, tasks_ns=8 * MS)), ALLOWED) is None


def test_part_of_the_time_elsewhere_is_shown_with_its_share() -> None:
    """A hog had 800 ms of CPU 2: more than the 300 ms in which the command may have been elsewhere."""
    repetition = traced(_next_to_a_hog(1000), thread_time("hog", 900, 800), own_ms=700)
    verdict = _judge(repetition)
    assert [reason.kind for reason in verdict.reasons] == [ReasonKind.FOREIGN, ReasonKind.LEFT_TARGET]
    assert "not on the target, for 299 ms (30% of its CPU time): it sets its own affinity" in _text(verdict)


def test_noise_that_fits_into_the_time_elsewhere_is_no_reason() -> None:
    repetition = traced(_next_to_a_hog(1000), thread_time("hog", 900, 290), own_ms=700)
    repetition = replace(repetition, books=replace(repetition.books, tasks_ns=990 * MS))
    assert [reason.kind for reason in _judge(repetition).reasons] == [ReasonKind.LEFT_TARGET]


@pytest.mark.parametrize(("outside_ms", "outcome"), [(4, RunOutcome.UNDISTURBED), (400, RunOutcome.DISTURBED)])
def test_a_short_look_outside_is_no_reason(outside_ms: int, outcome: RunOutcome) -> None:
    outside = TimeOutside(outside_ms * MS, outside_ms * MS, frozenset({0}))
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=THREADED)
    assert _judge(replace(repetition, first_outside=outside)).outcome == outcome


def test_affinity_decides_although_a_hog_balances_the_books() -> None:
    repetition = replace(_next_to_a_hog(800), first_outside=TimeOutside(780 * MS, 800 * MS, frozenset({0})))
    verdict = _judge(replace(repetition, allowed=frozenset({0})))
    assert _text(verdict) == "the command ran on CPU 0, not on the target: it sets its own affinity"


def test_books_decide_for_a_short_child() -> None:
    """The target CPUs counted 100 ms less than the command used."""
    verdict = _judge(repeat(ran(), ran({2: 20}, 1.0), own_ms=120, use=THREADED))
    (reason,) = verdict.reasons
    assert reason.kind == ReasonKind.LEFT_TARGET
    assert 95 * MS < (reason.ns or 0) < 100 * MS


def test_books_in_ticks_do_not_show_it() -> None:
    repetition = repeat(ran(), ran({2: 600}, 1.0), own_ms=900)
    books = replace(repetition.books, is_exact=False)
    assert find_left_target(replace(repetition, books=books), _placement(), ALLOWED) is None


def test_two_looks_at_a_thread_elsewhere_show_it() -> None:
    placement = _placement([thread_look(9, 0, 10 * MS)], [thread_look(9, 0, 110 * MS)], [thread_look(9, 0, 210 * MS)])
    (reason,) = _judge(_next_to_a_hog(210, use=THREADED), placement).reasons
    assert (reason.kind, reason.cpu, reason.ns) == (ReasonKind.LEFT_TARGET, 0, 210 * MS)


@pytest.mark.parametrize(("ran_ms", "outcome"), [(200, RunOutcome.UNKNOWN), (4, RunOutcome.UNDISTURBED)])
def test_one_look_at_a_thread_elsewhere_does_not(ran_ms: int, outcome: RunOutcome) -> None:
    """The thread may have run elsewhere from the look before to the look after."""
    halves = [10 * MS, (10 + ran_ms // 2) * MS, (10 + ran_ms) * MS]
    placement = _placement(*([thread_look(9, cpu, ns)] for cpu, ns in zip((2, 0, 2), halves, strict=True)))
    repetition = repeat(ran(), ran({2: 210}, 1.0), own_ms=210, use=THREADED)
    verdict = _judge(repetition, placement)
    assert (verdict.outcome, verdict.reasons) == (outcome, ())
    assert all("for up to 200 ms" in unknown for unknown in verdict.unknowns)
    assert _judge(traced(repetition, own_ms=210), placement).outcome == RunOutcome.UNDISTURBED


def test_first_look_at_a_thread_elsewhere_does_not_show_how_long_it_was_there() -> None:
    placement = _placement([thread_look(9, 0, 100 * MS)], [thread_look(9, 2, 100 * MS)])
    verdict = _judge(repeat(ran(), ran({2: 210}, 1.0), own_ms=210, use=THREADED), placement)
    assert (verdict.outcome, verdict.reasons) == (RunOutcome.UNKNOWN, ())


def test_noise_next_to_a_thread_that_stays_is_a_reason() -> None:
    placement = _placement(
        [thread_look(8, 2, 0), thread_look(9, 0, 0)], [thread_look(8, 2, 100 * MS), thread_look(9, 0, 100 * MS)]
    )
    verdict = _judge(_next_to_a_hog(200, use=THREADED), placement)
    assert {reason.kind for reason in verdict.reasons} == {ReasonKind.FOREIGN, ReasonKind.LEFT_TARGET}


def test_a_command_that_ended_elsewhere_after_an_unknown_time_is_unknown() -> None:
    """Noise on the target CPUs may have occurred after the command had left them."""
    repetition = replace(_next_to_a_hog(100), first_outside=TimeOutside(0, 90 * MS, frozenset({0})))
    verdict = _judge(replace(repetition, allowed=frozenset({0})))
    assert (verdict.outcome, verdict.reasons) == (RunOutcome.UNKNOWN, ())
    assert "cannot tell how long it ran" in verdict.unknowns[0]


def test_noise_for_longer_than_a_command_may_have_been_elsewhere_is_a_reason() -> None:
    """A hog had 800 ms of CPU 2, and the command may have been elsewhere for 600 ms."""
    repetition = replace(_next_to_a_hog(500), first_outside=TimeOutside(0, 300 * MS, frozenset({0})))
    verdict = _judge(replace(repetition, allowed=frozenset({0})))
    assert (verdict.outcome, [reason.kind for reason in verdict.reasons]) == (
        RunOutcome.DISTURBED,
        [ReasonKind.FOREIGN],
    )
    assert "cannot tell how long it ran" in verdict.unknowns[0]


def test_the_kernel_moves_threads_away_from_an_offline_cpu() -> None:
    repetition = _next_to_a_hog()
    online = replace(repetition.span.after.online, online=frozenset({0, 1, 2}))
    after = replace(repetition.span.after, online=online)
    span = replace(repetition.span, after=after)
    outside = TimeOutside(500 * MS, 500 * MS, frozenset({0}))
    assert find_left_target(replace(repetition, span=span, first_outside=outside), _placement(), ALLOWED) is None


@pytest.mark.parametrize("max_ns", [90 * MS, None])
def test_a_command_that_returned_after_an_unknown_time_is_unknown(max_ns: int | None) -> None:
    """The affinity allowed only target CPUs at the end, but another CPU before."""
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=900)
    assert _judge(repetition).outcome == RunOutcome.UNDISTURBED
    verdict = _judge(replace(repetition, first_outside=TimeOutside(0, max_ns, frozenset({0}))))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert verdict.unknowns[0].startswith("the command set its affinity to CPU 0: cannot tell how long it ran")


def test_noise_next_to_a_command_that_left_for_an_uncounted_time_is_unknown() -> None:
    repetition = replace(_next_to_a_hog(100), first_outside=TimeOutside(0, None, frozenset({0})))
    verdict = _judge(replace(repetition, allowed=frozenset({0})))
    assert (verdict.outcome, verdict.reasons) == (RunOutcome.UNKNOWN, ())


@pytest.mark.parametrize("is_traced", [True, False])
def test_a_command_that_left_is_unknown_if_the_online_cpus_are_unknown(is_traced: bool) -> None:
    """The kernel may have moved the command away from a CPU that went offline."""
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=900)
    after = replace(repetition.span.after, online=replace(repetition.span.after.online, online=None))
    repetition = replace(repetition, span=replace(repetition.span, after=after))
    if is_traced:
        repetition = traced(repetition, own_ms=0)
        repetition = replace(repetition, books=replace(repetition.books, tasks_ns=0))
    assert _judge(replace(repetition)).outcome == (RunOutcome.UNKNOWN if is_traced else RunOutcome.UNDISTURBED)
    outside = TimeOutside(500 * MS, 500 * MS, frozenset({0}))
    verdict = _judge(replace(repetition, first_outside=outside))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert any("cannot tell whether a target CPU went offline" in unknown for unknown in verdict.unknowns)


def test_a_lower_clock_is_kept_for_a_command_that_the_kernel_may_have_moved() -> None:
    lower = RunReason(kind=ReasonKind.CLOCK_LOWERED, name="CPU 2 ran at 2 GHz", cpu=2)
    assert LeftTarget(None, 0, "unknown").keep([lower], _next_to_a_hog(), ALLOWED) == [lower]


def _reason(kind: ReasonKind, ms: int | None, share: float | None = None) -> RunReason:
    return RunReason(kind=kind, name="a reason", cpu=2, ns=None if ms is None else ms * MS, share=share)


_FOREIGN, _LOWER = _reason(ReasonKind.FOREIGN, 300), _reason(ReasonKind.CLOCK_LOWERED, None)
_SWAPPED = _reason(ReasonKind.SWAPPED, 1)


@pytest.mark.parametrize(
    ("away_ms", "share", "kept"),
    [
        (0, 0.9, [_FOREIGN, _LOWER, _SWAPPED]),
        (294, 0.3, [_FOREIGN, _LOWER, _SWAPPED]),
        (295, 0.3, [_LOWER, _SWAPPED]),
        (994, None, [_LOWER, _SWAPPED]),
        (995, None, [_SWAPPED]),
        (200, 0.79, [_FOREIGN, _LOWER, _SWAPPED]),
        (200, 0.8, [_SWAPPED]),
    ],
)
def test_noise_is_kept_if_it_lasted_longer_than_the_absence(
    away_ms: int, share: float | None, kept: list[RunReason]
) -> None:
    """A second with an allowance of 5 ms, 300 ms of another task, and a clock that was lower all the time."""
    left = LeftTarget(None if share is None else _reason(ReasonKind.LEFT_TARGET, None, share), away_ms * MS)
    repetition = repeat(ran(), ran(), own_ms=0)
    repetition = replace(repetition, ended_ns=repetition.began_ns + _LENGTH_NS)
    assert left.keep([_FOREIGN, _LOWER, _SWAPPED], repetition, ALLOWED) == kept


def test_noise_of_all_sources_on_a_cpu_is_compared_with_the_absence() -> None:
    noise = [_reason(kind, 200) for kind in (ReasonKind.FOREIGN, ReasonKind.INTERRUPTIONS, ReasonKind.STEAL)]
    assert LeftTarget(None, 500 * MS).keep(noise, _next_to_a_hog(), ALLOWED) == noise
    assert LeftTarget(None, 500 * MS).keep(noise[:2], _next_to_a_hog(), ALLOWED) == []


@pytest.mark.parametrize(
    ("used_ms", "outside_ms", "use", "away_ms"),
    [
        (1000, 790, THREADED, 0),
        (1000, 800, THREADED, 800),
        (1000, 300, ALONE, 300),
        (500, 300, ALONE, 600),
        (500, 500, THREADED, 1000),
    ],
)
def test_absence_is_the_share_of_the_cpu_time_unless_other_threads_may_have_stayed(
    used_ms: int, outside_ms: int, use: CommandUse, away_ms: int
) -> None:
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=used_ms, use=use)
    outside = TimeOutside(outside_ms * MS, outside_ms * MS, frozenset({0}))
    left = find_left_target(replace(repetition, first_outside=outside), _placement(), ALLOWED)
    assert left is not None
    assert left.reason is not None
    assert (left.reason.ns, left.away_ns) == (outside_ms * MS, away_ms * repetition.length_ns // 1000)
    assert left.reason.share == pytest.approx(outside_ms / used_ms)


@pytest.mark.parametrize(("max_ms", "share"), [(90, 0.9), (None, 1.0), (200, 1.0)])
def test_possible_absence_of_a_command_that_ended_elsewhere(max_ms: int | None, share: float) -> None:
    outside = TimeOutside(0, None if max_ms is None else max_ms * MS, frozenset({0}))
    repetition = replace(_next_to_a_hog(100), first_outside=outside)
    left = find_left_target(replace(repetition, allowed=frozenset({0, 1})), _placement(), ALLOWED)
    assert left == LeftTarget(None, round(share * repetition.length_ns))
    for allowed in (frozenset({0, 2}), None):
        assert find_left_target(replace(repetition, allowed=allowed), _placement(), ALLOWED) is None


def test_command_cannot_leave_if_all_online_cpus_are_target_cpus() -> None:
    repetition = repeat(ran(), ran({2: 20}, 1.0), own_ms=900, use=THREADED)
    assert find_left_target(repetition, _placement(), ALLOWED) is not None
    online = replace(repetition.span.after.online, online=_TARGET)
    span = replace(repetition.span, after=replace(repetition.span.after, online=online))
    assert find_left_target(replace(repetition, span=span), _placement(), ALLOWED) is None


@pytest.mark.parametrize(
    ("observed_ms", "cpus"), [({0: 95, 1: 6}, {0, 1}), ({0: 1000, 1: 9}, {0}), ({0: 1000, 1: 11}, {0, 1})]
)
def test_cpus_with_a_hundredth_of_the_time_outside_are_named(observed_ms: dict[int, int], cpus: set[int]) -> None:
    looks = [[thread_look(9 + cpu, cpu, ms * share * MS) for cpu, ms in observed_ms.items()] for share in (0, 1)]
    placement = _placement(*looks)
    repetition = replace(repeat(ran(), ran({2: 900}, 1.0), own_ms=1100), first_outside=TimeOutside(500 * MS, 500 * MS))
    left = find_left_target(repetition, placement, ALLOWED)
    assert left is not None
    assert left.reason is not None
    assert (left.reason.cpus, left.reason.ns) == (frozenset(cpus), max(500, sum(observed_ms.values())) * MS)
    assert left.reason.cpu == (0 if cpus == {0} else None)


@pytest.mark.parametrize(
    ("own_ms", "tasks_ms", "doubt_ms", "slack_ms", "outside_ms"),
    [
        (900, 900, 0, 0, 0),
        (100, 150, 0, 0, 750),  # the target CPUs ran tasks for 50 ms more than the trace contains
        (100, 150, 30, 0, 780),
        (100, 150, 20, 5, 780),  # each of the two target CPUs may have run tasks for 5 ms next to the repetition
        (100, 150, 60, 0, 800),
        (100, 90, 0, 0, 800),
        (100, None, 0, 0, 800),
    ],
)
def test_time_outside_by_the_trace(
    own_ms: int, tasks_ms: int | None, doubt_ms: int, slack_ms: int, outside_ms: int
) -> None:
    """The command used 900 ms. The bound is lower by the inaccuracy of the two clocks, of at most 5 ms here."""
    repetition = traced(repeat(ran(), ran(), own_ms=900), own_ms=own_ms)
    tasks_ns = None if tasks_ms is None else tasks_ms * MS
    books = replace(repetition.books, tasks_ns=tasks_ns, doubt_ns=doubt_ms * MS)
    ended_ns = repetition.ended_ns - slack_ms * MS
    outside_ns = traced_outside_ns(replace(repetition, books=books, ended_ns=ended_ns))
    assert max(outside_ms - 5, 0) * MS <= outside_ns <= outside_ms * MS
    assert traced_outside_ns(replace(repetition, books=books, trace="no trace")) == 0


@pytest.mark.parametrize(
    ("tasks_ms", "doubt_ms", "outside_ms"), [(900, 0, 90), (900, 50, 40), (980, 0, 10), (995, 0, 0)]
)
def test_books_count_beyond_their_doubt_and_a_hundredth(tasks_ms: int, doubt_ms: int, outside_ms: int) -> None:
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=1000, use=THREADED)
    books = replace(repetition.books, tasks_ns=tasks_ms * MS, doubt_ns=doubt_ms * MS)
    left = find_left_target(replace(repetition, books=books), _placement(), ALLOWED)
    ns = left.reason.ns if left is not None and left.reason is not None else 0
    assert ns == outside_ms * MS
