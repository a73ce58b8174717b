"""Runs of threads in an interval: each thread's time on each CPU, and the CPU time that no thread explains.

A look is one reading of all threads. A CPU's room is its unexplained time, in which runs can be placed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import ne
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.cpus.cpu_time import TICK_NS

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.tasks.task import Task, Tasks
    from noisewatch.model.interval.cpu_load import CpuLoad

# /proc/stat counts in steps of 10 ms at both ends, and most kernels charge the task that runs at the tick: on an idle
# CPU, unexplained time varied by 20 ms in 3 s.
DOUBT_NS = 30_000_000
_SHARE_OF_DOUBT = 0.01
_MOSTLY = 0.9
_EXACT_SHARE_OF_DOUBT = 0.002  # a snapshot reads file after file, which takes some milliseconds
_Firsts = Sequence["tuple[Task, Task | None]"]
_PROCESS_DOUBT_NS = 2 * TICK_NS  # a process's user time and system time are both in whole ticks


class TaskRun(Struct, frozen=True):
    """The time on one CPU of one thread, or of a process's ended children or ended threads."""

    cpu: int
    tid: int
    pid: int
    name: str
    is_kernel: bool
    is_bound: bool
    is_own: bool
    ran_ns: int
    allowed: CpuSet | None
    are_children: bool = False
    are_ended_threads: bool = False
    are_unread_threads: bool = False  # the threads may still run: not all of the process's threads were read
    is_inferred: bool = False  # the thread may have moved: part of this time may belong to another CPU
    slices: int | None = None  # how often the thread was put on this CPU; None if unknown
    is_command: bool = False  # a run of a command measured by `noisewatch run`, on the command's own CPUs


class _Wanderer(Struct, frozen=True):
    """A thread that ran on several CPUs: those on which it was `observed`, and possibly others (`beyond`)."""

    run: TaskRun
    observed: CpuSet
    beyond: CpuSet


def own_loops(
    lost_share_by_cpu: Mapping[int, float], load_by_cpu: Mapping[int, CpuLoad], interval_ns: int
) -> list[TaskRun]:
    """Return the runs of our own loops, which have ended.

    Each loop used all of the tasks' time on its CPU, except for the noise that it measured.
    """
    share_by_cpu = {cpu: share for cpu, share in lost_share_by_cpu.items() if cpu in load_by_cpu}
    had_ns = {cpu: load_by_cpu[cpu].ran_ns - round(share * interval_ns) for cpu, share in share_by_cpu.items()}
    return [
        TaskRun(
            *(cpu, 0, 0, "noisewatch"),
            is_kernel=False,
            is_bound=False,
            is_own=True,
            ran_ns=ns,
            allowed=None,
            are_children=True,
        )
        for cpu, ns in had_ns.items()
        if ns > 0
    ]


def run_tasks(
    looks: Sequence[Tasks],
    own_pids: frozenset[int],
    load_by_cpu: Mapping[int, CpuLoad],
    given_runs: Sequence[TaskRun] = (),
) -> list[TaskRun]:
    """Return the runs between the first and the last look, in addition to the given ones.

    Threads count if their time is known at both ends, or if they started in between. For an ended thread, the last look
    that contains it counts.
    """
    before, by_tids = looks[0], [tasks.by_tid for tasks in looks]
    settled: list[TaskRun] = []
    wanderers: list[_Wanderer] = []
    for task in _last_states(looks):
        earlier = before.by_tid.get(task.tid)
        if earlier is not None and earlier.started_ticks != task.started_ticks:
            earlier = None
        if earlier is None and not is_newborn(task, before):
            continue
        ran_ns = task.ran_ns - (earlier.ran_ns if earlier is not None else 0)
        if ran_ns <= 0:
            continue
        moves = _moves(task, earlier)
        run = replace(run_of(task, ran_ns, own_pids, has_stayed=moves == 0), slices=_slices(task, earlier))
        path = _path(task, by_tids)
        observed = frozenset(path)
        has_hidden_moves = moves is not None and moves > 0 and moves > sum(map(ne, path, path[1:]))
        beyond = (task.allowed or frozenset()) - observed if has_hidden_moves and not run.is_own else frozenset()
        if observed | beyond == {task.cpu}:
            settled.append(run)
        else:
            wanderers.append(_Wanderer(run, observed, beyond))
    shared = _divide_wanderers(wanderers, [*given_runs, *settled], load_by_cpu)
    return _fit_to_load(settled + shared, given_runs, load_by_cpu)


