"""Area `scheduler`: what keeps kernel work off the target CPUs, and what else decides where and how fast tasks run."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, format_cpu_mask, name_cpus
from noisewatch.judgement.answer import Answer, Graded, not_applicable, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import Run, move, write, write_cpus
from noisewatch.judgement.fixes.fix import BootOptions, ByHand, Fix, write_for_good
from noisewatch.judgement.grading import unread
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.cpufreq import NO_DRIVER, NO_PREFERENCE, CpuFrequency
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import COMMAND_LINE
from noisewatch.kernel.tasks.affinities import INIT_NAME, INIT_STATUS, WORKQUEUES, ServiceGroup, Workqueues
from noisewatch.kernel.tasks.task import Task
from noisewatch.text import clean

_OPTIONS_DOC = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
_THREADS_DOC = "https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html"
_BOOT_CPU = frozenset({0})  # the boot CPU keeps the time, so its tick cannot stop


def _has(case: Case, option: str) -> bool | None:
    """Return whether the kernel was built with the option, or None if unknown."""
    config = case.snapshot.platform.config
    return None if config is None else config.is_set(option)


@check(
    id="target-not-tickless",
    area=Area.SCHEDULER,
    question="Does the scheduler's tick stop on the target CPUs while one thread runs there?",
    severity=Severity.INFORMATION,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    reads=(f"{CPUS}/nohz_full", "/proc/config.gz (CONFIG_NO_HZ_FULL)"),
    why=(
        "The tick interrupts a busy CPU 100 to 1000 times a second, for 1 to 5 µs each. nohz_full only allows "
        "the tick to stop; whether it stops is shown by the timer interrupts that are counted under load "
        "(tick-not-stopped)."
    ),
    remedy="Boot with nohz_full for the target CPUs.",
    sources=("https://docs.kernel.org/timers/no_hz.html", _OPTIONS_DOC),
)
def target_not_tickless(case: Case) -> Answer:
    tickless = case.snapshot.isolation.nohz_full
    if _has(case, "NO_HZ_FULL") is False:
        return not_applicable("this kernel cannot stop the tick (built without CONFIG_NO_HZ_FULL)")
    if tickless is None:
        return case.unread(f"{CPUS}/nohz_full", COMMAND_LINE)
    graded = case.graded(evidence={"nohz_full": sorted(tickless)})
    if not case.target:
        return unknown(NO_TARGET)
    ticking = case.target - tickless
    if not ticking:
        return graded.passes(f"{name_cpus(case.target)}: the tick can stop", cpus=case.target)
    needed = (tickless | case.target) - _BOOT_CPU
    is_possible = ticking - _BOOT_CPU and case.online - needed
    fix = Fix(lasting=(BootOptions(f"nohz_full={cpu_list_argument(needed)}"),)) if is_possible else None
    return graded.fails(f"{name_cpus(ticking)}: the tick never stops", cpus=ticking, fix=fix)


@check(
    id="rcu-callbacks-on-target",
    area=Area.SCHEDULER,
    question="Are RCU callbacks kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(COMMAND_LINE, f"{CPUS}/nohz_full", "/proc/PID/task/TID/status of rcuo threads", "/proc/config.gz"),
    reads_counters=True,
    why=(
        "The kernel frees much of its memory in RCU callbacks, which run later on the CPU that queued them: in a "
        "softirq after a tick, hundreds at a time. Callbacks of offloaded CPUs run in rcuo threads, which may use "
        "other CPUs."
    ),
    remedy="Boot with rcu_nocbs for the target CPUs, and pin the rcuo threads to the housekeeping CPUs.",
    sources=(_THREADS_DOC, _OPTIONS_DOC),
)
def rcu_callbacks_on_target(case: Case) -> Answer:
    offloaded, reason = _offloaded_cpus(case)
    if offloaded is None:
        return unknown(reason)
    graded = case.graded(evidence={"rcu_nocbs": sorted(offloaded)})
    if not case.target:
        return unknown(NO_TARGET)
    kept = case.target - offloaded
    if kept and case.snapshot.isolation.nohz_full is None:
        return case.unread(f"{CPUS}/nohz_full")  # nohz_full would offload callbacks as well
    if kept:
        option = BootOptions(f"rcu_nocbs={cpu_list_argument(offloaded | case.target)}")
        text = f"{name_cpus(kept)}: RCU callbacks run where they are queued{reason}"
        fix = None if reason else Fix(lasting=(option,))
        return graded.fails(text, cpus=kept, fix=fix)
    if not can_offload(case):
        return case.unread(PACKED)  # without CONFIG_RCU_NOCB_CPU the option has no effect
    return _judge_offloading(case, graded)


def can_offload(case: Case) -> bool | None:
    """Return whether the kernel was built with RCU_NOCB_CPU, or None if unknown.

    NO_HZ_FULL selects this option, and only kernels with it have rcuo threads.
    """
    has_threads = any(task.is_kernel and task.name.startswith("rcuo") for task in case.tasks_by_tid.values())
    return True if case.snapshot.isolation.nohz_full or has_threads else _has(case, "RCU_NOCB_CPU")


def _offloaded_cpus(case: Case) -> tuple[CpuSet | None, str]:
    """Return the CPUs whose RCU callbacks are offloaded, and why they are unknown or the kernel cannot offload."""
    if _has(case, "RCU_NOCB_CPU") is False:
        return frozenset(), ", this kernel is built without CONFIG_RCU_NOCB_CPU"
    given, options = case.snapshot.isolation.rcu_nocbs, case.snapshot.platform.options
    if given is None or options is None:
        return None, case.unread_reason(COMMAND_LINE)
    is_all = _has(case, "RCU_NOCB_CPU_DEFAULT_ALL") and "rcu_nocbs" not in options
    return (given | case.online if is_all else given), ""


def _judge_offloading(case: Case, graded: Graded) -> Answer:
    """Return the answer on where offloaded RCU callbacks run.

    Offloading is not enough: unless the target CPUs are isolated, the rcuo threads may still run on them.
    """
    isolated = case.snapshot.isolation.isolated or frozenset()
    tasks = case.snapshot.tasks
    if case.target <= isolated:
        return graded.passes("offloaded, and the target CPUs are isolated")
    if tasks is None:
        return case.unread("/proc/PID")
    threads = [task for task in tasks.by_tid.values() if task.is_kernel and task.name.startswith("rcuo")]
    may_come = [task for task in threads if task.allowed is not None and task.allowed & case.target]
    if may_come:
        cpus = frozenset().union(*(task.allowed or frozenset() for task in may_come)) & case.target
        text = f"offloaded to {len(may_come)} threads that may run on {name_cpus(cpus)}"
        return graded.warns(text, cpus=cpus, fix=_pin_threads(case, may_come))
    if not threads or not tasks.is_complete or any(task.allowed is None for task in threads):
        return unknown("the affinity of some rcuo threads could not be read")
    return graded.passes("offloaded to threads on other CPUs")


def _pin_threads(case: Case, threads: list[Task]) -> Fix | None:
    movable = {task.tid: task.allowed for task in threads if not task.is_bound}
    if not movable or not case.housekeeping:
        return None
    needed = case.target - _BOOT_CPU
    option = (BootOptions(f"nohz_full={cpu_list_argument(needed)}"),) if needed else ()
    return Fix((move(movable, case.housekeeping),), option)


@check(
    id="workqueues-on-target",
    area=Area.SCHEDULER,
    question="Is the kernel's unbound work kept off the target CPUs?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=(f"{WORKQUEUES}/cpumask", f"{WORKQUEUES}/*/cpumask"),
    why=(
        "Kernel threads write back to disks, encrypt, and run much deferred driver work on any CPU in the mask of "
        "unbound work. The kernel excludes isolated CPUs from this mask."
    ),
    remedy=f"Write the mask of the housekeeping CPUs to {WORKQUEUES}/cpumask, or boot with workqueue.unbound_cpus.",
    sources=("https://docs.kernel.org/core-api/workqueue.html", _THREADS_DOC),
)
def workqueues_on_target(case: Case) -> Answer:
    queues = case.snapshot.settings.kernel.workqueues
    if queues.allowed is None:
        return case.unread(f"{WORKQUEUES}/cpumask")
    shared = queues.allowed & case.target
    may_come = [name for name in queues.own_by_queue if (queues.allowed_cpus(name) or frozenset()) & case.target]
    graded = case.graded(evidence={"allowed": sorted(queues.allowed), "queues": sorted(may_come)})
    if not queues.allowed & case.running:
        return unknown(f"{WORKQUEUES}/cpumask: no CPU of the mask is online")
    if not shared:
        return graded.passes("unbound work runs on other CPUs")
    text = f"unbound work may run on {name_cpus(shared)}"
    return graded.fails(text, cpus=shared, fix=confine_work(case, queues))


def confine_work(case: Case, queues: Workqueues) -> Fix | None:
    """Return the fix that keeps unbound kernel work on the housekeeping CPUs, or None without housekeeping CPUs."""
    if not case.housekeeping:
        return None
    before = queues.requested or queues.allowed or frozenset()
    mask = write(f"{WORKQUEUES}/cpumask", format_cpu_mask(case.housekeeping), format_cpu_mask(before))
    return Fix((mask,), (BootOptions(f"workqueue.unbound_cpus={cpu_list_argument(case.housekeeping)}"),))


_INIT_SCOPE = "init.scope"
_RELOAD = ("systemctl", "daemon-reload")
_OF_SYSTEMD = (_INIT_SCOPE, "system.slice", "user.slice")  # cgroups that only systemd creates


@check(
    id="services-on-target",
    area=Area.SCHEDULER,
    question="Are services and sessions started on CPUs other than the target?",
    severity=Severity.INFORMATION,
    reads=(INIT_STATUS, "/sys/fs/cgroup/{system,user,machine}.slice/cpuset.cpus.effective"),
    why=(
        "Everything that systemd starts inherits its affinity and the CPUs of its slice. A timer or a login during "
        "the benchmark starts tasks that tasks-on-target could not see before."
    ),
    remedy="Set AllowedCPUs for the slices, or CPUAffinity for systemd itself, to the housekeeping CPUs.",
    sources=(
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html",
        "https://www.freedesktop.org/software/systemd/man/latest/systemd-system.conf.html",
    ),
)
def services_on_target(case: Case) -> Answer:
    services = case.snapshot.settings.kernel.services
    if case.snapshot.platform.container not in (None, NONE):
        return not_applicable("the services of the machine are outside this container")
    if case.snapshot.platform.container is None:
        return unknown("cannot tell whether this is a container")
    if services.init_name is None:
        return case.unread(INIT_NAME)
    if services.init_name != "systemd" and not any(group.name in _OF_SYSTEMD for group in services.groups or ()):
        return not_applicable(f"services are started by {clean(services.init_name)}, not by systemd")
    if services.groups is None:
        return case.unread("/sys/fs/cgroup", "/proc/self/mounts")
    if services.init_allowed is None:
        return case.unread(INIT_STATUS)
    allowed = {group: _default_cpus(group, services.init_allowed) for group in services.groups}
    graded = case.graded(
        evidence={
            "systemd": sorted(services.init_allowed),
            "groups": {group.name: None if cpus is None else sorted(cpus) for group, cpus in allowed.items()},
        }
    )
    coming = {group: cpus & case.target for group, cpus in allowed.items() if cpus is not None and cpus & case.target}
    shared = frozenset().union(*coming.values())
    if not services.groups:
        shared = services.init_allowed & case.target
    if shared:
        names = ", ".join(group.name for group in coming) or "what systemd starts"
        text = f"{names} may use {name_cpus(shared)}"
        return graded.fails(text, cpus=shared, fix=_confine(case, list(coming)))
    unread_group = next((group for group, cpus in allowed.items() if cpus is None), None)
    if unread_group is not None:
        return case.unread(f"{unread_group.folder}/cpuset.cpus.effective")
    return graded.passes("systemd starts everything on other CPUs")


def _default_cpus(group: ServiceGroup, inherited: CpuSet) -> CpuSet | None:
    """Return the CPUs on which processes started in the group run by default, or None if unknown."""
    if not group.has_limit:
        return inherited
    return None if group.allowed is None else inherited & group.allowed


def _confine(case: Case, groups: list[ServiceGroup]) -> Fix | None:
    listed = format_cpu_list(case.housekeeping)
    if not listed:
        return None
    own = case.snapshot.cgroup.folder or ""  # confining our own group would confine the benchmark
    slices = [group for group in groups if group.name != _INIT_SCOPE and not f"{own}/".startswith(f"{group.folder}/")]
    if not slices:
        words = f"CPUAffinity={listed.replace(',', ' ')} in /etc/systemd/system.conf, and reboot"
        return Fix(lasting=(ByHand(words, needs_reboot=True),))
    has_undo = all(group.wanted is not None for group in slices if group.has_limit)
    undo = [_allow(group, format_cpu_list(group.wanted or ()), "--runtime") for group in slices]
    forget = [command for group in slices for command in _allow_again(group)]
    return Fix(
        (Run(tuple(_allow(group, listed, "--runtime") for group in slices), tuple(undo) if has_undo else ()),),
        (Run(tuple(_allow(group, listed) for group in slices), tuple(forget) if has_undo else ()),),
    )


def _allow_again(group: ServiceGroup) -> list[tuple[str, ...]]:
    """Return the commands that restore the group's CPU limit for good.

    For a group without a limit, they remove the file that set-property writes.
    """
    if group.has_limit:
        return [_allow(group, format_cpu_list(group.wanted or ()))]
    return [("rm", "-f", f"/etc/systemd/system.control/{group.name}.d/50-AllowedCPUs.conf"), _RELOAD]


def _allow(group: ServiceGroup, listed: str, *how_long: str) -> tuple[str, ...]:
    return ("systemctl", "set-property", *how_long, "--", group.name, f"AllowedCPUs={listed}")


@check(
    id="custom-scheduler-loaded",
    area=Area.SCHEDULER,
    question="Is the kernel's own scheduler in use?",
    severity=Severity.WARNING,
    reads=(Knob.SCHED_EXT_STATE, Knob.SCHED_EXT_OPS),
    why=(
        "A scheduler loaded as a BPF program (sched_ext) places and preempts tasks by its own rules, which may change "
        "with its version or options."
    ),
    remedy="Stop the service or program that loaded the scheduler.",
    sources=("https://docs.kernel.org/scheduler/sched-ext.html",),
)
def custom_scheduler_loaded(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    state = knobs.word(Knob.SCHED_EXT_STATE)
    if state not in ("disabled", "enabled", "enabling", "disabling"):
        return unread(case, Knob.SCHED_EXT_STATE)
    if state == "disabled":
        return case.graded().passes("no other scheduler is loaded", evidence={"state": state})
    name = clean(knobs.word(Knob.SCHED_EXT_OPS) or "unnamed")
    fix = Fix((write("/proc/sysrq-trigger", "S", None),), (ByHand("disable the service that loads the scheduler"),))
    return case.graded().fails(f"a scheduler is loaded: {name}", evidence={"state": state, "name": name}, fix=fix)


@check(
    id="clock-waits-for-tick",
    area=Area.SCHEDULER,
    question="Does the clock of tickless CPUs follow the load without a tick?",
    severity=Severity.INFORMATION,
    reads=(f"{CPUS}/nohz_full", f"{CPUS}/cpuN/cpufreq/scaling_driver", f"{CPUS}/cpuN/cpufreq/scaling_governor"),
    why=(
        "If the hardware does not choose the clock itself, intel_pstate changes it when the scheduler updates the CPU. "
        "Without a tick this is rare: a low clock chosen while idle may stay for the whole run."
    ),
    remedy="Set the governor to performance, or rely on the clock that a calibration measured.",
    sources=(
        "https://docs.kernel.org/admin-guide/pm/intel_pstate.html",
        "https://bugzilla.redhat.com/show_bug.cgi?id=1378529",
    ),
    answered_by="effective-frequency-moves",
    is_hidden_from_guests=True,
)
def clock_waits_for_tick(case: Case) -> Answer:
    tickless = case.snapshot.isolation.nohz_full
    if tickless is None:
        return case.unread(f"{CPUS}/nohz_full")
    concerned = sorted(tickless & case.target)
    if not concerned:
        return not_applicable("no target CPU is tickless")
    if case.snapshot.frequency.driver == NO_DRIVER:
        return not_applicable("this kernel has no cpufreq driver")
    clocks = {cpu: case.snapshot.frequency.cpus.get(cpu, CpuFrequency(cpu)) for cpu in concerned}
    graded = case.graded(evidence={"governor_by_cpu": {str(cpu): clock.governor for cpu, clock in clocks.items()}})
    waiting = {cpu: str(clock.governor) for cpu, clock in clocks.items() if _follows_the_tick(clock)}
    if waiting:
        text = f"{name_cpus(waiting)}: intel_pstate without hardware-chosen clocks, governor powersave"
        return graded.fails(text, cpus=frozenset(waiting), fix=_hold(waiting))
    unread_cpus = [cpu for cpu, clock in clocks.items() if _is_unknown(clock)]
    if unread_cpus:
        folder = f"{CPUS}/cpu{unread_cpus[0]}/cpufreq"
        names = ("scaling_driver", "scaling_governor", "energy_performance_preference")
        return case.unread(*(f"{folder}/{name}" for name in names), folder)
    return graded.passes("the clock does not depend on the tick")


def _follows_the_tick(clock: CpuFrequency) -> bool:
    """Return whether the driver adapts the clock to the load at each tick.

    intel_pstate exports an energy preference only if the hardware chooses the clock.
    """
    is_open = clock.min_khz is None or clock.min_khz != clock.max_khz
    return _chooses(clock) and clock.energy_preference == NO_PREFERENCE and is_open


def _chooses(clock: CpuFrequency) -> bool:
    return clock.driver == "intel_pstate" and clock.governor == "powersave"


def _is_unknown(clock: CpuFrequency) -> bool:
    is_undecided = _chooses(clock) and clock.energy_preference is None
    return clock.governor is None or clock.driver is None or is_undecided


def _hold(governor_by_cpu: dict[int, str]) -> Fix:
    held = dict.fromkeys(governor_by_cpu, "performance")
    return write_for_good(write_cpus(held, "cpufreq/scaling_governor", governor_by_cpu), about="tickless")
