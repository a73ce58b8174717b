"""`noisewatch show`"""

from __future__ import annotations

import json
from argparse import Namespace

from noisewatch.kernel.snapshot.snapshot import read_snapshot
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.surfaces.cli.machines import machine_options, report_damage
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.machine.json import describe_snapshot
from noisewatch.surfaces.reports.machine.text import text_of_snapshot


def run(arguments: Namespace) -> int:
    """Prints the machine as read; of a recording its last moment."""
    machine = open_machine(machine_options(arguments))
    with opened_output(arguments.output) as output:
        wish = snapshot_options(machine_options(arguments), machine)
        if isinstance(machine, Recording):
            machine.go_to_end()
        snapshot = read_snapshot(machine, wish)
        if arguments.format == "json":
            text = json.dumps(describe_snapshot(snapshot), indent=1) + "\n"
        else:
            text = text_of_snapshot(snapshot)
        output.write(text.encode("utf-8", "replace"))
    report_damage(machine)
    return 0
