"""Foreign time by the kernel's trace, which the counters and the looks may contradict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.foreign_time import insufficient_trace_reason
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from noisewatch.kernel.trace.runs import Parent
from noisewatch.model.run.repetition import Repetition
from tests.written.quiet_machine import process
from tests.written.repetitions import ALLOWED, ALONE, MS, THREADED, judge, ran, repeat
from tests.written.trace_windows import thread_time, traced

_HOG = [process(900, "hog", 2, ms * MS, allowed="2") for ms in (0, 200)]
_NO_SIBLINGS: frozenset[int] = frozenset()


def _busy(ms: float = 900, own_ms: float = 900) -> Repetition:
    """Return a second in which tasks had `ms` of CPU 2, and the command had `own_ms`."""
    return repeat(ran(), ran({2: ms}, 1.0), own_ms=own_ms, use=THREADED)


def _culprits(verdict: RepetitionVerdict) -> list[tuple[str, int | None, int | None, int]]:
    return [(reason.name, reason.pid, reason.cpu, reason.ns or 0) for reason in verdict.reasons]


def test_a_culprit_in_the_trace_has_its_exact_time() -> None:
    verdict = judge(traced(_busy(), thread_time("hog", 900, 7.5, at_ms=100), own_ms=900))
    assert verdict.outcome == RunOutcome.DISTURBED
    assert _culprits(verdict) == [("hog", 900, 2, 7_500_000)]
    (reason,) = verdict.reasons
    assert (reason.kind, reason.is_estimate, reason.share) == (ReasonKind.FOREIGN, False, 0.0075)


def test_times_of_reasons_are_since_the_repetition_began() -> None:
    repetition = _busy()
    hog = replace(thread_time("hog", 900, 100), begin_ns=repetition.began_ns + 5, end_ns=repetition.began_ns + 9)
    (reason,) = judge(traced(repetition, hog, own_ms=900)).reasons
    assert (reason.begin_ns, reason.end_ns) == (5, 9)


def test_noise_within_the_allowance_does_not_disturb() -> None:
    repetition = _busy()
    assert judge(traced(repetition, thread_time("hog", 900, 4), own_ms=900)).outcome == RunOutcome.UNDISTURBED
    two = (thread_time("hog", 900, 3), thread_time("pest", 901, 3))
    assert judge(traced(repetition, *two, own_ms=900)).outcome == RunOutcome.DISTURBED
    apart = (thread_time("hog", 900, 3), thread_time("pest", 901, 3, cpu=3))
    assert judge(traced(repetition, *apart, own_ms=900)).outcome == RunOutcome.UNDISTURBED


def test_a_trace_settles_books_that_do_not_balance() -> None:
    """The missing time belongs to a child of the command that was not waited for."""
    repetition = _busy(own_ms=100)
    assert judge(repetition).outcome == RunOutcome.DISTURBED
    assert judge(traced(repetition, own_ms=900)).outcome == RunOutcome.UNDISTURBED


def test_a_disturbance_only_in_the_trace_is_detected() -> None:
    repetition = _busy()
    assert judge(repetition).outcome == RunOutcome.UNDISTURBED
    assert judge(traced(repetition, thread_time("hog", 900, 50), own_ms=900)).outcome == RunOutcome.DISTURBED


def test_a_hog_in_the_looks_but_not_in_the_trace_does_not_disturb() -> None:
    repetition = repeat(ran() | _HOG[0], ran({2: 900}, 1.0) | _HOG[1], own_ms=700, use=THREADED)
    assert judge(repetition).outcome == RunOutcome.DISTURBED
    assert judge(traced(repetition, own_ms=700)).outcome == RunOutcome.UNDISTURBED


def test_ended_children_of_one_parent_are_one_culprit_with_their_sum() -> None:
    parent = Parent(50, "make", is_process=False)
    children = [thread_time("cc1", tid, 2, pid=None, parent=parent) for tid in range(901, 906)]
    verdict = judge(traced(_busy(), *children, own_ms=900))
    assert _culprits(verdict) == [("cc1 (5 ended children of make)", 50, 2, 10 * MS)]


def test_a_single_ended_child_has_its_own_pid_and_an_ended_thread_that_of_its_process() -> None:
    child = thread_time("cc1", 901, 20, pid=None, parent=Parent(50, "make", is_process=False))
    thread = thread_time("pool", 902, 10, pid=None, parent=Parent(60, "server", is_process=True))
    orphan = thread_time("gone", 903, 15, pid=None)
    verdict = judge(traced(_busy(), child, thread, orphan, own_ms=900))
    assert [(name, pid) for name, pid, _, _ in _culprits(verdict)] == [("cc1", 901), ("gone", None), ("pool", 60)]


def test_threads_of_one_process_are_one_culprit_and_two_processes_are_two() -> None:
    threads = [thread_time("pool", tid, 4, pid=60) for tid in (61, 62)]
    verdict = judge(traced(_busy(), *threads, thread_time("pool", 70, 5), own_ms=900))
    assert _culprits(verdict) == [("pool", 60, 2, 8 * MS), ("pool", 70, 2, 5 * MS)]


def test_a_process_left_running_by_an_earlier_repetition_is_labelled() -> None:
    repetition = replace(_busy(), earlier_pids=frozenset({900}))
    (reason,) = judge(traced(repetition, thread_time("daemon", 900, 20), own_ms=900)).reasons
    assert reason.name == "daemon (left running by an earlier repetition)"


def test_kernel_writes_for_the_command_are_own() -> None:
    use = replace(THREADED, blocks_out=80_000)
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=800, use=use)
    flusher = thread_time("kworker/u8:2-flush-254:0", 30, 50, is_kernel=True)
    verdict = judge(traced(repetition, flusher, own_ms=800))
    assert (verdict.outcome, [reason.ns for reason in verdict.own]) == (RunOutcome.UNDISTURBED, [50 * MS])
    hog = thread_time("hog", 900, 50)
    assert judge(traced(repetition, hog, own_ms=800)).outcome == RunOutcome.DISTURBED


@pytest.mark.parametrize(("own_ms", "outcome"), [(899, RunOutcome.UNDISTURBED), (800, RunOutcome.UNKNOWN)])
def test_a_command_that_ran_elsewhere_is_unknown(own_ms: float, outcome: RunOutcome) -> None:
    verdict = judge(traced(_busy(), own_ms=own_ms))
    assert verdict.outcome == outcome
    assert ("other than the target CPUs" in "".join(verdict.unknowns)) == (outcome == RunOutcome.UNKNOWN)


def test_possibly_idle_time_is_not_a_culprits_and_may_leave_a_trace_unsettled() -> None:
    """The allowance is 5 ms."""
    repetition = _busy()
    for_sure = traced(repetition, thread_time("hog", 900, 20, doubt_ms=12), own_ms=900)
    assert _culprits(judge(for_sure)) == [("hog", 900, 2, 8 * MS)]
    assert insufficient_trace_reason(for_sure, _NO_SIBLINGS, ALLOWED) is None
    in_doubt = traced(repetition, thread_time("hog", 900, 20, doubt_ms=16), own_ms=900)
    assert insufficient_trace_reason(in_doubt, _NO_SIBLINGS, ALLOWED) is not None
    assert judge(in_doubt) == judge(repetition)
    trifle = traced(repetition, thread_time("hog", 900, 4, doubt_ms=4), own_ms=900)
    assert insufficient_trace_reason(trifle, _NO_SIBLINGS, ALLOWED) is None


def test_doubtful_own_time_is_not_settled_unless_the_command_used_all_of_it() -> None:
    in_doubt = traced(_busy(), own_ms=910, doubt_ms=8)
    assert insufficient_trace_reason(in_doubt, _NO_SIBLINGS, ALLOWED) is not None
    assert insufficient_trace_reason(traced(_busy(), own_ms=910, doubt_ms=4), _NO_SIBLINGS, ALLOWED) is None
    assert insufficient_trace_reason(traced(_busy(), own_ms=900, doubt_ms=8), _NO_SIBLINGS, ALLOWED) is None
    with_a_hog = traced(_busy(), thread_time("hog", 900, 20), own_ms=910, doubt_ms=8)
    assert _culprits(judge(with_a_hog)) == [("hog", 900, 2, 20 * MS)]


def test_a_missing_trace_has_its_reason() -> None:
    assert insufficient_trace_reason(replace(_busy(), trace="it was lost"), _NO_SIBLINGS, ALLOWED) == "it was lost"


def test_a_traced_sibling_is_judged_by_the_trace() -> None:
    siblings = frozenset({1})
    busy = repeat(ran(), ran({1: 100, 2: 900}, 1.0), own_ms=900, use=THREADED)
    assert judge(busy, siblings).outcome == RunOutcome.DISTURBED
    untraced = traced(busy, own_ms=900)
    assert insufficient_trace_reason(untraced, siblings, ALLOWED) is not None
    assert judge(untraced, siblings).outcome == RunOutcome.DISTURBED
    assert not isinstance(untraced.trace, str)
    window = replace(untraced.trace, own_ns_by_cpu={1: 0, 2: 900 * MS, 3: 0})
    assert judge(replace(busy, trace=window), siblings).outcome == RunOutcome.UNDISTURBED
    hog = replace(window, times=(thread_time("hog", 900, 30, cpu=1),))
    (reason,) = judge(replace(busy, trace=hog), siblings).reasons
    assert (reason.kind, reason.name, reason.cpu, reason.ns) == (ReasonKind.SIBLING, "hog", 1, 30 * MS)


def test_a_trace_without_a_target_cpu_settles_nothing() -> None:
    whole = traced(_busy(own_ms=800), own_ms=800)
    assert not isinstance(whole.trace, str)
    part = replace(whole, trace=replace(whole.trace, own_ns_by_cpu={2: 800 * MS}))
    assert insufficient_trace_reason(whole, _NO_SIBLINGS, ALLOWED) is None
    assert "the trace does not contain CPU 3" in str(insufficient_trace_reason(part, _NO_SIBLINGS, ALLOWED))
    assert judge(part) == judge(_busy(own_ms=800))


def test_a_trace_that_shows_less_than_the_command_waited_is_rejected() -> None:
    """The allowance is 5 ms, and 2 ms for twenty wakeups."""
    use = replace(ALONE, waited_ns=28 * MS, switches=20)
    repetition = repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=use)
    contradicted = traced(repetition, thread_time("hog", 900, 4), own_ms=900)
    assert "waited 28" in str(insufficient_trace_reason(contradicted, _NO_SIBLINGS, ALLOWED))
    assert judge(contradicted).outcome == RunOutcome.DISTURBED
    explained = traced(repetition, thread_time("hog", 900, 22), own_ms=900)
    assert insufficient_trace_reason(explained, _NO_SIBLINGS, ALLOWED) is None
    threaded = replace(contradicted, use=replace(contradicted.use, ran_alone=False))
    assert insufficient_trace_reason(threaded, _NO_SIBLINGS, ALLOWED) is None
