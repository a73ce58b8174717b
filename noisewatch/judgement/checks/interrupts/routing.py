"""Area `interrupts`: what routes interrupts and packets: the default affinity, irqbalance, packet steering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_mask, name_cpus, parse_cpu_mask
from noisewatch.errors import Malformed
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.fixes.actions import Setting, Write, run_command, write
from noisewatch.judgement.fixes.fix import BootOptions, ByHand, Fix, set_for_good
from noisewatch.judgement.grading import turned, unread
from noisewatch.judgement.programs import passes_if_visible, running
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.interrupts.irqbalance import LIST, MASK, environment_of, parse_banned
from noisewatch.kernel.interrupts.irqbalance import NAME as IRQBALANCE
from noisewatch.kernel.interrupts.irqs import DEFAULT
from noisewatch.kernel.interrupts.packet_steering import FOLDER as QUEUES
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.text import clean

_BALANCERS = {IRQBALANCE, "irqd", "msm_irqbalance"}
_AFFINITY_DOC = "https://docs.kernel.org/core-api/irq/irq-affinity.html"


@check(
    id="default-irq-affinity-includes-target",
    area=Area.INTERRUPTS,
    question="Are new interrupts kept off the target CPUs?",
    severity=Severity.INFORMATION,
    reads=(DEFAULT,),
    why="When a driver loads or a link comes up, its interrupts are delivered within this mask.",
    remedy="Write the mask of the housekeeping CPUs to this file, or boot with irqaffinity.",
    sources=(_AFFINITY_DOC,),
    severity_in={STRICT: Severity.WARNING},
)
def default_irq_affinity_includes_target(case: Case) -> Answer:
    irqs = case.snapshot.irqs
    if irqs is None or irqs.default_allowed is None:
        return case.unread(DEFAULT)
    shared = irqs.default_allowed & case.target
    graded = case.graded(evidence={"default_allowed": sorted(irqs.default_allowed)})
    if not irqs.default_allowed & case.running:
        return unknown(f"{DEFAULT}: no CPU of the mask is online")
    if not shared:
        return graded.passes("new interrupts go to other CPUs")
    fix = None
    if case.housekeeping:
        before = format_cpu_mask(irqs.default_allowed)
        fix = Fix(
            (write(DEFAULT, format_cpu_mask(case.housekeeping), before),),
            (BootOptions(f"irqaffinity={cpu_list_argument(case.housekeeping)}"),),
        )
    text = f"new interrupts may go to {name_cpus(shared)}"
    return graded.fails(text, cpus=shared, fix=fix)


@check(
    id="irqbalance-may-move-irqs",
    area=Area.INTERRUPTS,
    question="Will irqbalance leave the target CPUs alone?",
    severity=Severity.WARNING,
    reads=("/proc/PID/stat", "/proc/PID/environ", "/etc/default/irqbalance", "/etc/sysconfig/irqbalance"),
    reads_counters=True,
    why=(
        "It rewrites affinities every ten seconds, also during a benchmark. It spares isolated and nohz_full CPUs, "
        "unless IRQBALANCE_BANNED_CPUS or IRQBALANCE_BANNED_CPULIST is set: then only the CPUs in these."
    ),
    remedy=(
        "Stop irqbalance, or set IRQBALANCE_BANNED_CPULIST to the target CPUs in its environment. Before version 1.8 "
        "it ignores that list: set the mask IRQBALANCE_BANNED_CPUS."
    ),
    sources=("https://github.com/Irqbalance/irqbalance",),
)
def irqbalance_may_move_irqs(case: Case) -> Answer:
    if case.snapshot.tasks is None:
        return case.unread("/proc/PID")
    if not case.target:
        return unknown(NO_TARGET)
    bans = [_ban(case, task.pid) for task in running(case, {IRQBALANCE})]
    if not bans:
        return passes_if_visible(case, "irqbalance is not running")
    fix = Fix((run_command("systemctl stop irqbalance", "systemctl start irqbalance"),), (_banned(case),))
    for ban in sorted(bans, key=lambda ban: ban.cpus is None):
        exposed = case.target - (_banned_by_default(case) if ban.cpus is None else ban.cpus)
        text = f"irqbalance runs (pid {ban.pid}) and may use {name_cpus(exposed)} for interrupts"
        if exposed and ban.cpus is None:
            return case.graded().warns(f"{text}, unless it is configured not to", reason=ban.words, fix=fix)
        if exposed:
            return case.graded().fails(f"{text}{ban.words}", fix=fix)
        if ban.cpus is None:
            return unknown(ban.words)
    return case.graded().passes(f"irqbalance spares the target CPUs{bans[0].words}")


class _Ban(NamedTuple):
    """The CPUs that an irqbalance process ignores, and the deciding settings. None is unknown, with the reason."""

    pid: int
    cpus: CpuSet | None
    words: str


def _ban(case: Case, pid: int) -> _Ban:
    """Return the ban by the environment of the process or, if unreadable, by its configuration."""
    irqbalance, by_default = case.snapshot.settings.irqbalance, _banned_by_default(case)
    path, started_with = environment_of(pid), irqbalance.started_with.get(pid)
    sources = {path: started_with} if started_with is not None else irqbalance.configured
    if sources is None or (started_with is None and case.snapshot.platform.container != NONE):
        reason = irqbalance.reason_by_pid.get(pid, f"{path}: not read yet")
        return _Ban(pid, None, f"what irqbalance was started with is unknown: {reason}")
    deciding = {source: variables for source, variables in sources.items() if variables}
    try:
        bans = [parse_banned(variables, by_default) for variables in deciding.values()]
    except Malformed as error:
        return _Ban(pid, None, f"{', '.join(deciding)}: {error}")
    settings = {f"{name}={clean(value)}" for variables in deciding.values() for name, value in variables.items()}
    since = ", from irqbalance 1.8 on" if any(MASK not in variables for variables in deciding.values()) else ""
    words = f" ({' '.join(sorted(settings))} replaces its automatic ban{since})" if settings else ""
    return _Ban(pid, by_default if not bans else frozenset.intersection(*bans), words)


def _banned_by_default(case: Case) -> CpuSet:
    """Return the CPUs that irqbalance bans by itself: it ignores partitions."""
    isolation = case.snapshot.isolation
    return (isolation.boot or frozenset()) | (isolation.nohz_full or frozenset())


def _banned(case: Case) -> ByHand:
    """Return the setting that adds the target CPUs to irqbalance's automatic ban, which a list would replace."""
    irqbalance = case.snapshot.settings.irqbalance
    sources = [*irqbalance.started_with.values(), *(irqbalance.configured or {}).values()]
    instead = f" (and no {MASK}, which comes first)" if any(MASK in variables for variables in sources) else ""
    banned = f"{LIST}={cpu_list_argument(case.target | _banned_by_default(case))}{instead}"
    return ByHand(f"{banned} in /etc/default/irqbalance or /etc/sysconfig/irqbalance")


