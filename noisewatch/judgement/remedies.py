"""Remedies for culprits, by kind of disturbance, with the CPU lists of this machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import cpu_list_argument
from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.cgroup.quota import lift
from noisewatch.judgement.checks.cpus.isolation import DEADLINE, FIRST_PROCESS, INIT, move_threads
from noisewatch.judgement.checks.cpus.scheduler import confine_work, rcu_callbacks_on_target, target_not_tickless
from noisewatch.judgement.checks.interrupts.devices import steer
from noisewatch.judgement.checks.trace.observers import PROFILERS
from noisewatch.judgement.fixes.actions import move
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import knob_fix
from noisewatch.judgement.programs import other_noisewatches, running
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import TIMER_INTERRUPTS, Culprit
from noisewatch.patterns import regex
from noisewatch.program import as_root

_OF_THE_WORK = (
    "The process that works on this CPU causes these calls itself: for example, another of its threads unmaps or "
    "protects memory."
)
_IN_THE_WORK = "It belongs to the process that works on this CPU: give each thread of the process its own CPU."
_OF_THE_HOST = (
    "The host or the firmware causes it: nothing inside this system helps. Use a dedicated host, or measure at "
    "another time."
)
_NO_HOUSEKEEPING = "No CPU is left to move it to: stop it, or choose fewer target CPUs."
_NOT_MOVED = "The kernel does not allow moving it: stop it, or the work that it does."
_OF_ONE_CPU = regex(r"(ksoftirqd|ktimers|migration|cpuhp|idle_inject|irq_work|kworker)/\d+\b")
_QUOTA = regex(r"CPU quota of (?P<folder>/.*): (?P<quota_ms>[\d.]+) ms in each (?P<period_ms>[\d.]+) ms")
_IRQ_THREAD = regex(r"irq/(\d+)-")
_CALLBACKS_THREAD = regex(r"rcuc/\d+")  # rcu_nocbs replaces these threads by rcuo…, which can be moved


class Remedy(Struct, frozen=True):
    """Advice against a disturbance, with commands if there are any."""

    said: str
    fix: Fix | None = None

    @property
    def advice(self) -> str:
        """The advice, with the reason if its commands cannot be undone."""
        why = self.fix.no_undo_reason if self.fix is not None else None
        return self.said if why is None else f"{self.said} No undo: {why}."


def remedy_of(culprit: Culprit, case: Case, at_work: Collection[int] = ()) -> Remedy:
    """Return how to keep the culprit away from the target CPUs; `at_work` are the benchmark's processes."""
    if culprit.pid is not None and culprit.pid in at_work:
        return Remedy(_OF_THE_WORK if culprit.kind == Kind.IPI else _IN_THE_WORK)
    other = other_noisewatches(case).get(culprit.pid) if culprit.pid is not None else None
    if other is not None:
        return Remedy(f"It belongs to another noisewatch (pid {other}): end it, or wait.")
    return _BY_KIND[culprit.kind](culprit, case)


def common_remedy(culprits: Sequence[Culprit], case: Case, at_work: Collection[int] = ()) -> Remedy:
    """Return a common remedy for a process with its threads and children, or for unattributed time on several CPUs."""
    if culprits[0].kind == Kind.UNATTRIBUTED:
        return _unattributed({culprit.cpu for culprit in culprits}, case)
    by_tid = {thread.tid: thread for thread in culprits if thread.tid is not None}
    first = next(iter(by_tid.values()), culprits[0])
    remedy = remedy_of(first, case, at_work)
    if first.pid is None or first.pid in at_work or len(by_tid) < 2:
        return remedy
    moved, process = move_threads(case, list(by_tid.values())), keep_away(case, first.pid)
    return Remedy(remedy.said, replace(process, lasting=moved.lasting) if process and moved else moved)


def to_housekeeping(case: Case, whom: str = "it") -> str:
    """Return the advice to move a process, with the reason why it runs on target CPUs."""
    isolated = case.snapshot.isolation.isolated or frozenset()
    why = "the scheduler runs tasks on any CPU that they may use"
    if case.target <= isolated:
        why = "an isolated CPU only runs tasks that are pinned to it"
    return f"Move {whom} to the housekeeping CPUs: {why}."


def _irq(number: int | None, case: Case) -> Remedy:
    irq_record = case.irqs_by_number.get(number) if number is not None else None
    if irq_record is None:
        return Remedy("Keep the device idle, or move its interrupt to other CPUs.")
    if irq_record.movable is False:
        return Remedy(
            (
                "The kernel manages this interrupt: it stays off isolated CPUs if the machine boots with "
                "isolcpus=managed_irq."
            ),
            steer(case, [irq_record]),
        )
    return Remedy("Move the interrupt to the housekeeping CPUs.", steer(case, [irq_record]))


