"""A plan: the target CPUs, the criteria for and against them, the steps, and the commands that start the benchmark.

Each criterion has its status, a sentence and the evidence. The steps are fixes of preflight's checks that keep other
work off the CPUs; checks with an unknown answer are listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import cpu_list_argument, fitting_cpu_list, format_cpu_list, name_cpu_sets, name_cpus
from noisewatch.judgement.answer import Answer, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Check, contained_answer
from noisewatch.judgement.checks.cpus.isolation import isolate, partition_needs, target_not_isolated
from noisewatch.judgement.checks.cpus.neighbours import CANNOT_SEE
from noisewatch.judgement.checks.cpus.scheduler import (
    rcu_callbacks_on_target,
    target_not_tickless,
    workqueues_on_target,
)
from noisewatch.judgement.checks.cpus.target import (
    ALIKE,
    highest_clocks,
    target_cores_differ,
    target_cpu_unusable,
    unknown_core_kind_reason,
)
from noisewatch.judgement.checks.interrupts.devices import (
    default_irq_affinity_includes_target,
    irq_routed_to_target,
    irqbalance_may_move_irqs,
    packets_steered_to_target,
)
from noisewatch.judgement.fixes.actions import MakePartition
from noisewatch.judgement.fixes.fix import BootOptions, Fix, merge_arguments
from noisewatch.judgement.plan.cores import BOOT_CPU, cores_of
from noisewatch.judgement.plan.proposal import READS as IRQ_FILES
from noisewatch.judgement.plan.proposal import Proposal, judge_fixed_irqs
from noisewatch.judgement.shared_caches import cpus_without_cache, unknown_cache_reason
from noisewatch.judgement.terms import Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NODES, PERFORMANCE
from noisewatch.kernel.memory.nodes import HAS_MEMORY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.units import describe_count


class Criterion(StrEnum):
    """The criteria in the order in which they are shown. Their values are also in the JSON."""

    USABLE = "usable"
    CORES = "whole cores"
    HOUSEKEEPING = "housekeeping"
    KIND = "fastest kind"
    CACHE = "one cache"
    NODE = "one node"
    MEMORY = "memory"
    DEVICE = "near device"
    INTERRUPTS = "interrupts"
    ISOLATED = "isolated"


class Judged(Struct, frozen=True):
    """A criterion and its answer for the planned CPUs; `reads` are the sources of the evidence."""

    criterion: Criterion
    answer: Answer
    reads: tuple[str, ...]


def judge_proposal(proposal: Proposal) -> tuple[Judged, ...]:
    """Return the answers of all criteria that apply."""
    return tuple(
        Judged(criterion, judge(proposal), reads)
        for criterion, (judge, reads) in _CRITERIA.items()
        if criterion != Criterion.DEVICE or proposal.readings.device is not None
    )


def _judge_usable(proposal: Proposal) -> Answer:
    """Return whether the CPUs are online and within the caller's cpuset, or in an isolated partition.

    The benchmark enters the partition itself.
    """
    snapshot, partition = proposal.case.snapshot, proposal.case.snapshot.isolation.partition or frozenset()
    trial = snapshot.pin_trial
    if trial.granted is not None:
        trial = replace(trial, granted=proposal.run & (trial.granted | partition))
    answer = target_cpu_unusable.answer(replace(proposal.case, snapshot=replace(snapshot, pin_trial=trial)))
    return replace(answer, fix=None)


def _judge_whole_cores(proposal: Proposal) -> Answer:
    case = proposal.case
    topology = case.snapshot.topology
    siblings = {cpu: topology[cpu].siblings if cpu in topology else None for cpu in sorted(proposal.run)}
    graded = case.graded(
        evidence={"siblings_by_cpu": {str(cpu): None if own is None else sorted(own) for cpu, own in siblings.items()}}
    )
    shared = [core for core in proposal.cores if len(core.cpus & proposal.run) > 1]
    if shared:
        cpus = frozenset().union(*(core.cpus & proposal.run for core in shared))
        first = frozenset(core.first for core in shared)
        text = f"{name_cpus(cpus)} share cores: run on {format_cpu_list(first)}, and leave {{}} idle"
        return graded.warns(text.format(format_cpu_list(cpus - first)), cpus=cpus)
    unreadable = next((core.first for core in proposal.cores if not core.has_siblings), None)
    if unreadable is not None:
        return graded.unknown(case.unread_reason(f"{CPUS}/cpu{unreadable}/topology/thread_siblings_list"))
    if case.snapshot.platform.virtual != NONE:
        return graded.unknown(f"{case.guest_words} {CANNOT_SEE}")
    idle = f"; their other threads ({name_cpus(proposal.idle)}) stay idle" if proposal.idle else ", one thread each"
    return graded.passes(f"{describe_count(len(proposal.cores), 'core')}{idle}")


def _judge_housekeeping(proposal: Proposal) -> Answer:
    case, left = proposal.case, proposal.housekeeping
    graded = case.graded(evidence={"housekeeping": sorted(left), "online_by": case.snapshot.online.source})
    if case.snapshot.online.online is None:
        return case.unread(f"{CPUS}/online")
    if not left:
        return graded.fails("no core is left for all other work", cpus=proposal.run)
    boot_core = next((core for core in proposal.cores if BOOT_CPU in core.cpus), None)
    if BOOT_CPU in proposal.run:
        text = "CPU 0 keeps the time, and takes interrupts that were not moved"
        return graded.fails(text, cpus=frozenset({BOOT_CPU}))
    if boot_core is not None:
        sharing = boot_core.cpus & proposal.run
        share = "shares" if len(sharing) == 1 else "share"
        return graded.fails(f"{name_cpus(sharing)} {share} a core with CPU 0", cpus=sharing)
    if any(not core.has_siblings for core in proposal.cores):
        return graded.unknown("cannot tell which CPUs share a core with the target CPUs")
    cores = cores_of(case, left)
    boot = ", CPU 0 among them" if BOOT_CPU in left and len(left) > 1 else ""
    text = f"{name_cpus(left)} ({describe_count(len(cores), 'core')}) for all other work{boot}"
    return graded.passes(text)


def _fastest_kind(proposal: Proposal) -> Answer:
    """Return the answer of `target-cores-differ`; if it passes, the text contains the kind of the cores."""
    answer = target_cores_differ.answer(proposal.case)
    own = {core.kind for core in proposal.cores}
    kinds = {str(cpu): core.kind for core in proposal.cores for cpu in sorted(core.cpus & proposal.run)}
    evidence = {**answer.evidence, "kind_by_cpu": kinds}
    if answer.status != Status.PASS:
        return replace(answer, fix=None, evidence=evidence)
    graded = proposal.case.graded(evidence=evidence)
    if None in own:
        return graded.unknown(unknown_core_kind_reason(proposal.case, proposal.run))
    clocks = highest_clocks(proposal.case)
    least = min((clocks[cpu] for cpu in proposal.run if cpu in clocks), default=0) * (1 - ALIKE.value)
    slower = frozenset(cpu for cpu, khz in clocks.items() if khz < least)
    text = "performance cores" if own == {PERFORMANCE} else "all cores of this machine are of one kind"
    if slower and own != {PERFORMANCE}:
        text = f"{text}, though {name_cpus(slower)} clock lower"
    return _with_strength(graded.passes(text), proposal)


def _with_strength(answer: Answer, proposal: Proposal) -> Answer:
    """Return the answer with a note if another core of the machine is stronger: CPU 0's, or one in a worse place."""
    own = max(core.strength for core in proposal.cores)
    others = cores_of(proposal.case, proposal.case.online, proposal.ranking)
    best = max((core.strength for core in others), default=own)
    evidence = {**answer.evidence, "capacity_khz_rank": list(own), "best_capacity_khz_rank": list(best)}
    stronger = frozenset(core.first for core in others if core.strength == best)
    parts = list(zip(own, best, strict=True))
    share = max((1 - part / best_part for part, best_part in parts if best_part), default=0.0)
    if share > ALIKE.value:
        text = f"{answer.said}; {name_cpus(stronger)} would be up to {share:.0%} stronger"
        return replace(answer, said=text, evidence=evidence)
    return replace(answer, evidence=evidence)


