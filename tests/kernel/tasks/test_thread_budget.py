"""Threads read within a budget: who comes first, and that everybody has a turn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from noisewatch.kernel.tasks.threads import TaskReader
from tests.kernel.tasks.test_threads_read_again import crowd_of, read_tasks
from tests.written import WrittenMachine
from tests.written.quiet_machine import crowd, process


def _ticking(budget_ns: int | None = None) -> TaskReader:
    """Each look at the time that it has used finds one more nanosecond."""
    return TaskReader(budget_ns, used_ns=count().__next__)


def test_without_a_budget_all_processes_are_read() -> None:
    tasks = read_tasks(_ticking(), WrittenMachine(crowd_of(20)))
    assert tasks.is_complete
    assert len(tasks.by_tid) == 20


def test_a_budget_leaves_processes_out_and_says_which() -> None:
    tasks = read_tasks(_ticking(budget_ns=3), WrittenMachine(crowd_of(20)))
    assert not tasks.is_complete
    assert 0 < len(tasks.read_pids) < 20
    assert len(tasks.pids) == 20
    assert tasks.by_tid.keys() == tasks.read_pids


def test_a_budget_too_small_for_anything_still_reads_one_process() -> None:
    assert len(read_tasks(_ticking(budget_ns=0), WrittenMachine(crowd_of(20))).read_pids) == 1


def test_a_budget_too_small_for_anything_still_reads_as_many_as_are_asked_for() -> None:
    task_reader = _ticking()
    task_reader.limit(0, least=3)
    assert len(read_tasks(task_reader, WrittenMachine(crowd_of(20))).read_pids) == 3


def test_with_a_budget_all_processes_have_their_turn() -> None:
    machine = WrittenMachine(crowd_of(20))
    task_reader = _ticking(budget_ns=3)
    seen: set[int] = set()
    for _ in range(20):
        seen |= read_tasks(task_reader, machine).read_pids
    assert seen == set(range(10, 30))


def _sleepers_and_runners(moments: int) -> list[dict[str, str]]:
    """Moment after moment: 10 to 12 rest, 20 to 39 run."""
    rest = crowd_of(3)
    return [
        rest | {path: text for pid in range(20, 40) for path, text in process(pid, "runs", 0, ran_ns).items()}
        for ran_ns in range(1, moments + 1)
    ]


@pytest.mark.parametrize("budget_ns", [0, 4])
def test_with_a_budget_who_runs_elsewhere_all_the_time_has_its_turn_and_leaves_others_theirs(budget_ns: int) -> None:
    """Hundreds of such processes, or a single large one, may take longer than the budget."""
    machine = WrittenMachine(*_sleepers_and_runners(62))
    task_reader = _ticking()
    for _ in range(2):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(budget_ns)
    seen: set[int] = set()
    for _ in range(59):
        seen |= read_tasks(task_reader, machine).read_pids
        machine.advance()
    assert seen == {*range(10, 13), *range(20, 40)}


def test_with_a_budget_who_ran_on_a_target_lately_comes_first() -> None:
    before, after = crowd_of(20), crowd_of(20)
    before |= process(29, "hog", 2, 5)
    after |= process(29, "hog", 2, 6)
    machine = WrittenMachine(before, after, after, after)
    task_reader = _ticking()
    for _ in range(2):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(1)
    readings = [read_tasks(task_reader, machine).read_pids for _ in range(3)]
    assert [29 in pids for pids in readings] == [True, True, True]


def test_with_a_budget_who_was_just_started_comes_before_the_others() -> None:
    before = crowd_of(20)
    started = before | process(40, "hog", 2, 5)
    machine = WrittenMachine(before, started, started)
    task_reader = _ticking(budget_ns=0)
    read_tasks(task_reader, machine)
    machine.advance()
    assert read_tasks(task_reader, machine).read_pids == {40}
    machine.advance()
    assert 40 in read_tasks(task_reader, machine).read_pids  # on a target CPU, so it is looked at again


def test_who_was_just_started_elsewhere_is_looked_at_until_it_has_had_time_to_come() -> None:
    before = crowd_of(20)
    started, arrived = process(40, "hog", 0, 5), process(40, "hog", 2, 6)
    machine = WrittenMachine(before, before | started, before | arrived, before | arrived)
    task_reader = _ticking()
    read_tasks(task_reader, machine)
    task_reader.limit(0)
    for _ in range(3):
        machine.advance()
        tasks = read_tasks(task_reader, machine)
        assert tasks.read_pids == {40}
    assert tasks.by_tid[40].cpu == 2


def test_newer_ones_do_not_keep_a_new_one_from_being_read() -> None:
    crowds = [crowd_of(20)]
    for pid in range(40, 46):
        crowds.append(crowds[-1] | process(pid, "new", 0, 5))
    machine = WrittenMachine(*crowds)
    task_reader = _ticking()
    read_tasks(task_reader, machine)
    task_reader.limit(0)
    seen: set[int] = set()
    for _ in range(6):
        machine.advance()
        seen |= read_tasks(task_reader, machine).read_pids
    assert 40 in seen


class _ReadTogether(WrittenMachine):
    """Reads again what is asked for at once, as this host does."""

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        contents = [self.read_bytes(path) for path, _ in files]
        return [(at, content) for at, content in enumerate(contents) if content != files[at][1]]


@pytest.mark.parametrize("cpu", [0, 2])
def test_a_process_of_many_threads_costs_nobody_else_the_budget(cpu: int) -> None:
    """Small processes that ran on a target come before the large one, even if it ran there too."""
    moments = [
        {path: text for pid in (10, 11, 12) for path, text in process(pid, "hog", 2, ran_ns).items()}
        | crowd(9, "many", [cpu] * 400, "0-1", ran_ns)
        for ran_ns in range(1, 6)
    ]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    for _ in range(3):
        read_tasks(task_reader, machine)
        machine.advance()
    task_reader.limit(100)
    for _ in range(2):
        assert read_tasks(task_reader, machine).read_pids >= {10, 11, 12}
        machine.advance()


def test_a_process_of_many_threads_has_its_turn_though_others_are_started_all_the_time() -> None:
    moments = [crowd(9, "many", [2] * 400, "0-1", ran_ns) | crowd_of(ran_ns * 60) for ran_ns in range(1, 7)]
    machine = _ReadTogether(*moments)
    task_reader = TaskReader(used_ns=lambda: len(machine.reads))
    seen = []
    for number in range(6):
        seen.append(9 in read_tasks(task_reader, machine).read_pids)
        if number == 1:
            task_reader.limit(100)
        if machine.has_next:
            machine.advance()
    assert sum(seen[2:]) == 2


def test_at_the_beginning_nobody_counts_as_just_started() -> None:
    machine = WrittenMachine(crowd_of(20))
    task_reader = _ticking(budget_ns=0)
    assert read_tasks(task_reader, machine).read_pids == {10}
    assert read_tasks(task_reader, machine).read_pids == {11}


def test_with_a_budget_who_may_run_on_a_target_is_looked_at_again_from_the_first_sight_on() -> None:
    crowd = crowd_of(20) | process(29, "hog", 2, 5) | process(28, "migration/2", 2, 5, flags=0x0420_0000)
    task_reader = _ticking()
    read_tasks(task_reader, WrittenMachine(crowd))
    task_reader.limit(0)
    assert [read_tasks(task_reader, WrittenMachine(crowd)).read_pids for _ in range(3)] == [{29}] * 3
