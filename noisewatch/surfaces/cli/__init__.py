"""The command line: what to do with which machine, and the exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from noisewatch.errors import CannotMeasure, NoisewatchError
from noisewatch.surfaces.cli.arguments import command_of, parse_arguments
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.formats import Format, format_named_in

_USAGE_ERROR = 2
_NOT_MEASURED = 3
_INTERRUPTED = 130
_NOBODY_READS = 141  # as a shell reports SIGPIPE; 0 would be taken for a verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status: 0 done, 2 usage or input error, 3 could not measure."""
    words = sys.argv[1:] if argv is None else argv
    return status_of(_run, words)


def _run(words: Sequence[str]) -> int:
    arguments = parse_arguments(words)
    return command_of(arguments)(arguments)


def status_of(run: Callable[[Sequence[str]], int], words: Sequence[str]) -> int:
    """The exit status of what `run` does with the words; what goes wrong is told in one line."""
    try:
        return run(words)
    except NoisewatchError as error:
        message = " ".join(str(error).split())
        print(f"noisewatch: {message}", file=sys.stderr)
        status = _NOT_MEASURED if isinstance(error, CannotMeasure) else _USAGE_ERROR
        return _told_as_wanted(message, status, format_named_in(words))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _NOBODY_READS
    except Exception as error:  # noqa: BLE001 - a fault of ours must not look like a verdict: Python exits with 1
        message = f"internal error: {type(error).__name__}: {' '.join(str(error).split())} ({_place_of(error)})"
        print(f"noisewatch: {message}; please report it", file=sys.stderr)
        return _told_as_wanted(message, _USAGE_ERROR, format_named_in(words))


def _place_of(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"


def _told_as_wanted(message: str, status: int, wanted: Format | None) -> int:
    """The exit status of the format's consumer, which may read the message from standard output alone."""
    if wanted is not None and wanted.prints_trouble:
        with suppress(NoisewatchError, BrokenPipeError):  # it may be standard output that is in trouble
            print_answer(wanted.describe_trouble(message))
    return status if wanted is None or wanted.trouble_status is None else wanted.trouble_status


def _drop_output() -> None:
    """The reader has gone: so that the interpreter does not complain about it on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
