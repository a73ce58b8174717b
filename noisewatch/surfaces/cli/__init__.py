"""The command line: what to do with which machine, and the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from noisewatch.errors import CannotMeasure, NoisewatchError
from noisewatch.surfaces.cli.arguments import command_of, parse_arguments

_USAGE_ERROR = 2
_NOT_MEASURED = 3
_INTERRUPTED = 130
_NOBODY_READS = 141  # as a shell reports SIGPIPE; 0 would be taken for a verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status: 0 done, 2 usage or input error, 3 could not measure."""
    try:
        arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
        return command_of(arguments)(arguments)
    except NoisewatchError as error:
        _complain(str(error))
        return _NOT_MEASURED if isinstance(error, CannotMeasure) else _USAGE_ERROR
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _NOBODY_READS


def _complain(message: str) -> None:
    one_line = " ".join(message.split())
    print(f"noisewatch: {one_line}", file=sys.stderr)


def _drop_output() -> None:
    """The reader has gone: so that the interpreter does not complain about it on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
