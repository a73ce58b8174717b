"""Culprits of a series, ranked by the time that they took, and their remedies."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.finding_words import commands_of
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.judgement.run.run_culprits import RunCulprit, rank_culprits, remedy_of_run
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kinds import Kind
from tests.written.repetitions import MS, ran, repeat


@cache
def quiet_snapshot() -> Snapshot:
    return repeat(ran(), ran(seconds=1.0)).windows[-1].after


def _reason(name: str, ms: int | None, pid: int | None = 900, cpu: int | None = 2) -> RunReason:
    ns = None if ms is None else ms * MS
    return RunReason(kind=ReasonKind.FOREIGN, name=name, noise=Kind.THREAD, cpu=cpu, pid=pid, ns=ns)


def _disturbed(*reasons: RunReason) -> RepetitionVerdict:
    return RepetitionVerdict(RunOutcome.DISTURBED, reasons)


def test_culprits_are_ranked_by_their_time_over_all_repetitions_and_unknown_times_are_last() -> None:
    swapped = RunReason(kind=ReasonKind.SWAPPED, name="pages went to swap")
    ranked = rank_culprits(
        [
            (1, _disturbed(_reason("short", 5, pid=800), swapped)),
            (2, _disturbed(_reason("long", 4), _reason("short", 1, pid=800))),
            (7, _disturbed(_reason("long", 4, pid=901, cpu=3), swapped)),
        ]
    )
    assert [(culprit.name, culprit.ns, culprit.numbers) for culprit in ranked] == [
        ("long", 8 * MS, (2, 7)),
        ("short", 6 * MS, (1, 2)),
        ("pages went to swap", None, (1, 7)),
    ]
    assert (ranked[0].pids, ranked[0].cpus) == ((900, 901), frozenset({2, 3}))


def test_one_name_on_two_cpus_is_one_culprit_of_one_repetition() -> None:
    (culprit,) = rank_culprits([(3, _disturbed(_reason("hog", 1), _reason("hog", 2, pid=5, cpu=3)))])
    assert (culprit.ns, culprit.numbers, culprit.pids) == (3 * MS, (3,), (5, 900))


def test_a_process_with_two_names_has_the_one_that_took_most() -> None:
    """The process joins the others of that name; its children, listed by its number, are a separate culprit."""
    (hog, children) = rank_culprits(
        [
            (1, _disturbed(_reason("sh", 1), _reason("hog", 2, pid=5))),
            (2, _disturbed(_reason("hog", 3), _reason("children of hog", 4))),
        ]
    )
    assert (hog.name, hog.ns, hog.pids, hog.numbers) == ("hog", 6 * MS, (900, 5), (1, 2))
    assert (children.name, children.ns) == ("children of hog", 4 * MS)


def test_of_two_names_with_equal_times_the_newer_one_is_listed() -> None:
    judged = [(1, _disturbed(_reason("sh", 2))), (2, _disturbed(_reason("hog", 2)))]
    assert [culprit.name for culprit in rank_culprits(judged)] == ["hog"]


def test_a_sender_of_interrupts_keeps_its_name() -> None:
    sent = replace(_reason("called by hog", 9), kind=ReasonKind.INTERRUPTIONS, noise=Kind.IPI)
    assert [culprit.name for culprit in rank_culprits([(1, _disturbed(_reason("hog", 1), sent))])] == [
        "called by hog",
        "hog",
    ]


def test_a_partly_estimated_culprit_is_an_estimate() -> None:
    (culprit,) = rank_culprits([(1, _disturbed(_reason("hog", 1), replace(_reason("hog", 2), is_estimate=True)))])
    assert culprit.is_estimate


def _tasks_with_hog(machine: Snapshot, started_ticks: int = 500) -> Tasks:
    """Return the tasks of the machine, and a process of two threads on a target CPU."""
    assert machine.tasks is not None
    any_task = next(iter(machine.tasks.by_tid.values()))
    hog = replace(
        any_task,
        tid=900,
        pid=900,
        name="hog",
        is_kernel=False,
        is_bound=False,
        allowed=frozenset({0, 2}),
        started_ticks=started_ticks,
    )
    return replace(machine.tasks, by_tid={**machine.tasks.by_tid, 900: hog, 905: replace(hog, tid=905)})


def _culprit() -> RunCulprit:
    return rank_culprits([(1, _disturbed(_reason("hog", 5)))])[0]


def test_a_running_culprit_is_moved_with_all_its_threads_and_back() -> None:
    machine = quiet_snapshot()
    tasks = _tasks_with_hog(machine)
    remedy = remedy_of_run(_culprit(), tasks, Case(replace(machine, tasks=tasks)))
    assert remedy is not None
    commands = dict(commands_of(remedy.fix))
    assert commands["now"].endswith("taskset -apc 0-1 900")
    assert commands["undo"].endswith("taskset -apc 0,2 900")


@pytest.mark.parametrize("later", ["ended", "recycled"])
def test_an_ended_culprit_or_a_reused_pid_has_no_fix(later: str) -> None:
    machine = quiet_snapshot()
    current = machine if later == "ended" else replace(machine, tasks=_tasks_with_hog(machine, started_ticks=777))
    remedy = remedy_of_run(_culprit(), _tasks_with_hog(machine), Case(current))
    assert remedy is not None
    assert remedy.fix is None
    assert "taskset -c 0-1 COMMAND" in remedy.said


@pytest.mark.parametrize("kind", [kind for kind in ReasonKind if kind not in (ReasonKind.STACKED,)])
def test_each_kind_of_disturbance_has_a_remedy(kind: ReasonKind) -> None:
    noise = {ReasonKind.STEAL: Kind.OUTSIDE, ReasonKind.INTERRUPTIONS: Kind.SOFTIRQ}.get(kind)
    noise = Kind.UNATTRIBUTED if kind in (ReasonKind.FOREIGN, ReasonKind.SIBLING) else noise
    reason = RunReason(kind=kind, name="RCU", noise=noise)
    (culprit,) = rank_culprits([(1, _disturbed(reason))])
    remedy = remedy_of_run(culprit, None, Case(quiet_snapshot()))
    assert remedy is not None
    assert remedy.said
