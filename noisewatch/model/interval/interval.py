"""The interval between two snapshots: CPU load, interrupts, runs of tasks, stalls, CPU quotas and slowdowns.

It is a pure function of the two snapshots. Slowdowns concern the cores and packages of the target CPUs, and are due to
heat or to a power limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cgroup.bandwidth import NS_PER_US, CgroupLevel
from noisewatch.kernel.frequency.heat import cpus_of_core, cpus_of_package, limited_path, throttle_path
from noisewatch.kernel.tasks.identity import ProcessIdentity, merge_identities
from noisewatch.kernel.tasks.run_status import cpus_by_watcher
from noisewatch.kernel.tasks.task import is_cut_from, may_be_cut
from noisewatch.model.interval.cpu_load import CpuLoad, measure_loads
from noisewatch.model.interval.interrupt_counts import InterruptCounts, count_softirqs, count_through
from noisewatch.model.interval.task_runs import (
    TaskRun,
    find_exited_runs,
    fit_to_interval,
    own_loops,
    run_tasks,
    unexplained_ns,
)
from noisewatch.units import NS_PER_S

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.system.pressure import Stall
    from noisewatch.kernel.tasks.task import Tasks


_FEWEST_PERIODS = 2  # the kernel counts a period at its end, if the group ran in it

T = TypeVar("T")


class Throttle(Struct, frozen=True):
    """A cgroup that was stopped by its quota. `ns` is the sum of all CPUs, or None if the kernel does not report it."""

    level: CgroupLevel
    periods: int
    ns: int | None

    @property
    def name(self) -> str:
        return f"CPU quota of {self.level.described}"


def throttles_between(before: Iterable[CgroupLevel], after: Iterable[CgroupLevel]) -> tuple[Throttle, ...]:
    """Return the quota stops of the groups that are in both snapshots, the longest first."""
    earlier = {level.folder: level for level in before}
    pairs = [(earlier[level.folder], level) for level in after if level.folder in earlier]
    throttles = [throttle for pair in pairs if (throttle := _throttle(*pair)) is not None]
    return tuple(sorted(throttles, key=lambda throttle: -(throttle.ns or 0)))


def uncounted_between(
    before: Iterable[CgroupLevel], after: Iterable[CgroupLevel], length_ns: int
) -> tuple[CgroupLevel, ...]:
    """Return the groups with a quota for which the kernel counted no period, although the interval contains some.

    The kernel would not have counted a stop of such a group either.
    """
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
    """Return the group's stops, or None if there were none or its counters cannot be trusted.

    A stop is added to the counted periods at once, but to the counted time only when it is over.
    """
    first, last = before.throttling, after.throttling
    if first is None or last is None or last.periods < first.periods:
        return None
    ns = last.ns - first.ns if first.ns is not None and last.ns is not None else None
    periods = last.periods - first.periods
    if ns is not None and ns < 0:
        return None
    return Throttle(after, periods, ns) if periods or ns else None


class StallShare(Struct, frozen=True):
    """The shares of the interval in which some tasks, or all tasks (`full`), waited for a resource. None: unknown."""

    some: float | None
    full: float | None


class Interval(Struct, frozen=True, dict=True, eq=False):
    """The time from the snapshot `before` to the snapshot `after`. CPUs missing from `load_by_cpu` are unknown."""

    before: Snapshot
    after: Snapshot
    length_ns: int
    load_by_cpu: Mapping[int, CpuLoad]
    interrupts: InterruptCounts
    softirqs: InterruptCounts
    runs: tuple[TaskRun, ...]
    stall_by_resource: Mapping[str, StallShare]
    throttled_periods: int | None  # throttled periods of this process's cgroups
    throttles: tuple[Throttle, ...]  # this process's cgroups that were stopped
    worker_throttles: Mapping[int, tuple[Throttle, ...]]  # quota stops of processes that used the target CPUs, by pid
    identities: Mapping[int, ProcessIdentity] = {}  # identities of processes that ran, by pid
    _derived: dict[Hashable, Any] = {}

    @cached_property
    def _all_on_cpu(self) -> Mapping[int, Sequence[TaskRun]]:
        """The runs by CPU, indexed once."""
        on_cpu: dict[int, list[TaskRun]] = defaultdict(list)
        for run in self.runs:
            on_cpu[run.cpu].append(run)
        return on_cpu

    @property
    def seconds(self) -> float:
        return self.length_ns / NS_PER_S

    def compute_once(self, key: Hashable, derive: Callable[[], T]) -> T:
        """Return the result of `derive` for this interval, computed once per key because an interval never changes."""
        if key not in self._derived:
            self._derived[key] = derive()
        result: T = self._derived[key]
        return result

    def program_of_thread(self, run: TaskRun) -> str | None:
        """Return the name of the process that the run's thread belongs to, unless it is the thread's own name."""
        if run.tid == run.pid or run.are_children or run.are_ended_threads or run.are_unread_threads:
            return None
        name = self.name_of_process(run.pid)
        return name if name != run.name else None

    def name_of_process(self, pid: int) -> str | None:
        """Return the name of the process, or None if it was not read."""
        if pid in self.identities:
            return self.identities[pid].name
        tables = (look.tasks.by_tid for look in (self.after, self.before) if look.tasks is not None)
        return next((by_tid[pid].name for by_tid in tables if pid in by_tid), None)

    def whole_name(self, name: str, pid: int) -> str:
        """Return the process's name if the kernel cut the thread's `name` from it, otherwise `name`."""
        process = self.name_of_process(pid) if may_be_cut(name) else None
        return process if process is not None and is_cut_from(process, name) else name

    def had_runs(self, cpu: int) -> bool:
        """Return whether any task, including noisewatch, is known to have run on the CPU."""
        return cpu in self._all_on_cpu

    def runs_on(self, cpu: int) -> list[TaskRun]:
        """Return the runs on one CPU, except those of noisewatch and of measured commands."""
        return [run for run in self._all_on_cpu.get(cpu, ()) if not run.is_own and not run.is_command]

    def commands_on(self, cpu: int) -> list[TaskRun]:
        """Return the CPU's runs that belong to a command measured by `noisewatch run`."""
        return [run for run in self._all_on_cpu.get(cpu, ()) if run.is_command]

    def command_share(self, cpu: int) -> float:
        """Return the share of the interval in which measured commands used the CPU."""
        return min(sum([run.ran_ns for run in self.commands_on(cpu)]) / self.length_ns, 1.0)

    def own_ns(self, cpu: int) -> int:
        """Return the time (ns) for which noisewatch itself used the CPU."""
        return sum(run.ran_ns for run in self._all_on_cpu.get(cpu, ()) if run.is_own)

    @property
    def own_cpus(self) -> float:
        """The number of CPUs that noisewatch itself kept busy, on average."""
        return sum(run.ran_ns for run in self.runs if run.is_own) / self.length_ns

    def busy_share(self, cpu: int) -> float | None:
        """Return the share of the interval in which the CPU was busy, or None if unknown.

        Time of noisewatch and of measured commands is left out. Of two values, the larger counts: the CPU's counters,
        which include interrupts and the hypervisor, or the sum of other threads' time. A kernel that accounts by ticks
        misses tasks that sleep at every tick.
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
        """Return the busy time (ns) of the CPU that no observed thread explains, or None if unknown."""
        load = self.load_by_cpu.get(cpu)
        skew_ns = max(self.before.tasks_lag_ns - self.after.tasks_lag_ns, 0)
        return None if load is None else unexplained_ns(self._all_on_cpu.get(cpu, ()), load, self.length_ns, skew_ns)


def interval_between(
    before: Snapshot,
    after: Snapshot,
    between: Iterable[Snapshot] = (),
    loop_lost_share_by_cpu: Mapping[int, float] | None = None,
) -> Interval:
    """Return the interval from `before` to `after`, which must be later.

    Snapshots `between` them, in order, contain threads that have ended and devices that have left since. On a CPU that
    was calibrated in the interval, our own loop used all of the tasks' time, except for the share of the interval that
    it lost to others.
    """
    length_ns = after.taken_at_ns - before.taken_at_ns
    between = list(between)
    loads = measure_loads(before, after, length_ns)
    interval = Interval(
        before=before,
        after=after,
        length_ns=length_ns,
        load_by_cpu=loads,
        interrupts=count_through(before.interrupts, [snapshot.interrupts for snapshot in between], after.interrupts),
        softirqs=count_softirqs(before.softirqs, after.softirqs),
        runs=_runs(
            before,
            after,
            [snapshot.tasks for snapshot in between if snapshot.tasks is not None],
            loads,
            length_ns,
            loop_lost_share_by_cpu or {},
            observed_commands([before, *between, after]),
        ),
        stall_by_resource={
            resource: _stall_share(getattr(before.pressure, resource), getattr(after.pressure, resource), length_ns)
            for resource in ("cpu", "memory", "io")
        },
        throttled_periods=growth(before.cgroup.throttled_periods, after.cgroup.throttled_periods),
        throttles=throttles_between(before.cgroup.levels, after.cgroup.levels),
        worker_throttles={
            pid: throttles_between(before.worker_cgroups.get(pid, ()), levels)
            for pid, levels in after.worker_cgroups.items()
        },
        identities=merge_identities(look.tasks for look in (before, *between, after) if look.tasks is not None),
    )
    runs = [
        run if (name := interval.whole_name(run.name, run.pid)) == run.name else replace(run, name=name)
        for run in interval.runs
    ]
    return replace(interval, runs=tuple(runs))


def _runs(
    before: Snapshot,
    after: Snapshot,
    between: Sequence[Tasks],
    loads: Mapping[int, CpuLoad],
    length_ns: int,
    lost_shares: Mapping[int, float],
    commands: ObservedCommands,
) -> tuple[TaskRun, ...]:
    """Return all runs, the longest first: of observed threads, of short-lived threads, and of our own loops."""
    if before.tasks is None or after.tasks is None:
        return ()
    looks = (before.tasks, *between, after.tasks)
    loops = own_loops(lost_shares, loads, length_ns)
    runs = [*loops, *run_tasks(looks, after.own_pids, loads, loops)]
    runs = fit_to_interval(runs, loads, length_ns, after.tasks_lag_ns - before.tasks_lag_ns)
    runs += find_exited_runs(looks, after.own_pids, runs, loads, length_ns, commands.cpus_by_watcher)
    return tuple(sorted(mark_commands(runs, commands), key=lambda run: -run.ran_ns))


def _stall_share(before: Stall | None, after: Stall | None, length_ns: int) -> StallShare:
    if before is None or after is None:
        return StallShare(None, None)
    some = growth(before.some_total_ns, after.some_total_ns)
    full = growth(before.full_total_ns, after.full_total_ns)
    return StallShare(None if some is None else some / length_ns, None if full is None else full / length_ns)


def growth(before: int | None, after: int | None) -> int | None:
    """Return the growth of a counter, or None if either value is unknown or the counter decreased."""
    if before is None or after is None or after < before:
        return None
    return after - before


class ObservedCommands(Struct, frozen=True):
    """The CPUs of commands, by the pid of each of their processes, and by the pid of the watcher that starts them."""

    cpus_by_pid: Mapping[int, CpuSet]
    cpus_by_watcher: Mapping[int, CpuSet]

    def of(self, run: TaskRun) -> CpuSet:
        """Return the CPUs on which the run counts as a command's; empty if it is not a command's."""
        cpus_of = self.cpus_by_watcher if run.are_children and run.pid in self.cpus_by_watcher else self.cpus_by_pid
        return cpus_of.get(run.pid, frozenset())


NO_COMMANDS = ObservedCommands({}, {})


def observed_commands(snapshots: Iterable[Snapshot]) -> ObservedCommands:
    """Return the processes of commands in any of the snapshots, because a process may end before the last snapshot.

    A process has only the CPUs that it has in every snapshot that contains it: a CPU that it ever shared with another
    command is left out.
    """
    cpus_by_pid: dict[int, CpuSet] = {}
    watchers: dict[int, CpuSet] = {}
    for snapshot in snapshots:
        for common, cpus_now in ((cpus_by_pid, snapshot.commands), (watchers, cpus_by_watcher(snapshot.runs))):
            common.update({pid: common.get(pid, cpus) & cpus for pid, cpus in cpus_now.items()})
    return ObservedCommands(cpus_by_pid, watchers) if cpus_by_pid or watchers else NO_COMMANDS


def mark_commands(runs: Iterable[TaskRun], commands: ObservedCommands) -> list[TaskRun]:
    """Set `is_command` for the runs of commands on their own CPUs. On other CPUs, a command is noise like any other."""
    if commands is NO_COMMANDS:
        return list(runs)
    return [replace(run, is_command=True) if run.cpu in commands.of(run) else run for run in runs]


BY_HEAT, BY_POWER = "heat", "power"


class Slowdown(Struct, frozen=True):
    """How often a core or a package was slowed.

    `by` is the reason, `what` is `core` or `package`, and `path` is the counter's file. `times` is the number of
    slowdowns in the interval, or None if unknown.
    """

    by: str
    what: str
    path: str
    cpus: CpuSet
    times: int | None


def slowdowns_of(interval: Interval) -> Iterator[Slowdown]:
    """Yield a slowdown for each counted core and package, with 0 `times` if it was not slowed."""
    before, after = interval.before.background.throttling, interval.after.background.throttling
    yield from _slowdowns(interval, BY_HEAT, "core", before.count_by_core_cpu, after.count_by_core_cpu)
    yield from _slowdowns(interval, BY_HEAT, "package", before.count_by_package_cpu, after.count_by_package_cpu)
    yield from _slowdowns(interval, BY_POWER, "core", before.limited_by_core_cpu, after.limited_by_core_cpu)
    yield from _slowdowns(interval, BY_POWER, "package", before.limited_by_package_cpu, after.limited_by_package_cpu)


def _slowdowns(
    interval: Interval, by: str, what: str, before: Mapping[int, int | None], after: Mapping[int, int | None]
) -> Iterator[Slowdown]:
    path: Callable[[int, str], str] = throttle_path if by == BY_HEAT else limited_path
    sharing = cpus_of_core if what == "core" else cpus_of_package
    target, topology = interval.after.target.cpus, interval.after.topology
    for cpu in {**after, **before}:  # the times of a counter that disappeared are unknown
        times = growth(before.get(cpu), after.get(cpu))
        yield Slowdown(by, what, path(cpu, what), sharing(cpu, target, topology), times)
