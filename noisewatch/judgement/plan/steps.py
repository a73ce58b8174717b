"""The steps of a plan: fixes of preflight's checks that keep other work off the CPUs, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from noisewatch.faults import contained
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Check, unknown
from noisewatch.judgement.checks.cpus.isolation import isolate, target_not_isolated
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
from noisewatch.judgement.fixes.fix import Fix, merged_arguments
from noisewatch.judgement.fixes.lasting import BootOptions
from noisewatch.judgement.plan.proposal import Proposal
from noisewatch.judgement.terms import Status
from noisewatch.records import dataclass

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


@dataclass(frozen=True, slots=True)
class Step:
    """A check that fails for these CPUs, the purpose of its fix, and the fix."""

    check: Check
    about: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps in order; `unknown` are the reasons why it is unknown whether a step is needed, by check."""

    all: tuple[Step, ...]
    unknown: Mapping[str, str]
    left_out: Mapping[str, str]  # what this kernel cannot do, or has no command, by check

    @property
    def now(self) -> Sequence[Step]:
        """The steps that help without a reboot."""
        return [each for each in self.all if each.fix.now]

    @property
    def kernel_arguments(self) -> str:
        """The kernel arguments of all steps in one line; empty without any."""
        return merged_arguments(each.fix.kernel_arguments for each in self.all)

    @property
    def lasting(self) -> Sequence[Step]:
        """The steps that persist by other means than the kernel's command line."""
        return [each for each in self.all if any(not isinstance(one, BootOptions) for one in each.fix.lasting)]

    @property
    def partition(self) -> MakePartition | None:
        """The partition that a step makes, or None."""
        actions = (action for each in self.all for action in each.fix.actions)
        return next((action for action in actions if isinstance(action, MakePartition)), None)


def steps_for(proposal: Proposal) -> Steps:
    """Return the fixes of all checks of isolation, interrupts and kernel work for the taken CPUs."""
    case = proposal.of_taken
    steps: list[Step] = []
    unknown_by_id: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for check, about in _ASKED:
        answer = _answer(check, case)
        fix = _fix_of(check, answer, case)
        if fix is not None:
            steps.append(Step(check, about, fix))
        if answer.status == Status.UNKNOWN:
            unknown_by_id[check.id] = answer.reason or ""
        elif fix is None and answer.status not in (Status.PASS, Status.WARN) and check != target_cpu_unusable:
            left_out[check.id] = answer.reason or answer.said
    return Steps(tuple(steps), unknown_by_id, left_out)


def _answer(check: Check, case: Case) -> Answer:
    return contained(lambda: check.answer(case), partial(_failed, check))


def _failed(check: Check, reason: str) -> Answer:
    return unknown(f"{check.id}: {reason}")


def _fix_of(check: Check, answer: Answer, case: Case) -> Fix | None:
    """Return the check's fix. The plan's purpose is isolation, so that it is included even if its state is unknown."""
    if check == target_not_isolated and answer.status == Status.UNKNOWN:
        return isolate(case)
    return answer.fix
