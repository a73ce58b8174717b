"""Who disturbed a series: ranked by what they took, and what helps against them."""

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
def _machine() -> Snapshot:
    return repeat(ran(), ran(seconds=1.0)).windows[-1].after


def _reason(name: str, ms: int | None, pid: int | None = 900, cpu: int | None = 2) -> RunReason:
    ns = None if ms is None else ms * MS
    return RunReason(kind=ReasonKind.FOREIGN, name=name, noise=Kind.THREAD, cpu=cpu, pid=pid, ns=ns)


def _disturbed(*reasons: RunReason) -> RepetitionVerdict:
    return RepetitionVerdict(RunOutcome.DISTURBED, reasons)


def test_who_took_most_from_all_repetitions_is_first_and_who_took_nobody_knows_how_much_last() -> None:
    swapped = RunReason(kind=ReasonKind.SWAPPED, name="pages went to swap")
    ranked = rank_culprits(
        [
            (1, _disturbed(_reason("short", 5, pid=800), swapped)),
            (2, _disturbed(_reason("long", 4), _reason("short", 1, pid=800))),
            (7, _disturbed(_reason("long", 4, pid=901, cpu=3), swapped)),
        ]
    )
    assert [(each.name, each.ns, each.numbers) for each in ranked] == [
        ("long", 8 * MS, (2, 7)),
        ("short", 6 * MS, (1, 2)),
        ("pages went to swap", None, (1, 7)),
    ]
    assert (ranked[0].pids, ranked[0].cpus) == ((900, 901), frozenset({2, 3}))


def test_one_name_on_two_cpus_in_one_repetition_is_one_culprit_of_one_run() -> None:
    (culprit,) = rank_culprits([(3, _disturbed(_reason("hog", 1), _reason("hog", 2, pid=5, cpu=3)))])
    assert (culprit.ns, culprit.numbers, culprit.pids) == (3 * MS, (3,), (5, 900))


def test_a_process_of_two_names_is_one_culprit_by_the_one_that_took_most() -> None:
    """The process joins the others of that name; its children, listed by its number, are a separate culprit."""
    (hog, children) = rank_culprits(
        [
            (1, _disturbed(_reason("sh", 1), _reason("hog", 2, pid=5))),
            (2, _disturbed(_reason("hog", 3), _reason("children of hog", 4))),
        ]
    )
    assert (hog.name, hog.ns, hog.pids, hog.numbers) == ("hog", 6 * MS, (900, 5), (1, 2))
    assert (children.name, children.ns) == ("children of hog", 4 * MS)


def test_of_two_names_that_took_as_much_the_newer_one_is_told() -> None:
    judged = [(1, _disturbed(_reason("sh", 2))), (2, _disturbed(_reason("hog", 2)))]
    assert [each.name for each in rank_culprits(judged)] == ["hog"]


def test_who_sends_interrupts_is_not_renamed_by_them() -> None:
    sent = replace(_reason("called by hog", 9), kind=ReasonKind.INTERRUPTIONS, noise=Kind.IPI)
    assert [each.name for each in rank_culprits([(1, _disturbed(_reason("hog", 1), sent))])] == ["called by hog", "hog"]


def test_what_is_estimated_in_part_is_an_estimate() -> None:
    (culprit,) = rank_culprits([(1, _disturbed(_reason("hog", 1), replace(_reason("hog", 2), is_estimate=True)))])
    assert culprit.is_estimate


def _hog(machine: Snapshot, started_ticks: int = 500) -> Tasks:
    """The tasks of the machine, and a process of two threads on a target CPU."""
    assert machine.tasks is not None
    some = next(iter(machine.tasks.by_tid.values()))
    hog = replace(
        some,
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


def test_who_still_runs_is_moved_with_all_its_threads_and_back() -> None:
    machine = _machine()
    tasks = _hog(machine)
    remedy = remedy_of_run(_culprit(), tasks, Case(replace(machine, tasks=tasks)))
    assert remedy is not None
    commands = dict(commands_of(remedy.fix))
    assert commands["now"].endswith("taskset -apc 0-1 900")
    assert commands["undo"].endswith("taskset -apc 0,2 900")


@pytest.mark.parametrize("later", ["gone", "recycled"])
def test_who_is_gone_or_whose_number_is_anothers_is_left_alone(later: str) -> None:
    machine = _machine()
    now = machine if later == "gone" else replace(machine, tasks=_hog(machine, started_ticks=777))
    remedy = remedy_of_run(_culprit(), _hog(machine), Case(now))
    assert remedy is not None
    assert remedy.fix is None
    assert "taskset -c 0-1 COMMAND" in remedy.said


@pytest.mark.parametrize("kind", [each for each in ReasonKind if each not in (ReasonKind.STACKED,)])
def test_against_whatever_disturbs_something_is_said(kind: ReasonKind) -> None:
    noise = {ReasonKind.STEAL: Kind.OUTSIDE, ReasonKind.INTERRUPTIONS: Kind.SOFTIRQ}.get(kind)
    noise = Kind.UNATTRIBUTED if kind in (ReasonKind.FOREIGN, ReasonKind.SIBLING) else noise
    reason = RunReason(kind=kind, name="RCU", noise=noise)
    (culprit,) = rank_culprits([(1, _disturbed(reason))])
    remedy = remedy_of_run(culprit, None, Case(_machine()))
    assert remedy is not None
    assert remedy.said
