"""`noisewatch run`: its options, its progress on standard error, its results file and its exit status."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import sys
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO, cast

from msgspec import Struct

from noisewatch.errors import CannotStart, NoisewatchError, NothingUndisturbed, UsageError
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.reasons import (
    ReasonKind,
    RunOutcome,
    Unwatched,
    conclude_repetition,
    left_target_advice,
    left_words,
    own_quota_words,
)
from noisewatch.kinds import Tracer
from noisewatch.machine import Machine
from noisewatch.machine.command.ending import end_as
from noisewatch.operations.machines import open_machine
from noisewatch.operations.run.conclusion import gate_of_run
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.results import MarkedResults, mark_results, refuse_same_file
from noisewatch.operations.run.series import RunSeries, failure_hint, run_series
from noisewatch.surfaces.cli.arguments import RUN
from noisewatch.surfaces.cli.command_options import CALIBRATION_S, LAYOUT, default_runs
from noisewatch.surfaces.cli.common import machine_options, recording_to, report_interrupt
from noisewatch.surfaces.cli.live import SilentListener, TerminalListener
from noisewatch.surfaces.cli.options import FAIL, PASS
from noisewatch.surfaces.drawing.colours import paint_row
from noisewatch.surfaces.output import AUTO, can_move_cursor, in_colour, is_utf8, open_output, width
from noisewatch.surfaces.reports.run.conditions import FIXED_LAYOUT_WORDS, load_words
from noisewatch.surfaces.reports.run.energy import words_on_energy_of
from noisewatch.surfaces.reports.run.formats import ReportOptions, open_run_report
from noisewatch.text import printable

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.operations.run.judging import JudgedRepetition
    from noisewatch.operations.run.series import RunBeginning
    from noisewatch.surfaces.reports.run.picture import SeriesProgress


_PROGRAM = "noisewatch run"
_BY_TRACE = " (attribution: kernel trace)"
_REDRAW_NS = 100_000_000  # faster changes are unreadable
_MARGIN = 3  # columns left free at the end of the line, so that the terminal's ^C does not wrap it
_COLUMNS = 80  # if the terminal does not report its width


class RunProgress(TerminalListener):
    """The progress line of a series on standard error; without a terminal only remarks are shown.

    If the command writes to the terminal too, each disturbed or unknown run gets a line instead.
    """

    program = _PROGRAM

    def __init__(self, expected: int, color: str = AUTO) -> None:
        super().__init__(color)
        self._expected = expected
        self._shows = sys.stderr.isatty() and can_move_cursor()
        self._progress: SeriesProgress | None = None
        self._drawn_ns: int | None = None  # the end of the run that was drawn last
        self._is_calibrating = False
        self._warm_ups = 0

    def on_begin(self, beginning: RunBeginning) -> None:
        if self._shows and not beginning.options.shows_output:
            from noisewatch.surfaces.reports.run.picture import SeriesProgress  # only a terminal needs it

            self._progress = SeriesProgress(self._expected)
            self._warm_ups = beginning.options.warm_ups * len(beginning.options.commands)
            self._draw_warming_up(0)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        repetition, verdict = judged.repetition, judged.verdict
        if repetition.is_warm_up:
            self._draw_warming_up(repetition.number)
        elif self._progress is not None:
            self._progress.add(judged)
            if self._drawn_ns is None or repetition.ended_ns - self._drawn_ns >= _REDRAW_NS:
                self._drawn_ns = repetition.ended_ns
                self._draw()
        elif self._shows and verdict.outcome != RunOutcome.UNDISTURBED:
            self.on_remark(f"run {repetition.number} {conclude_repetition(verdict, repetition.length_ns)}")

    def on_calibrating(self, progress: Progress) -> None:
        """Draw one line: frames of a picture of the gaps would remain above the report."""
        if self._shows:
            text = f"calibrating {min(progress.done_s, progress.total_s):.1f} of {progress.total_s:.1f} s"
            print(f"\r\x1b[K{text[: max(_columns() - _MARGIN, 1)]}", end="", file=sys.stderr, flush=True)
            self._is_calibrating = True

    def on_waiting(self, reasons: str, left_s: float) -> None:
        if self._progress is not None:
            self._draw(f"waiting for {reasons} ({left_s:.0f} s at most)")
        else:
            super().on_waiting(reasons, left_s)

    def on_remark(self, text: str) -> None:
        self._clear()
        super().on_remark(text)

    def on_done(self) -> None:
        super().on_done()
        self._clear()
        self._progress, self._is_calibrating = None, False

    def _draw_warming_up(self, done: int) -> None:
        self._draw(f"warming up ({done}/{self._warm_ups})" if self._warm_ups else "")

    def _draw(self, doing: str = "") -> None:
        if self._progress is not None:
            in_unicode = is_utf8(sys.stderr)
            row = self._progress.row(max(_columns() - _MARGIN, 1), in_unicode, doing)
            line = paint_row(row, in_colour(sys.stderr, self._color))
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._progress is not None or self._is_calibrating:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _columns() -> int:
    """Return the width of the terminal at standard error, as standard output may be redirected."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except OSError:
        return _COLUMNS


