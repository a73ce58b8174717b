"""The commands and their options, as data. A command's module is imported only when it is run."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module

from noisewatch import __version__
from noisewatch.errors import UsageError
from noisewatch.surfaces.cli.values import (
    SHORTEST_CALIBRATION_S,
    calibration_seconds,
    inflation,
    sample_count,
    sample_length,
    sample_seconds,
    seconds,
    share,
    words,
)
from noisewatch.surfaces.reports.formats import FORMATS

MONITOR = "monitor"
_SHORTEST_INTERVAL_S = 0.1

_COMMANDS = {
    "preflight": "check whether a benchmark may start: a verdict with an exit status",
    "calibrate": "measure what the machine alone adds to a benchmark's samples",
    "show": "show the machine as it was read, without judging it",
    "explain": "explain one check, or list them all",
    "record": "record the machine into a file that replays anywhere",
    "screenshot": "draw the monitor's screen into an SVG or PNG file",
}

_EPILOG = """\
Without a command noisewatch opens the monitor.

exit status of preflight: 0 stable, 1 unstable, 2 usage or internal error, 3 unknown
(--format nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, errors included);
of all other commands: 0 done, 2 usage or input error, 3 could not measure
"""


class _Parser(ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]  # raises instead of exiting, as all errors do
        raise UsageError(f"{message} (see {self.prog} --help)")


def _add_machine_options(parser: ArgumentParser, default: object) -> None:
    group = parser.add_argument_group("what to look at")
    group.add_argument(
        "--cpus",
        metavar="LIST",
        default=default,
        help="the target CPUs, such as 2-7 or 1,3 (kernel list syntax)",
    )
    machine = group.add_mutually_exclusive_group()
    machine.add_argument(
        "--sysroot",
        metavar="DIR",
        default=default,
        help="a copied tree of /proc and /sys instead of this host",
    )
    machine.add_argument("--replay", metavar="FILE", default=default, help="a recording instead of this host")


def _add_interval(parser: ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=seconds(_SHORTEST_INTERVAL_S),
        default=default,
        help="time between two snapshots (default 1)",
    )


def _add_output(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    told = f"how the answer is written: {', '.join(formats)} (default {formats[0]})"
    parser.add_argument("--format", choices=formats, default=formats[0], metavar="FORMAT", help=told)
    parser.add_argument("--output", metavar="FILE", default=None, help="write there instead of to standard output")


def _add_budget(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is to be measured afterwards")
    group.add_argument(
        "--at", metavar="DURATION", type=sample_length, default="100ms", help="how long a sample lasts (default 100ms)"
    )
    group.add_argument(
        "--samples", metavar="N", type=sample_count, default="25", help="how many samples are taken (default 25)"
    )
    group.add_argument(
        "--max-cv",
        metavar="SHARE",
        type=share,
        default="1%",
        help="how much samples may vary: their relative standard deviation (default 1%%)",
    )
    group.add_argument(
        "--max-inflation",
        metavar="FACTOR",
        type=inflation,
        help="how much longer the worst sample may take than the median, such as 1.2 (default: any)",
    )
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="run the microbenchmark with real-time priority, which is throttled for 50 ms in each second",
    )


def _add_record(parser: ArgumentParser) -> None:
    parser.add_argument("--record", metavar="FILE", help="also record what the answer rests on, so that it replays")


def _fill_calibrate(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_output(parser, ("text", "json", "pyperf"))
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(SHORTEST_CALIBRATION_S),
        default=5.0,
        help="how long in total (default 5)",
    )
    parser.add_argument("--against", metavar="LIST", help="compare the target CPUs with these")
    parser.add_argument(
        "--workload", metavar="COMMAND", type=words, default=(), help="measure this short command in place of our work"
    )
    _add_budget(parser)
    _add_record(parser)


def _fill_preflight(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_output(parser, tuple(FORMATS))
    parser.add_argument(
        "--sample",
        metavar="SECONDS",
        type=sample_seconds,
        default=3.0,
        help="how long to look (default 3; 0: settings only)",
    )
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=calibration_seconds,
        default=3.0,
        help="how long to run the microbenchmark after that (default 3; 0: not at all)",
    )
    parser.add_argument(
        "--no-calibration",
        action="store_const",
        const=0.0,
        dest="calibration",
        help="run no microbenchmark: the verdict rests on settings and sample",
    )
    _add_budget(parser)
    _add_record(parser)
    parser.add_argument("--strict", action="store_true", help="warnings and unknowns make the verdict unstable")
    parser.add_argument("--exit-zero", action="store_true", help="report only: exit 0 whatever the verdict")


def _fill_show(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_output(parser, ("text", "json"))


def _fill_explain(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("id", metavar="ID", nargs="?", help="a check, such as tasks-on-target")
    what.add_argument("--schema", action="store_true", help="print the JSON Schema of `preflight --format json`")


def _fill_record(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_interval(parser, SUPPRESS)
    parser.add_argument("file", metavar="FILE", help="the recording to write")
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(0),
        default=60.0,
        help="how long (default 60; Ctrl-C ends it sooner)",
    )
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=calibration_seconds,
        default=0.0,
        help="also run the microbenchmark for so long at the end (default 0: not at all)",
    )
    parser.add_argument(
        "--identify", action="store_true", help="keep the host's name and the whole kernel command line in it"
    )


def _fill_screenshot(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_interval(parser, SUPPRESS)
    parser.add_argument("file", metavar="FILE", help="the picture to write: .svg, or .png (needs resvg-py)")
    parser.add_argument(
        "--size", metavar="COLUMNSxLINES", default="100x30", help="the terminal's size (default 100x30)"
    )
    parser.add_argument("--keys", metavar="KEYS", default="", help="keys to press first, such as s or question_mark,j")


_FILL = {
    "preflight": _fill_preflight,
    "calibrate": _fill_calibrate,
    "show": _fill_show,
    "explain": _fill_explain,
    "record": _fill_record,
    "screenshot": _fill_screenshot,
}


def build_parser() -> ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="noisewatch",
        description="Shows what disturbs the CPUs that a benchmark runs on, and says whether it may start.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"noisewatch {__version__}")
    _add_machine_options(parser, None)
    _add_interval(parser, 1.0)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        _FILL[name](commands.add_parser(name, help=summary, description=summary))
    return parser


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """The parsed command line. Raises UsageError."""
    return build_parser().parse_args(argv)


def command_of(arguments: Namespace) -> Callable[[Namespace], int]:
    """The function that runs the command and returns its exit status."""
    name = arguments.command or MONITOR
    run: Callable[[Namespace], int] = import_module(f"noisewatch.surfaces.cli.{name}").run
    return run