def _last_states(looks: Sequence[Tasks]) -> list[Task]:
    """Return the last state of each thread that has run since the first look."""
    last_states: dict[int, Task] = {}
    for tasks in looks[1:]:
        last_states.update(tasks.by_tid)
    replaced: dict[tuple[int, int], Task] = {}  # threads whose number another thread has now
    for tasks in looks[1:-1]:
        for tid, task in tasks.by_tid.items():
            if (last := last_states[tid]) is not task and last.started_ticks != task.started_ticks:
                replaced[tid, task.started_ticks] = task
    states = [*replaced.values(), *last_states.values()]
    return [task for task in states if looks[0].by_tid.get(task.tid) is not task]


def _path(task: Task, looks: Iterable[Mapping[int, Task]]) -> list[int]:
    """Return the thread's CPU in each look that contains it."""
    states = [by_tid.get(task.tid) for by_tid in looks]
    return [state.cpu for state in states if state is not None and state.started_ticks == task.started_ticks]


def _moves(task: Task, earlier: Task | None) -> int | None:
    """Return how often the thread has migrated since `earlier`, or since its start if that is None; None if unknown."""
    if task.migrations is None or (earlier is not None and earlier.migrations is None):
        return None
    return task.migrations - (earlier.migrations or 0 if earlier is not None else 0)


def _slices(task: Task, earlier: Task | None) -> int | None:
    """Return how often the thread was put on a CPU since `earlier`, or since its start if that is None.

    None means unknown; a thread that has never left the CPU was not put on it.
    """
    if task.slices is None or (earlier is not None and earlier.slices is None):
        return None
    return task.slices - (earlier.slices or 0 if earlier is not None else 0)


def is_newborn(task: Task, before: Tasks) -> bool:
    """Return whether the thread is missing from `before` because it did not exist yet, not because it was not read."""
    return task.pid not in before.pids or task.pid in before.read_pids


def run_of(task: Task, ran_ns: int, own_pids: frozenset[int], has_stayed: bool = False) -> TaskRun:
    """Return a run of the thread with this time, on the CPU where it was last observed.

    `has_stayed` is whether the thread certainly did not leave that CPU.
    """
    return TaskRun(
        cpu=task.cpu,
        tid=task.tid,
        pid=task.pid,
        name=task.name,
        is_kernel=task.is_kernel,
        is_bound=task.is_bound,
        is_own=task.pid in own_pids,
        ran_ns=ran_ns,
        allowed=task.allowed,
        is_inferred=not task.is_confined and not has_stayed,
    )


def explained_ns_by_cpu(runs: Iterable[TaskRun]) -> dict[int, int]:
    """Return the sum of the runs (ns) on each CPU."""
    explained: dict[int, int] = defaultdict(int)
    for run in runs:
        explained[run.cpu] += run.ran_ns
    return explained


def _divide_wanderers(
    wanderers: Sequence[_Wanderer], settled: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad]
) -> list[TaskRun]:
    """Divide the run of each thread that moved among the thread's CPUs, in proportion to their unexplained time.

    A CPU on which the thread was not observed counts only if its unexplained time exceeds the counters' error.
    """
    rooms = unexplained_ns_by_cpu(settled, load_by_cpu)
    runs = []
    for wanderer in wanderers:
        shares = {cpu: rooms.get(cpu, 0) for cpu in wanderer.observed | wanderer.beyond}
        shares = {cpu: room for cpu, room in shares.items() if cpu in wanderer.observed or room > DOUBT_NS}
        if not sum(shares.values()):
            shares = dict.fromkeys(wanderer.observed, 1)
        runs += _divide_run(wanderer.run, wanderer.run.ran_ns, shares)
    return runs


