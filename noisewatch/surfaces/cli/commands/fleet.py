"""The command `noisewatch fleet`."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

from noisewatch.operations.fleet import FleetOptions, expected_hosts, gather
from noisewatch.surfaces.cli.common import open_report
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.fleet.text import FleetRendering

_RENDERERS = {  # module and function by format
    "text": ("text", "render_text"),
    "markdown": ("text", "render_markdown"),
    "json": ("json", "render"),
    "prometheus": ("prometheus", "render"),
}


def run(arguments: Namespace) -> int:
    """Print one table of many verdicts. Return the exit status of the worst host."""
    options = FleetOptions(
        places=arguments.places,
        baseline=arguments.baseline,
        expected=None if arguments.expect is None else expected_hosts(arguments.expect),
        max_age_s=arguments.max_age,
    )
    with open_report(arguments) as report:
        fleet = gather(options)
        rendering = FleetRendering(width(), report.in_colour, report.in_unicode, arguments.verbose)
        module, render = _RENDERERS[arguments.format]
        report.write(getattr(import_module(f"noisewatch.surfaces.reports.fleet.{module}"), render)(fleet, rendering))
    return fleet.exit_status
