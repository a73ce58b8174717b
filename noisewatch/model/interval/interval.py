"""What happened between two snapshots: a pure function of the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from noisewatch.kernel.cgroup.bandwidth import NS_PER_US, CgroupLevel
from noisewatch.kernel.tasks.run_status import cpus_by_watcher
from noisewatch.model.interval.cpu_load import CpuLoad, measure_loads
from noisewatch.model.interval.interrupt_counts import InterruptCounts, count_interrupts, count_softirqs
from noisewatch.model.interval.task_runs import (
    TaskRun,
    ended_runs,
    own_loops,
    run_tasks,
    unexplained_ns,
    within_interval,
)
from noisewatch.records import dataclass
from noisewatch.units import NS_PER_S

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.system.pressure import Stall
    from noisewatch.kernel.tasks.task import Tasks
    from noisewatch.model.interval.task_runs import TaskRun

_FEWEST_PERIODS = 2  # each is counted at its end, if the group has run in it

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Throttle:
    """One group that was stopped. `ns` is over all CPUs together, and None where the kernel does not tell."""

    level: CgroupLevel
    periods: int
    ns: int | None

    @property
    def name(self) -> str:
        return f"CPU quota of {self.level.described}"


def throttles_between(before: Iterable[CgroupLevel], after: Iterable[CgroupLevel]) -> tuple[Throttle, ...]:
    """The groups that a process was in at both snapshots, and that were stopped meanwhile; the longest first."""
    earlier = {level.folder: level for level in before}
    pairs = [(earlier[level.folder], level) for level in after if level.folder in earlier]
    throttles = [throttle for pair in pairs if (throttle := _throttle(*pair)) is not None]
    return tuple(sorted(throttles, key=lambda each: -(each.ns or 0)))


def uncounted_between(
    before: Iterable[CgroupLevel], after: Iterable[CgroupLevel], length_ns: int
) -> tuple[CgroupLevel, ...]:
    """The groups that a process ran in, under a quota, without a period being counted: nor would a stop have been."""
    earlier = {level.folder: level.throttling for level in before}
    return tuple(
        level
        for level in after
        if level.period_us is not None
        and length_ns > _FEWEST_PERIODS * level.period_us * NS_PER_US
        and (level.throttling is not None and level.throttling.enforced is not None)
        and level.throttling == earlier.get(level.folder)
    )


def _throttle(before: CgroupLevel, after: CgroupLevel) -> Throttle | None:
    """A long stop shows in the periods at once, and in the time when it is over."""
    first, last = before.throttling, after.throttling
    if first is None or last is None or last.periods < first.periods:
        return None
    ns = last.ns - first.ns if first.ns is not None and last.ns is not None else None
    periods = last.periods - first.periods
    if ns is not None and ns < 0:
        return None
    return Throttle(after, periods, ns) if periods or ns else None


@dataclass(frozen=True, slots=True)
class StallShare:
    """The share of the interval in which some task, or all tasks, waited. None is unknown."""

    some: float | None
    full: float | None


@dataclass(frozen=True, slots=True)
class Interval:
    """From `before` to `after`. A CPU that `load_by_cpu` lacks is unknown."""

    before: Snapshot
    after: Snapshot
    length_ns: int
    load_by_cpu: Mapping[int, CpuLoad]
    interrupts: InterruptCounts
    softirqs: InterruptCounts
    runs: tuple[TaskRun, ...]
    stall_by_resource: Mapping[str, StallShare]
    throttled_periods: int | None  # of all cgroups that this process is in
    throttles: tuple[Throttle, ...]  # those of them that are known to have been stopped
    worker_throttles: Mapping[int, tuple[Throttle, ...]]  # by process, of those that worked on the target CPUs
    _all_on_cpu: Mapping[int, Sequence[TaskRun]] = field(init=False, repr=False, compare=False)
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Looks through the runs once, and not once a CPU."""
        on_cpu: dict[int, list[TaskRun]] = defaultdict(list)
        for run in self.runs:
            on_cpu[run.cpu].append(run)
        object.__setattr__(self, "_all_on_cpu", dict(on_cpu))

    @property
    def seconds(self) -> float:
        return self.length_ns / NS_PER_S

    def cached(self, key: Hashable, derive: Callable[[], T]) -> T:
        """What `derive` makes of this interval, made once: an interval never changes, and many checks ask the same."""
        if key not in self._derived:
            self._derived[key] = derive()
        result: T = self._derived[key]
        return result

    def had_runs(self, cpu: int) -> bool:
        """Whether anything is known to have run there, our own included."""
        return cpu in self._all_on_cpu

    def runs_on(self, cpu: int) -> list[TaskRun]:
        """The runs on one CPU; our own are left out, and those of what is measured there."""
        return [run for run in self._all_on_cpu.get(cpu, ()) if not run.is_own and not run.is_command]

    def commands_on(self, cpu: int) -> list[TaskRun]:
        """The runs of what `noisewatch run` measures on the CPU."""
        return [run for run in self._all_on_cpu.get(cpu, ()) if run.is_command]

    def command_share(self, cpu: int) -> float:
        """The share of the interval that what is measured there had of the CPU."""
        return min(sum([run.ran_ns for run in self.commands_on(cpu)]) / self.length_ns, 1.0)

    def own_ns(self, cpu: int) -> int:
        """The time that noisewatch itself had on the CPU."""
        return sum(run.ran_ns for run in self._all_on_cpu.get(cpu, ()) if run.is_own)

    @property
    def own_cpus(self) -> float:
        """The number of CPUs that noisewatch itself kept busy, on average."""
        return sum(run.ran_ns for run in self.runs if run.is_own) / self.length_ns

    def busy_share(self, cpu: int) -> float | None:
        """The share of the interval that others took of the CPU; None is unknown.

        The larger of what the CPU's counters say and what the threads add up to: tasks that sleep at every tick are
        invisible to a kernel that accounts by ticks.
        """
        load = self.load_by_cpu.get(cpu)
        if load is None:
            return None
        there = self._all_on_cpu.get(cpu, ())
        own_ns = sum([run.ran_ns for run in there if run.is_own or run.is_command])
        others_ns = sum([run.ran_ns for run in there if not run.is_own and not run.is_command])
        busy_ns = max(load.busy_ns - own_ns, others_ns)
        return min(max(busy_ns / self.length_ns, 0.0), 1.0)

    def unexplained_ns(self, cpu: int) -> int | None:
        """Busy time of the CPU that no thread seen explains; None is unknown."""
        load = self.load_by_cpu.get(cpu)
        skew_ns = max(self.before.tasks_lag_ns - self.after.tasks_lag_ns, 0)
        return None if load is None else unexplained_ns(self._all_on_cpu.get(cpu, ()), load, self.length_ns, skew_ns)