def _divide_run(run: TaskRun, ran_ns: int, shares: Mapping[int, int]) -> list[TaskRun]:
    """Return runs that divide `ran_ns` among the CPUs in proportion to the shares."""
    whole, left_ns = sum(shares.values()), ran_ns
    parts = []
    for cpu, share in sorted(shares.items(), key=lambda item: item[1]):
        part_ns = left_ns * share // whole if whole else 0
        whole, left_ns = whole - share, left_ns - part_ns  # the last CPU gets the rest, so rounding loses nothing
        if part_ns > 0:
            parts.append(replace(run, cpu=cpu, ran_ns=part_ns, is_inferred=True, slices=None))
    return parts


def unexplained_ns_by_cpu(runs: Iterable[TaskRun], load_by_cpu: Mapping[int, CpuLoad]) -> dict[int, int]:
    """Return each CPU's task time (ns) that no run explains."""
    explained = explained_ns_by_cpu(runs)
    return {cpu: max(load.ran_ns - explained.get(cpu, 0), 0) for cpu, load in load_by_cpu.items()}


def _fit_to_load(
    runs: Sequence[TaskRun], given_runs: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad]
) -> list[TaskRun]:
    """Return the runs, with the time in excess of their CPU's load moved to other allowed CPUs.

    Runs of threads that may have moved are placed where the thread was last observed. If they exceed that CPU's load,
    the excess is moved to other CPUs with unexplained time.
    """
    explained = explained_ns_by_cpu([*given_runs, *runs])
    inferred = explained_ns_by_cpu(run for run in runs if run.is_inferred)
    rooms = unexplained_ns_by_cpu([*given_runs, *runs], load_by_cpu)
    elsewhere_ns = sum(rooms.values())
    fitted: list[TaskRun] = []
    cut: list[tuple[TaskRun, int]] = []
    for run in runs:
        load = load_by_cpu.get(run.cpu)
        if load is None or not run.is_inferred:
            fitted.append(run)
            continue
        excess_ns = explained[run.cpu] - max(load.tasks_ns, load.exact_tasks_ns or 0)
        if excess_ns <= DOUBT_NS:  # ticks may have missed that much time of short runs
            fitted.append(run)
            continue
        if elsewhere_ns < _MOSTLY * excess_ns - DOUBT_NS:
            excess_ns = elsewhere_ns
        ran_ns = round(run.ran_ns * max(1 - excess_ns / inferred[run.cpu], 0))
        fitted.append(replace(run, ran_ns=ran_ns, slices=None) if ran_ns < run.ran_ns else run)
        cut.append((run, run.ran_ns - ran_ns))
    return merge_runs(run for run in [*fitted, *_move_to_other_cpus(cut, rooms)] if run.ran_ns)


def _move_to_other_cpus(cut: list[tuple[TaskRun, int]], rooms: dict[int, int]) -> list[TaskRun]:
    """Return the cut time as runs on the threads' other allowed CPUs, as far as these CPUs have unexplained time."""
    runs = []
    for run, cut_ns in cut:
        allowed = run.allowed if run.allowed is not None and not run.is_own else frozenset()
        shares = {cpu: room for cpu in allowed if (room := rooms.get(cpu, 0)) > DOUBT_NS}
        for part in _divide_run(run, min(cut_ns, sum(shares.values())), shares):
            rooms[part.cpu] -= part.ran_ns
            runs.append(part)
    return runs


def merge_runs(runs: Iterable[TaskRun]) -> list[TaskRun]:
    """Merge, for each CPU, all runs of a thread, of a process's ended children, or of a process's ended threads."""
    together: dict[tuple[int, int, str, bool, bool], TaskRun] = {}
    for run in runs:
        key = run.cpu, run.tid, run.name, run.are_children, run.are_ended_threads  # two threads may have had one number
        previous = together.get(key)
        together[key] = run if previous is None else replace(previous, ran_ns=previous.ran_ns + run.ran_ns, slices=None)
    return list(together.values())