def _one_cache(proposal: Proposal) -> Answer:
    case = proposal.case
    caches = {core.cache for core in proposal.cores}
    known_caches = sorted((cache for cache in caches if cache is not None), key=sorted)
    graded = case.graded(evidence={"last_level_caches": [format_cpu_list(cache) for cache in known_caches]})
    if len(known_caches) > 1:
        text = f"{len(known_caches)} last-level caches: {name_cpu_sets(cache & proposal.run for cache in known_caches)}"
        return graded.warns(text, cpus=proposal.run)
    if None in caches or not known_caches:
        return graded.unknown(unknown_cache_reason(case, cpus_without_cache(case)))
    others = (known_caches[0] & case.running) - proposal.reserved
    shared = f", shared with {name_cpus(others)}" if others else ", shared with no other CPU"
    return graded.passes(f"one last-level cache{shared}")


def _one_node(proposal: Proposal) -> Answer:
    case, nodes = proposal.case, {core.node for core in proposal.cores}
    numbers = sorted(node for node in nodes if node is not None)
    graded = case.graded(evidence={"node_by_cpu": {str(core.first): core.node for core in proposal.cores}})
    if len(numbers) > 1:
        distances = [proposal.readings.nodes.distance(numbers[0], other) for other in numbers[1:]]
        known = [distance for distance in distances if distance is not None]
        far = f", NUMA distance up to {max(known)}" if len(known) == len(distances) else ""
        return graded.warns(f"{_nodes(numbers)}{far}", cpus=proposal.run)
    if None not in nodes:
        return graded.passes(_nodes(numbers))
    if Knob.ZONE_RECLAIM in case.snapshot.settings.knobs.absent:
        return graded.not_applicable("this kernel has no NUMA support (CONFIG_NUMA)")
    return graded.unknown(case.unread_reason(NODES))


