"""Remedies for the culprits of a series: no command that moves the wrong process, and no useless advice."""

from __future__ import annotations

from collections.abc import Mapping

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
from tests.judgement.run.test_run_culprits import quiet_snapshot
from tests.written.repetitions import MS

_ALLOWED = frozenset({0, 2})


def _task(pid: int, name: str = "hog") -> Task:
    tasks = quiet_snapshot().tasks
    assert tasks is not None
    any_task = next(iter(tasks.by_tid.values()))
    return replace(any_task, tid=pid, pid=pid, name=name, is_kernel=False, is_bound=False, allowed=_ALLOWED)


def _machine_with(*tasks: Task) -> Snapshot:
    return replace(quiet_snapshot(), tasks=_tasks({task.tid: task for task in tasks}))


def _tasks(by_tid: Mapping[int, Task]) -> Tasks:
    pids = frozenset(task.pid for task in by_tid.values())
    return Tasks(by_tid, pids, pids)


def _culprit(*pids: int, name: str = "hog", noise: Kind = Kind.THREAD) -> RunCulprit:
    """Return a culprit with these processes, of which the first took the most time."""
    kind = ReasonKind.INTERRUPTIONS if noise == Kind.IPI else ReasonKind.FOREIGN
    reasons = [
        RunReason(kind=kind, name=name, noise=noise, cpu=2, pid=pid, ns=(50 - at) * MS) for at, pid in enumerate(pids)
    ]
    return rank_culprits([(1, RepetitionVerdict(RunOutcome.DISTURBED, tuple(reasons)))])[0]


def _remedy(culprit: RunCulprit, machine: Snapshot, earlier_tasks: Tasks | None = None) -> Remedy:
    remedy = remedy_of_run(culprit, earlier_tasks or machine.tasks, Case(machine))
    assert remedy is not None
    return remedy


def test_all_processes_of_a_name_are_moved_and_each_of_them_back() -> None:
    machine = _machine_with(_task(900), replace(_task(930), allowed=frozenset({2})))
    remedy = _remedy(_culprit(930, 900, 777), machine)
    assert remedy.said.startswith("Move them to the housekeeping CPUs")
    commands = dict(commands_of(remedy.fix))
    assert commands["now"] == 'for n in 900 930; do sudo taskset -apc 0-1 "$n"; done'
    assert commands["undo"] == "sudo taskset -apc 2 930; sudo taskset -apc 0,2 900"


def test_the_first_of_many_processes_are_moved_and_the_others_are_counted() -> None:
    pids = (901, 905, 912, 930, 944, 971)
    remedy = _remedy(_culprit(*pids), _machine_with(*map(_task, pids)))
    now = dict(commands_of(remedy.fix))["now"]
    assert [str(pid) in now for pid in pids] == [True] * 4 + [False] * 2
    assert "2 more of them still run: the command moves the costliest." in remedy.said


def test_an_unread_affinity_leaves_the_fix_without_an_undo() -> None:
    remedy = _remedy(_culprit(900, 930), _machine_with(_task(900), replace(_task(930), allowed=None)))
    assert "undo" not in dict(commands_of(remedy.fix))
    assert remedy.advice == f"{remedy.said} No undo: not all earlier values could be read."


def test_pid_1_is_not_moved_and_has_other_advice() -> None:
    remedy = _remedy(_culprit(1), _machine_with(_task(1)))
    assert (remedy.fix, "would inherit the pin" in remedy.said) == (None, True)
    both = _remedy(_culprit(1, 900), _machine_with(_task(1), _task(900)))
    assert dict(commands_of(both.fix))["now"] == "sudo taskset -pc 0-1 900"


def test_an_immovable_process_next_to_movable_ones_is_counted() -> None:
    tasks = (_task(900), _task(901), replace(_task(902), is_bound=True), _task(1))
    remedy = _remedy(_culprit(900, 901, 902, 1), _machine_with(*tasks))
    assert "902" not in dict(commands_of(remedy.fix))["now"]
    assert "2 of them cannot be moved (bound by the kernel, all other processes inherit the affinity)." in remedy.said