def fit_to_interval(
    runs: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad], length_ns: int, later_ns: int = 0
) -> list[TaskRun]:
    """Return the runs, shortened on CPUs where their sum exceeds the interval.

    `later_ns` is the growth of the delay from reading the CPUs to reading the threads: the threads may have run for
    that long after the interval. The runs keep as much time as the CPU's counters allow, and at least a proportional
    part.
    """
    had_by_cpu = explained_ns_by_cpu(runs)
    most_by_cpu = {
        cpu: _most_ns(had_ns, load_by_cpu.get(cpu), length_ns, later_ns) for cpu, had_ns in had_by_cpu.items()
    }
    return [_cut(run, had_by_cpu[run.cpu], most_by_cpu[run.cpu]) for run in runs]


def _cut(run: TaskRun, had_ns: int, most_ns: int) -> TaskRun:
    """Return the run, shortened in proportion if the sum of its CPU's runs (`had_ns`) exceeds the maximum."""
    if had_ns <= most_ns:
        return run
    ran_ns = run.ran_ns * most_ns // had_ns
    return replace(run, ran_ns=ran_ns, is_inferred=run.is_inferred or run.ran_ns - ran_ns > DOUBT_NS)


def _most_ns(had_ns: int, load: CpuLoad | None, length_ns: int, later_ns: int) -> int:
    """Return the upper bound of CPU time (ns) that threads of one CPU could have used in the interval."""
    if load is None or later_ns <= 0:
        return length_ns
    even_ns = had_ns * length_ns // (length_ns + later_ns)
    return min(max(load.ran_ns + DOUBT_NS, even_ns), length_ns)


def unexplained_ns(there: Sequence[TaskRun], load: CpuLoad, interval_ns: int, skew_ns: int = 0) -> int:
    """Return the CPU's busy time (ns) that no run explains, or 0 if it is within the counters' error.

    The exact count, if there is one, is used, because it includes tasks between two ticks. But it lags for tasks that
    stay on the CPU. So the result is never lower than the ticks' result by more than twice the counters' error. The
    tasks were observed for `skew_ns` less than the CPU, so tasks that were running seem to have run less. For
    noisewatch, which was reading, the full `skew_ns` is missing.
    """
    if not there and load.ran_ns <= interval_ns * _EXACT_SHARE_OF_DOUBT:  # usually an idle CPU
        return 0
    explained_ns = sum(run.ran_ns for run in there)
    rest_ns = load.tasks_ns - explained_ns
    missed_ns = skew_ns if any(run.is_own for run in there) else round(skew_ns * min(explained_ns / interval_ns, 1))
    doubt_ns = max(DOUBT_NS, round(interval_ns * _SHARE_OF_DOUBT)) + missed_ns
    if load.exact_tasks_ns is not None:
        exact_rest_ns = load.exact_tasks_ns - load.interrupted_ns - explained_ns
        rest_ns = max(exact_rest_ns, rest_ns - 2 * doubt_ns)
        return rest_ns if rest_ns > interval_ns * _EXACT_SHARE_OF_DOUBT + missed_ns else 0
    return rest_ns if rest_ns > doubt_ns else 0


class _Claim(Struct):
    """A run whose CPU is unknown, so its time is still to be placed.

    `cpus` are the CPUs on which related runs were observed, the most probable first. `reach` are all possible CPUs.
    """

    run: TaskRun
    cpus: tuple[int, ...]
    reach: CpuSet
    is_certain: bool  # all of its time is within the interval

    @property
    def is_pinned(self) -> bool:
        """Whether only one CPU is possible, because a started process inherits the affinity."""
        return len(self.reach) == 1 and not self.run.is_own


