"""The time that other tasks used on the target CPUs and their siblings during a repetition.

The kernel's trace settles it. Without one, looks identify the threads, with a lower bound of their time, and the books
give the sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.allowance import Allowance, OwnWork
from noisewatch.judgement.run.left_target import traced_outside_ns
from noisewatch.judgement.run.reasons import ReasonKind, RunReason, above_allowance
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import name_of_run
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.task_runs import TaskRun
from noisewatch.model.run.books import ran_between
from noisewatch.model.run.part import NOT_OF_PARTS
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.trace.culprits import TracedCulprit, threads_in
from noisewatch.units import describe_ns

UNSEEN = "an unobserved task"
_WAITED = "an unidentified task that kept the command waiting for its CPU"
_TOO_COARSE = "this kernel counts the time of CPUs in ticks, which miss tasks that run between two ticks"
_UNSETTLED = (
    "other tasks used {} on the target CPUs by the kernel's counts, which may be off by {}: too much for so short a "
    "repetition{}"
)
_TRACE_IS_EXACT = " (the kernel's trace is exact)"
_WAS_ELSEWHERE = "the command ran on CPUs other than the target CPUs for {}"
_MAY_HAVE_LEFT = "the command set its affinity to {}: cannot tell how long it ran on CPUs other than the target CPUs"
_NO_AFFINITY = "cannot tell whether the command changed its affinity and ran on CPUs other than the target CPUs"
_LATE_NS = 2 * TICK_NS  # error per CPU: the time of a task that is running at the end may not be counted yet
_ALL_ALONG = 0.5  # share of the repetition; a thread that probably ran for longer ran to the end, if no task left


class ForeignTime(Struct, frozen=True):
    """The foreign time of a repetition.

    `slight`: culprits within the allowance. `own`: kernel threads that worked for the command. `unknown`: the reason
    why other tasks may have run too, or None if none can have. `is_imprecise`: that reason is only the precision of the
    kernel's counts, so that the command's own waits would settle it.
    """

    reasons: list[RunReason]
    slight: list[RunReason]
    own: list[RunReason]
    unknown: str | None
    is_imprecise: bool = False


def find_foreign_time(repetition: Repetition, allowance: Allowance, own_work: OwnWork) -> ForeignTime:
    """Return the other tasks that ran on the target CPUs, and the time that no observed thread explains.

    The kernel's trace settles both. Without one, looks identify the threads, the books give the sum, and a
    single-threaded command's own waiting time is known.
    """
    allowed_ns = allowance.ns(repetition.length_ns)
    traced = find_traced(repetition, allowance, own_work)
    if traced is not None:
        is_elsewhere = traced.elsewhere_ns > allowed_ns
        unknown = _WAS_ELSEWHERE.format(describe_ns(traced.elsewhere_ns)) if is_elsewhere else None
        return ForeignTime(traced.reasons, traced.slight, traced.own, unknown)
    sightings = _sightings(repetition)
    certain_ns = sum(sighting.certain_ns for sighting in sightings)
    missing_ns = _min_foreign_ns(repetition) - certain_ns
    known_foreign_ns = _sum(own_work.split(reasons_of(sightings, repetition))[0])
    if missing_ns > allowed_ns:
        sightings = share_out(sightings, missing_ns)
    foreign, own = own_work.split(reasons_of(sightings, repetition))
    own_ns, named_ns = _sum(own), _sum(foreign) + _sum(own)
    reasons = above_allowance(foreign, allowed_ns)
    if _sum(foreign) - known_foreign_ns > allowed_ns:  # the CPU of the added time is unknown
        reasons = reasons or foreign
    unseen_ns = certain_ns + missing_ns - named_ns
    if unseen_ns > allowed_ns:
        reasons.append(_anonymous(repetition, UNSEEN, unseen_ns))
        named_ns += unseen_ns
    unplaced = _unplaced_time_reason(repetition, allowed_ns)
    imprecise = _imprecise_time_reason(repetition, allowed_ns, named_ns) if unplaced is None else None
    waited_ns = (waited_ns_of(repetition) or 0) - own_ns - repetition.quota.ns
    if waited_ns > allowed_ns and not reasons and waited_for_none_ns(repetition) <= allowed_ns:
        reasons = _wait_reasons(repetition, waited_ns, foreign)
    slight = [reason for reason in foreign if reason not in reasons]
    return ForeignTime(reasons, slight, own, unplaced or imprecise, imprecise is not None)


def _sum(reasons: Iterable[RunReason]) -> int:
    return sum(reason.ns or 0 for reason in reasons)


def _wait_reasons(repetition: Repetition, waited_ns: int, foreign: list[RunReason]) -> list[RunReason]:
    """Return the tasks that were, or may have been, running while the command waited."""
    likely = foreign_threads(repetition, repetition.target, ReasonKind.FOREIGN)
    named = reasons_of(share_out((replace(sighting, certain_ns=0) for sighting in likely), waited_ns), repetition)
    rest_ns = waited_ns - _sum(named)
    return (foreign or named) + ([_anonymous(repetition, _WAITED, rest_ns)] if rest_ns > 0 else [])


def late_ns(repetition: Repetition, cpu: int, sightings: Iterable[Sighting]) -> int:
    """Return the time of a task that has stayed on the CPU, if the kernel counts time only when tasks leave, else 0.

    On such a kernel, either the CPU was idle, and the result is 0, or one task used all of its time. The looks show
    which of these happened.
    """
    ran = ran_between(repetition.span.before, repetition.span.after, cpu)
    if ran is None or not ran.is_late:
        return 0
    likely_ns = max((sighting.likely_ns for sighting in sightings if sighting.reason.cpu == cpu), default=0)
    return likely_ns if likely_ns > _ALL_ALONG * repetition.length_ns else 0


def waited_ns_of(repetition: Repetition) -> int | None:
    """Return how long the command waited for a CPU, or None if it may have waited for its own threads."""
    return repetition.use.waited_ns if repetition.use.ran_alone else None


def waited_for_none_ns(repetition: Repetition) -> int:
    """Return how much longer a thread waited for a CPU than all other tasks can have used the CPUs; 0 if unknown.

    Except for the command's first thread, only looks show waiting times, and the last look may be long before the end.
    """
    books = repetition.books
    if books.tasks_ns is None or not books.is_exact:
        return 0
    most_ns = books.tasks_ns + books.doubt_ns + _LATE_NS * len(repetition.target)
    waits = [*repetition.thread_waits, (repetition.use.cpu_ns, waited_ns_of(repetition) or 0)]
    return max([0, *(waited_ns - (most_ns - ran_ns) for ran_ns, waited_ns in waits if ran_ns <= most_ns)])


def _sightings(repetition: Repetition) -> list[Sighting]:
    books = repetition.books
    sightings = foreign_threads(repetition, repetition.target, ReasonKind.FOREIGN)
    late = {cpu for cpu in repetition.target if late_ns(repetition, cpu, sightings)}
    if books.is_exact and books.foreign_ns is not None:
        sightings = fit_into_books(sightings, books.foreign_ns + books.doubt_ns)
    return [
        replace(sighting, certain_ns=max(sighting.certain_ns, sighting.likely_ns))
        if sighting.reason.cpu in late
        else sighting
        for sighting in sightings
    ]


def _min_foreign_ns(repetition: Repetition) -> int:
    """Return a lower bound of foreign time: the books' sum, minus their error and time just outside the repetition."""
    books = repetition.books
    return max((books.foreign_ns or 0) - books.doubt_ns - _slack_ns(repetition), 0)


