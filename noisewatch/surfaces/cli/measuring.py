"""`tune --measure`: which of the planned changes are worth it on this host."""

from __future__ import annotations

import sys
from argparse import Namespace

from noisewatch.kinds import Work
from noisewatch.operations.machines import MachineOptions, open_machine
from noisewatch.operations.tuning.measure import TuningMeasurement, measure_on_host, measure_tuning
from noisewatch.operations.tuning.plan import TuningPlan
from noisewatch.operations.tuning.schedule import Schedule, candidates_of, plan_schedule
from noisewatch.operations.tuning.tune import new_session
from noisewatch.surfaces.cli.command_options import MEASURE_MINUTES
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.cli.tuning import print_report
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.tuning.measured import text_of_measurement

_NOT_MEASURED = 3


def schedule_of(arguments: Namespace, plan: TuningPlan) -> Schedule:
    """Return the schedule for --minutes. Raise UsageError if the time is too short for a single candidate."""
    minutes = MEASURE_MINUTES if arguments.minutes is None else arguments.minutes
    return plan_schedule(candidates_of(plan), minutes * 60, len(plan.verdict.case.target))


def measure(plan: TuningPlan, schedule: Schedule, color: str) -> int:
    """Measure, restore all settings and print the report.

    Return 3 if a change was refused or not restored, or nothing could be measured. Raise KeyboardInterrupt after the
    report if the measurement was interrupted.
    """
    case, listener = plan.verdict.case, TerminalListener()
    work = case.budget.work or Work.MIXED
    on_host = measure_on_host(open_machine(MachineOptions()), case.snapshot, work, schedule, listener)
    try:
        measurement = measure_tuning(schedule, new_session(case.target, is_until_exit=True), on_host)
    finally:
        listener.on_done()
    print_report("\n" + text_of_measurement(measurement, case.target, work, width()), color)
    if measurement.interrupt is not None:
        print("noisewatch: interrupted, so the report is partial", file=sys.stderr)
        raise measurement.interrupt
    return 0 if _is_whole(measurement) else _NOT_MEASURED


def _is_whole(measurement: TuningMeasurement) -> bool:
    is_anything_measured = any(result.effect is not None for result in measurement.results)
    has_troubles = any(result.troubles for result in measurement.results)
    return is_anything_measured and measurement.restoring.is_complete and not has_troubles
