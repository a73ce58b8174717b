"""Area `interrupts`: which devices may interrupt the target CPUs, which do, and what routes interrupts and packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, format_cpu_mask, name_cpus, parse_cpu_mask
from noisewatch.errors import Malformed
from noisewatch.judgement.answer import Answer, Limit, not_applicable, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import uncounted_reason, uncounted_since_boot_reason, uncounted_softirqs_reason
from noisewatch.judgement.effect import WHEN, effect, scale_culprit, taken_limits
from noisewatch.judgement.fixes.actions import Setting, Write, run_command, write, write_all
from noisewatch.judgement.fixes.fix import BootOptions, ByHand, Fix, write_for_good
from noisewatch.judgement.grading import by_cpu, grade_cpus, knob_fix, unread
from noisewatch.judgement.programs import passes_if_visible, running
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.interrupts.irqbalance import LIST, MASK, environment_of, parse_banned
from noisewatch.kernel.interrupts.irqbalance import NAME as IRQBALANCE
from noisewatch.kernel.interrupts.irqs import DEFAULT, FOLDER, Irq, Irqs
from noisewatch.kernel.interrupts.packet_steering import FOLDER as QUEUES
from noisewatch.kernel.interrupts.table import PATH, Interrupts, sums_with_parts
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance, counts_of, disturbances_of, is_of_a_device
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.softirq_causes import DEVICE_WORK
from noisewatch.text import clean
from noisewatch.units import describe_rate

_AFFINITY_DOC = "https://docs.kernel.org/core-api/irq/irq-affinity.html"
_LONGEST_LIST = 4


@check(
    id="irq-routed-to-target",
    area=Area.INTERRUPTS,
    question="Is any device's interrupt routed to a target CPU?",
    severity=Severity.WARNING,
    reads=(f"{FOLDER}/N/effective_affinity_list", f"{FOLDER}/N/smp_affinity_list", "/proc/interrupts"),
    reads_counters=True,
    why=(
        "A device that is quiet now may interrupt in the middle of the benchmark. The effective affinity shows where "
        "its interrupt goes; a requested affinity usually takes effect only with the next interrupt."
    ),
    remedy=(
        "Move each interrupt to the housekeeping CPUs. Managed interrupts follow isolcpus=managed_irq if each of "
        "their queues has a housekeeping CPU; otherwise give the device fewer queues."
    ),
    sources=(_AFFINITY_DOC,),
)
def irq_routed_to_target(case: Case) -> Answer:
    irqs, interrupts = case.snapshot.irqs, case.snapshot.interrupts
    if irqs is None:
        return case.unread(FOLDER)
    if interrupts is None:
        return case.unread("/proc/interrupts")
    counts_by_irq = _device_counts(interrupts)
    unlisted = counts_by_irq.keys() - irqs.by_number.keys()
    used = [irqs.by_number[number] for number in counts_by_irq if number not in unlisted]
    delivered = _sort_by_count([irq for irq in used if delivery_cpus(irq) & case.target], counts_by_irq)
    fired = _irqs_fired_on_target(case)
    leaving = [irq for irq in delivered if fired is not None and irq.irq not in fired and _is_sent_away(case, irq)]
    routed = [irq for irq in delivered if irq not in leaving]
    # A kernel-managed IRQ whose current CPUs are known is left out of `asked_for`: it moves only if a CPU goes offline.
    may_come = [irq for irq in used if (irq.allowed or frozenset()) & case.target and irq not in routed]
    asked_for = [
        irq for irq in _sort_by_count(may_come, counts_by_irq) if irq.movable is not False or not irq.effective
    ]
    graded = case.graded(
        limit=0,
        unit="IRQs",
        evidence={
            "routed": [irq.irq for irq in routed],
            "allowed_only": [irq.irq for irq in asked_for],
            "leaving": [irq.irq for irq in leaving],
        },
    )
    if routed:
        text = f"{len(routed)} of {len(used)} active IRQs are delivered to target CPUs: {_names(routed)}"
        fix, cpus = steer(case, routed + asked_for), frozenset().union(*map(delivery_cpus, routed)) & case.target
        return graded.warns(text, measured=len(routed), cpus=cpus, fix=fix)
    unread_irqs = {irq.irq for irq in used if _is_unread(case, irq)}
    if unlisted or unread_irqs:
        folder = f"{FOLDER}/{min(unlisted or unread_irqs)}"
        return case.unread(f"{folder}/smp_affinity_list", _effective_path(folder), FOLDER)
    if asked_for:
        text = f"{len(asked_for)} of {len(used)} active IRQs are allowed on target CPUs: {_names(asked_for)}"
        return graded.warns(text, measured=len(asked_for), fix=steer(case, asked_for))
    reason = _unlisted_irqs_reason(case, irqs, interrupts) or _unnumbered_reason(case, interrupts)
    if reason is not None:
        return unknown(reason)
    text = f"none of {len(used)} active IRQs is routed to a target CPU"
    text += f"; {len(leaving)} will move away with their next interrupt: {_names(leaving)}" if leaving else ""
    return graded.passes(text, measured=0)


def _is_unread(case: Case, irq: Irq) -> bool:
    """Return whether the IRQ's current or allowed CPUs are unknown. Kernel-managed IRQs need no allowed CPUs."""
    if irq.effective is None:
        return irq.allowed is None or _effective_path(f"{FOLDER}/{irq.irq}") in case.snapshot.reason_by_path
    return irq.allowed is None and irq.movable is not False


