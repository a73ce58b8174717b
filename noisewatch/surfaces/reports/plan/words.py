"""The words that several formats of a plan share."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.judgement.finding_words import describe_host
from noisewatch.judgement.plan.plan import Plan
from noisewatch.text import one_line

NOT_HERE = "Run these on the machine that was read, not here."


def about(plan: Plan) -> str:
    """Return the machine and the CPUs in one line."""
    return f"{describe_host(plan.proposal.case.snapshot)}; {plan.headline}"


def placement(plan: Plan) -> str:
    """Return `run on 2-3, leave 10-11 idle`."""
    proposal = plan.proposal
    idle = f", leave {format_cpu_list(proposal.idle)} idle" if proposal.idle else ""
    return f"run on {cpu_list_argument(proposal.run)}{idle}"


def boot_notes(plan: Plan) -> Iterator[str]:
    """Yield notes on the kernel options."""
    arguments = plan.steps.kernel_arguments
    yield from replaced_options(plan)
    if "nohz_full=" in arguments:
        yield (
            "nohz_full stops the tick only while one thread can run on a CPU, and makes its calls into the kernel "
            "slower."
        )
    if "isolcpus=" in arguments and plan.steps.partition is not None:
        yield (
            "Prefer the partition: it needs no reboot, and can be taken back. isolcpus is deprecated, but it alone "
            "keeps interrupts away that the kernel manages (managed_irq)."
        )


def replaced_options(plan: Plan) -> Iterator[str]:
    """Yield what to change in the options, or on the command line, before they are added to it."""
    halves = frozenset().union(*(core.cpus for core in plan.proposal.cores if not core.has_siblings))
    if plan.steps.kernel_arguments and halves:
        yield f"Which CPUs share a core with {name_cpus(halves)} is not known: add any that do to these options."
    if plan.steps.kernel_arguments and plan.proposal.case.snapshot.platform.options is None:
        yield "Whether the command line has any of these options now is not known."
    for name, value in plan.given_options.items():
        yield one_line(f"The command line has {name}={value} now: replace that.")


def left_out(plan: Plan) -> Iterator[str]:
    """Yield the steps that this kernel does not support, or that have no command, by the id of their check."""
    for check, why in plan.steps.left_out.items():
        yield one_line(f"{check}: {why}")


def unknown_checks(plan: Plan) -> Iterator[str]:
    """Yield the checks that could not determine whether there is anything to do, with the reasons."""
    for check, reason in plan.steps.unknown.items():
        yield f"{check}: {reason}"
