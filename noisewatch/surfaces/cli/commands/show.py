"""`noisewatch show`"""

from __future__ import annotations

import json
from argparse import Namespace

from noisewatch.operations.machines import last_snapshot, open_machine
from noisewatch.surfaces.cli.common import machine_options, report_damage
from noisewatch.surfaces.output import opened_output, width
from noisewatch.surfaces.reports.machine.json import describe_snapshot
from noisewatch.surfaces.reports.machine.text import Topic, text_of_snapshot


def run(arguments: Namespace) -> int:
    """Prints the machine as read; of a recording its last snapshot."""
    options = machine_options(arguments)
    machine = open_machine(options)
    with opened_output(arguments.output) as output:
        snapshot = last_snapshot(machine, options)
        if arguments.format == "json":
            text = json.dumps(describe_snapshot(snapshot), indent=1) + "\n"
        else:
            text = text_of_snapshot(snapshot, width(), Topic(arguments.topic), arguments.verbose)
        output.write(text.encode("utf-8", "replace"))
    report_damage(machine)
    return 0