def _effective_path(folder: str) -> str:
    return f"{folder}/effective_affinity_list"


def _unlisted_irqs_reason(case: Case, irqs: Irqs, interrupts: Interrupts) -> str | None:
    """Return why more IRQs may be active than the table lists, or None if the table is complete."""
    reason = uncounted_since_boot_reason(case, interrupts, case.running | case.target)
    if reason is not None:
        return reason
    listed = {row.irq for row in interrupts.rows}
    lost = [
        irq
        for number, irq in sorted(irqs.by_number.items())
        if number not in listed and (irq.actions or irq.allowed is None)
    ]
    lost = [irq for irq in lost if irq.kind == Kind.IRQ]  # the table hides some of the CPUs' own interrupts
    whose = ", ".join(lost[0].actions) if lost else ""
    return f"{PATH} has no row for IRQ {lost[0].irq} ({whose or 'of an unknown device'})" if lost else None


def _unnumbered_reason(case: Case, interrupts: Interrupts) -> str | None:
    """Return text on device interrupts without an IRQ number that occurred on target CPUs, or None.

    No file exports the affinity of such interrupts: the classes of s390, and a hypervisor's single vector. Interrupts
    that are also counted in numbered rows are left out.
    """
    plain = [row for row in interrupts.rows if row.counts is not None and row.irq is None and is_of_a_device(row)]
    parts_by_label = {
        row.label: parts for row, parts in sums_with_parts(interrupts.rows if plain else (), interrupts.release)
    }
    for row in plain:
        numbered = [part.counts for part in parts_by_label.get(row.label, ()) if part.irq is not None and part.counts]
        remaining = (count - sum(counts) for count, *counts in zip(row.counts or (), *numbered, strict=True))
        came = case.target & {cpu for cpu, count in zip(interrupts.cpus, remaining, strict=True) if count > 0}
        if came:
            return f"{PATH}: {row.label} interrupted {name_cpus(came)}, and no file shows where such interrupts may go"
    return None


def _irqs_fired_on_target(case: Case) -> frozenset[int | None] | None:
    """Return the IRQs that interrupted a target CPU in the sample, or None if unknown."""
    counts = case.interval.interrupts if case.interval is not None else None
    if counts is None or counts.rows is None:
        return None
    return frozenset(row.irq for row in counts.rows if not case.target.isdisjoint(row.count_by_cpu))


def _is_sent_away(case: Case, irq: Irq) -> bool:
    """Return whether the IRQ is movable and not allowed on target CPUs. Most such IRQs move with the next interrupt."""
    return irq.movable is not False and bool(irq.allowed) and not (irq.allowed or frozenset()) & case.target


def _device_counts(interrupts: Interrupts) -> dict[int, Sequence[int]]:
    """Return the counts since boot of each device IRQ that has fired; the CPUs' own interrupts are left out."""
    return {
        row.irq: row.counts
        for row in interrupts.rows
        if row.is_nonzero and row.counts is not None and row.irq is not None and is_of_a_device(row)
    }