class SingleRunReport(TerminalListener):
    """A listener that reports a single run on standard error, and whether a requested trace was used.

    These lines may end up among a benchmark's results, so none looks like `word: text`: benchstat parses such a line
    as configuration, and compares only results with equal configurations
    (https://pkg.go.dev/golang.org/x/perf/benchfmt).
    """

    program = _PROGRAM
    _tracer = Tracer.NONE
    _layout_words: str | None = None
    _unwatched: tuple[Unwatched, ...] = ()  # what no run on this machine can watch

    def on_begin(self, beginning: RunBeginning) -> None:
        """Store the tracer, and what is not watched on this machine; nothing is printed before the run ends."""
        self._tracer = beginning.options.tracer
        self._layout_words = FIXED_LAYOUT_WORDS if beginning.options.has_fixed_layout else None
        self._unwatched = tuple(not_watched(beginning.machine, calibrated_khz(beginning.opening)))

    def on_repetition(self, judged: JudgedRepetition) -> None:
        conclusion = "cut short, " if judged.repetition.is_cut_short else ""
        conclusion += conclude_repetition(judged.verdict, judged.repetition.length_ns)
        if judged.verdict.outcome == RunOutcome.UNDISTURBED:
            unwatched = [aspect.what for aspect in (*self._unwatched, *judged.verdict.unwatched)]
            conclusion += f" (not watched: {', '.join(unwatched)})" if unwatched else ""  # reports have reasons
        trace = judged.repetition.trace
        attribution = f" (attribution: counters, because {printable(trace)})" if isinstance(trace, str) else _BY_TRACE
        self.on_remark(conclusion if self._tracer == Tracer.NONE else conclusion + attribution)
        for reason in judged.verdict.reasons:
            if reason.kind == ReasonKind.LEFT_TARGET:
                self.on_remark(left_target_advice(reason.cpus))
        repetition = judged.repetition
        for words in (
            own_quota_words([(repetition, judged.verdict)]),
            left_words(repetition),
            words_on_energy_of(repetition),
            self._layout_words,
        ):
            if words is not None:
                self.on_remark(words)

    def report_series(self, series: RunSeries) -> None:
        """Print remarks on the load, and on changes of the machine, which only calibrations show."""
        if not series.options.calibration_s and series.load is None:
            return
        from noisewatch.operations.run.conclusion import conclude  # most single runs have neither
        from noisewatch.surfaces.reports.run.conditions import memory_sentences
        from noisewatch.surfaces.reports.run.sentences import load_trouble_sentences, machine_sentences

        conclusion = conclude(series)
        changes = (*machine_sentences(conclusion), *memory_sentences(series, conclusion))
        loads = [] if series.load is None else [load_words(series.load)]
        for sentence in (*changes, *loads, *load_trouble_sentences(series)):
            self.on_remark(sentence)


def _read_results(path: str, series: RunSeries) -> MarkedResults | None:
    """Return the runs in the file; if it cannot be read, print why and return None."""
    try:
        return mark_results(path, series)
    except NoisewatchError as error:
        _print(str(error))
        return None


