"""`noisewatch show`"""

from __future__ import annotations

from argparse import Namespace

from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.operations.machines import last_snapshot, open_machine
from noisewatch.surfaces.cli.common import machine_options, report_damage
from noisewatch.surfaces.output import encoded, opened_output, width
from noisewatch.surfaces.reports.machine.text import Topic, text_of_snapshot

_JSON, _DESCRIPTION = "json", "machine"


def run(arguments: Namespace) -> int:
    """Print the machine's state; for a recording that of its last snapshot."""
    options = machine_options(arguments)
    machine = open_machine(options)
    with opened_output(arguments.output) as output:
        snapshot = last_snapshot(machine, options, asks_inventory=arguments.format == _DESCRIPTION)
        output.write(_report(snapshot, arguments))
    report_damage(machine)
    return 0


def _report(snapshot: Snapshot, arguments: Namespace) -> bytes:
    if arguments.format == _JSON:
        from noisewatch.documents.document import written  # imports the library of all documents
        from noisewatch.surfaces.reports.machine.json import describe_snapshot

        return written(describe_snapshot(snapshot), indent=1).encode()
    if arguments.format == _DESCRIPTION:
        from noisewatch.surfaces.reports.machine.description import description_of  # imports the judgement

        return description_of(snapshot).encode("utf-8", "replace")
    text = text_of_snapshot(snapshot, width(), Topic(arguments.topic), arguments.verbose)
    return encoded(text, arguments.output)
