"""The command `noisewatch show`."""

from __future__ import annotations

import os
from argparse import Namespace

from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.operations.machines import last_snapshot, open_machine
from noisewatch.surfaces.cli.common import machine_options, open_report, report_damage
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.machine.text import Topic, text_of_snapshot


def run(arguments: Namespace) -> int:
    """Print the state of the machine; for a recording, the state in its last snapshot."""
    options = machine_options(arguments)
    machine = open_machine(options)
    with open_report(arguments) as report:
        snapshot = last_snapshot(machine, options, asks_inventory=arguments.format == "machine")
        match arguments.format:
            case "json":
                from noisewatch.surfaces.reports.machine.json import (
                    describe_snapshot,  # imports the library of documents
                )

                report.write_json(describe_snapshot(snapshot))
            case "machine":
                from noisewatch.surfaces.reports.machine.description import description_of  # imports the judgement

                report.write(description_of(snapshot))
            case _:
                text = text_of_snapshot(snapshot, width(), Topic(arguments.topic), arguments.verbose)
                report.write_text(text + _tuned_settings(snapshot))
    report_damage(machine)
    return 0


def _tuned_settings(snapshot: Snapshot) -> str:
    """Return the settings that tune has changed on this host, with their earlier values; empty if there are none.

    Only root can read them.
    """
    tuned = snapshot.settings.tuned
    if not snapshot.is_live or tuned is None or not tuned.sessions or os.geteuid():
        return ""
    from noisewatch.operations.tuning.tune import read_tuning  # imports the judgement
    from noisewatch.surfaces.reports.tuning.text import text_of_status

    return "\n" + text_of_status(read_tuning())
