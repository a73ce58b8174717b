"""Area `isolation`: what keeps other work off the target CPUs, and whether any other work ran there.

Kernel options for isolation may have no effect, or contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.checks.cpus.scheduler import can_offload
from noisewatch.judgement.counted import untimed_reason
from noisewatch.judgement.effect import (
    TakenShares,
    describe_observed,
    effect_of_thread,
    scale_culprit,
    taken_limits,
    threads_while_calibrating,
)
from noisewatch.judgement.fixes.actions import MakePartition, move
from noisewatch.judgement.fixes.fix import BootOptions, ByHand, Fix, boot_without
from noisewatch.judgement.programs import Members, many_threads, other_noisewatches, unseen_reason
from noisewatch.judgement.rules import PARALLEL, STRICT
from noisewatch.judgement.terms import Area, Ground, Severity
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kernel.system.release import COMMAND_LINE, release_number
from noisewatch.kernel.tasks.task import Task
from noisewatch.kinds import THREADS
from noisewatch.model.interval.disturbance import Culprit, Disturbance, threads_of
from noisewatch.model.interval.interval import Interval
from noisewatch.text import clean


@check(
    id="target-not-isolated",
    area=Area.ISOLATION,
    question="Does the scheduler's load balancer leave the target CPUs alone?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    reads=(
        f"{CPUS}/isolated",
        "/sys/fs/cgroup/cpuset.cpus.isolated",
        "/sys/fs/cgroup/**/cpuset.cpus.partition",
        "/sys/fs/cgroup/**/cpuset.sched_load_balance (cgroup v1)",
    ),
    why=(
        "The scheduler may place any task on a CPU that is not isolated, at any time. tasks-on-target measures "
        "whether this happened during the sample; isolation prevents it for the whole benchmark."
    ),
    remedy="Make an isolated cgroup partition, or boot with isolcpus.",
    sources=(
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
        "https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html",
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
    ),
    severity_in={STRICT: Severity.BLOCKING},
    not_asked_in={PARALLEL: "several threads need load balancing; tasks-on-target reports what else runs there"},
)
def target_not_isolated(case: Case) -> Answer:
    isolation = case.snapshot.isolation
    if isolation.isolated is None:
        return case.unread(f"{CPUS}/isolated")
    if not case.target:
        return unknown(NO_TARGET)
    open_cpus = case.target - isolation.isolated
    graded = case.graded(
        evidence={
            "boot": None if isolation.boot is None else sorted(isolation.boot),
            "partition": None if isolation.partition is None else sorted(isolation.partition),
            "cgroup_v1": None if isolation.unbalanced is None else sorted(isolation.unbalanced),
        }
    )
    if not open_cpus:
        by = " by cgroup v1" if case.target & (isolation.unbalanced or frozenset()) else ""
        return graded.passes(f"{name_cpus(case.target)}: isolated{by}", cpus=case.target)
    text = f"{name_cpus(open_cpus)}: not isolated"
    if isolation.partition is not None and isolation.unbalanced is not None:
        return graded.fails(text, cpus=open_cpus, fix=isolate(case))
    other = "a cgroup partition" if isolation.partition is None else "cgroup v1"
    text += f" at boot; cannot tell whether {other} isolates {'it' if len(open_cpus) == 1 else 'them'}"
    reason = case.unread_reason(
        *("/sys/fs/cgroup/cpuset.cpus.isolated", "/sys/fs/cgroup", "/proc/self/mounts", "/proc/self/cgroup")
    )
    return graded.warns(text, cpus=open_cpus, reason=reason, fix=isolate(case))


class PartitionNeeds(NamedTuple):
    """The unmet and the met requirements of an isolated partition."""

    missing: tuple[str, ...]
    met: tuple[str, ...]


def partition_needs(case: Case) -> PartitionNeeds:
    """Return the requirements of an isolated partition. An unknown kernel release is neither missing nor met."""
    missing: list[str] = []
    met: list[str] = []
    root, kernel = case.snapshot.isolation.partitions.root, case.snapshot.platform.kernel
    (missing if root is None else met).append("cgroup v2 with the cpuset controller")
    release = release_number(kernel)
    if release is not None and release < _HAS_ISOLATED_PARTITIONS:
        missing.append(f"Linux {_HAS_ISOLATED_PARTITIONS[0]}.{_HAS_ISOLATED_PARTITIONS[1]} or newer")
    elif release is not None:
        met.append(f"Linux {release[0]}.{release[1]}")
    return PartitionNeeds(tuple(missing), tuple(met))


FEWER_TARGETS = ByHand("choose fewer target CPUs: all other work needs a CPU that is not isolated")


def isolate(case: Case) -> Fix:
    """Return the fix that isolates the target CPUs.

    It makes a partition unless a requirement is missing, and adds a boot option in any case. If no other CPU is online,
    the fix is to choose fewer target CPUs.
    """
    if not case.online - case.target:
        return Fix(lasting=(FEWER_TARGETS,), needs_root=False)
    option = BootOptions(f"isolcpus=domain,managed_irq,{cpu_list_argument(case.target)}")
    root, release = case.snapshot.isolation.partitions.root, release_number(case.snapshot.platform.kernel)
    if root is None or partition_needs(case).missing:
        return Fix(lasting=(option,))
    folder = f"{root.folder}/benchmark"
    earlier = next(
        (partition for partition in case.snapshot.isolation.partitions.all if partition.folder == folder), None
    )
    partition = MakePartition(
        folder=folder,
        cpus=case.target,
        delegate_in=None if root.delegates_cpuset else f"{root.folder}/cgroup.subtree_control",
        earlier=None if earlier is None else (earlier.kind, earlier.wanted),
    )
    resets_pins = release is None or release < _KEEPS_PINS
    return Fix((partition,), (option, ByHand(_PIN_AGAIN)) if resets_pins else (option,))


_HAS_ISOLATED_PARTITIONS = (6, 1)  # since the commit "cgroup/cpuset: Add a new isolated cpus.partition type"
_KEEPS_PINS = (6, 2)  # since the commit "sched: Always preserve the user requested cpumask"
_PIN_AGAIN = (
    "before Linux 6.2, making or removing the partition resets affinities set by taskset: pin the threads again"
)

FIRST_PROCESS = 1
INIT = frozenset({FIRST_PROCESS, 2})  # init and kthreadd
DEADLINE = "taskset cannot move SCHED_DEADLINE threads: stop them, or use an isolated cgroup partition"

_TASK_PASSES, _TASK_SHARE = taken_limits("one task")


@check(
    id="tasks-on-target",
    area=Area.ISOLATION,
    question="Did other tasks run on a target CPU, or could they?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(
        "/proc/PID/task/TID/{stat,schedstat,status,sched}",
        "/proc/stat and /proc/schedstat over the sample",
        "the kernel's trace of the calibration",
    ),
    limits=(_TASK_PASSES, _TASK_SHARE),
    why=(
        "This check measures what isolation is meant to guarantee. It works without isolation, in containers and "
        "without root. Unattributed time counts too: short-lived children and processes of other containers disturb "
        "a benchmark just as much. Sample and calibration are weighted by length. Time that the calibration lost "
        "counts in full. A task that cannot compete with the calibration's loops (SCHED_IDLE, nice 19, a group of low "
        "weight) is judged by the time that it gets while the loops run, not by what it takes from an otherwise idle "
        "CPU."
    ),
    remedy=(
        "Stop the task, or move it with taskset; keep services off with AllowedCPUs or an isolated cgroup partition."
    ),
    sources=("https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",),
    asks_rates=True,
    runs_unsampled=True,
    covers_calibration=True,
)
def tasks_on_target(case: Case) -> Answer:
    interval = case.interval
    tasks = [thread for cpu in sorted(case.target) for thread in threads_of(interval, cpu)] if interval else []
    later = threads_while_calibrating(case)
    many_sampled, many_later = _members_by_crowd(case, interval, tasks), _members_by_crowd(case, case.under_load, later)
    sightings = _sort_by_effect(case, (*tasks, *many_sampled), (*later, *many_later))
    over = [sighting for sighting in sightings if (sighting.culprit.share or 0) > case.bound(_TASK_SHARE)]
    culprits = tuple(sighting.culprit for sighting in over)
    if culprits:
        text = "; ".join(map(_describe_sighting, over[:3])) + (f"; {len(over) - 3} more" if len(over) > 3 else "")
        cpus = frozenset(culprit.cpu for culprit in culprits)
        members = many_sampled | many_later
        blamed = tuple(member for sighting in over for member in members.get(sighting.look, (sighting.look,)))
        movable = _movable_tasks(case, blamed)
        if movable and blamed[0].tid not in movable:
            names = [
                f"{task.name} ({'pid' if task.tid == task.pid else 'thread'} {task.tid})" for task in movable.values()
            ]
            text += f"; only {', '.join(names)} can be moved"
        graded = case.graded(culprits=culprits).by(_TASK_SHARE, culprits[0].share or 0.0)
        return graded.fails(text, cpus=cpus, fix=move_threads(case, blamed))
    if interval is None:
        return unknown(case.no_sample_text)
    if interval.before.tasks is None or interval.after.tasks is None:
        return case.unread("/proc/PID")
    if any(cpu not in interval.load_by_cpu for cpu in case.target):
        return case.unread("/proc/stat")
    reason = untimed_reason(case, interval, case.target)
    if reason is not None:
        return unknown(reason)
    return _no_task_ran(case, [sighting.culprit for sighting in sightings], interval.after.tasks.by_tid.values())


def _members_by_crowd(
    case: Case, interval: Interval | None, threads: Sequence[Disturbance]
) -> dict[Disturbance, Members]:
    tasks = interval.after.tasks if interval is not None else case.snapshot.tasks
    return many_threads((thread for thread in threads if thread.kind in THREADS), tasks, case.bound(_TASK_SHARE))


class _Sighting(NamedTuple):
    """The effect of a thread or a crowd of threads on a benchmark.

    `look` is the thread as observed in the interval in which it ran more: in the calibration if `is_later`.
    """

    culprit: Disturbance
    look: Disturbance
    is_later: bool


def _sort_by_effect(case: Case, sampled: Iterable[Disturbance], later: Iterable[Disturbance]) -> list[_Sighting]:
    """Return all threads and crowds that ran, without duplicates, the costliest first.

    Threads are matched by id, because their names may change.
    """
    looks_by_who: dict[tuple[int, int | None, int | str], tuple[list[Disturbance], list[Disturbance]]] = {}
    for is_later, threads in enumerate((sampled, later)):
        for thread in threads:
            looks_by_who.setdefault((thread.cpu, thread.pid, thread.tid or _crowd(thread.name)), ([], []))[
                is_later
            ].append(thread)
    sightings: list[_Sighting] = []
    for looks in looks_by_who.values():
        shares = TakenShares(*(sum(thread.share or 0.0 for thread in look) for look in looks))
        more = max(looks, key=lambda look: (sum(thread.share or 0.0 for thread in look), len(look)))
        first = max(more, key=lambda thread: thread.share or 0.0)
        share = effect_of_thread(case, first.cpu, first.tid, shares)
        part = share / max(shares) if max(shares) else 1.0
        kept = more if first.tid is None else [first]
        sightings += [_Sighting(scale_culprit(thread, part), thread, more is looks[1]) for thread in kept]
    return sorted(sightings, key=lambda sighting: -(sighting.culprit.share or 0.0))


def _crowd(name: str) -> str:
    """Return the part of a crowd's name that identifies the crowd.

    `children of make` and `cc1 (523 ended children of make)`, both with the pid of make, are the same crowd.
    """
    of_whom = re.search(r"\b(children|ended threads) of ", name)
    return of_whom[1] if of_whom is not None else re.sub(r" \(\d+ ", " (", name)


def _no_task_ran(case: Case, threads: list[Disturbance], tasks: Collection[Task]) -> Answer:
    """Return the answer if no task took too much time: a warning if one took a little, may run there or is hidden."""
    largest = max(threads, key=lambda thread: thread.share or 0.0, default=None)
    share = largest.share or 0.0 if largest is not None else 0.0
    ran = (
        f"nothing above {case.bound(_TASK_SHARE):.1%} (most: {_describe(largest)})"
        if largest is not None
        else "no task ran there"
    )
    own, target, allowed, unasked = case.snapshot.own_pids | case.snapshot.commands.keys(), case.target, 0, 0
    for task in tasks:  # a loop instead of a comprehension, because there may be thousands of tasks
        if task.allowed is not None and target.isdisjoint(task.allowed):
            continue
        if task.pid not in own and not task.is_bound:
            allowed, unasked = allowed + (task.allowed is not None), unasked + (task.allowed is None)
    graded = case.graded(evidence={"tasks_allowed": allowed, "tasks_not_asked": unasked}).by(_TASK_SHARE, share)
    hidden = unseen_reason(case)
    if hidden is not None:
        return graded.warns(f"{ran}, but not all is visible: {hidden}")
    if allowed or unasked:
        count = f"{allowed}" if not unasked else f"at least {allowed}"
        return graded.warns(f"{ran}, but {count} of {len(tasks)} tasks may run there")
    if share > case.bound(_TASK_PASSES):
        return graded.warns(f"{ran}; warns above {case.bound(_TASK_PASSES):.1%}")
    return graded.passes(f"{ran}, and no other task may run there")


def _describe_sighting(sighting: _Sighting) -> str:
    share, observed = (disturbance.share or 0.0 for disturbance in (sighting.culprit, sighting.look))
    return _describe(sighting.culprit) + describe_observed(share, observed, sighting.is_later)


def _describe(culprit: Disturbance) -> str:
    share = f"{'~' if culprit.is_inferred else ''}{culprit.share or 0:.1%} of CPU {culprit.cpu}"
    return f"{culprit.label}: {share}"


def move_threads(case: Case, culprits: Sequence[Culprit]) -> Fix | None:
    """Return the fix that moves the culprits' threads to the housekeeping CPUs, or None if it has no step.

    SCHED_DEADLINE threads, which taskset cannot move, are named in a manual step. Undo restores the previous affinity.
    Init is never moved: all processes that the system starts afterwards would inherit the pin.
    """
    if not case.housekeeping:
        return None
    movable, by_hand = _movable_tasks(case, culprits), []
    if any(not task.is_kernel for task in movable.values()):
        by_hand.append(ByHand(f"for a service: AllowedCPUs={cpu_list_argument(case.housekeeping)} in its unit"))
    fixed = [task.name for task in _culprit_tasks(case, culprits).values() if task.has_deadline]
    if fixed:
        by_hand.append(ByHand(f"{DEADLINE} ({', '.join(fixed)})"))
    if not movable and not by_hand:
        return None
    return Fix((move({tid: task.allowed for tid, task in movable.items()}, case.housekeeping),), tuple(by_hand))


def _movable_tasks(case: Case, culprits: Sequence[Culprit]) -> dict[int, Task]:
    """Return the culprits that taskset can move, by thread id."""
    return {tid: task for tid, task in _culprit_tasks(case, culprits).items() if not task.has_deadline}


def _culprit_tasks(case: Case, culprits: Sequence[Culprit]) -> dict[int, Task]:
    """Return the culprits that still exist and may be moved, by thread id.

    Parents of ended processes are left out. Other noisewatch processes and their commands are left out too, because
    they measure the CPUs that they run on.
    """
    looks = [case.snapshot.tasks, case.under_load.after.tasks if case.under_load is not None else None]
    tasks_by_tid = [look.by_tid for look in reversed(looks) if look is not None]
    tids = {culprit.tid: None for culprit in culprits if culprit.tid is not None}
    blamed = {
        tid: tasks[tid] for tid in tids if (tasks := next((by_tid for by_tid in tasks_by_tid if tid in by_tid), None))
    }
    kept = INIT | other_noisewatches(case).keys()
    return {tid: task for tid, task in blamed.items() if not task.is_bound and task.pid not in kept}


_OPTIONS = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")

_BY_HAND = ByHand(
    "name the CPUs to isolate in isolcpus, nohz_full and rcu_nocbs, all others in irqaffinity, and reboot",
    needs_reboot=True,
)


class _Fault(Struct, frozen=True):
    """A fault of the isolation options, and its remedy."""

    words: str
    remedy: ByHand


@check(
    id="isolation-options-wrong",
    area=Area.ISOLATION,
    question="Do the kernel's options for isolation take effect, and agree with each other?",
    severity=Severity.WARNING,
    reads=(COMMAND_LINE, f"{CPUS}/{{isolated,nohz_full}}", "/proc/config.gz", "/proc/PID/stat of rcuo threads"),
    reads_counters=True,
    why=(
        "A kernel ignores options that it was built without, or whose lists it rejects, and reports that only in its "
        "log. isolcpus, nohz_full and rcu_nocbs name the CPUs to isolate, and irqaffinity names all other CPUs. If the "
        "lists are swapped, the isolated CPUs handle all interrupts."
    ),
    remedy="Correct the options or remove them; nohz_full needs a kernel that is built with CONFIG_NO_HZ_FULL.",
    sources=(
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        "https://docs.kernel.org/admin-guide/cpu-isolation.html",
    ),
)
def isolation_options_wrong(case: Case) -> Answer:
    isolation, options = case.snapshot.isolation, case.snapshot.platform.options
    if options is None:
        return case.unread(COMMAND_LINE)
    used = [f"{name}={clean(value)}" for name in _OPTIONS for value in options.get(name, ())]
    if not used:
        return not_applicable("the kernel was booted without options for isolation")
    faults = [*_ineffective_options(case), *_contradictions(case)]
    graded = case.graded(evidence={"options": used})
    if faults:
        remedies = tuple(dict.fromkeys(fault.remedy for fault in faults))
        words = "; ".join(fault.words for fault in faults)
        return graded.fails(words, fix=Fix(lasting=remedies))
    if isolation.boot is None and "isolcpus" in options:
        return case.unread(f"{CPUS}/isolated")
    if isolation.nohz_full is None and "nohz_full" in options:
        return case.unread(f"{CPUS}/nohz_full")
    if can_offload(case) is None and "rcu_nocbs" in options:
        return case.unread(PACKED)
    return graded.passes(f"in effect: {' '.join(used)}")


def _ineffective_options(case: Case) -> Iterator[_Fault]:
    """Yield options that the kernel ignores (housekeeping_setup in kernel/sched/isolation.c of Linux 6.8)."""
    isolation, requested = case.snapshot.isolation, case.snapshot.isolation.requested or {}
    config = case.snapshot.platform.config
    has_tickless = None if config is None else config.is_set("NO_HZ_FULL")
    without_tickless = " (this kernel is built without CONFIG_NO_HZ_FULL)" if has_tickless is False else ""
    domain = _cpus_to_isolate(case)
    if domain != frozenset() and isolation.boot is not None and not (domain or isolation.boot) & isolation.boot:
        with_tick = any("nohz" in option.flags for option in isolation.isolcpus or ())
        yield _ineffective(case, "isolcpus", without_tickless if with_tick else "")
    if requested.get("nohz_full", frozenset()) != frozenset() and isolation.nohz_full == frozenset():
        yield _ineffective(case, "nohz_full", without_tickless)
    if "rcu_nocbs" in requested and can_offload(case) is False:
        yield _ineffective(case, "rcu_nocbs", " (this kernel is built without CONFIG_RCU_NOCB_CPU)")


def _ineffective(case: Case, name: str, suffix: str) -> _Fault:
    values = (case.snapshot.platform.options or {}).get(name, ())
    given = " ".join(f"{name}={clean(value)}" for value in values)
    return _Fault(f"{given} has no effect{suffix}", boot_without(name))


def _cpus_to_isolate(case: Case) -> CpuSet | None:
    """Return the CPUs that isolcpus takes from the load balancer, or None if its list is malformed."""
    options = case.snapshot.isolation.isolcpus
    if options is None:
        return None
    return frozenset().union(*(option.cpus for option in options if "domain" in option.flags))


def _contradictions(case: Case) -> Iterator[_Fault]:
    requested = case.snapshot.isolation.requested or {}
    isolated, tickless = _cpus_to_isolate(case) or frozenset(), requested.get("nohz_full") or frozenset()
    interrupted = (requested.get("irqaffinity") or frozenset()) & isolated
    is_apart = isolated and tickless and not isolated & tickless
    if interrupted == isolated and is_apart:
        yield _Fault(
            f"isolcpus is swapped: it names {name_cpus(isolated)}, to which irqaffinity sends interrupts, instead of "
            f"{name_cpus(tickless)} of nohz_full",
            _BY_HAND,
        )
        return
    if interrupted:
        how = "swapped" if interrupted == requested["irqaffinity"] else "wrong"
        words = f"irqaffinity is {how}: it sends interrupts to {name_cpus(interrupted)} of isolcpus"
        yield _Fault(words, _BY_HAND)
    if is_apart:
        lists = f"isolcpus ({format_cpu_list(isolated)}) and nohz_full ({format_cpu_list(tickless)})"
        yield _Fault(f"{lists} have no CPU in common", _BY_HAND)
