"""The time that the commands of `noisewatch run` had on their CPUs: it is what is measured there, and no noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from noisewatch.kernel.tasks.run_status import cpus_by_watcher
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.model.interval.task_runs import TaskRun


@dataclass(frozen=True, slots=True)
class CommandsSeen:
    """The CPUs of each process of a command, and of each process that starts commands and waits for them, by pid."""

    cpus_by_pid: Mapping[int, CpuSet]
    cpus_by_watcher: Mapping[int, CpuSet]

    def of(self, run: TaskRun) -> CpuSet:
        """Where the run would be that of a command; empty where it is of anybody else."""
        known = self.cpus_by_watcher if run.are_children and run.pid in self.cpus_by_watcher else self.cpus_by_pid
        return known.get(run.pid, frozenset())


NO_COMMANDS = CommandsSeen({}, {})


def commands_seen(snapshots: Iterable[Snapshot]) -> CommandsSeen:
    """By all of them together: a process may have ended before the last, or shared a CPU with another command."""
    cpus_by_pid: dict[int, CpuSet] = {}
    watchers: dict[int, CpuSet] = {}
    for snapshot in snapshots:
        for known, cpus_now in ((cpus_by_pid, snapshot.commands), (watchers, cpus_by_watcher(snapshot.runs))):
            known.update({pid: known.get(pid, cpus) & cpus for pid, cpus in cpus_now.items()})
    return CommandsSeen(cpus_by_pid, watchers) if cpus_by_pid or watchers else NO_COMMANDS


def marked(runs: Iterable[TaskRun], commands: CommandsSeen) -> list[TaskRun]:
    """The runs; those of a command on its CPUs are known as such. Elsewhere it disturbs like anybody."""
    if commands is NO_COMMANDS:
        return list(runs)
    return [replace(run, is_command=True) if run.cpu in commands.of(run) else run for run in runs]
