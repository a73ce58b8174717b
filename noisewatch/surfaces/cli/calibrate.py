"""`noisewatch calibrate`"""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure
from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.kernel.snapshot.snapshot import read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.allowed import allowed_now
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import open_machine, parse_cpus, snapshot_options
from noisewatch.operations.pinning import move_aside
from noisewatch.surfaces.cli.calibration import budget_of, calibration_wish, recorded
from noisewatch.surfaces.cli.live import LivePicture
from noisewatch.surfaces.cli.machines import machine_options, report_damage
from noisewatch.surfaces.cli.terminal import width
from noisewatch.surfaces.output import opened_output
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
    machine = open_machine(machine_options(arguments))
    against = parse_cpus("--against", arguments.against, machine) if arguments.against is not None else None
    with opened_output(arguments.output) as output, recorded(machine, arguments.record) as source:
        target, calibrated = _calibrate(source, arguments, against)
        output.write(_report(calibrated, target, against, arguments).encode("utf-8", "replace"))
    report_damage(machine)
    return 0


def _calibrate(machine: Machine, arguments: Namespace, against: CpuSet | None) -> tuple[CpuSet, Calibrated]:
    if isinstance(machine, Recording):
        machine.go_to_aside()
    asked, task_reader = snapshot_options(machine_options(arguments), machine), TaskReader()
    snapshot = read_snapshot(machine, asked, task_reader)
    remark = move_aside(snapshot)
    if remark is not None:
        print(f"noisewatch: {remark}", file=sys.stderr)
    target = snapshot.target.cpus
    shared = (against or frozenset()) & allowed_now() if machine.is_live else frozenset()
    if shared:
        print(f"noisewatch: runs itself on {name_cpus(shared)}, which it is to measure", file=sys.stderr)
    picture = LivePicture()
    cpus = target | (against or frozenset())
    wish = calibration_wish(arguments, arguments.duration)
    try:
        measured = calibrate_cpus(
            machine, snapshot, cpus, wish, picture, lambda: read_snapshot(machine, asked, task_reader, snapshot)
        )
    finally:
        picture.clear()
    if isinstance(measured, str):
        raise CannotMeasure(f"cannot calibrate: {measured}")
    calibrated = calibrated_with(measured.samples, budget_of(arguments), cpus, measured.meanwhile)
    if not calibrated.complete:
        said = "; ".join(f"CPU {cpu}: {trouble}" for cpu, trouble in list(calibrated.troubles.items())[:3])
        raise CannotMeasure(f"no CPU could be calibrated: {said or 'none was asked for'}")
    return target, calibrated


def _report(calibrated: Calibrated, target: CpuSet, against: CpuSet | None, arguments: Namespace) -> str:
    calibration = calibrated.calibration
    if arguments.format == "pyperf":
        return json.dumps(describe_for_pyperf(calibration), indent=1) + "\n"
    if arguments.format == "json":
        described = {
            "schema": SCHEMA,
            "target": sorted(target),
            "against": None if against is None else sorted(against),
            "comparison": None if against is None else describe_comparison(calibration, target, against),
            "calibration": describe_calibration(calibrated),
            "noise_floor": describe_floors(calibrated.floors),
        }
        return json.dumps(described, indent=1) + "\n"
    in_unicode = arguments.output is not None or (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    if against is not None:
        return text_of_comparison(calibration, target, against, width(), in_unicode)
    return text_of_calibration(calibrated, target, width(), in_unicode)