def _sort_by_count(irqs: list[Irq], counts_by_irq: Mapping[int, Sequence[int]]) -> list[Irq]:
    """Return the IRQs, the busiest first.

    Only the counts of these IRQs are summed: a large machine has a thousand others, on a thousand CPUs.
    """
    return sorted(irqs, key=lambda irq: -sum(counts_by_irq[irq.irq]))


def delivery_cpus(irq: Irq) -> CpuSet:
    """Return the CPUs that the IRQ is delivered to or, if they are unknown, the requested CPUs."""
    return (irq.allowed if irq.effective is None else irq.effective) or frozenset()


def _names(irqs: list[Irq]) -> str:
    named = [f"{irq.irq} {', '.join(irq.actions)}".strip() for irq in irqs[:_LONGEST_LIST]]
    return ", ".join(named) + (", …" if len(irqs) > _LONGEST_LIST else "") + _unmovable_text(irqs)


def _unmovable_text(irqs: list[Irq]) -> str:
    """Return text on kernel-managed IRQs, because no command can move them; empty if there are none."""
    numbers = sorted(irq.irq for irq in irqs if irq.movable is False)
    if not numbers:
        return ""
    whose = f"IRQ {numbers[0]} is" if len(numbers) == 1 else f"IRQs {', '.join(map(str, numbers))} are"
    return f" ({whose} managed by the kernel and cannot be moved)"


def steer(case: Case, irqs: list[Irq]) -> Fix | None:
    """Return the fix that moves IRQs to the housekeeping CPUs; kernel-managed ones need a boot option."""
    if not case.housekeeping:
        return None
    managed = [irq for irq in irqs if irq.movable is False] if case.target else []
    listed = cpu_list_argument(case.housekeeping)
    options = f"irqaffinity={listed}"
    if managed:
        options += f" isolcpus=managed_irq,domain,{cpu_list_argument(case.target)}"
    before = {
        f"{FOLDER}/{irq.irq}/smp_affinity_list": format_cpu_list(irq.allowed) if irq.allowed else None
        for irq in sorted(irqs, key=lambda irq: irq.irq)
        if irq.movable is not False
    }
    actions = (write_all(listed, before),) if before else ()
    return Fix(actions, (BootOptions(options), *balancer_steps(case)), is_partial=bool(managed and before))


_RATE = Limit(
    key="fails",
    name="device interrupts on one target CPU, if their number decides",
    value=10.0,
    unit="per second",
    reason="an isolated CPU, or one for work that depends on latency, should have almost none",
)
_COST_PASSES, _COST_FAILS = taken_limits("device interrupts", "cost-")


