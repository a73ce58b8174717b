"""Area `scheduler`: which of the kernel's own work is kept off the target CPUs."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_mask, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.fixes.actions import move, write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.fixes.lasting import BootOptions
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.kernel.tasks.affinities import WORKQUEUES, Workqueues
from noisewatch.kernel.tasks.task import Task

_OPTIONS_DOC = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
_THREADS_DOC = "https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html"
_BOOT_CPU = frozenset({0})  # the CPU that keeps the time, and so its tick


def _has(case: Case, option: str) -> bool | None:
    """Return whether the kernel was built with the option, or None if unknown."""
    config = case.snapshot.platform.config
    return None if config is None else config.is_set(option)


@check(
    id="target-not-tickless",
    area="scheduler",
    question="Does the scheduler's tick stop on the target CPUs while one thread runs there?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{CPUS}/nohz_full", "/proc/config.gz (CONFIG_NO_HZ_FULL)"),
    why=(
        "The tick interrupts a busy CPU 100 to 1000 times a second, for 1 to 5 µs each. This setting only allows it "
        "to stop; the timer interrupts counted under load show whether it did (tick-not-stopped)."
    ),
    remedy="Boot with nohz_full for the target CPUs.",
    sources=("https://docs.kernel.org/timers/no_hz.html", _OPTIONS_DOC),
)
def target_not_tickless(case: Case) -> Answer:
    tickless = case.snapshot.isolation.nohz_full
    if _has(case, "NO_HZ_FULL") is False:
        return not_applicable("this kernel cannot stop the tick (built without CONFIG_NO_HZ_FULL)")
    if tickless is None:
        return unknown(case.why_unknown(f"{CPUS}/nohz_full", COMMAND_LINE))
    evidence = {"nohz_full": sorted(tickless)}
    if not case.target:
        return unknown(NO_TARGET)
    ticking = case.target - tickless
    if not ticking:
        return Answer(Status.PASS, f"{name_cpus(case.target)}: the tick can stop", cpus=case.target, evidence=evidence)
    wanted = (tickless | case.target) - _BOOT_CPU
    is_possible = ticking - _BOOT_CPU and case.online - wanted
    fix = Fix(lasting=(BootOptions(f"nohz_full={cpu_list_argument(wanted)}"),)) if is_possible else None
    return Answer(Status.FAIL, f"{name_cpus(ticking)}: the tick never stops", cpus=ticking, evidence=evidence, fix=fix)


@check(
    id="rcu-callbacks-on-target",
    area="scheduler",
    question="Are RCU callbacks kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(COMMAND_LINE, f"{CPUS}/nohz_full", "/proc/PID/task/TID/status of rcuo threads", "/proc/config.gz"),
    why=(
        "The kernel frees much of its memory later, in RCU callbacks on the CPU that queued them: in a softirq after "
        "a tick, hundreds at a time. On offloaded CPUs rcuo threads run them, which may use other CPUs."
    ),
    remedy="Boot with rcu_nocbs for the target CPUs, and pin the rcuo threads to the housekeeping CPUs.",
    sources=(_THREADS_DOC, _OPTIONS_DOC),
)
def rcu_callbacks_on_target(case: Case) -> Answer:
    offloaded, why_not = _offloaded(case)
    if offloaded is None:
        return unknown(why_not)
    evidence = {"rcu_nocbs": sorted(offloaded)}
    if not case.target:
        return unknown(NO_TARGET)
    kept = case.target - offloaded
    if kept and case.snapshot.isolation.nohz_full is None:
        return unknown(case.why_unknown(f"{CPUS}/nohz_full"))  # which would offload them as well
    if kept:
        option = BootOptions(f"rcu_nocbs={cpu_list_argument(offloaded | case.target)}")
        said = f"{name_cpus(kept)}: RCU callbacks run where they are queued{why_not}"
        fix = None if why_not else Fix(lasting=(option,))
        return Answer(Status.FAIL, said, cpus=kept, evidence=evidence, fix=fix)
    if not can_offload(case):
        return unknown(case.why_unknown(PACKED))  # without CONFIG_RCU_NOCB_CPU the option has no effect
    return _where_threads_run(case, evidence)


def can_offload(case: Case) -> bool | None:
    """Return whether the kernel has RCU_NOCB_CPU, which NO_HZ_FULL selects; only such a kernel has rcuo threads."""
    tasks = case.snapshot.tasks.by_tid.values() if case.snapshot.tasks is not None else ()
    has_threads = any(task.is_kernel and task.name.startswith("rcuo") for task in tasks)
    return True if case.snapshot.isolation.nohz_full or has_threads else _has(case, "RCU_NOCB_CPU")


def _offloaded(case: Case) -> tuple[CpuSet | None, str]:
    """Return the CPUs whose RCU callbacks are offloaded, and why they are unknown or none."""
    if _has(case, "RCU_NOCB_CPU") is False:
        return frozenset(), ", this kernel is built without CONFIG_RCU_NOCB_CPU"
    given, options = case.snapshot.isolation.rcu_nocbs, case.snapshot.platform.options
    if given is None or options is None:
        return None, case.why_unknown(COMMAND_LINE)
    is_all = _has(case, "RCU_NOCB_CPU_DEFAULT_ALL") and "rcu_nocbs" not in options
    return (given | case.online if is_all else given), ""


def _where_threads_run(case: Case, evidence: dict[str, list[int]]) -> Answer:
    """Return the answer on where offloaded RCU callbacks run.

    Offloading is half of it: unless the target CPUs are isolated, the rcuo threads may run on them again.
    """
    isolated = case.snapshot.isolation.isolated or frozenset()
    tasks = case.snapshot.tasks
    if case.target <= isolated:
        return Answer(Status.PASS, "offloaded, and the target CPUs are isolated", evidence=evidence)
    if tasks is None:
        return unknown(case.why_unknown("/proc/PID"))
    threads = [task for task in tasks.by_tid.values() if task.is_kernel and task.name.startswith("rcuo")]
    may_come = [task for task in threads if task.allowed is not None and task.allowed & case.target]
    if may_come:
        cpus = frozenset().union(*(task.allowed or frozenset() for task in may_come)) & case.target
        said = f"offloaded to {len(may_come)} threads that may run on {name_cpus(cpus)}"
        return Answer(Status.WARN, said, cpus=cpus, evidence=evidence, fix=_pin_threads(case, may_come))
    if not threads or not tasks.is_complete or any(task.allowed is None for task in threads):
        return unknown("the affinity of some rcuo threads could not be read")
    return Answer(Status.PASS, "offloaded to threads on other CPUs", evidence=evidence)


def _pin_threads(case: Case, threads: list[Task]) -> Fix | None:
    movable = {task.tid: task.allowed for task in threads if not task.is_bound}
    if not movable or not case.housekeeping:
        return None
    wanted = case.target - _BOOT_CPU
    option = (BootOptions(f"nohz_full={cpu_list_argument(wanted)}"),) if wanted else ()
    return Fix((move(movable, case.housekeeping),), option)


@check(
    id="workqueues-on-target",
    area="scheduler",
    question="Is the kernel's unbound work kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(f"{WORKQUEUES}/cpumask", f"{WORKQUEUES}/*/cpumask"),
    why=(
        "Kernel threads write back to disks, encrypt, and run much deferred driver work on any CPU in this mask. The "
        "kernel takes isolated CPUs out of it."
    ),
    remedy="Write the mask of the housekeeping CPUs there, or boot with workqueue.unbound_cpus.",
    sources=("https://docs.kernel.org/core-api/workqueue.html", _THREADS_DOC),
)
def workqueues_on_target(case: Case) -> Answer:
    queues = case.snapshot.settings.kernel.workqueues
    if queues.allowed is None:
        return unknown(case.why_unknown(f"{WORKQUEUES}/cpumask"))
    shared = queues.allowed & case.target
    may_come = [name for name in queues.own_by_queue if (queues.allowed_to(name) or frozenset()) & case.target]
    evidence = {"allowed": sorted(queues.allowed), "queues": sorted(may_come)}
    if not queues.allowed & case.running:
        return unknown(f"{WORKQUEUES}/cpumask: no CPU of the mask is online")
    if not shared:
        return Answer(Status.PASS, "unbound work runs on other CPUs", evidence=evidence)
    said = f"unbound work may run on {name_cpus(shared)}"
    return Answer(Status.FAIL, said, cpus=shared, evidence=evidence, fix=confine_work(case, queues))


def confine_work(case: Case, queues: Workqueues) -> Fix | None:
    """Return the fix that keeps unbound kernel work on the housekeeping CPUs, or None if there are none."""
    if not case.housekeeping:
        return None
    before = queues.requested or queues.allowed or frozenset()
    mask = write(f"{WORKQUEUES}/cpumask", format_cpu_mask(case.housekeeping), format_cpu_mask(before))
    return Fix((mask,), (BootOptions(f"workqueue.unbound_cpus={cpu_list_argument(case.housekeeping)}"),))
