"""The report formats of a series of runs, and its output: receipt lines as runs end, then a report and a summary.

A format's module is imported only if it is requested.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import UsageError
from noisewatch.surfaces.output import (
    ALWAYS,
    AUTO,
    announce,
    append_step_summary,
    encoding_of,
    open_output,
    takes_colour,
)
from noisewatch.surfaces.reports.run.options import PRINTED, SeriesOptions

if TYPE_CHECKING:
    from noisewatch.operations.run.results import MarkedResults
    from noisewatch.operations.run.series import RunListener, RunSeries
    from noisewatch.surfaces.reports.run.receipt import ReceiptKeeper

TEXT, LINES, GITHUB = "text", "jsonl", "github"


_RENDERERS: Mapping[str, tuple[str, str]] = {  # module and function
    TEXT: ("document", "render_text"),
    "json": ("receipt", "render"),
    LINES: ("receipt", "render"),
    "markdown": ("document", "render_markdown"),
    "junit": ("junit", "render"),
    GITHUB: ("github", "render"),
    "pyperf": ("pyperf", "render"),
}
RUN_FORMATS = tuple(_RENDERERS)


def render_series(form: str, series: RunSeries, options: SeriesOptions) -> str:
    """Return the whole report in the format `form`.

    Raise NothingUndisturbed if the format cannot express that no run was undisturbed.
    """
    module, function = _RENDERERS[form]
    render: Callable[[RunSeries, SeriesOptions], str] = getattr(
        import_module(f"noisewatch.surfaces.reports.run.{module}"), function
    )
    return render(series, options)


class ReportOptions(Struct, frozen=True):
    """The options of the requested report. In a single run, standard output belongs to the command."""

    form: str | None
    output: str | None
    is_single: bool
    identifies: bool = False
    is_gated: bool = False
    color: str = AUTO
    is_quiet: bool = False

    @property
    def effective_form(self) -> str:
        """The requested format; without one, JSON Lines for a file named `*.jsonl`, otherwise text."""
        return self.form or (LINES if self.output is not None and self.output.endswith(".jsonl") else TEXT)

    @property
    def is_printed(self) -> bool:
        return self.output in PRINTED

    @property
    def is_silent(self) -> bool:
        """Whether there is no report, only messages on standard error."""
        return self.is_single and self.is_printed


class RunReport:
    """The output of one series; pass its `listener` to the code that runs the series."""

    def __init__(
        self,
        options: ReportOptions,
        shown: RunListener,
        keeper: ReceiptKeeper | None,
        output: BinaryIO | None,
        summary: BinaryIO | None,
    ) -> None:
        self.listener = shown if keeper is None else keeper
        self._options, self._keeper, self._output, self._summary = options, keeper, output, summary

    @property
    def is_incomplete(self) -> bool:
        """Whether lines of the receipt are missing, which a message has reported."""
        return self._keeper is not None and self._keeper.is_incomplete

    def write_reports(self, series: RunSeries, width: int, results: MarkedResults | None = None) -> None:
        """Write all reports at the end, the file first, as standard output may be closed."""
        asked = self._options
        form, in_colour = asked.effective_form, asked.color == ALWAYS
        options = SeriesOptions(width, asked.identifies, results, asked.is_gated, in_colour)
        if self._keeper is not None:
            self._keeper.on_end(series, options)
        if self._output is not None:
            shown = _for_terminal(form, options, asked.color) if asked.is_printed else options
            self._output.write(render_series(form, series, shown).encode("utf-8", "replace"))
        if self._summary is not None:
            shown = _for_terminal(TEXT, options, asked.color)
            self._summary.write(render_series(TEXT, series, shown).encode("utf-8", "replace"))
        if form == GITHUB:
            from noisewatch.surfaces.reports.run.document import markdown_of_series  # other formats have no summary

            trouble = append_step_summary(partial(markdown_of_series, series, options))
            if trouble is not None:
                self.listener.on_remark(trouble)


def _for_terminal(form: str, options: SeriesOptions, color: str) -> SeriesOptions:
    """Return options for a terminal: its colours and character set. Text includes the command, as the user typed it."""
    from noisewatch.surfaces.drawing.glyphs import glyphs_for  # a single run prints nothing

    glyphs = glyphs_for(encoding_of(sys.stdout), os.environ.get("TERM", ""))
    identifies = options.identifies or form == TEXT
    return replace(options, identifies=identifies, in_colour=takes_colour(None, color), in_unicode=glyphs.has_braille)


@contextmanager
def open_run_report(options: ReportOptions, shown: RunListener) -> Iterator[RunReport]:
    """Yield the report with all its files open.

    Raise UsageError, before a command runs, if a file cannot be written.
    """
    form = options.effective_form
    if options.is_silent and form != TEXT:
        raise UsageError(f"standard output belongs to the command: add --output FILE for the {form} report")
    with ExitStack() as stack:
        has_summary = not options.is_single and not options.is_printed and form != TEXT
        summary = stack.enter_context(open_output(None)) if has_summary else None
        if form == LINES:
            from noisewatch.surfaces.reports.run.receipt import open_receipt  # most runs keep no receipt

            keeper = stack.enter_context(open_receipt(options.output, shown, options.identifies))
            yield RunReport(options, shown, keeper, None, summary)
            if options.output not in PRINTED and not (options.is_quiet or keeper.is_incomplete):
                announce(options.output)
        else:
            output = None if options.is_silent else stack.enter_context(open_output(options.output, options.is_quiet))
            yield RunReport(options, shown, None, output, summary)
