"""Where a receipt goes, line by line, so that it can be read whatever becomes of the series, or of noisewatch."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from noisewatch.errors import UsageError
from noisewatch.operations.run.progress import RunBeginning, RunListener
from noisewatch.surfaces.reports.run.receipt import encoded, footer_of, header_of, repetition_of

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress
    from noisewatch.operations.run.judging import JudgedRepetition
    from noisewatch.operations.run.series import RunSeries
    from noisewatch.surfaces.reports.run.formats import SeriesOptions

_PRINTED = (None, "-")


class _ReceiptFile:
    """Takes whole lines, in the order of the series. The first one that it cannot take is the last that it is given."""

    def __init__(self, descriptor: int, name: str, is_printed: bool = False) -> None:
        self._descriptor, self._name, self._is_printed = descriptor, name, is_printed
        self._length = 0
        self.is_incomplete = False

    def write(self, line: str) -> str | None:
        """Why the line, and all that follow, are missing; said once, None after that, as where all is well."""
        if self.is_incomplete:
            return None
        content = line.encode("utf-8", "replace")
        try:
            self._write_all(content)
        except OSError as error:
            self.is_incomplete = True
            self._cut()
            return f"{self._name}: {(error.strerror or str(error)).lower()}: the receipt ends there, the run goes on"
        self._length += len(content)
        return None

    def _write_all(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._descriptor, content) :]

    def _cut(self) -> None:
        """Takes half a line away; what others write to as well, or is no regular file, has what it has."""
        with suppress(OSError):
            if not self._is_printed and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, self._length)


class ReceiptKeeper(RunListener):
    """Hands on what it is told, and keeps the receipt meanwhile."""

    def __init__(self, shown: RunListener, receipt: _ReceiptFile, identifies: bool) -> None:
        self._shown, self._receipt, self._identifies = shown, receipt, identifies

    @property
    def is_incomplete(self) -> bool:
        return self._receipt.is_incomplete

    def on_begin(self, beginning: RunBeginning) -> None:
        self._shown.on_begin(beginning)
        self._write(encoded(header_of(beginning, self._identifies)))

    def on_repetition(self, judged: JudgedRepetition) -> None:
        self._shown.on_repetition(judged)
        self._write(encoded(repetition_of(judged)))

    def on_end(self, series: RunSeries, options: SeriesOptions) -> None:
        """The last line."""
        self._write(encoded(footer_of(series, options)))

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        self._shown.on_sampling(doing, done_s, total_s)

    def on_calibrating(self, progress: Progress) -> None:
        self._shown.on_calibrating(progress)

    def on_waiting(self, reasons: str, left_s: float) -> None:
        self._shown.on_waiting(reasons, left_s)

    def on_remark(self, text: str) -> None:
        self._shown.on_remark(text)

    def on_done(self) -> None:
        self._shown.on_done()

    def _write(self, line: str) -> None:
        trouble = self._receipt.write(line)
        if trouble is not None:
            self._shown.on_remark(trouble)


@contextmanager
def kept_receipt(path: str | None, shown: RunListener, identifies: bool) -> Iterator[ReceiptKeeper]:
    """The keeper of a receipt in a file that is open. Raises UsageError."""
    with _opened(path) as file:
        yield ReceiptKeeper(shown, file, identifies)


@contextmanager
def _opened(path: str | None) -> Iterator[_ReceiptFile]:
    """The file at `path`, or standard output, to write to before a command runs. Raises UsageError where it is none."""
    if path in _PRINTED:
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        sys.stdout.flush()
        yield _ReceiptFile(sys.stdout.fileno(), "standard output", is_printed=True)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error
    try:
        yield _ReceiptFile(descriptor, path)
    finally:
        os.close(descriptor)