@check(
    id="device-interrupts-on-target",
    area=Area.INTERRUPTS,
    question="Do devices interrupt the target CPUs?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=("/proc/interrupts and /proc/softirqs over the sample, and over the calibration",),
    limits=(_RATE, _COST_PASSES, _COST_FAILS),
    why=(
        "Counts show what really happened, whatever the affinities are, and include queues that cannot be moved. The "
        "check decides by the time that interrupts and their softirqs take, traced or estimated. Under the profiles "
        "latency and strict, it decides by the number of interrupts instead. On isolated CPUs, a high number causes a "
        "warning."
    ),
    remedy="Move the named interrupt; if the kernel manages it, choose other CPUs or boot with isolcpus=managed_irq.",
    sources=("https://docs.kernel.org/filesystems/proc.html", _AFFINITY_DOC),
    asks_rates=True,
    covers_calibration=True,
)
def device_interrupts_on_target(case: Case) -> Answer:
    interval = case.sample
    counts = interval.interrupts
    reason = next(
        (reason for window in case.intervals if (reason := uncounted_reason(case, window, case.target))), None
    )
    if counts.rows is None:
        return unknown(reason or "unknown")
    sampled = _device_rates(interval, sorted(case.target & counts.cpus))
    later = _device_rates(case.under_load, sampled) if case.under_load is not None else {}
    rate_by_cpu = {cpu: max(rate, later.get(cpu, 0.0)) for cpu, rate in sampled.items()}
    cost_by_cpu = {cpu: _cost(case, cpu) for cpu in sampled}
    is_by_number = case.rules.profile in (LATENCY, STRICT)
    culprits = _device_culprits(case, cost_by_cpu, 1.0 if is_by_number else case.bound(_COST_PASSES))
    values, fails = (rate_by_cpu, _RATE) if is_by_number else (cost_by_cpu, _COST_FAILS)
    if not is_by_number and any(rate_by_cpu.values()):
        uncounted = (uncounted_softirqs_reason(case, window) for window in case.intervals)
        reason = reason or next((reason for reason in uncounted if reason), None)
    interrupts = (culprit for culprit in culprits if culprit.kind == Kind.IRQ)
    blamed = _records_of(case.irqs_by_number, _culprits_above(interrupts, rate_by_cpu, case.bound(_RATE)))
    text = "; ".join(
        f"{culprit.name}: {describe_rate(culprit.rate_per_s)} on CPU {culprit.cpu}" for culprit in culprits[:3]
    )
    is_later = max(later.values(), default=0.0) > max(sampled.values(), default=0.0)
    text += f" ({WHEN})" if is_later else ""
    text += "" if is_by_number or not culprits else f", {max(cost_by_cpu.values()):.2%} of its time"
    text += _unmovable_text(_records_of(case.irqs_by_number, culprits))
    answer = grade_cpus(
        case,
        values,
        fails,
        None if is_by_number else _COST_PASSES,
        describe=lambda _: text,
        calm=text or "no device interrupted a target CPU",
        evidence={
            "rate_per_s_by_cpu": by_cpu(sampled),
            "while_calibrating_per_s_by_cpu": by_cpu(later),
            "cost_share_by_cpu": by_cpu(cost_by_cpu),
        },
        unknown_reason=reason,
        culprits=lambda _: culprits,
        fix=steer(case, blamed),
    )
    isolated = case.snapshot.isolation.isolated
    many = frozenset(cpu for cpu, rate in rate_by_cpu.items() if rate > case.bound(_RATE))
    many = many if isolated is None else many & isolated
    if answer.status != Status.PASS or not many:
        return answer
    text += (
        f"; {name_cpus(many)} " + ("may be" if isolated is None else "is" if len(many) == 1 else "are") + " isolated"
    )
    return replace(answer, status=Status.WARN, said=text, cpus=many, culprits=culprits, fix=steer(case, blamed))


def _cost(case: Case, cpu: int) -> float:
    """Return the share of the CPU that devices take from a benchmark.

    For the calibration, it is the larger of the traced share and the share by counters.
    """
    attribution = case.attribution
    traced = attribution.culprits_by_cpu.get(cpu, ()) if attribution is not None and attribution.reason is None else ()
    measured = sum(culprit.disturbance.share or 0.0 for culprit in traced if _is_of_device(culprit.disturbance))
    load = case.under_load
    later = max(_counted_cost(load, cpu), measured) if load is not None else None
    are_counts_known = load is not None and load.interrupts.is_known(cpu) and load.softirqs.is_known(cpu)
    return effect(case, _counted_cost(case.sample, cpu), later if are_counts_known else None)


def _counted_cost(interval: Interval, cpu: int) -> float:
    """Return the share of the CPU that counters attribute to devices; softirqs may be missing."""
    return sum(disturbance.share or 0.0 for disturbance in disturbances_of(interval, cpu) if _is_of_device(disturbance))


def _is_of_device(disturbance: Disturbance) -> bool:
    return disturbance.kind == Kind.IRQ or (disturbance.kind == Kind.SOFTIRQ and disturbance.name in DEVICE_WORK)


def _records_of(irqs: Mapping[int, Irq], culprits: Iterable[Disturbance]) -> list[Irq]:
    numbers = {culprit.irq for culprit in culprits if culprit.irq is not None}
    return [irqs[number] for number in sorted(numbers) if number in irqs]


def _culprits_above(
    culprits: Iterable[Disturbance], rate_by_cpu: Mapping[int, float], bound: float
) -> Iterator[Disturbance]:
    """Yield the most frequent culprits until the others are within the limit on each CPU; all if no CPU exceeds it."""
    left = dict(rate_by_cpu)
    allowed = bound if max(left.values(), default=0.0) > bound else 0.0
    for culprit in culprits:
        if left.get(culprit.cpu, 0.0) > allowed:
            left[culprit.cpu] -= culprit.rate_per_s or 0.0
            yield culprit