def find_exited_runs(
    looks: Sequence[Tasks],
    own_pids: frozenset[int],
    runs: Sequence[TaskRun],
    load_by_cpu: Mapping[int, CpuLoad],
    length_ns: int,
    cpus_by_watcher: Mapping[int, CpuSet] | None = None,
) -> list[TaskRun]:
    """Return the runs of children and threads that ended between two looks, in addition to the observed `runs`.

    The kernel adds an ended child's time to the parent that waited for it, and an ended thread's time to its process.
    So their time is known, but usually not their CPU. No CPU gets more than its unexplained time. Claims with the
    fewest possible CPUs come first, because the others fit elsewhere. A watcher's children were all started on its CPUs
    in `cpus_by_watcher`. They do not count as noisewatch's own, even if the watcher does.
    """
    firsts = _first_threads(looks)
    claims = [
        *_claims_for_children(looks, firsts, own_pids, cpus_by_watcher or {}),
        *_claims_for_threads(looks, firsts, own_pids),
    ]
    if not claims:
        return []
    if any(run.is_own and run.are_children for run in runs):  # the time of our own children is already in the runs
        claims = [claim for claim in claims if not claim.run.is_own]
    claims.sort(key=lambda claim: len(claim.reach) or len(load_by_cpu))
    rooms = unexplained_ns_by_cpu(runs, load_by_cpu)
    placed = [run for claim in claims for run in _place_claim(claim, claim.cpus, rooms)]
    own_ns = sum(claim.run.ran_ns for claim in claims if claim.run.is_own)
    for claim in claims if own_ns <= DOUBT_NS else ():  # otherwise unexplained time is our own, as after a calibration
        if claim.is_certain:
            placed += _spread_claim(claim, claim.reach, rooms)
    for claim in claims if own_ns <= DOUBT_NS else ():
        if claim.is_certain and claim.run.ran_ns > DOUBT_NS and _hides_nothing(claim.reach, load_by_cpu):
            placed += _spread_claim(claim, load_by_cpu, rooms)
    hidden_ns = sum(claim.run.ran_ns for claim in claims if claim.is_certain) - sum(rooms.values())
    explained = explained_ns_by_cpu([*runs, *placed])
    return merge_runs([*placed, *_hidden_runs(claims, hidden_ns, explained, load_by_cpu, length_ns)])


def _hides_nothing(cpus: CpuSet, load_by_cpu: Mapping[int, CpuLoad]) -> bool:
    """Return whether the time of all these CPUs is exact. If so, time that does not fit was spent on other CPUs."""
    return bool(cpus) and all(cpu in load_by_cpu and load_by_cpu[cpu].exact_tasks_ns is not None for cpu in cpus)


def _place_claim(claim: _Claim, cpus: Iterable[int], rooms: dict[int, int]) -> list[TaskRun]:
    """Place as much of the claim as fits into the unexplained time of each CPU in turn."""
    placed = []
    for cpu in cpus:
        ran_ns = min(claim.run.ran_ns, rooms.get(cpu, 0))
        if ran_ns > 0:
            rooms[cpu] -= ran_ns
            placed.append(replace(claim.run, cpu=cpu, ran_ns=ran_ns))
            claim.run = replace(claim.run, ran_ns=claim.run.ran_ns - ran_ns)
    return placed


def _spread_claim(claim: _Claim, cpus: Iterable[int], rooms: dict[int, int]) -> list[TaskRun]:
    """Place the claim's remaining time in proportion to the CPUs' unexplained time, beyond the counters' error."""
    open_rooms = {cpu: rooms[cpu] for cpu in cpus if rooms.get(cpu, 0) > DOUBT_NS}
    all_ns = sum(open_rooms.values())
    rest_ns = min(claim.run.ran_ns, all_ns)
    placed = []
    for cpu, room in open_rooms.items():
        ran_ns = rest_ns * room // all_ns
        if ran_ns > 0:
            rooms[cpu] -= ran_ns
            placed.append(replace(claim.run, cpu=cpu, ran_ns=ran_ns))
    claim.run = replace(claim.run, ran_ns=claim.run.ran_ns - sum(run.ran_ns for run in placed))
    return placed


