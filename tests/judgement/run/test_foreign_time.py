"""Time of other tasks on the target CPUs during a repetition."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome
from noisewatch.model.run.repetition import CommandUse, Repetition
from tests.written.quiet_machine import process, stat_file
from tests.written.repetitions import ALONE, MS, THREADED, judge, late, ran, repeat

_HOG = [process(900, "hog", 2, ms * MS, allowed="2") for ms in (0, 200)]


def _culprits(verdict: RepetitionVerdict) -> list[tuple[str, int | None, int]]:
    return [(reason.name, reason.cpu, (reason.ns or 0) // MS) for reason in verdict.reasons]


@pytest.mark.parametrize("use", [ALONE, THREADED])
def test_a_command_alone_on_its_cpus_is_undisturbed(use: object) -> None:
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=use))  # type: ignore[arg-type]  # either
    assert verdict == RepetitionVerdict(RunOutcome.UNDISTURBED)


@pytest.mark.parametrize("use", [ALONE, THREADED])
def test_a_foreign_thread_in_the_looks_is_named(use: object) -> None:
    moments = (ran() | _HOG[0], ran({2: 900}, 1.0) | _HOG[1])
    verdict = judge(repeat(*moments, own_ms=700, use=use))  # type: ignore[arg-type]  # either
    assert verdict.outcome == RunOutcome.DISTURBED
    assert _culprits(verdict) == [("hog", 2, 200)]
    (reason,) = verdict.reasons
    assert (reason.kind, reason.pid, reason.share) == (ReasonKind.FOREIGN, 900, 0.2)
    assert (reason.begin_ns, reason.end_ns, reason.is_estimate) == (0, 1000 * MS, False)


def test_time_that_no_look_explains_is_foreign_without_a_name() -> None:
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=700, use=THREADED))
    assert verdict.outcome == RunOutcome.DISTURBED
    assert "unobserved" in verdict.reasons[0].name
    assert 199 * MS <= (verdict.reasons[0].ns or 0) <= 200 * MS


def test_the_time_of_hidden_processes_disturbs() -> None:
    hidden = repeat(ran(), ran({2: 900}, 1.0), own_ms=700, use=THREADED, gone=("/proc/700/stat", "/proc/1/stat"))
    assert judge(hidden).outcome == RunOutcome.DISTURBED


def test_a_small_part_of_one_cpu_of_several_disturbs() -> None:
    hog = [process(900, "hog", 3, ms * MS, allowed="3") for ms in (0, 8)]
    moments = (ran() | hog[0], ran({2: 990, 3: 8}, 1.0) | hog[1])
    assert _culprits(judge(repeat(*moments, own_ms=990, use=THREADED))) == [("hog", 3, 8)]


def test_noise_within_the_allowance_of_each_cpu_does_not_disturb() -> None:
    trifles = [
        process(900, "trifle", 2, ms * MS, allowed="2") | process(901, "trifle", 3, ms * MS, allowed="3")
        for ms in (0, 4)
    ]
    moments = (ran() | trifles[0], ran({2: 704, 3: 704}, 1.0) | trifles[1])
    assert judge(repeat(*moments, own_ms=1400, use=THREADED)).outcome == RunOutcome.UNDISTURBED


def test_a_single_thread_that_waited_was_disturbed() -> None:
    verdict = judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=replace(ALONE, waited_ns=30 * MS)))
    assert verdict.outcome == RunOutcome.DISTURBED
    assert "kept the command waiting" in verdict.reasons[0].name


def test_noise_on_other_cpus_does_not_explain_a_wait() -> None:
    trifle = [process(901, "trifle", 3, ms * MS, allowed="3") for ms in (0, 4)]
    moments = (ran() | trifle[0], ran({2: 900, 3: 4}, 1.0) | trifle[1])
    verdict = judge(repeat(*moments, own_ms=900, use=replace(ALONE, waited_ns=6 * MS)))
    assert verdict.outcome == RunOutcome.DISTURBED


def test_waits_of_a_command_of_several_threads_do_not_count() -> None:
    own = replace(THREADED, waited_ns=300 * MS)
    assert judge(repeat(ran(), ran({2: 900}, 1.0), own_ms=900, use=own)).outcome == RunOutcome.UNDISTURBED


def _second_of_two(own_ms: float) -> RepetitionVerdict:
    """Return the verdict on the second of two repetitions (0.1 s) of one window, in which a hog had 40 ms."""
    hog = [process(900, "hog", 2, ms * MS, allowed="2") for ms in (0, 40)]
    moments = (ran() | hog[0], ran({2: 100}, 0.1) | hog[0], ran({2: 200}, 0.2) | hog[1])
    return judge(repeat(*moments, seconds=0.1, marks=(1, 2), own_ms=own_ms, use=THREADED))


def test_a_hog_of_the_earlier_repetition_does_not_disturb_the_later_one() -> None:
    assert _second_of_two(own_ms=100).outcome == RunOutcome.UNDISTURBED


def test_the_disturbed_one_of_several_repetitions_in_a_window_has_a_named_culprit() -> None:
    verdict = _second_of_two(own_ms=60)
    assert [(reason.name, reason.is_estimate) for reason in verdict.reasons] == [("hog", True)]
    assert 39 * MS <= (verdict.reasons[0].ns or 0) <= 40 * MS


def test_foreign_time_that_fits_outside_of_the_repetition_does_not_disturb_it() -> None:
    whole = repeat(ran(), ran({2: 90}, 0.1), seconds=0.1, own_ms=60)
    inner = replace(whole, began_ns=whole.began_ns + 35 * MS)
    assert judge(whole).outcome == RunOutcome.DISTURBED
    assert judge(inner).outcome == RunOutcome.UNDISTURBED


def test_foreign_time_near_a_repetition_of_several_threads_is_unknown() -> None:
    whole = repeat(ran(), ran({2: 90}, 0.1), seconds=0.1, own_ms=60, use=THREADED)
    verdict = judge(replace(whole, began_ns=whole.began_ns + 35 * MS))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "too much for so short a repetition" in verdict.unknowns[0]


def test_an_excess_within_the_error_of_the_counters_is_unknown() -> None:
    moments = (ran(), ran({2: 90.6}, 0.1))
    assert judge(repeat(*moments, seconds=0.1, own_ms=90)).outcome == RunOutcome.UNDISTURBED
    assert judge(repeat(*moments, seconds=0.1, own_ms=90, use=THREADED)).outcome == RunOutcome.UNKNOWN


def test_a_thread_that_moved_had_no_more_than_the_busy_time_of_the_target_cpus() -> None:
    wanderer = [process(900, "wanderer", cpu, ms * MS, allowed="0-3") for cpu, ms in ((0, 0), (2, 100))]
    moments = (ran() | wanderer[0], ran({1: 100, 2: 900}, 1.0) | wanderer[1])
    assert judge(repeat(*moments, own_ms=900, use=THREADED)).outcome == RunOutcome.UNDISTURBED


def test_noisewatch_on_a_target_cpu_is_noise() -> None:
    moments = [process(900, "noisewatch", 2, ms * MS, allowed="2") for ms in (0, 60)]
    verdict = judge(repeat(ran() | moments[0], ran({2: 900}, 1.0) | moments[1], own_ms=840, own_pids=[900]))
    assert _culprits(verdict) == [("noisewatch", 2, 60)]


def test_the_command_itself_is_not_foreign() -> None:
    files = [
        process(900, "noisewatch", 0, ms * MS) | process(901, "command", 2, 12 * ms * MS, allowed="2", parent=900)
        for ms in (0, 60)
    ]
    moments = (ran() | files[0], ran({0: 60, 2: 720}, 1.0) | files[1])
    assert judge(repeat(*moments, own_ms=720, own_pids=[900, 901])).outcome == RunOutcome.UNDISTURBED


def test_a_command_that_ran_on_other_cpus_is_unknown() -> None:
    """Another task had as much time on the target CPUs as the command had elsewhere, so the sums agree."""
    files = [
        process(900, "noisewatch", 0, 0) | process(901, "command", 1, ms * MS, allowed="1", parent=900)
        for ms in (0, 500)
    ]
    moments = (ran() | files[0], ran({1: 500, 2: 500}, 1.0) | files[1])
    verdict = judge(repeat(*moments, own_ms=500, own_pids=[900, 901]))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "other than the target CPUs for 500 ms" in verdict.unknowns[0]


def test_a_command_with_more_time_than_its_cpus_is_unknown_even_without_waits() -> None:
    verdict = judge(repeat(ran(), ran({2: 600}, 1.0), own_ms=900))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "also ran elsewhere" in verdict.unknowns[0]


def test_ticks_alone_never_make_a_repetition_undisturbed() -> None:
    moments: tuple[dict[str, str], ...] = ({}, {"/proc/stat": stat_file({2: 900}, 1000)})
    for use in (ALONE, THREADED):
        verdict = judge(repeat(*moments, seconds=10.0, own_ms=9000, use=use))
        assert verdict.outcome == RunOutcome.UNKNOWN
        assert "in ticks" in verdict.unknowns[0]


def test_ticks_show_long_foreign_time() -> None:
    moments: tuple[dict[str, str], ...] = ({}, {"/proc/stat": stat_file({2: 900}, 1000)})
    assert judge(repeat(*moments, seconds=10.0, own_ms=7000, use=THREADED)).outcome == RunOutcome.DISTURBED


def test_the_looks_detect_a_hog_that_is_still_running() -> None:
    """/proc/schedstat does not count the hog while it runs, and a repetition of 100 ms is too short for ticks."""
    hog = [process(900, "hog", 3, ms * MS, allowed="3") for ms in (0, 400)]
    moments = [late(ran(seconds=at / 10), [5 + at, 5, 5, 5]) | hog[at == 5] for at in range(6)]
    verdict = judge(repeat(*moments, seconds=0.1, marks=(2, 3), use=THREADED))
    assert [(reason.name, reason.cpu) for reason in verdict.reasons] == [("hog", 3)]


def test_all_tasks_that_may_have_had_a_part_are_named() -> None:
    """Neither CPU exceeds the allowance, but the part of each task is not known."""
    hogs = [
        process(900, "hog", 2, ms * MS, allowed="2") | process(901, "pig", 3, ms * MS, allowed="3") for ms in (0, 20)
    ]
    files = [ran({2: busy_ms, 3: busy_ms}, at / 10) for at, busy_ms in enumerate((0, 10, 10.5, 20))]
    moments = [moment | hogs[at == 3] for at, moment in enumerate(files)]
    verdict = judge(repeat(*moments, seconds=0.1, marks=(1, 2), use=THREADED))
    assert {reason.name for reason in verdict.reasons} == {"hog", "pig"}


@pytest.mark.parametrize(("hog_ms", "outcome"), [(190, RunOutcome.UNKNOWN), (250, RunOutcome.DISTURBED)])
def test_a_hog_whose_time_does_not_fit_outside_of_the_repetition_disturbs_it(hog_ms: int, outcome: RunOutcome) -> None:
    """The window of 0.3 s is counted in ticks; a third of it is the repetition."""
    hog = [process(900, "hog", 2, ms * MS, allowed="2") for ms in (0, hog_ms)]
    moments = [hog[at == 3] | {"/proc/stat": stat_file({2: 10 * at}, 10 * at)} for at in range(4)]
    assert judge(repeat(*moments, seconds=0.1, marks=(1, 2), own_ms=100)).outcome == outcome


def test_a_larger_allowance_makes_a_repetition_undisturbed() -> None:
    repetition = repeat(ran(), ran({2: 910}, 1.0), own_ms=900, use=THREADED)
    assert judge(repetition).outcome == RunOutcome.DISTURBED
    assert judge(repetition, allowance=Allowance(0.02, True)).outcome == RunOutcome.UNDISTURBED


def _with_ended_children(ran_ms: int, waited_ms: int) -> Repetition:
    """Return a repetition of 0.6 s of CPU time, during which ended children of another process had 0.3 s."""
    parents = [
        process(900, "noisewatch", 0, at * MS, allowed="0-3", children=60 * at)
        | process(910, "make", 2, at * MS, allowed="0-3", children=30 * at)
        for at in (0, 1)
    ]
    moments = (ran() | parents[0], ran({2: ran_ms}, 1.0) | parents[1])
    return repeat(*moments, own_ms=600, own_pids=[900], use=replace(ALONE, waited_ns=waited_ms * MS))


def test_ended_children_of_others_are_not_named_for_time_of_the_ended_command() -> None:
    repetition = _with_ended_children(ran_ms=601, waited_ms=7)
    assert [run.are_children for run in repetition.windows[0].runs_on(2)] == [True, False]
    assert not [reason for reason in judge(repetition).reasons if "children" in reason.name]


def test_ended_children_of_others_are_named_if_the_foreign_time_includes_them() -> None:
    reasons = judge(_with_ended_children(ran_ms=901, waited_ms=300)).reasons
    assert [reason.name for reason in reasons] == ["children of make"]


def _daemon(ms: int) -> dict[str, str]:
    """Return the files of a daemon that an earlier repetition started, and of its child."""
    return process(900, "daemon", 2, ms * MS, allowed="2", parent=700) | process(901, "child", 2, 0, parent=900)


@pytest.mark.parametrize("use", [ALONE, THREADED])
def test_a_process_left_running_by_an_earlier_repetition_is_foreign_and_named(use: object) -> None:
    moments = (ran() | _daemon(0), ran({2: 900}, 1.0) | _daemon(200))
    repetition = repeat(*moments, own_ms=700, use=use, own_pids=[700, 900, 901])  # type: ignore[arg-type]  # either
    verdict = judge(replace(repetition, earlier_pids=frozenset({900})))
    assert _culprits(verdict) == [("daemon (left running by an earlier repetition)", 2, 200)]
    assert verdict.reasons[0].pid == 900


def test_a_child_of_a_process_left_running_is_foreign_too() -> None:
    moments = (ran() | _daemon(0), ran({2: 900}, 1.0) | _daemon(0) | process(901, "child", 2, 200 * MS, parent=900))
    repetition = repeat(*moments, own_ms=700, use=THREADED, own_pids=[700, 900, 901])
    verdict = judge(replace(repetition, earlier_pids=frozenset({900})))
    assert _culprits(verdict) == [("child (left running by an earlier repetition)", 2, 200)]


def test_a_process_that_the_repetition_leaves_running_is_its_own() -> None:
    moments = (ran() | _daemon(0), ran({2: 900}, 1.0) | _daemon(200))
    use = replace(THREADED, left_ns=200 * MS)
    assert judge(repeat(*moments, own_ms=700, use=use, own_pids=[700, 900, 901])) == RepetitionVerdict(
        RunOutcome.UNDISTURBED
    )


@pytest.mark.parametrize("use", [replace(ALONE, waited_ns=0), THREADED])
def test_a_command_with_an_affinity_beyond_the_target_cpus_is_unknown(use: CommandUse) -> None:
    moments = (ran(), ran({2: 900}, 1.0))
    for allowed in (frozenset({2}), frozenset({2, 3})):
        assert judge(repeat(*moments, own_ms=900, use=use, allowed=allowed)).outcome == RunOutcome.UNDISTURBED
    verdict = judge(repeat(*moments, own_ms=900, use=use, allowed=frozenset({0, 2})))
    assert verdict.outcome == RunOutcome.UNKNOWN
    assert "set its affinity to CPUs 0,2:" in verdict.unknowns[0]


def test_a_command_with_an_unknown_affinity_is_unknown() -> None:
    repetition = replace(repeat(ran(), ran({2: 900}, 1.0), own_ms=900), allowed=None)
    assert judge(repetition).outcome == RunOutcome.UNKNOWN


def test_the_time_of_a_task_before_the_command_began_does_not_count() -> None:
    """The task had run for an hour; the command slept, and the CPU was idle."""
    idle = {"/proc/stat": stat_file({}, 100)}
    after = late(ran({2: 3_600_000}, 1.0) | idle, [6, 5, 6, 5])
    verdict = judge(repeat(late(ran()), after, use=ALONE))
    assert [reason for reason in verdict.reasons if reason.kind == ReasonKind.FOREIGN] == []


def test_time_that_fits_between_the_repetition_and_its_looks_does_not_count() -> None:
    """The looks cover 50 ms more on each side of the repetition, in which the hog may have run."""
    repetition = repeat(ran() | _HOG[0], ran({2: 900}, 1.0) | _HOG[1], own_ms=700)
    edge_ns = 50 * MS
    inner = replace(repetition, began_ns=repetition.began_ns + edge_ns, ended_ns=repetition.ended_ns - edge_ns)
    assert _culprits(judge(inner)) == [("hog", 2, 100)]
    assert judge(replace(inner, began_ns=inner.began_ns + edge_ns, ended_ns=inner.ended_ns - edge_ns)).reasons == ()
