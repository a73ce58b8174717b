"""`noisewatch calibrate`"""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from noisewatch.errors import CannotMeasure
from noisewatch.operations.calibrate import CalibratedTarget, CalibrateOptions, calibrate
from noisewatch.operations.machines import open_machine
from noisewatch.surfaces.cli.common import (
    budget_of,
    calibration_options,
    machine_options,
    recorded_to,
    report_damage,
)
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.output import opened_output, width
from noisewatch.surfaces.reports.calibration.json import (
    describe_calibration,
    describe_comparison,
    describe_floors,
    describe_for_pyperf,
)
from noisewatch.surfaces.reports.calibration.text import text_of_calibration, text_of_comparison
from noisewatch.surfaces.reports.machine.json import SCHEMA


def run(arguments: Namespace) -> int:
    """Calibrates and reports. Raises CannotMeasure where not one CPU could be calibrated."""
    options = CalibrateOptions(
        machine=machine_options(arguments),
        against=arguments.against,
        calibration=calibration_options(arguments, arguments.duration),
        budget=budget_of(arguments),
    )
    machine = open_machine(options.machine)
    with opened_output(arguments.output) as output, recorded_to(arguments.record, machine) as source:
        try:
            result = calibrate(source, options, TerminalListener())
        except CannotMeasure as error:
            raise CannotMeasure(f"cannot calibrate: {error}") from error
        output.write(_report(result, arguments).encode("utf-8", "replace"))
    report_damage(machine)
    return 0


def _report(result: CalibratedTarget, arguments: Namespace) -> str:
    target, against, calibration = result.target, result.against, result.calibrated.calibration
    if arguments.format == "pyperf":
        return json.dumps(describe_for_pyperf(calibration), indent=1) + "\n"
    if arguments.format == "json":
        described = {
            "schema": SCHEMA,
            "target": sorted(target),
            "against": None if against is None else sorted(against),
            "comparison": None if against is None else describe_comparison(calibration, target, against),
            "calibration": describe_calibration(result.calibrated),
            "noise_floor": describe_floors(result.calibrated.floors),
        }
        return json.dumps(described, indent=1) + "\n"
    in_unicode = arguments.output is not None or (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    if against is not None:
        return text_of_comparison(calibration, target, against, width(), in_unicode)
    return text_of_calibration(result.calibrated, target, width(), in_unicode)