@pytest.mark.parametrize(
    ("isolated", "why"),
    [
        (frozenset(), "the scheduler runs tasks on any CPU that they may use."),
        (frozenset({2}), "an isolated CPU only runs tasks that are pinned to it."),
    ],
)
def test_the_advice_to_move_a_process_explains_why_it_runs_there(isolated: frozenset[int], why: str) -> None:
    machine = _machine_with(_task(900))
    target, isolation = replace(machine.target, cpus=frozenset({2})), replace(machine.isolation, boot=isolated)
    machine = replace(machine, target=target, isolation=isolation)
    assert _remedy(_culprit(900), machine).said == f"Move it to the housekeeping CPUs: {why}"


def test_noisewatch_itself_is_not_moved() -> None:
    machine = replace(_machine_with(_task(900, "noisewatch")), own_pids=frozenset({900}))
    remedy = _remedy(_culprit(900, name="noisewatch"), machine)
    assert (remedy.fix, "It is noisewatch itself" in remedy.said) == (None, True)


def test_nothing_is_moved_without_housekeeping_cpus() -> None:
    machine = _machine_with(_task(900))
    everywhere = replace(machine, target=replace(machine.target, cpus=frozenset(range(4))))
    remedy = _remedy(_culprit(900), everywhere)
    assert (remedy.fix, "choose fewer target CPUs" in remedy.said) == (None, True)
    assert "choose fewer target CPUs" in _remedy(_culprit(777), everywhere).said


def test_an_immovable_process_has_no_fix() -> None:
    remedy = _remedy(_culprit(900), _machine_with(replace(_task(900), is_bound=True)))
    assert (remedy.fix, remedy.said) == (
        None,
        "The kernel does not allow moving it: stop it, or the work that it does.",
    )


@pytest.mark.parametrize("case", ["no tasks", "left out", "unseen then"])
def test_a_process_that_may_still_run_is_not_reported_as_ended(case: str) -> None:
    hog = _tasks({900: _task(900)})
    tasks = {
        "no tasks": None,
        "left out": Tasks({}, frozenset({900}), frozenset()),
        "unseen then": hog,
    }[case]
    earlier_tasks = _tasks({}) if case == "unseen then" else hog
    remedy = remedy_of_run(_culprit(900), earlier_tasks, Case(replace(quiet_snapshot(), tasks=tasks)))
    assert remedy is not None
    assert (remedy.fix, remedy.said.startswith("It may have ended.")) == (None, True)


def test_a_sender_of_interrupts_named_by_the_trace_is_moved() -> None:
    remedy = _remedy(_culprit(900, name="flush_tlb_func, called by hog", noise=Kind.IPI), _machine_with(_task(900)))
    assert "Keep all threads of the calling process" in remedy.said
    assert dict(commands_of(remedy.fix))["now"] == "sudo taskset -apc 0-1 900"


def test_an_ended_kernel_worker_has_the_remedy_for_unbound_work() -> None:
    remedy = _remedy(_culprit(777, name="kworker/u8:3", noise=Kind.KERNEL_THREAD), _machine_with())
    assert "unbound kernel work" in remedy.said


def test_a_process_left_running_by_the_command_has_advice_for_the_command() -> None:
    remedy = _remedy(_culprit(900, name=f"hog{LEFT_RUNNING}"), _machine_with(_task(900)))
    assert (remedy.fix, "let the command wait" in remedy.said) == (None, True)


def test_a_command_that_left_its_target_is_judged_where_it_ran() -> None:
    reason = RunReason(kind=ReasonKind.LEFT_TARGET, name="the command ran on CPUs 0,3", cpus=frozenset({0, 3}), ns=9)
    verdict = RepetitionVerdict(RunOutcome.DISTURBED, (reason,))
    (culprit,) = rank_culprits([(1, verdict)])
    remedy = remedy_of_run(culprit, None, Case(quiet_snapshot()))
    assert remedy is not None
    assert remedy.advice.endswith("to judge the CPUs where it runs: noisewatch run --cpus 0,3 -- COMMAND")
    assert remedy.fix is None
