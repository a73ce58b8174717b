"""`noisewatch preflight`"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace

from noisewatch.errors import UsageError
from noisewatch.judgement.finding_words import summary_of_verdict
from noisewatch.judgement.terms import Outcome
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.surfaces.cli.calibration import recorded
from noisewatch.surfaces.cli.examination import Examination
from noisewatch.surfaces.cli.lock import locked
from noisewatch.surfaces.cli.machines import machine_options, report_damage
from noisewatch.surfaces.cli.rules import rules_of
from noisewatch.surfaces.cli.scripts import opened_scripts
from noisewatch.surfaces.cli.step_summary import fill_step_summary
from noisewatch.surfaces.cli.terminal import takes_colour, width
from noisewatch.surfaces.cli.waiting import verdict_in_time
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions


def run(arguments: Namespace) -> int:
    """Samples, calibrates, judges, reports; the exit status is the verdict's."""
    rules = rules_of(arguments)
    machine = open_machine(machine_options(arguments))
    if arguments.wait and not machine.is_live:
        raise UsageError("--wait: only this host can become any quieter")
    with ExitStack() as stack:
        scripts = stack.enter_context(opened_scripts(arguments))
        is_printed = any(script.is_printed for script in scripts)
        output = None if is_printed else stack.enter_context(opened_output(arguments.output))
        source = stack.enter_context(recorded(machine, arguments.record))
        lock = stack.enter_context(locked(machine, arguments.lock))
        examination = Examination(
            source, replace(snapshot_options(machine_options(arguments), source), asks_jobs=True), rules, arguments
        )
        verdict, has_run_out = verdict_in_time(examination, arguments.wait, lock)
        wanted = FORMATS[arguments.format]
        exit_status = 0 if arguments.exit_zero else wanted.exit_status(verdict, has_run_out)
        for script in scripts:
            script.write(verdict)
        if output is not None:
            in_colour = takes_colour(arguments.output)
            occasion = RenderOptions(
                exit_status=exit_status,
                at_s=time.time(),
                own_cpu_share=examination.own_cpu_share,
                width=width(),
                in_colour=in_colour,
                is_verbose=arguments.verbose,
            )
            output.write(wanted.render(verdict, occasion).encode("utf-8", "replace"))
        else:
            print(summary_of_verdict(verdict, exit_status), file=sys.stderr)
        if lock is not None and verdict.verdict != Outcome.STABLE:
            lock.give_back()
            print("noisewatch: the machine is not locked, as it is not fit", file=sys.stderr)
    if wanted.fills_step_summary:
        fill_step_summary(verdict)
    report_damage(machine)
    return exit_status