def _print_results(marked: MarkedResults, filtered: str | None, is_quiet: bool) -> bool:
    """Print the runs' verdicts to standard error; return False if --filtered could not be written."""
    from noisewatch.surfaces.reports.run.document import text_of_results  # most runs do not need it

    print(text_of_results(marked, width()), end="", file=sys.stderr)
    if filtered is None:
        return True
    try:
        refuse_same_file(marked.file.path, filtered)
        with open_output(filtered, is_quiet) as output:
            if filtered.endswith(".gz"):
                with gzip.open(output, "wb") as packed:
                    marked.write_undisturbed(cast(BinaryIO, packed))
            else:
                marked.write_undisturbed(output)
    except NoisewatchError as error:
        _print(str(error))
        return False
    return True


def _print(message: str) -> None:
    print(f"{_PROGRAM}: {message}", file=sys.stderr)


DISTURBED, UNKNOWN = 5, 3
_GATE = {RunOutcome.UNDISTURBED: 0, RunOutcome.DISTURBED: DISTURBED, RunOutcome.UNKNOWN: UNKNOWN}
_ON_UNKNOWN = {None: UNKNOWN, FAIL: DISTURBED, PASS: 0}
_MIN_OPEN_FILES = 32  # with fewer, parts of the machine cannot be read


def run(arguments: Namespace) -> int:
    """Run the command and report. Return the first status that is not 0: the command's, the gate's, the report's."""
    argv = tuple(arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv)
    if not argv:
        raise UsageError("no command (noisewatch run -- COMMAND)")
    if arguments.on_unknown is not None and not arguments.gate:
        raise UsageError("--on-unknown: only with --gate")
    max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= max_files < _MIN_OPEN_FILES:
        minimum = f"expected at least {_MIN_OPEN_FILES} (ulimit -n)"
        raise UsageError(f"only {max_files} files may be open at once: {minimum}")
    if arguments.filtered is not None:
        if arguments.results is None:
            raise UsageError("--filtered needs --results FILE")
        refuse_same_file(arguments.results, arguments.filtered)
    runs = arguments.runs or default_runs(arguments.aa, arguments.against is not None, arguments.vary is not None)
    is_compared = arguments.against is not None or arguments.aa
    is_series = runs > 1 or arguments.warmup > 0 or is_compared or arguments.vary is not None
    # By default a single run is neither calibrated nor traced, so noisewatch does not affect it. A run that writes
    # results is traced: it is a series of the tool's own runs.
    calibration_s = (CALIBRATION_S if is_series else 0.0) if arguments.calibration is None else arguments.calibration
    is_traced = is_series or arguments.results is not None
    tracer = (Tracer.EVENTS if is_traced else Tracer.NONE) if arguments.tracer is None else Tracer(arguments.tracer)
    options = RunOptions(
        argv=argv,
        machine=machine_options(arguments),
        runs=runs,
        against=arguments.against,
        is_aa=arguments.aa,
        wait_s=arguments.wait,
        membind=arguments.membind,
        varies_layout=arguments.vary == LAYOUT,
        has_fixed_layout=arguments.fixed == LAYOUT,
        spreads=arguments.spread,
        is_as_user=arguments.as_user,
        most_retries=arguments.retry,
        warm_ups=arguments.warmup,
        prepare=arguments.prepare,
        conclude=arguments.conclude,
        shows_side_output=arguments.show_output,
        load=arguments.load,
        min_undisturbed=arguments.min_undisturbed,
        shows_output=arguments.show_output or not is_series,
        calibration_s=calibration_s,
        tracer=tracer,
        counts_events=arguments.counters == AUTO,
        measures_energy=arguments.energy,
        stops_at_failure=not arguments.ignore_failure,
        has_frequent_snapshots=arguments.results is not None,
    )
    with _tuning(arguments):
        result = _run_and_report(open_machine(options.machine), options, arguments, is_series)
    if is_series and result.series.has_ended_early:
        return _report_early_end(result.series)
    if not is_series and result.series.end.exit_status != 0:
        return end_as(result.series.end)
    is_interrupted = result.series.ended_by is not None and not result.series.repetitions[-1].repetition.is_cut_short
    if is_interrupted or result.series.failed_side_command is not None:
        return _report_early_end(result.series)
    status = 0
    if arguments.gate or result.is_empty:
        gate = _GATE | {RunOutcome.UNKNOWN: _ON_UNKNOWN[arguments.on_unknown]}
        status = gate[gate_of_run(result.series, arguments.results is not None, result.results)]
    return status or (0 if result.is_complete else CannotStart.OURS)


