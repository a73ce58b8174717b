"""What a terminal shows while a series runs: one line, with the last repetitions and who disturbed the last of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter, deque
from typing import TYPE_CHECKING

from noisewatch.judgement.run.reasons import RunOutcome
from noisewatch.surfaces.cli.live import TerminalListener
from noisewatch.surfaces.reports.run.reason_words import conclude_repetition, describe_reasons, left_words, mark_of
from noisewatch.units import short_duration

if TYPE_CHECKING:
    from noisewatch.operations.run.judging import JudgedRepetition
    from noisewatch.operations.run.progress import RunBeginning

_MOST_MARKS = 20


class RunProgress(TerminalListener):
    """Draws the line over itself, on standard error; where nobody watches it shows nothing."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self._wanted = wanted
        self._shows = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
        self._marks: deque[str] = deque(maxlen=_MOST_MARKS)
        self._counts: Counter[RunOutcome] = Counter()
        self._told = ""

    def on_begin(self, beginning: RunBeginning) -> None:
        """The report tells it."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        outcome = judged.verdict.outcome
        self._counts[outcome] += 1
        self._marks.append(mark_of(outcome))
        if outcome != RunOutcome.UNDISTURBED:
            self._told = f"  {judged.repetition.number}: {describe_reasons(judged.verdict, most=1)}"
        if self._shows:
            disturbed, unknown = self._counts[RunOutcome.DISTURBED], self._counts[RunOutcome.UNKNOWN]
            line = (
                f"{self._counts.total()}/{self._wanted} {''.join(self._marks)} "
                f"{short_duration(judged.repetition.length_ns)}  {disturbed} disturbed"
                + (f", {unknown} unknown" if unknown else "")
                + self._told
            )
            columns = shutil.get_terminal_size().columns
            print(f"\r\x1b[K{line[: columns - 1]}", end="", file=sys.stderr, flush=True)

    def on_done(self) -> None:
        super().on_done()
        if self._shows and self._marks:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class OneRun(TerminalListener):
    """Says on standard error what became of a single run.

    Its lines may end up among a benchmark's results: benchstat takes `word: text` for a part of their configuration,
    and compares no results of different ones (https://pkg.go.dev/golang.org/x/perf/benchfmt).
    """

    def on_begin(self, beginning: RunBeginning) -> None:
        """Nothing is said before it has ended."""

    def on_remark(self, text: str) -> None:
        print(f"noisewatch run: {text}", file=sys.stderr, flush=True)

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self.on_remark(conclude_repetition(judged.verdict, judged.repetition.length_ns))
        left = left_words(judged.repetition)
        if left is not None:
            self.on_remark(left)
