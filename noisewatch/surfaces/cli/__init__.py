"""The command line: runs a command and returns the exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from noisewatch.errors import CannotMeasure, CannotStart, NoisewatchError, UsageErrors
from noisewatch.faults import describe_fault
from noisewatch.machine.threads import signal_of_interrupt
from noisewatch.surfaces.cli.arguments import RUN, command_named_in, command_of, parse_arguments
from noisewatch.surfaces.output import drop_unwritable, print_answer, print_message
from noisewatch.surfaces.reports.verdict.formats import Format, format_named_in

_USAGE_ERROR = _INTERNAL_ERROR = 2
_NOT_MEASURED = 3
_BY_SIGNAL = 128  # plus the signal's number, as a shell reports it
_MEASURING = ("preflight", "calibrate", "trace", "screenshot")
_BROKEN_PIPE_STATUS = 141  # as a shell reports SIGPIPE; 0 would mean a stable machine


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status, 2 for a usage or input error, or 3 if nothing could be measured.

    `run` exits like the command that it runs, so for its own errors it uses the exit statuses of env(1) and timeout(1).
    """
    words = sys.argv[1:] if argv is None else argv
    command = command_named_in(words)
    try:
        arguments = parse_arguments(words)
        command = arguments.command
        return command_of(arguments)(arguments)
    except CannotStart as error:
        print_message(f"noisewatch run: {' '.join(str(error).split())}")
        return error.status
    except NoisewatchError as error:
        message = " ".join(str(error).split())
        for reason in error.messages if isinstance(error, UsageErrors) else [message]:
            print_message(f"noisewatch{' run' * (command == RUN)}: {' '.join(reason.split())}")
        if command == RUN:
            return CannotStart.OURS
        status = _NOT_MEASURED if isinstance(error, CannotMeasure) else _USAGE_ERROR
        return _report_trouble(message, status, format_named_in(words))
    except KeyboardInterrupt as error:
        return _report_interrupt(command, error)
    except RuntimeError as error:  # Python 3.11 wraps an exception that interrupts the creation of a class
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _report_interrupt(command, error.__cause__)
    except BrokenPipeError:
        drop_unwritable(sys.stdout)
        return _BROKEN_PIPE_STATUS


def _report_interrupt(command: str | None, error: KeyboardInterrupt) -> int:
    if command in _MEASURING:
        print_message("noisewatch: interrupted, so there is no result")
    return _BY_SIGNAL + signal_of_interrupt(error)


def report_internal_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Handle an internal error as the process's `sys.excepthook`: print it in one line and exit.

    Python's own exit status would be 1, which means an unstable machine. Raise SystemExit.
    """
    message = describe_fault(error)
    words = sys.argv[1:]
    command = command_named_in(words)
    print_message(f"noisewatch{' run' * (command == RUN)}: {message}; please report it")
    if command == RUN:
        raise SystemExit(CannotStart.OURS)
    raise SystemExit(_report_trouble(message, _INTERNAL_ERROR, format_named_in(words)))


def _report_trouble(message: str, status: int, named_format: Format | None) -> int:
    """Return the exit status that the format's consumer expects; also print the message if the consumer reads it."""
    if named_format is not None and named_format.prints_trouble:
        with suppress(NoisewatchError, BrokenPipeError):  # standard output itself may be the cause
            print_answer(named_format.describe_trouble(message))
    return status if named_format is None or named_format.trouble_status is None else named_format.trouble_status
