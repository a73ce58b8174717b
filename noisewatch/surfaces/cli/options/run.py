"""The options of `noisewatch run`."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable

from noisewatch.surfaces.cli.options.shared import (
    add_cpus,
    add_output,
    add_record,
    add_tracer,
    calibration_seconds,
    seconds,
    share,
    words,
)
from noisewatch.surfaces.reports.run.formats import RUN_FORMATS

_MOST_RUNS = 1_000_000
CALIBRATION_S = 1.0
_OUTPUT = (
    "write the --format to FILE (without one: a receipt in JSON Lines where FILE ends in .jsonl, else the text); "
    "of a series, the text then still goes to standard output unless it is what FILE gets"
)
_EPILOG = """\
examples:
  noisewatch run -- ./benchmark
  noisewatch run --runs 25 --output receipt.jsonl -- ./benchmark
  noisewatch run --runs 25 --against './old --fast' -- ./new --fast
  noisewatch run --runs 25 --retry 10 --wait 60 --gate -- ./benchmark

exit status: that of a command that failed (128 and the signal's number where it ends a series); then, with --gate,
5 disturbed or incomplete, 3 unknown (without --gate too where --format pyperf has no undisturbed run to write); 125
for an error of noisewatch's own, and where a report, a recording or the --results could not be written or read; 126 and
127 for a command that cannot be run, or is not there
"""


def default_runs(is_aa: bool, has_other: bool) -> int:
    """Without --runs: one alone is as if noisewatch were not there, two commands are not compared by one pair."""
    return 30 if is_aa else 25 if has_other else 1


def fill_run(parser: ArgumentParser) -> None:
    """Options first; what follows `--`, or the first word that is no option, is the command."""
    parser.epilog = _EPILOG
    add_cpus(parser, SUPPRESS)
    add_output(parser, RUN_FORMATS, _OUTPUT)
    parser.set_defaults(format=None)  # the name of the file may tell it
    add_record(parser)
    parser.add_argument(
        "--runs",
        metavar="N",
        type=_count(1),
        help="repetitions, each a process of its own (default 1; with --against 25, with --aa 30)",
    )
    parser.add_argument(
        "--retry",
        metavar="N",
        type=_count(0),
        default=0,
        help="repetitions on top, at most, until as many were undisturbed as are wanted (default 0)",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds(0),
        default=0.0,
        help="before each repetition, wait until nobody else uses the target CPUs, so long at most (default 0)",
    )
    parser.add_argument(
        "--min-undisturbed",
        metavar="SHARE",
        type=share,
        default="50%",
        help="with a smaller share of undisturbed repetitions there is no result (default 50%%)",
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument(
        "--against",
        metavar="COMMAND",
        type=words,
        help="another command: the two take turns (A B B A), each --runs times",
    )
    other.add_argument(
        "--aa", action="store_true", help="the command against itself: the smallest change that shows here"
    )
    parser.add_argument(
        "--membind",
        metavar="NODES",
        default="none",
        help="memory of these nodes only: a list, auto (those of the target CPUs) or none (default none: any)",
    )
    parser.add_argument(
        "--spread", action="store_true", help="pin each busy thread of the command to a target CPU of its own"
    )
    parser.add_argument(
        "--as-user", action="store_true", help="below sudo: the command runs as who called it, noisewatch as root"
    )
    parser.add_argument(
        "--gate", action="store_true", help="exit with 5 where a repetition was disturbed, with 3 where that is unknown"
    )
    parser.add_argument(
        "--show-output", action="store_true", help="let the command write to the terminal in a series too"
    )
    parser.add_argument("--ignore-failure", action="store_true", help="go on with a series after a status other than 0")
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=calibration_seconds,
        help=f"length of the microbenchmark before and after a series (default {CALIBRATION_S:g}; of one run: none)",
    )
    add_tracer(parser, None, "events; of one run none, as it begins a fifth of a second later with it")
    parser.add_argument(
        "--identify", action="store_true", help="tell the commands' arguments, and the control group, in files too"
    )
    parser.add_argument(
        "--results",
        metavar="FILE",
        help="a file that pyperf writes in the command: which of its runs were undisturbed, on standard error",
    )
    parser.add_argument("--filtered", metavar="OUT", help="write the --results with the undisturbed runs alone")
    parser.add_argument("argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")


def _count(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdecimal() else -1
        if not least <= value <= _MOST_RUNS:
            raise ArgumentTypeError(f"wanted a number from {least} to {_MOST_RUNS}, found {text!r}")
        return value

    return parse