def _tuning(arguments: Namespace) -> AbstractContextManager[None]:
    """Return the context of a host that is tuned (--tune), or whose target CPUs are reserved (--reserve).

    Raise UsageError without root.
    """
    if not (arguments.tune or arguments.reserve):
        return nullcontext()
    from noisewatch.surfaces.cli import tuning  # imports the judgement

    words = list(arguments.words)
    if not arguments.as_user:  # the command needs no root
        words.insert(words.index(RUN) + 1, "--as-user")
    tuning.require_root("--tune" if arguments.tune else "--reserve", words)
    plan, _ = tuning.plan_of(arguments, reserves_only=arguments.reserve)
    prepare = tuning.tuned_for_command if arguments.tune else tuning.reserved_for_command
    return prepare(plan, arguments.quiet)


class _SeriesResult(Struct, frozen=True):
    """A series that has ended, and its results file if one was read.

    `is_complete` means that everything requested could be read and written.
    """

    series: RunSeries
    results: MarkedResults | None
    is_complete: bool
    is_empty: bool = False  # nothing was written: the format contains only undisturbed runs, and there was none


def _run_and_report(machine: Machine, options: RunOptions, arguments: Namespace, is_series: bool) -> _SeriesResult:
    """Run the series and write its reports; after the command has run, report errors are printed, not raised."""
    series, results, is_complete, is_empty = None, None, True, False
    report_options = ReportOptions(
        arguments.format,
        arguments.output,
        not is_series,
        arguments.identify,
        arguments.gate,
        arguments.color,
        arguments.quiet,
    )
    progress: RunProgress | SingleRunReport | SilentListener = SingleRunReport()
    if arguments.quiet:
        progress = SilentListener()
    elif is_series:
        progress = RunProgress(options.requested_count, arguments.color)
    try:
        with recording_to(arguments, machine) as recorder, open_run_report(report_options, progress) as report:
            try:
                series = run_series(machine, options, report.listener, recorder)
            finally:
                progress.on_done()  # the next message needs a line of its own
            if isinstance(progress, SingleRunReport):
                progress.report_series(series)
            if arguments.results is not None:
                results = _read_results(arguments.results, series)
            report.write_reports(series, width(), results)
            is_complete = not report.is_incomplete
    except (NoisewatchError, BrokenPipeError) as error:
        if series is None or (is_series and isinstance(error, BrokenPipeError)):
            raise
        _print(str(error))
        is_complete = False
        is_empty = isinstance(error, NothingUndisturbed)
    except KeyboardInterrupt:
        if series is None:
            _print("interrupted before the first run: nothing was measured")
        raise
    if arguments.results is not None:
        is_complete = (
            results is not None and _print_results(results, arguments.filtered, arguments.quiet) and is_complete
        )
    return _SeriesResult(series, results, is_complete, is_empty)


def _report_early_end(series: RunSeries) -> int:
    """Print why the series ended early; return the failed command's status, or 128 plus the signal, like a shell."""
    if series.failed is None or series.ended_by is not None:  # the signal made the run fail
        number = series.ended_by or signal.SIGINT
        return report_interrupt(number, _PROGRAM)
    side, status = series.failed_side_command, series.end.exit_status
    end = f"with status {status}" if status is not None else f"by signal {series.end.signal_number}"
    what = f"run {series.failed} ended {end}" if side is None else f"{side.name}: {side.trouble}"
    _print(f"{what}; {failure_hint(series.options, side)}")
    return series.end.shell_status if side is None else side.status
