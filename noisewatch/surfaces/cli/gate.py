"""The gate, as the monitor asks for it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import CannotMeasure
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.operations.progress import ProgressListener
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.examination import Examination
from noisewatch.surfaces.cli.machines import machine_options
from noisewatch.surfaces.cli.rules import rules_of


def examine(arguments: Namespace, allowed: CpuSet, cpus: CpuSet, audience: ProgressListener) -> Verdict:
    """As `noisewatch preflight` judges the monitor's target, with the same file of options. Raises NoisewatchError.

    The target is chosen anew, so that why these CPUs, and any doubt about them, is told; another target than `cpus`,
    which were announced, is not measured.
    """
    asked = parse_arguments(["preflight"])
    asked.sysroot, asked.replay = arguments.sysroot, arguments.replay
    machine = open_machine(machine_options(asked))
    wish = replace(snapshot_options(machine_options(arguments), machine, allowed), asks_jobs=True)
    examination = Examination(machine=machine, wish=wish, rules=rules_of(asked), arguments=asked, audience=audience)
    case = replace(examination.sampled(), starts_benchmark=False)
    if case.target != cpus:
        now = format_cpu_list(case.target) or "none"
        raise CannotMeasure(f"the target CPUs are {now} now, no longer {format_cpu_list(cpus)}")
    return judge(examination.calibrated(case), strict=asked.strict)