def _thread(culprit: Culprit, case: Case) -> Remedy:
    fix = move_threads(case, (culprit,))
    return Remedy(_advice_if_unmovable(culprit, case) if fix is None else to_housekeeping(case), fix)


def _advice_if_unmovable(culprit: Culprit, case: Case) -> str:
    """Return advice for a culprit that no command can move, or that has ended."""
    if not case.housekeeping:
        return _NO_HOUSEKEEPING
    elsewhere = cpu_list_argument(case.housekeeping)
    if culprit.pid == FIRST_PROCESS:
        return (
            "Everything that it starts would inherit the pin: let it start its work on other CPUs "
            f"(taskset -c {elsewhere} COMMAND; with systemd, AllowedCPUs={elsewhere} in the unit)."
        )
    task = case.tasks_by_tid.get(culprit.tid) if culprit.tid is not None else None
    return _NOT_MOVED if task is not None and task.is_bound else to_housekeeping(case)


def _kernel_thread(culprit: Culprit, case: Case) -> Remedy:
    if _CALLBACKS_THREAD.match(culprit.name):
        return _callbacks(case)
    of_irq = _IRQ_THREAD.match(culprit.name)
    if of_irq:  # the thread runs where its interrupt arrives
        return _irq(int(of_irq[1]), case)
    if culprit.name.startswith("kworker/u"):
        fix = confine_work(case, case.snapshot.settings.kernel.workqueues)
        return Remedy("Keep unbound kernel work on the housekeeping CPUs.", fix)
    if _OF_ONE_CPU.match(culprit.name):
        return Remedy(
            "It belongs to this CPU and runs work queued here: look at the interrupts and softirqs that queue it."
        )
    return _thread(culprit, case)


def _callbacks(case: Case) -> Remedy:
    return Remedy("Move RCU callbacks to other CPUs (rcu_nocbs).", rcu_callbacks_on_target.answer(case).fix)


def _tick(culprit: Culprit, case: Case) -> Remedy:
    advice = "Boot with nohz_full: the tick then stops while the CPU has one thread to run."
    return Remedy(advice, target_not_tickless.answer(case).fix)


_TIMERS = (
    (r"a profiler's", "A profiler samples this CPU by the clock: stop it, or sample only other CPUs (perf record -C)."),
    (r"threads that sleep", "Threads on this CPU sleep briefly, again and again: move them."),
    (r"a program's", "A program that ran on this CPU armed a timer: move the program."),
    (r"a virtual machine's", "A virtual machine that runs on this CPU has armed a timer: move its threads."),
    (r"a CPU quota's", "A cgroup's CPU quota is enforced on this CPU: remove the quota, or give it a longer period."),
    (r"lock-ups", "The lockup watchdog watches this CPU: exclude this CPU from it."),
)
_WHOSE_TIMER = (
    "A timer other than the tick interrupts this CPU: look for a profiler that samples by the clock, or a program that "
    "sleeps for microseconds."
)


def _timer(culprit: Culprit, case: Case) -> Remedy:
    advice = next((text for pattern, text in _TIMERS if re.search(pattern, culprit.name)), None)
    profilers = running(case, PROFILERS)
    profiler_text = f" {profilers[0].name} (pid {profilers[0].pid}) runs." if profilers else ""
    trace = as_root(f"trace --cpus {culprit.cpu}", case.snapshot.is_live)
    trace_text = f" A trace shows which timers expire on this CPU: {trace}" if culprit.name == TIMER_INTERRUPTS else ""
    return Remedy((advice or _WHOSE_TIMER) + profiler_text + trace_text)


_SOFTIRQS = {
    "TIMER": "Timers armed on this CPU: move their owner, or boot with nohz_full.",
    "HRTIMER": "Timers armed on this CPU: move their owner.",
    "NET_RX": "Packets received on this CPU: move the network card's interrupts, or steer the packets elsewhere (RPS).",
    "NET_TX": "Packets sent from this CPU: move the sender.",
    "BLOCK": "Disk requests completed on this CPU: move the disk's interrupt and the programs that read and write.",
    **dict.fromkeys(("TASKLET", "HI", "IRQ_POLL"), "Work of a driver after its interrupt: move the interrupt."),
    "SCHED": "Load balancing at the tick: isolate the CPU to stop it (isolcpus, or a cgroup partition).",
}


def _softirq(culprit: Culprit, case: Case) -> Remedy:
    return _callbacks(case) if culprit.name == "RCU" else Remedy(_SOFTIRQS.get(culprit.name, "Move its cause."))


