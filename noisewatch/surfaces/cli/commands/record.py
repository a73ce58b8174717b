"""The command `noisewatch record FILE`."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace

from noisewatch.errors import UsageError, system_reason
from noisewatch.operations.machines import open_machine, require_free
from noisewatch.operations.record import RecordOptions, record
from noisewatch.surfaces.cli.common import machine_options
from noisewatch.surfaces.cli.live import listener_of
from noisewatch.units import describe_count


def run(arguments: Namespace) -> int:
    """Record the machine, and print a summary.

    Frames are written to the final file from the start, so they survive if noisewatch is killed.
    """
    options = RecordOptions(
        machine=machine_options(arguments),
        interval_s=arguments.interval,
        duration_s=arguments.duration,
        calibration_s=arguments.calibration,
        identifies=arguments.identify,
    )
    machine = open_machine(options.machine)
    if not machine.is_live:
        raise UsageError("only this host can be recorded")  # before the file is emptied
    require_free(arguments.file)
    try:
        with open(arguments.file, "wb") as output:
            recording = record(machine, output, options, listener_of(arguments))
            if not arguments.quiet:
                count = describe_count(recording.snapshot_count, "snapshot")
                size = f"{count} in {_rounded(recording.seconds)} s, {_rounded(output.tell() / 1e3)} kB"
                interrupted = "" if recording.is_whole else "interrupted: "
                replay = f"noisewatch --replay {shlex.quote(arguments.file)}"
                print(f"{arguments.file}: {interrupted}{size}; {replay}", file=sys.stderr)
    except OSError as error:
        raise UsageError(f"{arguments.file}: {system_reason(error)}") from error
    return 0


def _rounded(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