def _hidden_runs(
    claims: Sequence[_Claim],
    hidden_ns: int,
    explained: Mapping[int, int],
    load_by_cpu: Mapping[int, CpuLoad],
    length_ns: int,
) -> list[TaskRun]:
    """Return the hidden time of claims that are pinned to one CPU, for CPUs without exact counters.

    `hidden_ns` is the time that does not fit into the ticks of any CPU. A pinned process that sleeps at ticks hides it.
    """
    pinned = []
    for claim in claims:
        load = load_by_cpu.get(claim.cpus[0])
        if not (claim.is_certain and claim.is_pinned) or load is None or load.exact_tasks_ns is not None:
            continue
        free_ns = length_ns - max(load.busy_ns, explained.get(claim.cpus[0], 0))
        ran_ns = min(claim.run.ran_ns, hidden_ns, free_ns)
        if ran_ns > DOUBT_NS:
            hidden_ns -= ran_ns
            pinned.append(replace(claim.run, cpu=claim.cpus[0], ran_ns=ran_ns))
    return pinned


def _claims_for_children(
    looks: Sequence[Tasks], firsts: _Firsts, own_pids: frozenset[int], cpus_by_watcher: Mapping[int, CpuSet]
) -> list[_Claim]:
    """Return claims for the time of ended children that no look contained.

    A child's whole time counts. It may be hours if the first look was incomplete, because the child may be older.
    """
    before = looks[0]
    waited = [(task, earlier or replace(task, children_ns=0)) for task, earlier in firsts]
    waited = [(task, earlier) for task, earlier in waited if task.children_ns > earlier.children_ns]
    if not waited:
        return []
    observed_ns = _observed_ns_of_exited(looks)
    descendants = _short_lived_descendants(looks)
    claims = []
    for task, earlier in waited:
        spent_ns = task.children_ns - earlier.children_ns - observed_ns[task.pid]
        if spent_ns > 0:
            run = replace(run_of(task, spent_ns, own_pids), are_children=True, is_inferred=True)
            named = replace(run, name=task.name if task.name == earlier.name else f"{earlier.name}, now {task.name}")
            moved = [child for child in descendants[task.pid] if child.allowed not in (None, task.allowed)]
            cpus = dict.fromkeys([*(child.cpu for child in moved), task.cpu])
            reach = frozenset[int]().union(task.allowed or (), *(child.allowed or () for child in moved))
            if task.pid in cpus_by_watcher:
                named = replace(named, is_own=False)
            if cpus_by_watcher.get(task.pid):  # empty if several watched commands use the same CPUs
                reach = cpus_by_watcher[task.pid]
                cpus = dict.fromkeys([*(child.cpu for child in moved if child.cpu in reach), *sorted(reach)])
            claims.append(_Claim(named, tuple(cpus), reach, before.is_complete))
    return claims


def _short_lived_descendants(looks: Sequence[Tasks]) -> Mapping[int, list[Task]]:
    """Return the short-lived descendants of each process, by its pid."""
    lasting = looks[0].pids & looks[-1].pids
    passing = {pid: tasks.by_tid[pid] for tasks in looks for pid in tasks.pids - lasting if pid in tasks.by_tid}
    tasks_by_pid: dict[int, list[Task]] = defaultdict(list)
    for task in passing.values():
        for ancestor in _ancestors(task, passing):
            tasks_by_pid[ancestor].append(task)
    return tasks_by_pid


def _ancestors(task: Task, passing: Mapping[int, Task]) -> Iterator[int]:
    """Yield the pids of the task's short-lived ancestors, nearest first, and then of a long-lived one."""
    ancestor = task.parent_pid
    for _ in passing:
        yield ancestor
        if ancestor not in passing:
            return
        ancestor = passing[ancestor].parent_pid