def kept_from_balancer(case: Case) -> tuple[ByHand, ...]:
    """Return what keeps irqbalance from moving IRQs back to target CPUs; empty if it is known not to do so."""
    bans = [_ban(case, task.pid) for task in running(case, {IRQBALANCE})] if case.target else []
    return () if all(ban.cpus is not None and case.target <= ban.cpus for ban in bans) else (_banned(case),)


def irq_balancer(case: Case) -> str | None:
    """Return the process that may have moved an IRQ, as `irqbalance (pid 812)`, or None."""
    balancers = running(case, _BALANCERS)
    return f"{balancers[0].name} (pid {balancers[0].pid})" if balancers else None


_LONGEST_LIST = 4


@check(
    id="packets-steered-to-target",
    area=Area.INTERRUPTS,
    question="Are received packets kept off the target CPUs?",
    severity=Severity.INFORMATION,
    reads=(f"{QUEUES}/*/queues/rx-*/rps_cpus", Knob.RPS_DEFAULT),
    why=(
        "Receive packet steering (RPS) passes the work on packets to CPUs other than the interrupted one: moving the "
        "interrupt does not move this work."
    ),
    remedy="Take the target CPUs out of the RPS masks.",
    sources=("https://docs.kernel.org/networking/scaling.html",),
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
    is_hidden_from_guests=True,
)
def packets_steered_to_target(case: Case) -> Answer:
    steering = case.snapshot.settings.packet_steering
    if steering.cpus_by_path is None:
        return case.unread(QUEUES)
    cpus_by_path = {path: cpus for path, cpus in steering.cpus_by_path.items() if cpus is not None}
    steered = {path: cpus for path, cpus in cpus_by_path.items() if cpus & case.target}
    graded = case.graded(measured=len(steered), limit=0, unit="queues")
    if steered:
        cpus = frozenset().union(*steered.values()) & case.target
        text = (
            f"{len(steered)} of {len(cpus_by_path)} receive queues pass packets to {name_cpus(cpus)}: {_names(steered)}"
        )
        masks = {clean(path): sorted(mask) for path, mask in steered.items()}
        return graded.fails(text, cpus=cpus, evidence={"masks": masks}, fix=_spare(case, steered))
    default = _default(case)
    if default is None:
        return unread(case, Knob.RPS_DEFAULT)
    if default & case.target:
        text = f"new interfaces will pass packets to {name_cpus(default & case.target)}"
        fix = turned(case, Knob.RPS_DEFAULT, format_cpu_mask(default - case.target))
        return case.graded().warns(text, cpus=default & case.target, evidence={"default": sorted(default)}, fix=fix)
    if not steering.is_possible:
        return not_applicable("this kernel cannot steer packets (CONFIG_RPS)")
    if len(cpus_by_path) < len(steering.cpus_by_path):
        return case.unread(*sorted(steering.cpus_by_path.keys() - cpus_by_path.keys()))
    if not steering.is_complete:
        return unknown(f"only {len(cpus_by_path)} receive queues were read; there are more")
    if case.snapshot.platform.container != NONE:
        return unknown(f"{case.container_words} sees its own network interfaces, not those of its host")
    return graded.passes(f"none of {len(cpus_by_path)} receive queues passes packets to a target CPU")


def _names(paths: Mapping[str, CpuSet]) -> str:
    """Return the queues of these paths as text: `eth0/rx-0`."""
    named = [clean(f"{path.split('/')[4]}/{path.split('/')[6]}") for path in paths]
    return ", ".join(named[:_LONGEST_LIST]) + (", …" if len(named) > _LONGEST_LIST else "")


def _default(case: Case) -> CpuSet | None:
    """Return the steering mask of new interfaces, or None if unknown; most kernels have none."""
    knobs = case.snapshot.settings.knobs
    if Knob.RPS_DEFAULT in knobs.absent:
        return frozenset()
    mask = knobs.text_by_path.get(Knob.RPS_DEFAULT)
    return None if mask is None else parse_cpu_mask(mask)


def _spare(case: Case, steered: Mapping[str, CpuSet]) -> Fix:
    """Return the fix that removes the target CPUs from each mask.

    With an empty mask packets stay on the interrupted CPU.
    """
    spared = [
        Setting(path, format_cpu_mask(cpus - case.target), format_cpu_mask(cpus)) for path, cpus in steered.items()
    ]
    return set_for_good(Write(tuple(spared)))