def _ipi(culprit: Culprit, case: Case) -> Remedy:
    if culprit.pid is None:
        return Remedy("Other CPUs call this one: a trace shows the callers and their reasons (Linux 6.4 or later).")
    advice = (
        "Keep all threads of the calling process on the housekeeping CPUs: the kernel calls every CPU on which they "
        "have run."
    )
    return Remedy(advice, keep_away(case, culprit.pid))


def keep_away(case: Case, pid: int) -> Fix | None:
    """Return a fix that moves all threads of the process; a step by hand if one is scheduled by deadline.

    None for init, a kernel thread, any noisewatch or an ended process, and without housekeeping CPUs.
    """
    threads = [task for task in case.tasks_by_tid.values() if task.pid == pid]
    if not threads or not case.housekeeping or any(task.is_kernel for task in threads):
        return None
    if pid in INIT | case.snapshot.own_pids | other_noisewatches(case).keys():
        return None
    if any(task.has_deadline for task in threads):
        return Fix(lasting=(ByHand(DEADLINE),))
    return Fix((move({task.tid: task.allowed for task in threads}, case.housekeeping, process=pid),))


def _nmi(culprit: Culprit, case: Case) -> Remedy:
    advice = "The hard lockup watchdog or a profiler causes it: switch that off."
    is_on = case.snapshot.settings.knobs.integer(Knob.NMI_WATCHDOG)
    return Remedy(advice, knob_fix(case, Knob.NMI_WATCHDOG, 0) if is_on else None)


_LOCALS = (
    (
        r"Performance monitoring|Perf |-Measurement|PMI|pmu|arm_spe|arm_trbe",
        "A hardware counter overflowed, as under a profiler: stop the profiler.",
    ),
    (r"Machine check polls", "The kernel polls for corrected hardware errors: lengthen the interval (check_interval)."),
    (r"Thermal|thermal_apic|cpu temp", "The processor throttles because it is too hot: cool it, or reduce its load."),
    (
        r"[Mm]achine check|Threshold APIC|Deferred Error|APIC error|(?:threshold|error)_apic|Hypervisor Maintenance",
        "The hardware reports errors: read the kernel log.",
    ),
    (
        r"Posted-interrupt|posted-interrupt|vgic",
        "It belongs to a virtual machine on this host: move its threads.",
    ),
    (r"Spurious|Misrouted", "An interrupt that no device claims: look for a faulty device."),
    (r"Warning Track|reenlightenment|Pseudo Page Fault", "The hypervisor causes it: nothing inside this guest helps."),
)


def _local(culprit: Culprit, case: Case) -> Remedy:
    advice = next((advice for pattern, advice in _LOCALS if re.search(pattern, culprit.name)), "")
    return Remedy(f"{advice} This is a per-CPU interrupt: no device sends it, and it cannot be moved.".strip())


def _quota(culprit: Culprit, case: Case) -> Remedy:
    """Return the remedy for the quota of the group in the culprit's name, which may not be noisewatch's group."""
    named = _QUOTA.fullmatch(culprit.name)
    version = case.snapshot.cgroup.version
    if named is None or version is None:
        return Remedy("Lift the CPU limit where this container, pod or service is started.")
    quota_us, period_us = (round(float(named[part]) * 1000) for part in ("quota_ms", "period_ms"))
    advice = "Lift the CPU limit: raise or remove the group's quota; the program that set it may set it again."
    return Remedy(advice, lift(named["folder"], f"{quota_us}" if version == 1 else f"{quota_us} {period_us}"))


def _unattributed(cpus: Collection[int], case: Case) -> Remedy:
    trace = as_root(f"trace --cpus {cpu_list_argument(cpus)}", case.snapshot.is_live)
    return Remedy(f"Short-lived threads are the usual cause; a trace names them: {trace}.")


_BY_KIND: Mapping[Kind, Callable[[Culprit, Case], Remedy]] = {
    Kind.IRQ: lambda culprit, case: _irq(culprit.irq, case),
    Kind.SOFTIRQ: _softirq,
    Kind.THREAD: _thread,
    Kind.KERNEL_THREAD: _kernel_thread,
    Kind.IPI: _ipi,
    Kind.NMI: _nmi,
    Kind.LOCAL: _local,
    Kind.TICK: _tick,
    Kind.TIMER: _timer,
    Kind.SIBLING: lambda culprit, case: Remedy("Take the core's other hardware thread offline, or keep it idle."),
    Kind.QUOTA: _quota,
    Kind.OUTSIDE: lambda culprit, case: Remedy(_OF_THE_HOST),
    Kind.UNATTRIBUTED: lambda culprit, case: _unattributed({culprit.cpu}, case),
}
