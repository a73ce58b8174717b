"""The commands and their options, as data. A command's module is imported only when it is run."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from noisewatch import __version__
from noisewatch.errors import UsageError
from noisewatch.judgement.rules import MICRO, PROFILES
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

MONITOR, PREFLIGHT = "monitor", "preflight"
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

exit status of preflight: 0 stable, 1 unstable, 2 usage or internal error, 3 unknown, 4 --wait ran out;
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
    parser.add_argument("--format", choices=formats, default=formats[0])
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


def _add_rules(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is asked, and how much it weighs")
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        default=MICRO,
        help="; ".join(f"{name}: {what}" for name, what in PROFILES.items()) + f" (default {MICRO})",
    )
    for name, what in (("--select", "ask only these checks"), ("--ignore", "do not ask these checks")):
        group.add_argument(name, metavar="LIST", action="append", default=[], help=f"{what} or areas")
    group.add_argument(
        "--severity", metavar="CHECK=LEVEL", action="append", default=[], help="blocking, warning or information"
    )
    group.add_argument(
        "--limit",
        metavar="CHECK[.KEY]=VALUE",
        action="append",
        default=[],
        help="another limit, such as target-cpu-busy=2%%",
    )
    group.add_argument(
        "--expect",
        metavar="SECONDS",
        type=seconds(0),
        help="how long the benchmark will take: what is scheduled until then is named",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="read options from there (default: the nearest noisewatch.toml, or pyproject.toml with [tool.noisewatch])",
    )
    group.add_argument("--no-config", action="store_true", help="read no file of options")
    parser.set_defaults(configured_by=None)


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
    _add_output(parser, ("text", "json"))
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
    _add_rules(parser)
    _add_budget(parser)
    _add_record(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=seconds(0),
        default=0.0,
        help="look again and again until the machine is fit, for so long at most (exit status 4: it never was)",
    )
    parser.add_argument(
        "--lock",
        action="store_true",
        help="take the machine for the process that calls this one, until it ends: nobody else may start",
    )
    for name, what in (("--fix-script", "fixes what failed"), ("--undo-script", "brings back what was read")):
        parser.add_argument(
            name,
            metavar="FILE",
            nargs="?",
            const="-",
            help=f"also write the shell script that {what} (without FILE: print it in place of the report)",
        )
    parser.add_argument("--strict", action="store_true", help="warnings and unknowns make the verdict unstable")
    parser.add_argument("--exit-zero", action="store_true", help="report only: exit 0 whatever the verdict")


def _fill_show(parser: ArgumentParser) -> None:
    _add_machine_options(parser, SUPPRESS)
    _add_output(parser, ("text", "json"))


def _fill_explain(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a check, such as tasks-on-target")


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


def build_parsers() -> tuple[ArgumentParser, Mapping[str, ArgumentParser]]:
    """The whole command line, and the parser of each command."""
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
    return parser, commands.choices


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """The parsed command line, on top of what a file says. Raises UsageError."""
    parser, commands = build_parsers()
    arguments = parser.parse_args(argv)
    if arguments.command == PREFLIGHT and not arguments.no_config:
        return _configured(parser, commands[PREFLIGHT], arguments, argv)
    return arguments


def _configured(
    parser: ArgumentParser, command: ArgumentParser, arguments: Namespace, argv: Sequence[str]
) -> Namespace:
    """The command line is parsed again once the file has set the defaults."""
    from noisewatch.surfaces.cli.configuration import configure

    file = configure(command, arguments.config)
    if file is None:
        return arguments
    cpus, arguments = arguments.cpus, parser.parse_args(argv)
    arguments.configured_by = file
    arguments.cpus = arguments.cpus if cpus is None else cpus  # it may stand before the command
    return arguments


def command_of(arguments: Namespace) -> Callable[[Namespace], int]:
    """The function that runs the command and returns its exit status."""
    name = arguments.command or MONITOR
    run: Callable[[Namespace], int] = import_module(f"noisewatch.surfaces.cli.{name}").run
    return run