def _observed_ns_of_exited(looks: Sequence[Tasks]) -> Mapping[int, int]:
    """Return for each process the time (ns) of its ended descendants in the looks.

    The kernel adds their time to the nearest ancestor that outlived them; its own parent gets it with the ancestor's.
    """
    after = looks[-1]
    exited: dict[int, list[Task]] = defaultdict(list)
    fewer = [tasks.by_tid for tasks in looks if not tasks.pids <= after.pids]
    missing = ((tid, task) for by_tid in fewer for tid, task in by_tid.items() if task.pid not in after.pids)
    for task in dict(missing).values():
        exited[task.pid].append(task)
    last_look = {pid: number for number, tasks in enumerate(looks) for pid in exited.keys() & tasks.pids}
    had_ns: dict[int, int] = defaultdict(int)
    firsts = {pid: threads[0] for pid, threads in exited.items()}
    for pid, threads in exited.items():
        outlived_by = (up for up in _ancestors(threads[0], firsts) if last_look.get(up, len(looks)) > last_look[pid])
        ancestor = next(outlived_by, threads[0].parent_pid)
        process_ns = max((thread.process_ns or 0 for thread in threads), default=0)
        had_ns[ancestor] += max(process_ns, sum(thread.ran_ns for thread in threads))
        had_ns[ancestor] += sum(thread.children_ns for thread in threads)
    return had_ns


def _claims_for_threads(looks: Sequence[Tasks], firsts: _Firsts, own_pids: frozenset[int]) -> list[_Claim]:
    """Return claims for threads that ended or were not read: their process's time minus the observed threads' time."""
    before = looks[0]
    spent_ns = {
        task.pid: task.process_ns - (earlier.process_ns or 0 if earlier is not None else 0)
        for task, earlier in firsts
        if task.process_ns is not None and (earlier is None or earlier.process_ns is not None)
        if task.waited_ns is not None  # otherwise the threads' own times are in ticks too
    }
    spent_ns = {pid: ns for pid, ns in spent_ns.items() if ns > _PROCESS_DOUBT_NS}
    last_states = ((tid, task) for tasks in looks[1:] for tid, task in tasks.by_tid.items() if task.pid in spent_ns)
    for task in dict(last_states if spent_ns else ()).values():
        earlier = before.by_tid.get(task.tid)
        is_same = earlier is not None and earlier.started_ticks == task.started_ticks
        if is_same or is_newborn(task, before):
            spent_ns[task.pid] -= task.ran_ns - (earlier.ran_ns if earlier is not None and is_same else 0)
    claims = []
    for pid, ns in spent_ns.items():
        if ns > _PROCESS_DOUBT_NS:
            last = next(tasks for tasks in reversed(looks) if pid in tasks.by_tid)
            task = last.by_tid[pid]
            were_skipped = pid not in before.read_pids & last.read_pids and pid in before.pids
            run = replace(
                run_of(task, ns, own_pids), are_ended_threads=True, are_unread_threads=were_skipped, is_inferred=True
            )
            claims.append(
                _Claim(run, (task.cpu, *_other_cpus(looks, task)), task.allowed or frozenset(), is_certain=True)
            )
    return claims


def _other_cpus(looks: Sequence[Tasks], first: Task) -> tuple[int, ...]:
    """Return the other CPUs on which threads of the process were observed."""
    cpus: CpuSet = frozenset(task.cpu for tasks in looks for task in tasks.by_tid.values() if task.pid == first.pid)
    return tuple(sorted(cpus - {first.cpu}))


def _first_threads(looks: Sequence[Tasks]) -> _Firsts:
    """Return the first thread of each process that has run, with its earlier state, or None if the process is new."""
    before = looks[0]
    firsts: list[tuple[Task, Task | None]] = []
    for task in _last_states(looks):
        if task.tid != task.pid:
            continue
        earlier = before.by_tid.get(task.tid)
        if earlier is not None and earlier.started_ticks != task.started_ticks:
            earlier = None
        if earlier is not None or is_newborn(task, before):
            firsts.append((task, earlier))
    return firsts