def _device_rates(interval: Interval, cpus: Iterable[int]) -> dict[int, float]:
    counts = counts_of(interval, Kind.IRQ)
    return {cpu: counts.get(cpu, 0) / interval.seconds for cpu in cpus}


def _device_culprits(case: Case, cost_by_cpu: Mapping[int, float], min_share: float) -> tuple[Disturbance, ...]:
    """Return device interrupts, and softirqs above `min_share`, from the interval in which they were most frequent.

    If counters give a CPU a higher cost than `cost_by_cpu`, the shares on this CPU are scaled down by the same factor.
    """
    cost_by_counts = {cpu: max(_counted_cost(window, cpu) for window in case.intervals) for cpu in cost_by_cpu}
    part_by_cpu = {
        cpu: min(cost / cost_by_counts[cpu], 1.0) if cost_by_counts[cpu] else 1.0 for cpu, cost in cost_by_cpu.items()
    }
    worst_by_source: dict[tuple[int, str], Disturbance] = {}
    for interval in case.intervals:
        for source in (disturbance for cpu in cost_by_cpu for disturbance in disturbances_of(interval, cpu)):
            if not _is_of_device(source) or (source.kind != Kind.IRQ and (source.share or 0.0) <= min_share):
                continue
            so_far = worst_by_source.get((source.cpu, source.name), source)
            if (so_far.rate_per_s or 0) <= (source.rate_per_s or 0):
                worst_by_source[source.cpu, source.name] = source
    parts = [scale_culprit(disturbance, part_by_cpu[disturbance.cpu]) for disturbance in worst_by_source.values()]
    return tuple(sorted(parts, key=lambda part: (part.kind != Kind.IRQ, -(part.rate_per_s or 0))))


_BALANCERS = {IRQBALANCE, "irqd", "msm_irqbalance"}


