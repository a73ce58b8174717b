"""The progress of a series on a terminal: one line, redrawn in place."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.not_watched import not_watched
from noisewatch.judgement.run.reason_words import conclude_repetition, left_words
from noisewatch.judgement.run.reasons import RunOutcome, Unwatched
from noisewatch.kinds import Tracer
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.reports.parts.colours import painted_row
from noisewatch.text import printable

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.operations.run.judging import JudgedRepetition
    from noisewatch.operations.run.series import RunBeginning, RunSeries
    from noisewatch.surfaces.reports.run.progress_row import SeriesProgress

_BY_TRACE = " (attribution: kernel trace)"
_OFTEN_NS = 100_000_000  # faster changes are unreadable
_MARGIN = 3  # columns left free at the end of the line, so that the terminal's ^C does not wrap it
_COLUMNS = 80  # if the terminal does not report its width


class RunProgress(TerminalListener):
    """The progress line of a series on standard error; nothing is shown without a terminal.

    If the command also writes to the terminal, each run that was not undisturbed is reported in a line of its own.
    """

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self._wanted = wanted
        self._shows = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
        self._progress: SeriesProgress | None = None
        self._drawn_ns: int | None = None  # the end of the run that was drawn last
        self._is_between_output = False
        self._is_calibrating = False

    def on_begin(self, beginning: RunBeginning) -> None:
        self._is_between_output = beginning.options.shows_output
        if self._shows and not self._is_between_output:
            from noisewatch.surfaces.reports.run.progress_row import SeriesProgress  # only a terminal needs it

            self._progress = SeriesProgress(self._wanted)
            self._draw()

    def on_repetition(self, judged: JudgedRepetition) -> None:
        repetition, verdict = judged.repetition, judged.verdict
        if self._progress is not None:
            self._progress.add(judged)
            if self._drawn_ns is None or repetition.ended_ns - self._drawn_ns >= _OFTEN_NS:
                self._drawn_ns = repetition.ended_ns
                self._draw()
        elif self._shows and verdict.outcome != RunOutcome.UNDISTURBED:
            self.on_remark(f"run {repetition.number} {conclude_repetition(verdict, repetition.length_ns)}")

    def on_calibrating(self, progress: Progress) -> None:
        """Draw one line, because a picture of the gaps would leave its frames above the report."""
        if self._shows:
            text = f"calibrating {min(progress.done_s, progress.total_s):.1f} of {progress.total_s:.1f} s"
            print(f"\r\x1b[K{text[: max(_columns() - _MARGIN, 1)]}", end="", file=sys.stderr, flush=True)
            self._is_calibrating = True

    def on_waiting(self, reasons: str, left_s: float) -> None:
        if self._progress is not None:
            self._draw(f"{reasons} ({left_s:.0f} s at most)")
        else:
            super().on_waiting(reasons, left_s)

    def on_remark(self, text: str) -> None:
        self._clear()
        print(f"noisewatch run: {text}", file=sys.stderr, flush=True)

    def on_done(self) -> None:
        super().on_done()
        self._clear()
        self._progress, self._is_calibrating = None, False

    def _draw(self, waits_for: str = "") -> None:
        if self._progress is not None:
            in_unicode = (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
            row = self._progress.row(max(_columns() - _MARGIN, 1), in_unicode, waits_for)
            line = painted_row(row, in_colour=not os.environ.get("NO_COLOR"))
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._progress is not None or self._is_calibrating:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _columns() -> int:
    """Return the columns of standard error, where the line is drawn; standard output may be redirected."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except OSError:
        return _COLUMNS


class OneRun(TerminalListener):
    """A listener that reports a single run on standard error; if a trace was requested, also whether there was one.

    These lines may end up among a benchmark's results: benchstat parses `word: text` as a part of their configuration,
    and compares no results of different configurations (https://pkg.go.dev/golang.org/x/perf/benchfmt).
    """

    _tracer = Tracer.NONE
    _of_machine: tuple[Unwatched, ...] = ()

    def on_begin(self, beginning: RunBeginning) -> None:
        """Store what the report needs; nothing is printed before the run ends."""
        self._tracer = beginning.options.tracer
        self._of_machine = tuple(not_watched(beginning.machine, calibrated_khz(beginning.opening)))

    def on_remark(self, text: str) -> None:
        print(f"noisewatch run: {text}", file=sys.stderr, flush=True)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        conclusion = "cut short, " if judged.repetition.is_cut_short else ""
        conclusion += conclude_repetition(judged.verdict, judged.repetition.length_ns)
        if judged.verdict.outcome == RunOutcome.UNDISTURBED:
            conclusion += _not_watched([*self._of_machine, *judged.verdict.unwatched])
        trace = judged.repetition.trace
        by = f" (attribution: counters, because {printable(trace)})" if isinstance(trace, str) else _BY_TRACE
        self.on_remark(conclusion if self._tracer == Tracer.NONE else conclusion + by)
        left = left_words(judged.repetition)
        if left is not None:
            self.on_remark(left)

    def tell_machine(self, series: RunSeries) -> None:
        """Print whether the machine's speed changed during the run, if calibrations were requested."""
        if series.options.calibration_s:
            from noisewatch.operations.run.conclusion import conclude  # most single runs are not calibrated
            from noisewatch.surfaces.reports.run.sentences import machine_sentences

            for sentence in machine_sentences(conclude(series)):
                self.on_remark(sentence)


def _not_watched(unwatched: Sequence[Unwatched]) -> str:
    """Return in brackets what an undisturbed run may still have met; the reasons are in the reports."""
    return f" (not watched: {', '.join(each.what for each in unwatched)})" if unwatched else ""
