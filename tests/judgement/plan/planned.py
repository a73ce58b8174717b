"""Plans for written machines."""

from __future__ import annotations

from noisewatch.judgement.answer import Answer
from noisewatch.judgement.plan.plan import Criterion, Plan
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.plan import PlanOptions, make_plan
from tests.written import Files, WrittenMachine
from tests.written.topologies import machine_of


def planned(
    files: Files | WrittenMachine | Recording,
    count: int | None = None,
    cpus: str | None = None,
    near: str | None = None,
) -> Plan:
    """Return the plan for `count` cores, or for the CPUs that the user names."""
    machine = files if isinstance(files, WrittenMachine | Recording) else machine_of(files)
    return make_plan(machine, PlanOptions(machine=MachineOptions(cpus=cpus), count=count, near=near))


def run_on(plan: Plan) -> list[int]:
    return sorted(plan.proposal.run)


def answer(plan: Plan, criterion: Criterion) -> Answer:
    """Return the plan's answer on one criterion."""
    return next(result.answer for result in plan.criteria if result.criterion == criterion)
