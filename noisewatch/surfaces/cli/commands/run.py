"""`noisewatch run`"""

from __future__ import annotations

import resource
import signal
import sys
from argparse import Namespace

from noisewatch.errors import CannotStart, NoisewatchError, NothingUndisturbed, UsageError
from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.kinds import Tracer
from noisewatch.machine import Machine
from noisewatch.machine.command.ending import end_as
from noisewatch.operations.machines import open_machine
from noisewatch.operations.run.conclusion import gate_of_run
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.results import MarkedResults
from noisewatch.operations.run.series import RunSeries, run_series
from noisewatch.records import dataclass
from noisewatch.surfaces.cli.common import machine_options, recorded_to
from noisewatch.surfaces.cli.options.run import CALIBRATION_S, default_runs
from noisewatch.surfaces.cli.options.shared import FAIL, PASS
from noisewatch.surfaces.cli.run_progress import OneRun, RunProgress
from noisewatch.surfaces.cli.run_results import check_results, read_results, tell_results
from noisewatch.surfaces.output import width
from noisewatch.surfaces.reports.run.report import ReportWish, opened_report

DISTURBED, UNKNOWN = 5, 3
_GATE = {RunOutcome.UNDISTURBED: 0, RunOutcome.DISTURBED: DISTURBED, RunOutcome.UNKNOWN: UNKNOWN}
_ON_UNKNOWN = {None: UNKNOWN, FAIL: DISTURBED, PASS: 0}
_BY_SIGNAL = 128
_FEWEST_OPEN_FILES = 32  # with fewer, parts of the machine cannot be read


def run(arguments: Namespace) -> int:
    """Run the command, report, and exit like the command; with --gate exit as the verdict says.

    A failed command's status has precedence, then the verdict's, then that of an incomplete report.
    """
    argv = tuple(arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv)
    if not argv:
        raise UsageError("no command (noisewatch run -- COMMAND)")
    if arguments.on_unknown is not None and not arguments.gate:
        raise UsageError("--on-unknown: only with --gate")
    _check_open_files()
    check_results(arguments)
    runs = arguments.runs or default_runs(arguments.aa, arguments.against is not None)
    is_series = runs > 1 or arguments.against is not None or arguments.aa
    options = RunOptions(
        argv=argv,
        machine=machine_options(arguments),
        runs=runs,
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
        tracer=_tracer(arguments, is_series),
        stops_at_failure=not arguments.ignore_failure,
        looks_often=arguments.results is not None,
    )
    ran = _run(open_machine(options.machine), options, arguments, is_series)
    if is_series and ran.series.has_ended_early:
        return _ended_early(ran.series)
    if not is_series and ran.series.end.exit_status != 0:
        return end_as(ran.series.end)
    status = 0
    if arguments.gate or ran.is_empty:
        gate = _GATE | {RunOutcome.UNKNOWN: _ON_UNKNOWN[arguments.on_unknown]}
        status = gate[gate_of_run(ran.series, arguments.results is not None, ran.results)]
    return status or (0 if ran.is_told else CannotStart.OURS)


@dataclass(frozen=True, slots=True)
class _Ran:
    """A series that has ended; `is_told` means that everything requested could be read and written.

    `results` is None if no results file was read.
    """

    series: RunSeries
    results: MarkedResults | None
    is_told: bool
    is_empty: bool = False  # nothing was written, as the requested format contains only undisturbed runs


def _run(machine: Machine, options: RunOptions, arguments: Namespace, is_series: bool) -> _Ran:
    """Run the series and report it; after the command has run, reporting errors are printed and change no result."""
    series, results, is_told, is_empty = None, None, True, False
    wish = ReportWish(arguments.format, arguments.output, not is_series, arguments.identify, arguments.gate)
    shown = RunProgress(options.runs * len(options.commands)) if is_series else OneRun()
    try:
        with recorded_to(arguments.record, machine) as recorder, opened_report(wish, shown) as report:
            try:
                series = run_series(machine, options, report.listener, recorder)
            finally:
                shown.on_done()  # the next message needs a line of its own
            if isinstance(shown, OneRun):
                shown.tell_machine(series)
            if arguments.results is not None:
                results = read_results(arguments.results, series)
            report.tell(series, width(), results)
            is_told = not report.is_incomplete
    except (NoisewatchError, BrokenPipeError) as error:
        if series is None or (is_series and isinstance(error, BrokenPipeError)):
            raise
        print(f"noisewatch run: {error}", file=sys.stderr)
        is_told = False
        is_empty = isinstance(error, NothingUndisturbed)
    except KeyboardInterrupt:
        if series is None:
            print("noisewatch run: interrupted before the first run: nothing was measured", file=sys.stderr)
        raise
    if arguments.results is not None:
        is_told = results is not None and tell_results(results, arguments.filtered) and is_told
    return _Ran(series, results, is_told, is_empty)


def _check_open_files() -> None:
    """Raise UsageError if too few files may be open to read the machine."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < _FEWEST_OPEN_FILES:
        raise UsageError(f"only {most} files may be open at once: wanted at least {_FEWEST_OPEN_FILES} (ulimit -n)")


def _ended_early(series: RunSeries) -> int:
    """Print why the series ended early; return the failed command's status, or 128 plus the signal, as a shell does."""
    if series.failed is None or series.ended_by is not None:  # the signal made the run fail
        number = series.ended_by or signal.SIGINT
        print(
            f"noisewatch run: interrupted by {signal.Signals(number).name}: what was measured is above", file=sys.stderr
        )
        return _BY_SIGNAL + number
    status = series.end.exit_status
    how = f"with status {status}" if status is not None else f"by signal {series.end.signal_number}"
    hints = "--show-output shows what it says, --ignore-failure goes on"
    print(f"noisewatch run: run {series.failed} ended {how}: {hints}", file=sys.stderr)
    return status if status is not None else _BY_SIGNAL + (series.end.signal_number or 0)


def _calibration_s(arguments: Namespace, is_series: bool) -> float:
    """Return the requested duration; by default only a series is calibrated, as a single run has to stay unaffected."""
    if arguments.calibration is not None:
        return float(arguments.calibration)
    return CALIBRATION_S if is_series else 0.0


def _tracer(arguments: Namespace, is_series: bool) -> Tracer:
    """Return the requested tracer; by default only a series is traced, as it is for the calibration."""
    if arguments.tracer is not None:
        return Tracer(arguments.tracer)
    return Tracer.EVENTS if is_series else Tracer.NONE