def interval_between(
    before: Snapshot,
    after: Snapshot,
    between: Iterable[Snapshot] = (),
    loop_lost_share_by_cpu: Mapping[int, float] | None = None,
) -> Interval:
    """The interval from `before` to `after`, which must have been taken later.

    Snapshots `between` them, in their order, tell of threads that have ended since. On the CPUs that were calibrated
    meanwhile our own loop had all the time that tasks had, but for the share of the interval that it lost to others.
    """
    length_ns = after.taken_at_ns - before.taken_at_ns
    between = list(between)
    loads = measure_loads(before, after, length_ns)
    return Interval(
        before=before,
        after=after,
        length_ns=length_ns,
        load_by_cpu=loads,
        interrupts=count_interrupts(before.interrupts, after.interrupts),
        softirqs=count_softirqs(before.softirqs, after.softirqs),
        runs=_runs(
            before,
            after,
            [each.tasks for each in between if each.tasks is not None],
            loads,
            length_ns,
            loop_lost_share_by_cpu or {},
            commands_seen([before, *between, after]),
        ),
        stall_by_resource={
            resource: _stall_share(getattr(before.pressure, resource), getattr(after.pressure, resource), length_ns)
            for resource in ("cpu", "memory", "io")
        },
        throttled_periods=_grown(before.cgroup.throttled_periods, after.cgroup.throttled_periods),
        throttles=throttles_between(before.cgroup.levels, after.cgroup.levels),
        worker_throttles={
            pid: throttles_between(before.worker_cgroups.get(pid, ()), levels)
            for pid, levels in after.worker_cgroups.items()
        },
    )


def _runs(
    before: Snapshot,
    after: Snapshot,
    between: Sequence[Tasks],
    loads: Mapping[int, CpuLoad],
    length_ns: int,
    lost_shares: Mapping[int, float],
    commands: CommandsSeen,
) -> tuple[TaskRun, ...]:
    """Of the threads that were seen, of those that came and went, and of our own loops; the longest first."""
    if before.tasks is None or after.tasks is None:
        return ()
    looks = (before.tasks, *between, after.tasks)
    loops = own_loops(lost_shares, loads, length_ns)
    runs = [*loops, *run_tasks(looks, after.own_pids, loads, loops)]
    runs = within_interval(runs, loads, length_ns, after.tasks_lag_ns - before.tasks_lag_ns)
    runs += ended_runs(looks, after.own_pids, runs, loads, length_ns, commands.cpus_by_watcher)
    return tuple(sorted(marked(runs, commands), key=lambda run: -run.ran_ns))


def _stall_share(before: Stall | None, after: Stall | None, length_ns: int) -> StallShare:
    if before is None or after is None:
        return StallShare(None, None)
    some = _grown(before.some_total_ns, after.some_total_ns)
    full = _grown(before.full_total_ns, after.full_total_ns)
    return StallShare(None if some is None else some / length_ns, None if full is None else full / length_ns)


def _grown(before: int | None, after: int | None) -> int | None:
    """The growth of a counter; None where it is unknown, or runs backwards and so cannot be trusted."""
    if before is None or after is None or after < before:
        return None
    return after - before


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
