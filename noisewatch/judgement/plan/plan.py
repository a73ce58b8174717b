"""A plan: the target CPUs, the criteria for and against them, the steps, and the commands that start the benchmark.

The steps are fixes of preflight's checks that keep other work off the CPUs, and what is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from noisewatch.cpus import cpu_list_argument, fitting_cpu_list, format_cpu_list, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Check, contained_answer
from noisewatch.judgement.checks.cpus.isolation import isolate, partition_needs, target_not_isolated
from noisewatch.judgement.checks.cpus.scheduler import (
    rcu_callbacks_on_target,
    target_not_tickless,
    workqueues_on_target,
)
from noisewatch.judgement.checks.cpus.target import target_cpu_unusable
from noisewatch.judgement.checks.interrupts.devices import irq_routed_to_target
from noisewatch.judgement.checks.interrupts.routing import (
    default_irq_affinity_includes_target,
    irqbalance_may_move_irqs,
    packets_steered_to_target,
)
from noisewatch.judgement.fixes.actions import MakePartition
from noisewatch.judgement.fixes.fix import BootOptions, Fix, merged_arguments
from noisewatch.judgement.plan.criteria import Criterion, Judged, judge_proposal
from noisewatch.judgement.plan.proposal import Proposal
from noisewatch.judgement.terms import Status
from noisewatch.kernel.system.platform import NONE
from noisewatch.units import describe_count

_BENCHMARK = "./benchmark"
_WIDEST_LIST = 24
_CGROUPS = "/sys/fs/cgroup"


class StartLine(Struct, frozen=True):
    """A command that starts the benchmark, or belongs to it, and its purpose."""

    about: str
    command: str


class Plan(Struct, frozen=True):
    """The target CPUs for a benchmark, with their criteria and steps."""

    proposal: Proposal
    criteria: tuple[Judged, ...]
    steps: Steps

    @property
    def headline(self) -> str:
        """The text `CPUs 2-3 (2 cores of node 0, L3 of CPUs 0-7, performance cores)`, without what is unknown."""
        proposal = self.proposal
        words = [_cores_and_nodes(proposal), *_caches(proposal), *_kinds(proposal)]
        return f"{name_cpus(proposal.run)} ({', '.join(words)})"

    @property
    def cost(self) -> str:
        """The text `takes 4 of 16 CPUs from everybody else`."""
        proposal = self.proposal
        lost = len(proposal.taken & proposal.case.online)
        return f"takes {lost} of {len(proposal.case.online)} CPUs from everybody else"

    @property
    def is_isolated(self) -> bool:
        """Whether the CPUs are isolated already."""
        answer = next(assessment.answer for assessment in self.criteria if assessment.criterion == Criterion.ISOLATED)
        return answer.status == Status.PASS

    @property
    def why_no_partition(self) -> str | None:
        """Why the CPUs cannot be isolated without a reboot; None if they can, or are isolated already."""
        if self.is_isolated or self.steps.partition is not None:
            return None
        if not self.proposal.housekeeping:
            return "The CPUs cannot be isolated: no core is left for all other work."
        case = self.proposal.case
        if case.snapshot.isolation.partition is None:
            why = case.why_unknown(_CGROUPS, "/proc/self/mounts", "/proc")
            return f"Whether the CPUs can be isolated without a reboot is not known: {why}"
        needs = partition_needs(case)
        had = f" (it has {' and '.join(needs.had)})" if needs.had else ""
        return (
            "The CPUs cannot be isolated without a reboot: for that this machine lacks "
            f"{' and '.join(needs.missing)}{had}."
        )

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
        """The nodes to take memory from, as a list; empty if there is one node, or none is known."""
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
        """The prefix `taskset -c 2-3 numactl --membind=0`: numactl itself refuses isolated CPUs."""
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
            "The scheduler does not spread threads over isolated CPUs: pin each to one of its own (noisewatch run "
            "--spread, taskset, OMP_PLACES)."
        )
    notes.append(
        "Real-time (chrt) only where other tasks cannot be kept away: the kernel stops such tasks for 50 ms in each "
        "second, unless kernel.sched_rt_runtime_us is -1."
    )
    return notes


_ASKED: tuple[tuple[Check, str], ...] = (
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
    """A check that fails for these CPUs, the purpose of its fix, and the fix."""

    check: Check
    about: str
    fix: Fix


class Steps(Struct, frozen=True):
    """The steps in order; `unknown` are the reasons why it is unknown whether a step is needed, by check."""

    all: tuple[Step, ...]
    unknown: Mapping[str, str]
    left_out: Mapping[str, str]  # what this kernel cannot do, or has no command, by check

    @property
    def now(self) -> Sequence[Step]:
        """The steps that help without a reboot."""
        return [step for step in self.all if step.fix.now]

    @property
    def kernel_arguments(self) -> str:
        """The kernel arguments of all steps in one line; empty without any."""
        return merged_arguments(step.fix.kernel_arguments for step in self.all)

    @property
    def lasting(self) -> Sequence[Step]:
        """The steps that persist by other means than the kernel's command line."""
        return [step for step in self.all if any(not isinstance(one, BootOptions) for one in step.fix.lasting)]

    @property
    def partition(self) -> MakePartition | None:
        """The partition that a step makes, or None."""
        actions = (action for step in self.all for action in step.fix.actions)
        return next((action for action in actions if isinstance(action, MakePartition)), None)


def steps_for(proposal: Proposal) -> Steps:
    """Return the fixes of all checks of isolation, interrupts and kernel work for the taken CPUs."""
    case = proposal.of_taken
    steps: list[Step] = []
    unknown_by_id: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for check, about in _ASKED:
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
    """Return the check's fix. The plan's purpose is isolation, so that it is included even if its state is unknown."""
    if check == target_not_isolated and answer.status == Status.UNKNOWN:
        return isolate(case)
    return answer.fix
