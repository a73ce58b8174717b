"""A plan as a systemd service that runs the benchmark: it isolates the CPUs at the start and releases them at the end.

The service's cgroup is directly below the root, where an isolated partition needs no other partition; the partition
disappears with the cgroup. The kernel accepts `isolated` even for a partition that it then reports as invalid, so the
unit reads the file back before the benchmark starts.
https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html
"""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch import __version__
from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.plan.plan import Plan
from noisewatch.surfaces.reports.plan.formats import PlanRenderOptions
from noisewatch.surfaces.reports.plan.words import about, placement
from noisewatch.text import one_line, printable

_NAME = "benchmark.service"
_REST = "Interrupts and the kernel's own work are moved by the script (noisewatch plan --format script)."


def render(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the unit, whose command is a placeholder."""
    return "\n".join([*_head(plan), *_unit(plan), ""])


def _head(plan: Plan) -> Iterator[str]:
    yield f"# /etc/systemd/system/{_NAME} (noisewatch {__version__})"
    yield f"# {one_line(about(plan))}: {placement(plan)}"
    yield f"# {_REST}"


def _unit(plan: Plan) -> Iterator[str]:
    proposal = plan.proposal
    yield from ["[Unit]", f"Description=Benchmark on {name_cpus(proposal.run)}", "", "[Service]"]
    yield from ["Type=oneshot", f"CPUAffinity={cpu_list_argument(proposal.run)}"]
    if plan.membind:
        yield from ["NUMAPolicy=bind", f"NUMAMask={plan.membind}"]
    partition = plan.steps.partition
    if partition is not None:
        file = f"{partition.folder.rpartition('/')[0]}/{_NAME}/cpuset.cpus.partition"
        yield "# All threads of its cores, which nothing else may use while it runs: an isolated partition."
        yield from ["Slice=-.slice", f"AllowedCPUs={cpu_list_argument(proposal.taken)}"]
        read_back = f"grep -qx isolated {file} || {{ cat {file} >&2; exit 1; }}"
        yield f"ExecStartPre=+/bin/sh -c 'echo isolated >{file}; {read_back}'"
    elif plan.partition is not None:
        yield f"# They are in the partition {printable(plan.partition)}, where no unit can run: take that back first."
    if plan.why_no_partition is not None:
        yield f"# {one_line(plan.why_no_partition)}"
        yield "# This unit runs on them, and keeps nothing else off them."
    yield from ["# Put your benchmark here, with its whole path.", "ExecStart=/bin/true"]
