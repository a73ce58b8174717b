"""`noisewatch preflight`"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.finding_words import summary_of_verdict
from noisewatch.operations.lock import locked
from noisewatch.operations.machines import MachineOptions, open_machine
from noisewatch.operations.preflight import PreflightOptions, preflight
from noisewatch.surfaces.cli.arguments import parse_arguments
from noisewatch.surfaces.cli.common import (
    budget_of,
    calibration_options,
    machine_options,
    recorded_to,
    report_damage,
)
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.cli.rules import rules_of
from noisewatch.surfaces.cli.scripts import opened_scripts
from noisewatch.surfaces.cli.step_summary import fill_step_summary
from noisewatch.surfaces.cli.terminal import takes_colour, width
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions


def run(arguments: Namespace) -> int:
    """Samples, calibrates, judges, reports; the exit status is the verdict's."""
    options, listener = preflight_options(arguments), TerminalListener()
    machine = open_machine(options.machine)
    with ExitStack() as stack:
        scripts = stack.enter_context(opened_scripts(arguments))
        is_printed = any(script.is_printed for script in scripts)
        output = None if is_printed else stack.enter_context(opened_output(arguments.output))
        source = stack.enter_context(recorded_to(arguments.record, machine))
        lock = stack.enter_context(locked(machine, arguments.lock, listener))
        result = preflight(source, options, listener, lock)
        verdict, wanted = result.verdict, FORMATS[arguments.format]
        exit_status = 0 if arguments.exit_zero else wanted.exit_status(verdict, result.has_run_out)
        for script in scripts:
            script.write(verdict)
        if output is not None:
            render_options = RenderOptions(
                exit_status=exit_status,
                at_s=time.time(),
                own_cpu_share=result.own_cpu_share,
                width=width(),
                in_colour=takes_colour(arguments.output),
                is_verbose=arguments.verbose,
            )
            output.write(wanted.render(verdict, render_options).encode("utf-8", "replace"))
        else:
            print(summary_of_verdict(verdict, exit_status), file=sys.stderr)
        if lock is not None:
            lock.keep_if_stable(verdict, listener)
    if wanted.fills_step_summary:
        fill_step_summary(verdict)
    report_damage(machine)
    return exit_status


def preflight_options(arguments: Namespace) -> PreflightOptions:
    """What the command line, and the file of options, say. Raises UsageError where they name what there is not."""
    return PreflightOptions(
        machine=machine_options(arguments),
        sample_s=arguments.sample,
        calibration=calibration_options(arguments, arguments.calibration),
        budget=budget_of(arguments),
        rules=rules_of(arguments),
        is_strict=arguments.strict,
        wait_s=arguments.wait,
    )


def monitor_options(machine: MachineOptions, allowed: CpuSet) -> PreflightOptions:
    """Those of a preflight in the monitor: its own machine and CPUs, judged with the same file of options.

    The file is read anew each time, as another command would. Raises UsageError.
    """
    options = preflight_options(parse_arguments(["preflight"]))
    return replace(options, machine=machine, allowed=allowed, starts_benchmark=False)