def _memory(proposal: Proposal) -> Answer:
    nodes, own = proposal.readings.nodes, proposal.nodes
    with_memory = nodes.with_memory
    evidence = {"with_memory": None if with_memory is None else sorted(with_memory), "nodes": sorted(own)}
    graded = proposal.case.graded(evidence=evidence)
    if not own:
        return replace(_one_node(proposal), said="unknown", evidence=evidence)
    if with_memory is None:
        return graded.unknown(proposal.unread_reason(HAS_MEMORY, NODES))
    empty = sorted(own - with_memory)
    if not empty:
        return graded.passes(f"{_nodes(own)} {'has' if len(own) == 1 else 'have'} memory")
    nearest = f"; the nearest with memory is {_nodes(proposal.memory_nodes)}" * bool(proposal.memory_nodes)
    text = f"no memory on {_nodes(empty)}{nearest}"
    return graded.fails(text, cpus=proposal.run)


def _judge_near_device(proposal: Proposal) -> Answer:
    device = proposal.readings.device
    assert device is not None  # criteria on a device are left out without one
    case, near = proposal.case, proposal.near
    evidence: dict[str, object] = {"device": device.name, "node": device.node, "told_by": device.path}
    if near is not None:
        evidence["near"] = sorted(near)
    graded = case.graded(evidence=evidence)
    nodes = case.snapshot.settings.memory_nodes or frozenset()
    if device.node is None and len(nodes) == 1 and case.snapshot.platform.virtual == NONE:
        return graded.passes("this machine has only one memory node")
    if device.node is None:
        if device.path is None and device.unread is not None:
            return graded.unknown(f"the node of {device.name}: {device.unread}")
        reason = "numa_node is -1" if device.path is not None else "its bus has no numa_node"
        return graded.unknown(f"this machine does not report the node of {device.name}: {reason}")
    if near is None:
        return graded.unknown(f"{device.name} is on node {device.node}, which has no known CPUs")
    far = proposal.run - near
    if far:
        text = f"{device.name} is on node {device.node}; {name_cpus(far)} are not (near it: {format_cpu_list(near)})"
        return graded.warns(text, cpus=far)
    return graded.passes(f"{device.name} is on node {device.node} as well")


