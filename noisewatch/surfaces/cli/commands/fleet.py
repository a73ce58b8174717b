"""`noisewatch fleet`"""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

from noisewatch.operations.fleet.gathering import FleetOptions, expected_hosts, gather
from noisewatch.surfaces.output import opened_output, takes_colour, takes_unicode, width
from noisewatch.surfaces.reports.fleet.text import FleetRendering

_RENDERERS = {  # by format: the module, and its function
    "text": ("text", "render_text"),
    "markdown": ("text", "render_markdown"),
    "json": ("json", "render"),
    "prometheus": ("prometheus", "render"),
}


def run(arguments: Namespace) -> int:
    """Print one table of many verdicts; the exit status is that of the worst host."""
    options = FleetOptions(
        places=arguments.places,
        baseline=arguments.baseline,
        expected=None if arguments.expect is None else expected_hosts(arguments.expect),
        max_age_s=arguments.max_age,
    )
    with opened_output(arguments.output) as output:
        fleet = gather(options)
        rendering = FleetRendering(
            width=width(),
            in_colour=takes_colour(arguments.output, arguments.color),
            in_unicode=takes_unicode(arguments.output),
            is_verbose=arguments.verbose,
        )
        module, render = _RENDERERS[arguments.format]
        render = getattr(import_module(f"noisewatch.surfaces.reports.fleet.{module}"), render)
        output.write(render(fleet, rendering).encode("utf-8", "replace"))
    return fleet.exit_status