def _slack_ns(repetition: Repetition) -> int:
    return repetition.slack_ns * len(repetition.target)


def _unplaced_time_reason(repetition: Repetition, allowed_ns: float) -> str | None:
    """Return why the books are unknown, or why the command may have run outside the target CPUs, or None.

    The command's time on other CPUs would hide as much foreign time on the target CPUs.
    """
    books = repetition.books
    uncounted_ns = None if books.tasks_ns is None else books.own_ns - books.tasks_ns - books.doubt_ns
    if books.foreign_ns is None and (uncounted_ns is None or uncounted_ns > allowed_ns):
        return books.reason
    elsewhere_ns = time_elsewhere_ns(repetition)
    if elsewhere_ns > allowed_ns:
        return _WAS_ELSEWHERE.format(describe_ns(elsewhere_ns))
    if repetition.allowed is None:
        return _NO_AFFINITY
    outside = repetition.first_outside
    if not repetition.allowed <= repetition.target:
        return _MAY_HAVE_LEFT.format(name_cpus(repetition.allowed))
    if outside.max_ns is None or outside.max_ns > allowed_ns:
        return _MAY_HAVE_LEFT.format(name_cpus(outside.cpus))
    return None


def _imprecise_time_reason(repetition: Repetition, allowed_ns: float, known_ns: int) -> str | None:
    """Return why the books are too imprecise, or None. The waiting time of a single-threaded command bounds the time.

    Books without foreign time are imprecise if they contradict the command's own time by no more than is allowed.
    """
    books = repetition.books
    if books.foreign_ns is None:
        return books.reason
    if not books.is_exact:
        return _TOO_COARSE
    if waited_ns_of(repetition) is not None or books.foreign_ns - known_ns <= allowed_ns:
        return None
    doubt_ns = books.doubt_ns + _slack_ns(repetition)
    hint = "" if repetition.trace == NOT_OF_PARTS else _TRACE_IS_EXACT
    return _UNSETTLED.format(describe_ns(books.foreign_ns), describe_ns(doubt_ns), hint)


