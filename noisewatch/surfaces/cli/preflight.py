"""`noisewatch preflight`"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import ExitStack

from noisewatch.errors import UsageError
from noisewatch.judgement.verdict import STABLE, Verdict
from noisewatch.surfaces.cli.calibration import recorded
from noisewatch.surfaces.cli.examination import Examination
from noisewatch.surfaces.cli.lock import locked
from noisewatch.surfaces.cli.machines import open_machine, report_damage, wish_of
from noisewatch.surfaces.cli.rules import rules_of
from noisewatch.surfaces.cli.scripts import opened_scripts
from noisewatch.surfaces.cli.terminal import takes_colour, width
from noisewatch.surfaces.cli.waiting import RAN_OUT, verdict_in_time
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.verdict_json import describe_verdict
from noisewatch.surfaces.reports.verdict_text import summary_of_verdict, text_of_verdict


def run(arguments: Namespace) -> int:
    """Samples, calibrates, judges, reports; the exit status is the verdict's."""
    rules = rules_of(arguments)
    machine = open_machine(arguments)
    if arguments.wait and not machine.is_live:
        raise UsageError("--wait: only this host can become any quieter")
    with ExitStack() as stack:
        scripts = stack.enter_context(opened_scripts(arguments))
        is_printed = any(script.is_printed for script in scripts)
        output = None if is_printed else stack.enter_context(opened_output(arguments.output))
        source = stack.enter_context(recorded(machine, arguments.record))
        lock = stack.enter_context(locked(machine, arguments.lock))
        examination = Examination(source, wish_of(arguments, source), rules, arguments)
        verdict, has_run_out = verdict_in_time(examination, arguments.wait, lock)
        exit_status = 0 if arguments.exit_zero else RAN_OUT if has_run_out else verdict.exit_status
        for script in scripts:
            script.write(verdict)
        if output is not None:
            report = _report(verdict, examination.own_cpu_share, exit_status, arguments)
            output.write(report.encode("utf-8", "replace"))
        else:
            print(summary_of_verdict(verdict, exit_status), file=sys.stderr)
        if lock is not None and verdict.verdict != STABLE:
            lock.give_back()
    report_damage(machine)
    return exit_status


def _report(verdict: Verdict, own_cpu_share: float | None, exit_status: int, arguments: Namespace) -> str:
    if arguments.format == "json":
        return json.dumps(describe_verdict(verdict, own_cpu_share, exit_status), indent=1) + "\n"
    return text_of_verdict(verdict, exit_status, width(), takes_colour(arguments.output))
