"""`noisewatch run`"""

from __future__ import annotations

import signal
import sys
from argparse import Namespace
from collections import Counter

from noisewatch.errors import NoisewatchError, UsageError
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.machine import Machine
from noisewatch.machine.command.ending import end_as
from noisewatch.operations.machines import open_machine
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.series import RunSeries, run_series
from noisewatch.surfaces.cli.common import machine_options, recorded_to
from noisewatch.surfaces.cli.run_options import CALIBRATION_S
from noisewatch.surfaces.cli.run_progress import OneRun, RunProgress
from noisewatch.surfaces.cli.run_results import check_results, tell_results
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.run.report import ReportWish, opened_report

DISTURBED, UNKNOWN = 5, 3
_BY_SIGNAL = 128
_NOT_WRITTEN = 2


def run(arguments: Namespace) -> int:
    """Runs the command, reports, and ends as it did; with --gate as the verdict says."""
    argv = tuple(arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv)
    if not argv:
        raise UsageError("run: no command (noisewatch run -- COMMAND)")
    check_results(arguments)
    is_series = arguments.runs > 1 or arguments.against is not None or arguments.aa
    options = RunOptions(
        argv=argv,
        machine=machine_options(arguments),
        runs=arguments.runs,
        against=arguments.against,
        is_aa=arguments.aa,
        wait_s=arguments.wait,
        membind=arguments.membind,
        spreads=arguments.spread,
        is_as_user=arguments.as_user,
        most_retries=arguments.retry,
        min_undisturbed=arguments.min_undisturbed,
        shows_output=arguments.show_output or not is_series,
        calibration_s=_calibration_s(arguments, is_series),
        stops_at_failure=not arguments.ignore_failure,
        looks_often=arguments.results is not None,
    )
    machine = open_machine(options.machine)
    wish = ReportWish(arguments.format, arguments.output, not is_series, arguments.identify)
    if not is_series:
        series = _run_once(machine, options, wish, arguments.record)
        is_told = tell_results(arguments, series)
        if is_told or series.end.exit_status != 0:
            return _gate(series) if arguments.gate else end_as(series.end)
        return _NOT_WRITTEN
    shown = RunProgress(options.runs * len(options.commands))
    with recorded_to(arguments.record, machine) as recorder, opened_report(wish, shown) as report:
        series = run_series(machine, options, report.listener, recorder)
        report.tell(series, width())
    is_told = tell_results(arguments, series)
    if series.has_ended_early:
        return _ended_early(series)
    status = _gate(series) if arguments.gate else 0
    return status or (_NOT_WRITTEN if report.is_incomplete or not is_told else 0)


def _run_once(machine: Machine, options: RunOptions, wish: ReportWish, record: str | None) -> RunSeries:
    """What cannot be reported is said, and changes nothing in how it ends."""
    series = None
    try:
        with recorded_to(record, machine) as recorder, opened_report(wish, OneRun()) as report:
            series = run_series(machine, options, report.listener, recorder)
            report.tell(series, width())
    except (NoisewatchError, BrokenPipeError) as error:
        if series is None:
            raise
        print(f"noisewatch: {error}", file=sys.stderr)
    return series


def _ended_early(series: RunSeries) -> int:
    """Says why; as the command ended, or as a shell reports the signal."""
    if series.failed is None:
        number = series.ended_by or signal.SIGINT
        print(f"noisewatch: interrupted by {signal.Signals(number).name}: what was measured is above", file=sys.stderr)
        return _BY_SIGNAL + number
    status = series.end.exit_status
    how = f"with status {status}" if status is not None else f"by signal {series.end.signal_number}"
    hints = "--show-output shows what it says, --ignore-failure goes on"
    print(f"noisewatch: run {series.failed} ended {how}: {hints}", file=sys.stderr)
    return status if status is not None else _BY_SIGNAL + (series.end.signal_number or 0)


def _calibration_s(arguments: Namespace, is_series: bool) -> float:
    """As wanted; by default of a series alone, as a single run is to be as if noisewatch were not there."""
    if arguments.calibration is not None:
        return float(arguments.calibration)
    return CALIBRATION_S if is_series else 0.0


def _gate(series: RunSeries) -> int:
    """0 where as many repetitions as were wanted, of each command, were undisturbed."""
    outcomes = Counter((each.repetition.command, each.verdict.outcome) for each in series.repetitions)
    commands = range(len(series.options.commands))
    if all(outcomes[command, RunOutcome.UNDISTURBED] >= series.options.runs for command in commands):
        return 0
    is_disturbed = any(outcomes[command, RunOutcome.DISTURBED] for command in commands)
    return DISTURBED if is_disturbed or series.has_ended_early else UNKNOWN
