"""What helps against who disturbed a series: no command that moves the wrong one, and no advice that cannot help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.finding_words import commands_of
from noisewatch.judgement.remedies import Remedy
from noisewatch.judgement.run.foreign_time import LEFT_RUNNING
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.judgement.run.run_culprits import RunCulprit, rank_culprits, remedy_of_run
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.kinds import Kind
from tests.written.repetitions import MS, ran, repeat

_ALLOWED = frozenset({0, 2})


@cache
def _machine() -> Snapshot:
    return repeat(ran(), ran(seconds=1.0)).windows[-1].after


def _task(pid: int, name: str = "hog") -> Task:
    tasks = _machine().tasks
    assert tasks is not None
    some = next(iter(tasks.by_tid.values()))
    return replace(some, tid=pid, pid=pid, name=name, is_kernel=False, is_bound=False, allowed=_ALLOWED)


def _with(*tasks: Task) -> Snapshot:
    return replace(_machine(), tasks=_tasks({task.tid: task for task in tasks}))


def _tasks(by_tid: Mapping[int, Task]) -> Tasks:
    pids = frozenset(task.pid for task in by_tid.values())
    return Tasks(by_tid, pids, pids)


def _culprit(*pids: int, name: str = "hog", noise: Kind = Kind.THREAD) -> RunCulprit:
    """Return a culprit with these processes, the first of which took most."""
    kind = ReasonKind.INTERRUPTIONS if noise == Kind.IPI else ReasonKind.FOREIGN
    reasons = [
        RunReason(kind=kind, name=name, noise=noise, cpu=2, pid=pid, ns=(50 - at) * MS) for at, pid in enumerate(pids)
    ]
    return rank_culprits([(1, RepetitionVerdict(RunOutcome.DISTURBED, tuple(reasons)))])[0]


def _remedy(culprit: RunCulprit, machine: Snapshot, then: Tasks | None = None) -> Remedy:
    remedy = remedy_of_run(culprit, then or machine.tasks, Case(machine))
    assert remedy is not None
    return remedy


def test_all_processes_of_a_name_are_moved_and_each_back() -> None:
    machine = _with(_task(900), replace(_task(930), allowed=frozenset({2})))
    remedy = _remedy(_culprit(930, 900, 777), machine)
    assert remedy.said.startswith("Move them to the housekeeping CPUs")
    commands = dict(commands_of(remedy.fix))
    assert commands["now"] == 'for n in 900 930; do sudo taskset -apc 0-1 "$n"; done'
    assert commands["undo"] == "sudo taskset -apc 2 930; sudo taskset -apc 0,2 900"


def test_of_many_the_first_are_moved_and_the_others_are_counted() -> None:
    pids = (901, 905, 912, 930, 944, 971)
    remedy = _remedy(_culprit(*pids), _with(*map(_task, pids)))
    now = dict(commands_of(remedy.fix))["now"]
    assert [str(pid) in now for pid in pids] == [True] * 4 + [False] * 2
    assert "2 more of them still run." in remedy.said


def test_where_one_affinity_was_not_read_nothing_claims_to_undo_it() -> None:
    remedy = _remedy(_culprit(900, 930), _with(_task(900), replace(_task(930), allowed=None)))
    assert "undo" not in dict(commands_of(remedy.fix))


def test_the_first_process_is_not_moved_and_what_helps_instead_is_said() -> None:
    remedy = _remedy(_culprit(1), _with(_task(1)))
    assert (remedy.fix, "would inherit the pin" in remedy.said) == (None, True)
    both = _remedy(_culprit(1, 900), _with(_task(1), _task(900)))
    assert dict(commands_of(both.fix))["now"] == "sudo taskset -pc 0-1 900"


def test_with_one_that_can_be_moved_the_one_that_cannot_is_counted() -> None:
    tasks = (_task(900), _task(901), replace(_task(902), is_bound=True))
    remedy = _remedy(_culprit(900, 901, 902), _with(*tasks))
    assert "902" not in dict(commands_of(remedy.fix))["now"]
    assert "1 of them cannot be moved." in remedy.said


def test_noisewatch_itself_is_not_to_be_moved() -> None:
    machine = replace(_with(_task(900, "noisewatch")), own_pids=frozenset({900}))
    remedy = _remedy(_culprit(900, name="noisewatch"), machine)
    assert (remedy.fix, "It is noisewatch itself" in remedy.said) == (None, True)


def test_nobody_is_sent_to_cpus_that_there_are_not() -> None:
    machine = _with(_task(900))
    everywhere = replace(machine, target=replace(machine.target, cpus=frozenset(range(4))))
    remedy = _remedy(_culprit(900), everywhere)
    assert (remedy.fix, "choose fewer target CPUs" in remedy.said) == (None, True)
    assert "choose fewer target CPUs" in _remedy(_culprit(777), everywhere).said


def test_who_cannot_be_moved_is_not_said_to_be() -> None:
    remedy = _remedy(_culprit(900), _with(replace(_task(900), is_bound=True)))
    assert (remedy.fix, remedy.said) == (
        None,
        "The kernel does not allow moving it: stop it, or the work that it does.",
    )


@pytest.mark.parametrize("case", ["no tasks", "left out", "not seen then"])
def test_who_may_still_run_is_not_said_to_have_ended(case: str) -> None:
    seen = _tasks({900: _task(900)})
    tasks = {
        "no tasks": None,
        "left out": Tasks({}, frozenset({900}), frozenset()),
        "not seen then": seen,
    }[case]
    then = _tasks({}) if case == "not seen then" else seen
    remedy = remedy_of_run(_culprit(900), then, Case(replace(_machine(), tasks=tasks)))
    assert remedy is not None
    assert (remedy.fix, remedy.said.startswith("It may have ended.")) == (None, True)


def test_who_sends_interrupts_is_kept_away() -> None:
    """The trace has named it."""
    remedy = _remedy(_culprit(900, name="flush_tlb_func, called by hog", noise=Kind.IPI), _with(_task(900)))
    assert "Keep all threads of the calling process" in remedy.said
    assert dict(commands_of(remedy.fix))["now"] == "sudo taskset -apc 0-1 900"


def test_against_a_kernel_worker_that_has_ended_helps_what_helps_against_all() -> None:
    remedy = _remedy(_culprit(777, name="kworker/u8:3", noise=Kind.KERNEL_THREAD), _with())
    assert "unbound kernel work" in remedy.said


def test_what_the_command_left_running_is_its_own_affair() -> None:
    remedy = _remedy(_culprit(900, name=f"hog{LEFT_RUNNING}"), _with(_task(900)))
    assert (remedy.fix, "let the command wait" in remedy.said) == (None, True)
