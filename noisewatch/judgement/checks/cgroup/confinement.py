"""Area `isolation`: whether cgroups and affinities confine the benchmark to the intended CPUs."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import cycle

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.judgement.answer import Answer, not_applicable, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import Move, Pin, write_all
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.programs import unseen_reason
from noisewatch.judgement.rules import PARALLEL
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cgroup.partitions import ISOLATED, Partition
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.tasks.task import Task

_CPUSET_DOC = "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset"


@check(
    id="partition-invalid",
    area=Area.ISOLATION,
    question="Are the cgroup partitions for the target CPUs valid?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=("/sys/fs/cgroup/**/cpuset.cpus.partition",),
    why=(
        "A cgroup partition can become invalid without an error: when it is made, or later when another group claims "
        "its CPUs. Its CPUs are then not isolated: any process may run on them."
    ),
    remedy="Remove the cause that the kernel gives, such as a CPU list that overlaps another group's.",
    sources=(_CPUSET_DOC,),
)
def partition_invalid(case: Case) -> Answer:
    partitions = case.snapshot.isolation.partitions
    invalid = [partition for partition in partitions.all if partition.invalid_reason is not None]
    concerned = [partition for partition in invalid if not partition.wanted or partition.wanted & case.target]
    graded = case.graded(
        evidence={
            "partitions": {partition.folder: partition.invalid_reason or partition.kind for partition in partitions.all}
        }
    )
    if concerned:
        text = "; ".join(map(_describe, concerned))
        cpus = frozenset().union(*(partition.wanted or frozenset() for partition in concerned))
        return graded.fails(text, cpus=cpus, fix=_dissolve(concerned))
    if partitions.unseen is not None:
        return unknown(partitions.unseen)
    if partitions.isolated is None:
        return case.unread("/sys/fs/cgroup/cpuset.cpus.isolated", "/sys/fs/cgroup", "/proc/self/mounts")
    unread_paths = [path for path in sorted(case.snapshot.reason_by_path) if path.endswith("/cpuset.cpus.partition")]
    if unread_paths:
        return case.unread(unread_paths[0])
    outside = [partition for partition in partitions.all if _is_contradicted(partition, partitions.isolated)]
    if outside:
        isolated = format_cpu_list(partitions.isolated) or "none"
        return unknown(
            f"{outside[0].folder} is an isolated partition, but not all of its CPUs are isolated ({isolated})"
        )
    if not partitions.all:
        return not_applicable("there are no cgroup partitions")
    text = (
        "all partitions are valid"
        if not invalid
        else f"all partitions for the target CPUs are valid; elsewhere: {'; '.join(map(_describe, invalid))}"
    )
    return graded.passes(text)


def _is_contradicted(partition: Partition, isolated: CpuSet) -> bool:
    """Return whether a valid isolated partition has CPUs that are missing from the list of all isolated CPUs."""
    is_valid = partition.kind == ISOLATED and partition.invalid_reason is None
    return is_valid and not (partition.has or frozenset()) <= isolated


def _describe(partition: Partition) -> str:
    cpus = f"{name_cpus(partition.wanted)}: " if partition.wanted else ""
    return f"{cpus}{partition.folder} is an invalid {partition.kind} partition ({partition.invalid_reason})"


def _dissolve(invalid: list[Partition]) -> Fix:
    """Return the fix that turns invalid partitions into members.

    Only the owner can decide which of two overlapping groups gets the CPUs.
    """
    return Fix(
        (write_all("member", {f"{partition.folder}/cpuset.cpus.partition": partition.kind for partition in invalid}),),
        (ByHand(f"give the group CPUs that no other group has, then make it a partition again ({invalid[0].kind})"),),
    )


@check(
    id="threads-confined-to-isolated-cpus",
    area=Area.ISOLATION,
    question="Are a process's threads on isolated CPUs pinned to single CPUs?",
    severity=Severity.WARNING,
    ground=Ground.INVALIDATES,
    reads=("/proc/PID/task/TID/status", f"{CPUS}/isolated"),
    reads_counters=True,
    why=(
        "Isolated CPUs have no load balancing: a thread that may use several CPUs stays on the isolated CPU where "
        "it started, even while others are idle, and even if its mask includes CPUs that are not isolated (numactl "
        "--cpunodebind). A benchmark's threads then compete with each other."
    ),
    remedy=(
        "Pin each thread to its own CPU, remove isolated CPUs from masks that include others, or use a cgroup "
        "partition of type `root`, which balances load among its CPUs."
    ),
    sources=(_CPUSET_DOC, "https://docs.kernel.org/admin-guide/kernel-parameters.html"),
    severity_in={PARALLEL: Severity.BLOCKING},
)
def threads_confined_to_isolated_cpus(case: Case) -> Answer:
    isolated, tasks = case.snapshot.isolation.isolated, case.snapshot.tasks
    if isolated is None:
        return case.unread(f"{CPUS}/isolated")
    concerned = isolated & case.target
    if not concerned:
        return not_applicable("no target CPU is isolated")
    if tasks is None:
        return case.unread("/proc/PID")
    others = [task for task in tasks.by_tid.values() if not task.is_kernel and task.pid not in case.snapshot.own_pids]
    confined: dict[tuple[int, CpuSet], list[Task]] = defaultdict(list)
    stuck: dict[tuple[int, CpuSet], list[Task]] = defaultdict(list)
    number_on = Counter((task.pid, task.cpu) for task in others)
    for task in others:
        allowed = task.allowed or frozenset()
        if len(allowed) > 1 and allowed <= isolated and allowed & concerned:
            confined[task.pid, allowed].append(task)
        elif task.cpu in concerned & allowed and allowed - isolated and number_on[task.pid, task.cpu] > 1:
            stuck[task.pid, allowed].append(task)
    crowds = [threads for threads in confined.values() if len(threads) > 1]
    if crowds or stuck:
        text = "; ".join([*map(_describe_crowd, crowds), *map(_describe_stuck, stuck.values())])
        cpus = {cpu for threads in crowds for thread in threads for cpu in thread.allowed or ()}
        cpus |= {thread.cpu for threads in stuck.values() for thread in threads}
        fix = _spread(crowds, [*stuck.values()], isolated)
        return case.graded().answer(Status.FAIL if stuck else Status.WARN, text, cpus=frozenset(cpus), fix=fix)
    hidden = unseen_reason(case)
    if hidden is not None:
        return unknown(hidden)
    if any(task.allowed is None and task.cpu in isolated for task in others):
        return unknown("the affinity of some tasks could not be read")
    return case.graded().passes("no process has several threads that share isolated CPUs")


def _describe_crowd(threads: list[Task]) -> str:
    first = threads[0]
    allowed, on = format_cpu_list(first.allowed or ()), format_cpu_list({thread.cpu for thread in threads})
    return f"{len(threads)} threads of {first.name} (pid {first.pid}) may use isolated CPUs {allowed}, but are on {on}"


def _describe_stuck(threads: list[Task]) -> str:
    first, is_one = threads[0], len(threads) == 1
    allowed, on = format_cpu_list(first.allowed or ()), name_cpus({thread.cpu for thread in threads})
    return (
        f"{len(threads)} thread{'' if is_one else 's'} of {first.name} (pid {first.pid}) may use CPUs {allowed}, but "
        f"{'shares' if is_one else 'share'} isolated {on}, which no load balancing relieves"
    )


def _spread(crowds: list[list[Task]], stuck: list[list[Task]], isolated: CpuSet) -> Fix:
    """Return the fix that pins each crowded thread to one isolated CPU, and moves stuck threads off isolated CPUs.

    Undo restores the previous affinity.
    """
    placements = [
        *(
            (thread, frozenset({cpu}))
            for threads in crowds
            for thread, cpu in zip(threads, cycle(sorted(threads[0].allowed or ())), strict=False)
        ),
        *((thread, (thread.allowed or frozenset()) - isolated) for threads in stuck for thread in threads),
    ]
    pins = [  # the kernel refuses to pin SCHED_DEADLINE threads
        Pin(thread.tid, cpus, thread.allowed) for thread, cpus in placements if not thread.has_deadline
    ]
    by_hand = ["pin each thread in the program that starts it"] if crowds else []
    if stuck:
        by_hand.append("start the threads with a mask that excludes isolated CPUs (numactl --physcpubind, taskset -c)")
    return Fix((Move(tuple(pins)),), tuple(map(ByHand, by_hand)))
