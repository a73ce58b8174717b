"""`noisewatch run`"""

from __future__ import annotations

from argparse import Namespace

from noisewatch.errors import UsageError
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.machine.command.ending import end_as
from noisewatch.operations.machines import open_machine
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, run_series
from noisewatch.surfaces.cli.common import machine_options
from noisewatch.surfaces.cli.run_options import CALIBRATION_S
from noisewatch.surfaces.cli.run_progress import OneRun, RunProgress
from noisewatch.surfaces.output import opened_output, width
from noisewatch.surfaces.reports.run.text import text_of_series

DISTURBED, UNKNOWN = 5, 3


def run(arguments: Namespace) -> int:
    """Runs the command, reports, and ends as it did; with --gate as the verdict says."""
    argv = tuple(arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv)
    if not argv:
        raise UsageError("run: no command (noisewatch run -- COMMAND)")
    is_series = arguments.runs > 1 or arguments.against is not None or arguments.aa
    options = RunOptions(
        argv=argv,
        machine=machine_options(arguments),
        runs=arguments.runs,
        against=arguments.against,
        is_aa=arguments.aa,
        most_retries=arguments.retry,
        shows_output=arguments.show_output or not is_series,
        calibration_s=_calibration_s(arguments, is_series),
        stops_at_failure=not arguments.ignore_failure,
    )
    machine = open_machine(options.machine)
    if not is_series:
        series = run_series(machine, options, OneRun())
        return _gate(series) if arguments.gate else end_as(series.end)
    with opened_output(arguments.output) as output:
        series = run_series(machine, options, RunProgress(options.runs * len(options.commands)))
        output.write(text_of_series(series, width()).encode("utf-8", "replace"))
    return _gate(series) if arguments.gate else 0


def _calibration_s(arguments: Namespace, is_series: bool) -> float:
    """As wanted; by default of a series alone, as a single run is to be as if noisewatch were not there."""
    if arguments.calibration is not None:
        return float(arguments.calibration)
    return CALIBRATION_S if is_series else 0.0


def _gate(series: RunSeries) -> int:
    outcomes = {each.verdict.outcome for each in series.repetitions}
    if RunOutcome.DISTURBED in outcomes:
        return DISTURBED
    return UNKNOWN if RunOutcome.UNKNOWN in outcomes else 0
