"""The options of `noisewatch run`."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser

from noisewatch.surfaces.cli.options.shared import (
    MACHINE,
    MEASUREMENT,
    REPORT,
    SHORTEST_CALIBRATION_S,
    add_cpus,
    add_on_unknown,
    add_output,
    add_quiet,
    add_record,
    add_tracer,
    options_titled,
    seconds,
    share,
    whole_number,
    words,
    zero_or_seconds,
)
from noisewatch.surfaces.reports.run.formats import RUN_FORMATS

_MOST_RUNS = 1_000_000
CALIBRATION_S = 1.0
_OUTPUT = (
    "write to FILE, in the --format (without one: a receipt in JSON Lines where FILE ends in .jsonl, else the text); "
    "the text of a series still goes to standard output, unless it is what FILE gets"
)
_EPILOG = """\
examples:
  noisewatch run -- ./benchmark
  noisewatch run --runs 25 --output receipt.jsonl -- ./benchmark
  noisewatch run --runs 25 --against './old --fast' -- ./new --fast
  noisewatch run --runs 25 --retry 10 --wait 60 --gate -- ./benchmark

exit status: that of the command where it failed (--ignore-failure lets a series
go on; where a signal ends a series, 128 plus its number); else 0, and with
--gate 5 (disturbed or incomplete) or 3 (unknown; --on-unknown). To pass the gate, as many runs
as --runs says must be undisturbed, the report must give a result
(--min-undisturbed), and the machine must be the same after a series as before.
--format pyperf without an undisturbed run ends with 5 or 3 even without --gate.
125: an error of noisewatch's own, or a report, a recording or the --results
could not be written or read. 126: the command cannot be run. 127: it is not there.
"""


def default_runs(is_aa: bool, has_other: bool) -> int:
    """Return the default of --runs: 1 for a single command, as an unaffected run; more to compare two."""
    return 30 if is_aa else 25 if has_other else 1


def fill_run(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch run`; words after `--`, or from the first other word on, are the command."""
    parser.epilog = _EPILOG
    add_cpus(options_titled(parser, MACHINE), SUPPRESS)
    _add_command(parser)
    _add_repetitions(parser)
    _add_comparison(parser)
    _add_measurement(parser)
    _add_report(parser)
    _add_exit_status(parser)
    parser.add_argument("argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")


def _add_command(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("command")
    group.add_argument(
        "--membind",
        metavar="NODES",
        default="none",
        help="memory of these nodes only: a list, auto (those of the target CPUs), or none (no binding; the default)",
    )
    group.add_argument(
        "--spread", action="store_true", help="pin each busy thread of the command to a target CPU of its own"
    )
    group.add_argument(
        "--as-user",
        action="store_true",
        help="with sudo: run the command as the user who called sudo, and only noisewatch as root",
    )
    group.add_argument(
        "--show-output",
        action="store_true",
        help="in a series too, leave the command its standard input, output and error (default: /dev/null)",
    )
    group.add_argument("--ignore-failure", action="store_true", help="go on with a series where the command fails")


def _add_repetitions(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("repetitions")
    group.add_argument(
        "--runs",
        metavar="N",
        type=whole_number(1, _MOST_RUNS),
        help="repetitions, each a process of its own (default 1; with --against 25, with --aa 30)",
    )
    group.add_argument(
        "--retry",
        metavar="N",
        type=whole_number(0, _MOST_RUNS),
        default=0,
        help="at most N further repetitions, until --runs of them were undisturbed (default 0)",
    )
    group.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds(0),
        default=0.0,
        help="before each repetition, wait until the target CPUs are idle, for at most SECONDS (default 0)",
    )
    group.add_argument(
        "--min-undisturbed",
        metavar="SHARE",
        type=share,
        default="50%",
        help="with a smaller share of undisturbed repetitions the report gives no result (default 50%%)",
    )


def _add_comparison(parser: ArgumentParser) -> None:
    other = parser.add_argument_group("comparison").add_mutually_exclusive_group()
    other.add_argument(
        "--against",
        metavar="COMMAND",
        type=words,
        help="another command: the two run in pairs, in drawn order, each --runs times",
    )
    other.add_argument(
        "--aa", action="store_true", help="the command against itself: the smallest change that shows here"
    )


def _add_measurement(parser: ArgumentParser) -> None:
    options_titled(parser, MEASUREMENT).add_argument(
        "--calibration",
        metavar="SECONDS",
        type=zero_or_seconds(SHORTEST_CALIBRATION_S),
        help=f"length of the microbenchmark before and after a series (default {CALIBRATION_S:g}; of one run none)",
    )
    add_tracer(parser, None, "events; of one run none, as switching the trace on takes a fifth of a second")
    add_record(parser)


def _add_report(parser: ArgumentParser) -> None:
    add_output(parser, RUN_FORMATS, _OUTPUT)
    parser.set_defaults(format=None)  # the name of the file may imply it
    group = options_titled(parser, REPORT)
    add_quiet(group, ", nor the verdict of a single run")
    group.add_argument(
        "--identify", action="store_true", help="include the commands' arguments and the control group in files"
    )
    group.add_argument(
        "--results",
        metavar="FILE",
        help="say on standard error which runs were undisturbed of those in FILE, which the command writes with pyperf",
    )
    group.add_argument("--filtered", metavar="OUT", help="write the undisturbed runs of --results to OUT")


def _add_exit_status(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("exit status")
    group.add_argument(
        "--gate",
        action="store_true",
        help="exit with 5 where fewer repetitions than --runs were undisturbed, or the machine changed meanwhile; "
        "with 3 where that is unknown",
    )
    add_on_unknown(group, "with --gate, exit status where that is unknown: fail = 5, pass = 0 (default 3)")
