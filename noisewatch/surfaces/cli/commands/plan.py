"""The command `noisewatch plan [COUNT | --cpus LIST]`."""

from __future__ import annotations

import sys
from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.operations.machines import open_machine
from noisewatch.operations.plan import PlanOptions, make_plan
from noisewatch.surfaces.cli.common import machine_options, open_report, report_damage
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.plan.report import PlanRenderOptions, plan_remarks, render_plan


def run(arguments: Namespace) -> int:
    """Print the plan; none of its commands is run."""
    if arguments.undo and arguments.format != "script":
        raise UsageError("--undo: only with --format script")
    options = PlanOptions(machine=machine_options(arguments), count=arguments.count, near=arguments.near)
    machine = open_machine(options.machine)
    with open_report(arguments) as report:
        plan = make_plan(machine, options)
        render_options = PlanRenderOptions(width(), report.in_colour, report.in_unicode, arguments.undo)
        write = report.write_text if arguments.format == "text" else report.write
        write(render_plan(plan, arguments.format, render_options))
    for remark in plan_remarks(plan, arguments.format):
        print(f"noisewatch: {remark}", file=sys.stderr)
    report_damage(machine)
    return 0