def _judge_isolated(proposal: Proposal) -> Answer:
    case = proposal.case
    isolated = case.snapshot.isolation.isolated
    if isolated is None:
        return case.unread(f"{CPUS}/isolated")
    graded = case.graded(evidence={"isolated": sorted(isolated)})
    if proposal.reserved <= isolated:
        return graded.passes("isolated already")
    some = proposal.reserved & isolated
    if case.snapshot.isolation.doubt is not None:
        return unknown(case.snapshot.isolation.doubt)
    if not some:
        others = f"; isolated: {name_cpus(isolated)}" if isolated else ""
        return graded.not_applicable(f"not isolated so far{others}")
    return graded.warns(f"{name_cpus(proposal.reserved - isolated)}: not isolated so far")


def _nodes(nodes: Collection[int]) -> str:
    return f"node{'s' if len(nodes) != 1 else ''} {format_cpu_list(nodes)}"


_PLACES = f"{CPUS}/cpuN"
_CRITERIA: Mapping[Criterion, tuple[Callable[[Proposal], Answer], tuple[str, ...]]] = {
    Criterion.USABLE: (_judge_usable, target_cpu_unusable.reads),
    Criterion.CORES: (_judge_whole_cores, (f"{_PLACES}/topology/thread_siblings_list",)),
    Criterion.HOUSEKEEPING: (_judge_housekeeping, (f"{CPUS}/online", f"{_PLACES}/topology/thread_siblings_list")),
    Criterion.KIND: (_fastest_kind, (*target_cores_differ.reads[:-1], f"{_PLACES}/acpi_cppc/highest_perf")),
    Criterion.CACHE: (_one_cache, (f"{_PLACES}/cache/indexN/shared_cpu_list",)),
    Criterion.NODE: (_one_node, (f"{NODES}/nodeN/cpulist",)),
    Criterion.MEMORY: (_memory, (HAS_MEMORY, f"{NODES}/nodeN/meminfo", f"{NODES}/nodeN/distance")),
    Criterion.DEVICE: (_judge_near_device, ("numa_node", "local_cpulist")),
    Criterion.INTERRUPTS: (lambda proposal: judge_fixed_irqs(proposal.case, proposal.reserved), IRQ_FILES),
    Criterion.ISOLATED: (_judge_isolated, (f"{CPUS}/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")),
}


_BENCHMARK = "./benchmark"
_WIDEST_LIST = 24
_CGROUPS = "/sys/fs/cgroup"


class StartLine(Struct, frozen=True):
    """A command that prepares or starts the benchmark, and its purpose."""

    about: str
    command: str


