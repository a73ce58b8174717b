"""`noisewatch trace`"""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.machines import open_machine, snapshot_options
from noisewatch.operations.pinning import move_aside
from noisewatch.operations.trace import follow
from noisewatch.surfaces.cli.calibration import recorded
from noisewatch.surfaces.cli.machines import machine_options, report_damage
from noisewatch.surfaces.cli.terminal import Progress, width
from noisewatch.surfaces.output import opened_output
from noisewatch.surfaces.reports.trace.json import describe_followed
from noisewatch.surfaces.reports.trace.text import text_of_followed


def run(arguments: Namespace) -> int:
    """Follows the target CPUs, and reports. Raises CannotMeasure where there are none."""
    machine = open_machine(machine_options(arguments))
    if not machine.is_live and not isinstance(machine, Recording):
        raise UsageError("a copied tree stands still: nothing can be followed in it")
    progress = Progress("following")
    with opened_output(arguments.output) as output, recorded(machine, arguments.record) as source:
        try:
            followed = follow(
                source,
                snapshot_options(machine_options(arguments), source),
                arguments.duration,
                lambda done_s: progress.show(done_s, arguments.duration),
                _stand_aside,
                arguments.tracer,
            )
        finally:
            progress.clear()
        if arguments.format == "json":
            text = json.dumps(describe_followed(followed), indent=1) + "\n"
        else:
            text = text_of_followed(followed, width())
        output.write(text.encode("utf-8", "replace"))
    report_damage(machine)
    return 0


def _stand_aside(snapshot: Snapshot) -> None:
    remark = move_aside(snapshot)
    if remark is not None:
        print(f"noisewatch: {remark}", file=sys.stderr)