def _anonymous(repetition: Repetition, name: str, ns: int) -> RunReason:
    on = f" ({name_cpus(repetition.target)})" if len(repetition.target) > 1 else ""
    return RunReason(
        kind=ReasonKind.FOREIGN,
        name=name + on,
        noise=Kind.UNATTRIBUTED,
        cpu=min(repetition.target) if len(repetition.target) == 1 else None,
        ns=ns,
        share=repetition.share_of(ns),
    )


LEFT_RUNNING = " (left running by an earlier repetition)"
_Key = tuple[int, str, int, Kind]


class Sighting(Struct, frozen=True):
    """One thread, or crowd of ended ones, on one CPU. Times are ns within the repetition.

    `certain_ns` is a lower bound, `likely_ns` the time if it ran evenly over the windows, `possible_ns` an upper bound.
    """

    reason: RunReason
    certain_ns: int
    likely_ns: int
    possible_ns: int


def foreign_threads(repetition: Repetition, cpus: CpuSet, kind: ReasonKind) -> list[Sighting]:
    """Return the threads on `cpus` that are not the command's or its children's; noisewatch's own are included."""
    runs_by_key: dict[_Key, list[tuple[Interval, TaskRun]]] = defaultdict(list)
    for window in repetition.windows:
        for run in _foreign_runs(repetition, window, cpus):
            noise = Kind.KERNEL_THREAD if run.is_kernel else Kind.THREAD
            runs_by_key[run.cpu, name_of_run(run), run.pid, noise].append((window, run))
    return [_sighting(repetition, key, runs, kind) for key, runs in runs_by_key.items()]


def time_elsewhere_ns(repetition: Repetition) -> int:
    """Return how long the command was observed on CPUs that are not target CPUs."""
    return sum(
        min(run.ran_ns, repetition.within(window))
        for window in repetition.windows
        for run in _runs(repetition, window)
        if run.is_own and not run.are_children and run.cpu not in repetition.target and run.pid not in _watchers(window)
    )