class Plan(Struct, frozen=True):
    """The target CPUs for a benchmark, with their criteria and steps."""

    proposal: Proposal
    criteria: tuple[Judged, ...]
    steps: Steps

    @property
    def headline(self) -> str:
        """The text `CPUs 2-3 (2 cores of node 0, L3 of CPUs 0-7, performance cores)`, without unknown parts."""
        proposal = self.proposal
        words = [_cores_and_nodes(proposal), *_caches(proposal), *_kinds(proposal)]
        return f"{name_cpus(proposal.run)} ({', '.join(words)})"

    @property
    def cost(self) -> str:
        """The text `takes 4 of 16 CPUs from other work`."""
        proposal = self.proposal
        lost = len(proposal.reserved & proposal.case.online)
        return f"takes {lost} of {len(proposal.case.online)} CPUs from other work"

    @property
    def is_isolated(self) -> bool:
        """Whether the CPUs are isolated already."""
        answer = next(assessment.answer for assessment in self.criteria if assessment.criterion == Criterion.ISOLATED)
        return answer.status == Status.PASS

    @property
    def no_partition_reason(self) -> str | None:
        """Why the CPUs cannot be isolated without a reboot; None if they can, or are isolated already."""
        if self.is_isolated or self.steps.partition is not None:
            return None
        if not self.proposal.housekeeping:
            return "The CPUs cannot be isolated: no core is left for all other work."
        case = self.proposal.case
        if case.snapshot.isolation.partition is None:
            reason = case.unread_reason(_CGROUPS, "/proc/self/mounts", "/proc")
            return f"Cannot tell whether the CPUs can be isolated without a reboot: {reason}"
        needs = partition_needs(case)
        met = f" (it has {' and '.join(needs.met)})" if needs.met else ""
        missing = " and ".join(needs.missing)
        return f"The CPUs cannot be isolated without a reboot, because this machine lacks {missing}{met}."

    @property
    def partition(self) -> str | None:
        """The folder of the isolated partition in which the benchmark has to be started, or None."""
        made = self.steps.partition
        if made is not None:
            return made.folder
        partitions = self.proposal.case.snapshot.isolation.partitions.all
        fitting = (
            partition
            for partition in partitions
            if partition.invalid_reason is None and self.proposal.run <= (partition.has or set())
        )
        return next((partition.folder for partition in fitting if partition.kind == "isolated"), None)

    @property
    def membind(self) -> str:
        """The nodes to take memory from, as a list; empty with a single node, or if none is known."""
        proposal = self.proposal
        nodes = proposal.readings.nodes.with_memory or proposal.case.snapshot.settings.memory_nodes or frozenset()
        return format_cpu_list(proposal.memory_nodes) if len(nodes) > 1 else ""

    @property
    def start_lines(self) -> tuple[StartLine, ...]:
        """The commands that start the benchmark after all steps are done."""
        listed, run = cpu_list_argument(self.proposal.run), self.pinned
        lines = [StartLine("check", f"noisewatch preflight --cpus {listed}")]
        lines.append(StartLine("watched", " ".join(["noisewatch", "run", *self._run_options, "--", _BENCHMARK])))
        if self.partition is not None:
            lines.append(StartLine("enter", f"echo $$ | sudo tee {self.partition}/cgroup.procs"))
        lines.append(StartLine("run", f"{run} {_BENCHMARK}"))
        lines.append(StartLine("real-time", f"sudo chrt --fifo 1 {run} {_BENCHMARK}"))
        return tuple(lines)

    @property
    def pinned(self) -> str:
        """The prefix `taskset -c 2-3 numactl --membind=0`; taskset pins, because numactl refuses isolated CPUs."""
        listed = cpu_list_argument(self.proposal.run)
        return f"taskset -c {listed}{f' numactl --membind={self.membind}' if self.membind else ''}"

    @property
    def _run_options(self) -> list[str]:
        membind = ["--membind", self.membind] if self.membind else []
        spread = ["--spread"] if len(self.proposal.run) > 1 else []
        return ["--cpus", cpu_list_argument(self.proposal.run), *membind, *spread]

    @property
    def given_options(self) -> dict[str, str]:
        """The current kernel options that the plan's options replace, by name."""
        options = self.proposal.case.snapshot.platform.options or {}
        names = {word.partition("=")[0] for word in self.steps.kernel_arguments.split()}
        return {name: ",".join(options[name]) for name in sorted(names) if name in options}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read before any step is done."""
        return tuple(_notes(self))


def plan_of(proposal: Proposal) -> Plan:
    """Return the plan of a proposal: its criteria and steps."""
    return Plan(proposal, judge_proposal(proposal), steps_for(proposal))


def _cores_and_nodes(proposal: Proposal) -> str:
    """Return `2 cores of node 0`; CPUs are counted if it is unknown which of them share a core."""
    count, nodes = len(proposal.cores), proposal.nodes
    what = "core" if all(core.has_siblings for core in proposal.cores) else "CPU"
    where = f" of node{'s' if len(nodes) > 1 else ''} {format_cpu_list(nodes)}" if nodes else ""
    return f"{describe_count(count, what)}{where}"


def _caches(proposal: Proposal) -> list[str]:
    caches = {core.cache for core in proposal.cores}
    if None in caches:
        return []
    if len(caches) > 1:
        return [f"{len(caches)} last-level caches"]
    level = proposal.case.snapshot.topology[proposal.cores[0].first].cache_level
    below = partial(fitting_cpu_list, width=_WIDEST_LIST)
    return [f"L{level} of {name_cpus(cache, below)}" for cache in caches if cache is not None]


def _kinds(proposal: Proposal) -> list[str]:
    kinds = {core.kind for core in proposal.cores}
    return [f"{kind} cores" for kind in sorted(kind for kind in kinds if kind is not None and kind != NONE)]


def _notes(plan: Plan) -> list[str]:
    notes = []
    if len(plan.proposal.run) > 1:
        notes.append(
            "The scheduler does not spread threads over isolated CPUs, so pin each thread to its own CPU (noisewatch "
            "run --spread, taskset, OMP_PLACES)."
        )
    notes.append(
        "Use real-time priority (chrt) only if other tasks cannot be kept away: the kernel stops real-time tasks for "
        "part of each second (50 ms by default), unless kernel.sched_rt_runtime_us is -1."
    )
    return notes


_STEP_CHECKS: tuple[tuple[Check, str], ...] = (
    (target_cpu_unusable, "bring the CPUs online"),
    (irqbalance_may_move_irqs, "keep irqbalance from moving interrupts back"),
    (irq_routed_to_target, "move devices' interrupts away"),
    (default_irq_affinity_includes_target, "keep new interrupts away"),
    (packets_steered_to_target, "keep received packets away"),
    (workqueues_on_target, "keep unbound kernel work away"),
    (target_not_isolated, "isolate the CPUs"),
    (target_not_tickless, "stop the tick while one thread runs"),
    (rcu_callbacks_on_target, "move RCU callbacks away"),
)


class Step(Struct, frozen=True):
    """A check that has a fix for the planned CPUs, the purpose of the fix, and the fix."""

    check: Check
    about: str
    fix: Fix


class Steps(Struct, frozen=True):
    """The steps in order; `unknown` are the reasons why it is unknown whether a step is needed, by check."""

    all: tuple[Step, ...]
    unknown: Mapping[str, str]
    left_out: Mapping[str, str]  # the reason by check: this kernel cannot do the step, or there is no command for it

    @property
    def now(self) -> Sequence[Step]:
        """The steps that help without a reboot."""
        return [step for step in self.all if step.fix.now]

    @property
    def kernel_arguments(self) -> str:
        """The kernel arguments of all steps in one line; empty without any."""
        return merge_arguments(step.fix.kernel_arguments for step in self.all)

    @property
    def lasting(self) -> Sequence[Step]:
        """The steps that persist by other means than the kernel's command line."""
        return [step for step in self.all if any(not isinstance(part, BootOptions) for part in step.fix.lasting)]

    @property
    def partition(self) -> MakePartition | None:
        """The partition that a step makes, or None."""
        actions = (action for step in self.all for action in step.fix.actions)
        return next((action for action in actions if isinstance(action, MakePartition)), None)


def steps_for(proposal: Proposal) -> Steps:
    """Return the fixes of all checks of isolation, interrupts and kernel work for the reserved CPUs."""
    case = proposal.reserved_case
    steps: list[Step] = []
    unknown_by_id: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for check, about in _STEP_CHECKS:
        answer = contained_answer(check, case)
        fix = _fix_of(check, answer, case)
        if fix is not None:
            steps.append(Step(check, about, fix))
        if answer.status == Status.UNKNOWN:
            unknown_by_id[check.id] = answer.reason or ""
        elif fix is None and answer.status not in (Status.PASS, Status.WARN) and check != target_cpu_unusable:
            left_out[check.id] = answer.reason or answer.said
    return Steps(tuple(steps), unknown_by_id, left_out)


def _fix_of(check: Check, answer: Answer, case: Case) -> Fix | None:
    """Return the check's fix. Isolation, the plan's purpose, is included even if its state is unknown."""
    if check == target_not_isolated and answer.status == Status.UNKNOWN:
        return isolate(case)
    return answer.fix
