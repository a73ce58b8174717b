"""The command `noisewatch trace`."""

from __future__ import annotations

from argparse import Namespace

from noisewatch.operations.machines import open_machine
from noisewatch.operations.trace import TraceOptions, follow
from noisewatch.surfaces.cli.common import machine_options, open_report, recording_to, report_damage, report_interrupt
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.trace.text import text_of_followed


def run(arguments: Namespace) -> int:
    """Trace the target CPUs for --duration or until Ctrl-C, and report. Raise CannotMeasure without target CPUs."""
    options = TraceOptions(machine=machine_options(arguments), seconds=arguments.duration, tracer=arguments.tracer)
    machine = open_machine(options.machine)
    with open_report(arguments) as report, recording_to(arguments, machine) as source:
        followed = follow(source, options, listener_of(arguments))
        if arguments.format == "json":
            from noisewatch.surfaces.reports.trace.json import describe_followed  # imports the library of documents

            report.write_json(describe_followed(followed))
        else:
            report.write_text(text_of_followed(followed, width(), report.in_colour))
    report_damage(machine)
    return report_interrupt(followed.ended_by) if followed.ended_by is not None else 0
