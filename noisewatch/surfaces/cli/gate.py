"""The gate, as the monitor asks for it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.snapshot import Wish
from noisewatch.surfaces.audience import Audience
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.examination import Examination
from noisewatch.surfaces.cli.machines import open_machine
from noisewatch.surfaces.cli.rules import rules_of


def examine(arguments: Namespace, allowed: CpuSet, cpus: CpuSet, audience: Audience) -> Verdict:
    """As `noisewatch preflight` judges these CPUs, with the same file of options. Raises NoisewatchError."""
    asked = parse_arguments(["preflight"])
    asked.sysroot, asked.replay = arguments.sysroot, arguments.replay
    machine, wish = open_machine(asked), Wish(cpus, allowed, asks_jobs=True)
    examination = Examination(machine, wish, rules_of(asked), asked, audience)
    case = replace(examination.sampled(), starts_benchmark=False)
    return judge(examination.calibrated(case), strict=asked.strict)
