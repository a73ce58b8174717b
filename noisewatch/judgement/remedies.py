"""What to do about each kind of disturbance, with the CPU lists of this machine: for a culprit, not for a check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.scheduler import confine_work
from noisewatch.judgement.commands import boot_options, persist_knob, pin, write, write_affinity
from noisewatch.judgement.declaration import Fix
from noisewatch.model.disturbance import Disturbance
from noisewatch.sources.cpulist import CpuSet, format_cpu_list
from noisewatch.sources.knobs import Knob

_OF_ONE_CPU = re.compile(r"(ksoftirqd|migration|cpuhp|rcuc|idle_inject|irq_work|kworker)/\d+\b")
_RCU_THREAD = re.compile(r"rcu[a-z]*(_preempt|_sched|o[ps]?/|c/|_|$)")


@dataclass(frozen=True, slots=True)
class Remedy:
    """What helps, in a sentence; and the commands, where there are any."""

    said: str
    fix: Fix | None = None


def remedy_of(culprit: Disturbance, case: Case) -> Remedy:
    """What keeps this culprit away from the target CPUs."""
    return _BY_KIND[culprit.kind](culprit, case)


def _irq(culprit: Disturbance, case: Case) -> Remedy:
    irqs = case.snapshot.irqs
    known = irqs.by_number.get(culprit.irq) if irqs is not None and culprit.irq is not None else None
    if known is None or not case.housekeeping:
        return Remedy("Keep the device quiet, or its interrupt on other CPUs.")
    housekeeping = format_cpu_list(case.housekeeping)
    if known.movable is False:
        option = boot_options(f"isolcpus=managed_irq,domain,{format_cpu_list(case.target)}")
        return Remedy(
            "The kernel manages this interrupt: it stays off isolated CPUs if told so at boot.", Fix(None, option)
        )
    undo = write_affinity([known.irq], format_cpu_list(known.allowed)) if known.allowed else None
    fix = Fix(write_affinity([known.irq], housekeeping), boot_options(f"irqaffinity={housekeeping}"), undo)
    return Remedy("Move the interrupt to the housekeeping CPUs.", fix)


def _thread(culprit: Disturbance, case: Case) -> Remedy:
    if not case.housekeeping or culprit.tid is None:
        return Remedy("End it, or have it run on another CPU.")
    task = case.snapshot.tasks.by_tid.get(culprit.tid) if case.snapshot.tasks is not None else None
    allowed = task.allowed if task is not None else None
    undo = pin(culprit.tid, allowed) if allowed else None
    said = "Pin it to the housekeeping CPUs; isolated CPUs are left alone by all that is not pinned to them."
    return Remedy(said, Fix(pin(culprit.tid, case.housekeeping), None, undo))


def _kernel_thread(culprit: Disturbance, case: Case) -> Remedy:
    if _RCU_THREAD.match(culprit.name):
        return Remedy(
            "Have callbacks handled elsewhere.", Fix(None, _boot("rcu_nocbs", case.target), needs_reboot=True)
        )
    if culprit.name.startswith("kworker/u"):
        fix = confine_work(case, case.snapshot.settings.kernel.workqueues)
        return Remedy("Keep unbound kernel work on the housekeeping CPUs.", fix)
    if _OF_ONE_CPU.match(culprit.name):
        said = (
            "It belongs to this CPU and does what was asked for here: look at the interrupts and softirqs that feed it."
        )
        return Remedy(said)
    return _thread(culprit, case)


def _tick(culprit: Disturbance, case: Case) -> Remedy:
    options = f"nohz_full={format_cpu_list(case.target)} rcu_nocbs={format_cpu_list(case.target)}"
    said = "The tick stops on a CPU that is booted tickless and has one thread to run."
    return Remedy(said, Fix(None, boot_options(options), needs_reboot=True) if case.housekeeping else None)


_SOFTIRQS = {
    "TIMER": "Timers that were started on this CPU: move their owner, or boot it tickless (nohz_full).",
    "HRTIMER": "Timers that were started on this CPU: move their owner.",
    "NET_RX": "Packets that arrive here: move the network card's interrupts, or steer its packets (RPS) elsewhere.",
    "NET_TX": "Packets that are sent from here: move the sender.",
    "BLOCK": "A disk's answers to this CPU: move the disk's interrupt and whoever reads and writes.",
    "TASKLET": "A driver's work after its interrupt: move the interrupt.",
    "HI": "A driver's work after its interrupt: move the interrupt.",
    "IRQ_POLL": "A driver's work after its interrupt: move the interrupt.",
    "SCHED": "Load balancing at the tick: isolated CPUs are left out of it (isolcpus, or a cpuset partition).",
}


def _softirq(culprit: Disturbance, case: Case) -> Remedy:
    if culprit.name == "RCU":
        return Remedy(
            "Have callbacks handled elsewhere.", Fix(None, _boot("rcu_nocbs", case.target), needs_reboot=True)
        )
    return Remedy(_SOFTIRQS.get(culprit.name, "Move what asks for it."))


def _ipi(culprit: Disturbance, case: Case) -> Remedy:
    if culprit.pid is None or culprit.pid in case.snapshot.own_pids:
        return Remedy("Other CPUs call this one: who, and for what, a trace tells from Linux 6.3 on.")
    if not case.housekeeping:
        return Remedy("End the process that calls, or let it have no thread on this CPU.")
    cpus = format_cpu_list(case.housekeeping)
    said = "Keep all threads of the process that calls on the housekeeping CPUs: it calls the CPUs that it has run on."
    return Remedy(said, Fix(f"sudo taskset -apc {cpus} {culprit.pid}"))


def _nmi(culprit: Disturbance, case: Case) -> Remedy:
    said = "The watchdog for hard lock-ups, or a profiler: switch it off."
    read = case.snapshot.settings.knobs.word(Knob.NMI_WATCHDOG)
    if read in (None, "0"):
        return Remedy(said)
    path = Knob.NMI_WATCHDOG
    return Remedy(said, Fix(write(0, path), persist_knob(path, 0), write(read, path)))


def _sibling(culprit: Disturbance, case: Case) -> Remedy:
    return Remedy("Take the core's other hardware thread offline, or keep it idle.")


def _outside(culprit: Disturbance, case: Case) -> Remedy:
    return Remedy("The host, or the firmware: nothing in here helps. Use a dedicated host, or measure at another time.")


def _unexplained(culprit: Disturbance, case: Case) -> Remedy:
    return Remedy("Nobody was seen: trace as root (noisewatch trace) to learn who it is.")


def _boot(option: str, cpus: CpuSet) -> str:
    return boot_options(f"{option}={format_cpu_list(cpus)}")


_BY_KIND: Mapping[str, Callable[[Disturbance, Case], Remedy]] = {
    "irq": _irq,
    "softirq": _softirq,
    "thread": _thread,
    "kernel-thread": _kernel_thread,
    "ipi": _ipi,
    "nmi": _nmi,
    "tick": _tick,
    "sibling": _sibling,
    "outside": _outside,
    "unexplained": _unexplained,
}