@check(
    id="default-irq-affinity-includes-target",
    area=Area.INTERRUPTS,
    question="Are new interrupts kept off the target CPUs?",
    severity=Severity.INFORMATION,
    reads=(DEFAULT,),
    why="When a driver loads or a link comes up, its interrupts are delivered to CPUs in the default mask.",
    remedy=f"Write the mask of the housekeeping CPUs to {DEFAULT}, or boot with irqaffinity.",
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
        "irqbalance rewrites affinities every ten seconds, also during a benchmark. It spares isolated and nohz_full "
        "CPUs or, if IRQBALANCE_BANNED_CPUS or IRQBALANCE_BANNED_CPULIST is set, only the CPUs in that variable."
    ),
    remedy=(
        "Stop irqbalance, or set IRQBALANCE_BANNED_CPULIST to the target CPUs in its environment. Versions "
        "before 1.8 ignore that list: set the mask IRQBALANCE_BANNED_CPUS instead."
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
    fix = Fix((run_command("systemctl stop irqbalance", "systemctl start irqbalance"),), (_ban_setting(case),))
    for ban in sorted(bans, key=lambda ban: ban.cpus is None):
        exposed = case.target - (_default_ban(case) if ban.cpus is None else ban.cpus)
        text = f"irqbalance runs (pid {ban.pid}) and may use {name_cpus(exposed)} for interrupts"
        if exposed and ban.cpus is None:
            return case.graded().warns(f"{text}, unless it is configured not to", reason=ban.words, fix=fix)
        if exposed:
            return case.graded().fails(f"{text}{ban.words}", fix=fix)
        if ban.cpus is None:
            return unknown(ban.words)
    return case.graded().passes(f"irqbalance spares the target CPUs{bans[0].words}")


class _Ban(NamedTuple):
    """The CPUs that an irqbalance process ignores. `words` name the deciding settings, or why they are unknown."""

    pid: int
    cpus: CpuSet | None
    words: str


def _ban(case: Case, pid: int) -> _Ban:
    """Return the ban from the process's environment or, if that is unreadable, from its configuration."""
    irqbalance, by_default = case.snapshot.settings.irqbalance, _default_ban(case)
    path, started_with = environment_of(pid), irqbalance.started_with.get(pid)
    sources = {path: started_with} if started_with is not None else irqbalance.configured
    if sources is None or (started_with is None and case.snapshot.platform.container != NONE):
        reason = irqbalance.reason_by_pid.get(pid, f"{path}: not read yet")
        return _Ban(pid, None, f"the environment of irqbalance is unknown: {reason}")
    deciding = {source: variables for source, variables in sources.items() if variables}
    try:
        bans = [parse_banned(variables, by_default) for variables in deciding.values()]
    except Malformed as error:
        return _Ban(pid, None, f"{', '.join(deciding)}: {error}")
    settings = {f"{name}={clean(value)}" for variables in deciding.values() for name, value in variables.items()}
    since = ", since irqbalance 1.8" if any(MASK not in variables for variables in deciding.values()) else ""
    words = f" ({' '.join(sorted(settings))} replaces its automatic ban{since})" if settings else ""
    return _Ban(pid, by_default if not bans else frozenset.intersection(*bans), words)


def _default_ban(case: Case) -> CpuSet:
    """Return the CPUs that irqbalance bans by default; it does not consider cgroup partitions."""
    isolation = case.snapshot.isolation
    return (isolation.boot or frozenset()) | (isolation.nohz_full or frozenset())


def _ban_setting(case: Case) -> ByHand:
    """Return the setting that makes irqbalance ignore the target CPUs.

    A list replaces irqbalance's automatic ban, so it contains the CPUs of that ban too.
    """
    irqbalance = case.snapshot.settings.irqbalance
    sources = [*irqbalance.started_with.values(), *(irqbalance.configured or {}).values()]
    instead = f" (and no {MASK}, which has precedence)" if any(MASK in variables for variables in sources) else ""
    banned = f"{LIST}={cpu_list_argument(case.target | _default_ban(case))}{instead}"
    return ByHand(f"{banned} in /etc/default/irqbalance or /etc/sysconfig/irqbalance")


def balancer_steps(case: Case) -> tuple[ByHand, ...]:
    """Return the steps that keep irqbalance from moving IRQs back to target CPUs.

    There are none if irqbalance is not running, or if it ignores these CPUs.
    """
    bans = [_ban(case, task.pid) for task in running(case, {IRQBALANCE})] if case.target else []
    return () if all(ban.cpus is not None and case.target <= ban.cpus for ban in bans) else (_ban_setting(case),)


def irq_balancer(case: Case) -> str | None:
    """Return the process that may have moved an IRQ, as `irqbalance (pid 812)`, or None."""
    balancers = running(case, _BALANCERS)
    return f"{balancers[0].name} (pid {balancers[0].pid})" if balancers else None


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
        count = f"{len(steered)} of {len(cpus_by_path)}"
        text = f"{count} receive queues pass packets to {name_cpus(cpus)}: {_queue_names(steered)}"
        masks = {clean(path): sorted(mask) for path, mask in steered.items()}
        return graded.fails(text, cpus=cpus, evidence={"masks": masks}, fix=_spare(case, steered))
    default = _default(case)
    if default is None:
        return unread(case, Knob.RPS_DEFAULT)
    if default & case.target:
        text = f"new interfaces will pass packets to {name_cpus(default & case.target)}"
        fix = knob_fix(case, Knob.RPS_DEFAULT, format_cpu_mask(default - case.target))
        return case.graded().warns(text, cpus=default & case.target, evidence={"default": sorted(default)}, fix=fix)
    if not steering.is_possible:
        return not_applicable("this kernel cannot steer packets (built without CONFIG_RPS)")
    if len(cpus_by_path) < len(steering.cpus_by_path):
        return case.unread(*sorted(steering.cpus_by_path.keys() - cpus_by_path.keys()))
    if not steering.is_complete:
        return unknown(f"only {len(cpus_by_path)} receive queues were read; there are more")
    if case.snapshot.platform.container != NONE:
        return unknown(f"{case.container_words} sees its own network interfaces, not its host's")
    return graded.passes(f"none of {len(cpus_by_path)} receive queues passes packets to a target CPU")


def _queue_names(paths: Mapping[str, CpuSet]) -> str:
    """Return the queues of these paths as text: `eth0/rx-0`."""
    named = [clean(f"{path.split('/')[4]}/{path.split('/')[6]}") for path in paths]
    return ", ".join(named[:_LONGEST_LIST]) + (", …" if len(named) > _LONGEST_LIST else "")


def _default(case: Case) -> CpuSet | None:
    """Return the CPUs to which new interfaces steer packets: none if the kernel lacks the setting, None if unknown."""
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
    return write_for_good(Write(tuple(spared)))