def fit_into_books(sightings: Iterable[Sighting], most_ns: int) -> list[Sighting]:
    """Return the sightings, with estimates reduced until the sum of all times is at most `most_ns`."""
    listed = list(sightings)
    measured_ns = sum(sighting.certain_ns for sighting in listed if not sighting.reason.is_estimate)
    estimated_ns = sum(sighting.certain_ns for sighting in listed) - measured_ns
    left_ns = max(most_ns - measured_ns, 0)
    if estimated_ns <= left_ns:
        return listed
    return [
        replace(sighting, certain_ns=sighting.certain_ns * left_ns // estimated_ns)
        if sighting.reason.is_estimate
        else sighting
        for sighting in listed
    ]


def share_out(sightings: Iterable[Sighting], missing_ns: int) -> list[Sighting]:
    """Return the sightings with the missing time distributed among them, each within its `possible_ns`."""
    listed = list(sightings)
    spare_ns = sum(sighting.possible_ns - sighting.certain_ns for sighting in listed)
    given_ns = min(missing_ns, spare_ns)
    if given_ns <= 0:
        return listed
    return [
        replace(
            sighting,
            certain_ns=sighting.certain_ns + given_ns * (sighting.possible_ns - sighting.certain_ns) // spare_ns,
        )
        for sighting in listed
    ]


def reasons_of(sightings: Iterable[Sighting], repetition: Repetition) -> list[RunReason]:
    """Return the sightings as reasons with their `certain_ns`, the longest first, without sightings of 0 ns."""
    reasons = [
        replace(sighting.reason, ns=sighting.certain_ns, share=repetition.share_of(sighting.certain_ns))
        for sighting in sightings
        if sighting.certain_ns > 0
    ]
    return sorted(reasons, key=lambda reason: -(reason.ns or 0))


def _runs(repetition: Repetition, window: Interval) -> Iterator[TaskRun]:
    """Return the runs in the window; processes left running by earlier repetitions count as foreign."""
    tasks = window.after.tasks
    if not repetition.earlier_pids or tasks is None:
        return iter(window.runs)
    earlier = descendants_in(parents_in(tasks), repetition.earlier_pids)
    return (
        replace(run, is_own=False, name=f"{run.name}{LEFT_RUNNING}") if run.is_own and run.pid in earlier else run
        for run in window.runs
    )


def _foreign_runs(repetition: Repetition, window: Interval, cpus: CpuSet) -> Iterator[TaskRun]:
    """Yield the foreign runs on these CPUs. noisewatch itself is noise too, but its ended children are the command."""
    watchers = _watchers(window)
    part = _part_of_crowds(repetition, window)
    for run in _runs(repetition, window):
        if run.cpu not in cpus or (run.is_own and (run.pid not in watchers or run.are_children)):
            continue
        is_cut = _is_crowd(run) and run.cpu in repetition.target
        ran_ns = round(run.ran_ns * part) if is_cut else run.ran_ns
        if ran_ns > 0:
            yield replace(run, ran_ns=ran_ns)


def _is_crowd(run: TaskRun) -> bool:
    return run.are_children or run.are_ended_threads


def _part_of_crowds(repetition: Repetition, window: Interval) -> float:
    """Return which share of the time attributed to ended tasks can have been used on the target CPUs.

    All unexplained time is attributed to ended tasks, so it includes the time of a command that has ended.
    """
    runs = [run for run in _runs(repetition, window) if run.cpu in repetition.target]
    crowds_ns = sum(run.ran_ns for run in runs if _is_crowd(run) and not run.is_own)
    others_ns = _exited_commands_ns(window) + sum(run.ran_ns for run in runs if not _is_crowd(run))
    loads = [window.load_by_cpu.get(cpu) for cpu in repetition.target]
    if not crowds_ns or None in loads:
        return 1.0
    ran_ns = sum(load.ran_ns for load in loads if load is not None)
    return min(max((ran_ns - others_ns) / crowds_ns, 0.0), 1.0)


def _exited_commands_ns(window: Interval) -> int:
    """Return the time of the commands that noisewatch has reaped in the window."""
    before, after = window.before.tasks, window.after.tasks
    if before is None or after is None:
        return 0
    pairs = [(before.by_tid.get(pid), after.by_tid[pid]) for pid in _watchers(window)]
    return sum(last.children_ns - first.children_ns for first, last in pairs if first is not None)


def _watchers(window: Interval) -> frozenset[int]:
    """Return the pids of noisewatch itself; the command is one of its descendants."""
    own = window.after.own_pids
    tasks = window.after.tasks
    if tasks is None:
        return frozenset()
    own_tasks = {pid: tasks.by_tid[pid] for pid in own if pid in tasks.by_tid}
    return frozenset(pid for pid, task in own_tasks.items() if task.parent_pid not in own)


def _sighting(
    repetition: Repetition, key: _Key, runs: Sequence[tuple[Interval, TaskRun]], kind: ReasonKind
) -> Sighting:
    cpu, name, pid, noise = key
    first, last, last_run = runs[0][0], *runs[-1]
    is_estimate = any(run.is_inferred or repetition.outside(window) for window, run in runs)
    return Sighting(
        RunReason(
            kind=kind,
            name=name,
            noise=noise,
            cpu=cpu,
            pid=pid,
            begin_ns=max(first.before.taken_at_ns - repetition.began_ns, 0),
            end_ns=min(last.after.taken_at_ns, repetition.ended_ns) - repetition.began_ns,
            is_estimate=is_estimate,
            program=last.program_of_thread(replace(last_run, name=last_run.name.removesuffix(LEFT_RUNNING))),
            identity=last.identities.get(pid),
        ),
        certain_ns=sum(_certain_ns(repetition, window, run) for window, run in runs),
        likely_ns=sum(run.ran_ns * repetition.within(window) // max(window.length_ns, 1) for window, run in runs),
        possible_ns=sum(min(run.ran_ns, repetition.within(window)) for window, run in runs),
    )


def _certain_ns(repetition: Repetition, window: Interval, run: TaskRun) -> int:
    """Return the least time (ns) that the thread can have used within the repetition."""
    return min(max(run.ran_ns - repetition.outside(window), 0), repetition.within(window))


_EXACT_SHARE = 0.05  # share of a culprit's time; if more of it is in doubt, the time is an estimate
_IN_DOUBT = "the trace does not contain all switches between threads"
_NOT_ALL = "the trace does not contain {}, which came online later"
_WAITED_LONGER = "the command waited {} for its CPU, but the trace shows only {}"
WAKE_NS = 100_000  # upper bound of the time that an idle CPU takes to wake up


class TracedForeign(Struct, frozen=True):
    """The foreign time of a repetition by the trace; `slight` and `own` as in ForeignTime.

    `elsewhere_ns` is a lower bound of the command's time on CPUs that are not target CPUs.
    """

    reasons: list[RunReason]
    slight: list[RunReason]
    own: list[RunReason]
    elsewhere_ns: int


def unusable_trace_reason(repetition: Repetition, allowance: Allowance) -> str | None:
    """Return why the trace is unusable (missing, lacks a target CPU, or contradicts other measurements), or None."""
    window = repetition.trace
    if isinstance(window, str):
        return window
    online = [snapshot.online.online for snapshot in (repetition.span.before, repetition.span.after)]
    listed = frozenset().union(*(cpus or () for cpus in online))
    untraced = (repetition.target if None in online else repetition.target & listed) - window.traced
    if untraced:
        return _NOT_ALL.format(name_cpus(untraced))
    if traced_outside_ns(repetition) > allowance.ns(repetition.length_ns):
        return None  # it may have waited for a CPU that is not traced
    use = repetition.use
    waited_ns = use.waited_ns if use.ran_alone else None
    others_ns = sum(time.ns for time in window.times if time.cpu in repetition.target)
    unattributed_ns = (waited_ns or 0) - others_ns - window.states.held_ns - use.switches * WAKE_NS
    if waited_ns is not None and unattributed_ns > allowance.ns(repetition.length_ns):
        return _WAITED_LONGER.format(describe_ns(waited_ns), describe_ns(others_ns))
    return None


def insufficient_trace_reason(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> str | None:
    """Return why the trace does not suffice, so that the counters decide, or None if it suffices."""
    doubt = unusable_trace_reason(repetition, allowance)
    if doubt is not None:
        return doubt
    is_settled = find_traced(repetition, allowance, OwnWork.of(repetition)) is not None
    return None if is_settled and find_traced_siblings(repetition, siblings, allowance) is not None else _IN_DOUBT


def find_traced(repetition: Repetition, allowance: Allowance, own_work: OwnWork) -> TracedForeign | None:
    """Return the foreign time according to the trace, or None if that is undecided.

    It is undecided without a usable trace, or if the trace leaves open whether other tasks exceeded the allowance.
    """
    window = repetition.trace
    allowed_ns = allowance.ns(repetition.length_ns)
    if isinstance(window, str) or unusable_trace_reason(repetition, allowance) is not None:
        return None
    culprits = threads_in(window, repetition.target)
    foreign, own = own_work.split(_reasons(repetition, culprits, ReasonKind.FOREIGN))
    disturbing = above_allowance(foreign, allowed_ns)
    if not disturbing and _is_in_doubt(culprits, foreign, _hidden_ns(repetition, window), allowed_ns):
        return None
    slight = [reason for reason in foreign if reason not in disturbing]
    elsewhere_ns = window.elsewhere_ns(repetition.use.cpu_ns, repetition.target)
    return TracedForeign(disturbing, slight, own, max(elsewhere_ns, time_elsewhere_ns(repetition)))


def find_traced_siblings(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> list[RunReason] | None:
    """Return the tasks that ran on a sibling for longer than allowed, or None if that is undecided.

    It is undecided without a trace of all siblings, or if the trace leaves open whether a task exceeded the allowance.
    """
    window = repetition.trace
    allowed_ns = allowance.ns(repetition.length_ns)
    online = repetition.span.after.online.online
    siblings = siblings if online is None else siblings & online
    if isinstance(window, str) or not siblings <= window.traced:
        return None
    culprits = threads_in(window, siblings)
    reasons = _reasons(repetition, culprits, ReasonKind.SIBLING)
    disturbing = above_allowance(reasons, allowed_ns)
    return disturbing if disturbing or not _is_in_doubt(culprits, reasons, 0, allowed_ns) else None


def _reasons(repetition: Repetition, culprits: Iterable[TracedCulprit], kind: ReasonKind) -> list[RunReason]:
    """Return the culprits as reasons, with a lower bound of their time."""
    return [
        RunReason(
            kind=kind,
            name=_name_of(repetition, culprit) + (LEFT_RUNNING if culprit.pid in repetition.earlier_pids else ""),
            noise=culprit.kind,
            cpu=culprit.cpu,
            pid=culprit.pid,
            ns=culprit.ns - culprit.doubt_ns,
            share=repetition.share_of(culprit.ns - culprit.doubt_ns),
            begin_ns=culprit.begin_ns - repetition.began_ns,
            end_ns=culprit.end_ns - repetition.began_ns,
            is_estimate=culprit.doubt_ns > culprit.ns * _EXACT_SHARE,
            program=_program_of(repetition, culprit),
            identity=repetition.identity_of(culprit.pid, culprit.begin_ns, culprit.end_ns),
        )
        for culprit in culprits
        if culprit.ns > 0
    ]


def _name_of(repetition: Repetition, culprit: TracedCulprit) -> str:
    """Return the culprit's name, which is whole if a snapshot has the whole name of its process."""
    if culprit.pid is None or not repetition.windows:
        return culprit.name
    return repetition.windows[-1].whole_name(culprit.name, culprit.pid)


def _program_of(repetition: Repetition, culprit: TracedCulprit) -> str | None:
    """Return the name of the process to which the culprit, a thread with another name, belongs."""
    if culprit.pid is None or not culprit.is_other_thread or not repetition.windows:
        return None
    name = repetition.windows[-1].name_of_process(culprit.pid)
    return name if name != _name_of(repetition, culprit) else None


def _is_in_doubt(
    culprits: Iterable[TracedCulprit], reasons: Iterable[RunReason], hidden_ns: int, allowed_ns: float
) -> bool:
    """Return whether the culprits of some CPU exceed the allowance if all time in doubt is theirs.

    `hidden_ns`: the part of the command's time, on any CPU, that they may have used.
    """
    max_ns_by_cpu: Counter[int | None] = Counter()
    for culprit in culprits:
        max_ns_by_cpu[culprit.cpu] += culprit.doubt_ns
    for reason in reasons:
        max_ns_by_cpu[reason.cpu] += reason.ns or 0
    return max(max_ns_by_cpu.values(), default=0) + hidden_ns > allowed_ns


def _hidden_ns(repetition: Repetition, window: TraceWindow) -> int:
    """Return the command's traced time that others may have used: at most its excess over the counted CPU time."""
    target = repetition.target
    unused_ns = window.own_ns(target) + window.interrupted_ns(target) - repetition.use.cpu_ns
    return min(window.doubt_ns, max(unused_ns, 0))
