"""The command line's parser: the commands, and the options of most of them; `help.py` has their texts.

The many options of `preflight` and `run` are in `options/`, and so are shared options. A command's module is imported
only when the command is run.
"""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import takewhile

from noisewatch import __version__
from noisewatch.errors import UsageError, quoted
from noisewatch.patterns import regex
from noisewatch.surfaces.cli.help import COMMANDS, EPILOG, EXAMPLES, HelpByQuestion
from noisewatch.surfaces.cli.options.preflight import fill_preflight
from noisewatch.surfaces.cli.options.run import fill_run
from noisewatch.surfaces.cli.options.shared import (
    MACHINE,
    MEASUREMENT,
    MOST_AUTO_S,
    REPORT,
    SHORTEST_CALIBRATION_S,
    SHORTEST_SAMPLE_S,
    USUAL_HISTORY,
    add_budget,
    add_color,
    add_idle_probe,
    add_interval,
    add_machine_options,
    add_output,
    add_quiet,
    add_record,
    add_tracer,
    options_titled,
    or_auto,
    seconds,
    whole_number,
    words,
    zero_or_seconds,
)
from noisewatch.surfaces.cli.parser import Parser
from noisewatch.surfaces.output import AUTO
from noisewatch.surfaces.reports.plan.formats import PLAN_FORMATS
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS
from noisewatch.turbo import LEAST_S, LEAST_WORK_S


def fill_compare(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch compare`; the kind of either file is recognized by its content."""
    kinds = "a verdict, calibration or receipt (JSON, JSON Lines) or a recording"
    parser.add_argument("before", metavar="BEFORE", help=f"{kinds}, recognized by its content")
    parser.add_argument("after", metavar="AFTER", help="the file to compare it with, of the same kind or another")
    add_output(parser, ("text", "json", "markdown"))


def fill_record(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch record`."""
    add_machine_options(parser, SUPPRESS)
    add_interval(parser, SUPPRESS)
    parser.add_argument(
        "file", metavar="FILE", help="recording to write; an older recording is overwritten, no other file is"
    )
    options_titled(parser, MEASUREMENT).add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(0),
        default=60.0,
        help="duration (default 60; Ctrl-C ends it sooner)",
    )
    options_titled(parser, MEASUREMENT).add_argument(
        "--calibration",
        metavar="SECONDS",
        type=zero_or_seconds(SHORTEST_CALIBRATION_S),
        default=0.0,
        help="length of a microbenchmark at the end (default 0: none)",
    )
    options_titled(parser, REPORT).add_argument(
        "--identify", action="store_true", help="include host name and full kernel command line"
    )
    add_quiet(options_titled(parser, REPORT), ", nor what was recorded")


def fill_screenshot(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch screenshot`."""
    add_machine_options(parser, SUPPRESS)
    add_interval(parser, SUPPRESS)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="picture to write: .svg, or .png (needs resvg-py); or both"
    )
    picture = parser.add_argument_group("picture")
    picture.add_argument("--size", metavar="COLUMNSxLINES", default="100x30", help="terminal size (default 100x30)")
    picture.add_argument("--keys", metavar="KEYS", default="", help="keys to press first, such as s or question_mark,j")
    picture.add_argument(
        "--at",
        metavar="SECONDS",
        type=seconds(0.0),
        help="snapshot to show, in seconds from the start of the recording (default: the last)",
    )
    picture.add_argument(
        "--from",
        dest="begin_s",
        metavar="SECONDS",
        type=seconds(0.0),
        help="draw an animated SVG of the recording from there on",
    )
    picture.add_argument(
        "--to", dest="end_s", metavar="SECONDS", type=seconds(0.0), help="end of the animation (default: the end)"
    )
    picture.add_argument("--theme", choices=("dark", "light"), default="dark", help="colours (default dark)")


_MOST_DIGITS = 10


def fill_plan(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch plan`."""
    parser.add_argument(
        "count",
        metavar="COUNT",
        nargs="?",
        type=core_count,
        help="number of whole cores (default 1: a benchmark of one thread, which takes the least from everybody else)",
    )
    options_titled(parser, MACHINE).add_argument(
        "--near", metavar="DEVICE", help="choose cores near this network device, disk or PCI address"
    )
    options_titled(parser, REPORT).add_argument(
        "--undo",
        action="store_true",
        help="with --format script: the script that undoes the other one; write both before you run either",
    )
    add_machine_options(parser, SUPPRESS)
    add_output(parser, PLAN_FORMATS)


def core_count(text: str) -> int:
    """Parse a number of cores, 1 or more."""
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS or int(text) < 1:
        raise ArgumentTypeError(f"wanted a number of cores, from 1 on, found {text!r}")
    return int(text)


def fill_integrations(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch integrations`."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="engine (default: list them all)")
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", help="folder to write its files into (default: noisewatch-NAME, here)"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print its page: what it does, where the files go, what happens on a noisy machine, how to take it "
        "out again",
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there with other content")


def fill_history(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch history`."""
    parser.add_argument(
        "action",
        metavar="accept",
        nargs="?",
        choices=("accept",),
        help="accept the machine as it is now: what is usual is what is measured from now on (an error where "
        "nothing was remembered yet)",
    )
    history = parser.add_argument_group("history")
    history.add_argument("--why", metavar="TEXT", help="reason to keep with `accept`")
    history.add_argument(
        "--cpus",
        metavar="LIST",
        default=SUPPRESS,
        help="show the entries of these target CPUs (default: those of the newest entry)",
    )
    history.add_argument(
        "--file",
        metavar="FILE",
        help=f"history to read (default: {USUAL_HISTORY})",
    )
    options_titled(parser, REPORT).add_argument(
        "-v", "--verbose", action="store_true", help="all entries, not only the newest 20 (text)"
    )
    add_output(parser, ("text", "json", "markdown", "svg"))
    options_titled(parser, REPORT).add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of an SVG (default dark)"
    )


_AGE = regex(r"(\d{1,9}(?:\.\d{1,3})?) ?(s|min|m|h|d)")
_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def fill_fleet(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch fleet`."""
    parser.add_argument(
        "places",
        metavar="FILE|DIR",
        nargs="+",
        help="verdicts (preflight --format json or jsonl), and folders with them, at any depth: HOST.json or "
        "HOST/verdict.json, unless the verdict names its host (preflight --identify)",
    )
    hosts = parser.add_argument_group("hosts")
    hosts.add_argument(
        "--expect",
        metavar="FILE|LIST",
        help="hosts that should have reported: a file with one a line, or a list such as web1,web2",
    )
    hosts.add_argument(
        "--max-age",
        metavar="AGE",
        type=_age,
        help="count reports as unknown that are older, such as 90min, 24h or 7d (default: any age counts)",
    )
    hosts.add_argument(
        "--baseline",
        metavar="DIR",
        help="compare with the verdicts there (default: with the one before it of the same host); hosts that are only "
        "there count as missing, unless --expect lists who should report",
    )
    options_titled(parser, REPORT).add_argument(
        "-v", "--verbose", action="store_true", help="all hosts, not only the first 40 (text, markdown)"
    )
    add_output(parser, ("text", "markdown", "json", "prometheus"))


def _age(text: str) -> float:
    """Parse an age such as 90min, 24h or 7d; return seconds."""
    match = _AGE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise ArgumentTypeError(f"wanted an age such as 90min, 24h or 7d, found {text!r}")
    return float(match[1]) * _SECONDS[match[2]]


_SETTLE_S = 120.0
_MOST_PROCESSES = 4096


def fill_calibrate(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch calibrate`."""
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json", "pyperf", "markdown", "svg", "png"))
    group = options_titled(parser, MEASUREMENT)
    group.add_argument(
        "--duration",
        metavar="SECONDS",
        type=or_auto(seconds(SHORTEST_CALIBRATION_S)),
        default=5.0,
        help=f"total duration (default 5; auto: until the noise floor is known well enough, at most {MOST_AUTO_S:g}); "
        "with --under-load as long again",
    )
    group.add_argument(
        "--settle",
        metavar="SECONDS",
        nargs="?",
        const=_SETTLE_S,
        type=seconds(LEAST_WORK_S),
        help="first work on all CPUs until their clocks are level, for SECONDS at most "
        f"({LEAST_WORK_S} or more, default {_SETTLE_S:g}), and tell when they had become level; a clock that is "
        f"level for less than {LEAST_S} does not count, as a turbo budget may last that long",
    )
    group.add_argument("--against", metavar="LIST", help="CPUs to compare the target CPUs with")
    group.add_argument(
        "--under-load",
        metavar="N",
        nargs="?",
        const=0,
        type=whole_number(1, _MOST_PROCESSES, " of processes"),
        help="calibrate again beside N busy processes, on all CPUs but isolated target CPUs (default one for each)",
    )
    group.add_argument(
        "--workload",
        metavar="COMMAND",
        type=words,
        default=(),
        help="measure this command instead of the built-in work",
    )
    options_titled(parser, REPORT).add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of an SVG or PNG (default dark)"
    )
    add_budget(parser)
    add_record(parser)
    add_quiet(options_titled(parser, REPORT))


MONITOR, PREFLIGHT, RUN = "monitor", "preflight", "run"


def _fill_show(parser: ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="?",
        choices=("all", "cpus", "topology", "clock", "irqs"),
        default="all",
        help="all, cpus, topology, clock or irqs (default all; other formats than text are always all)",
    )
    options_titled(parser, REPORT).add_argument(
        "-v", "--verbose", action="store_true", help="a row for each CPU and each IRQ (text)"
    )
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json", "machine"))


def _fill_trace(parser: ArgumentParser) -> None:
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json"))
    options_titled(parser, MEASUREMENT).add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(SHORTEST_SAMPLE_S),
        default=5.0,
        help="duration of the trace (default 5)",
    )
    add_tracer(parser)
    add_record(parser)
    add_quiet(options_titled(parser, REPORT))


def _fill_explain(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help=f"a check, such as tasks-on-target; an area; a topic ({', '.join(TOPICS)}); or {ALL_TOPICS}, which lists "
        "these (default: a list of all checks and topics; as JSON of the checks alone)",
    )
    what.add_argument(
        "--schema",
        nargs="?",
        const="preflight",
        choices=("preflight", "plan", "run", "compare", "history"),
        help="print the JSON Schema of `--format json` of preflight, plan, compare or history, or of what `run` "
        "writes (json, jsonl)",
    )
    report = options_titled(parser, REPORT)
    report.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="output format (default text)"
    )
    add_color(report, SUPPRESS)


def _fill_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


_FILL = {
    "preflight": fill_preflight,
    "plan": fill_plan,
    "run": fill_run,
    "calibrate": fill_calibrate,
    "show": _fill_show,
    "explain": _fill_explain,
    "history": fill_history,
    "compare": fill_compare,
    "fleet": fill_fleet,
    "trace": _fill_trace,
    "record": fill_record,
    "integrations": fill_integrations,
    "completion": _fill_completion,
    "screenshot": fill_screenshot,
}


def _add_screen(parser: ArgumentParser) -> None:
    """Add the options of the monitor's screen."""
    group = parser.add_argument_group("the monitor's screen")
    group.add_argument(
        "--ascii", action="store_true", help="draw with ASCII characters only (default: where the locale is not UTF-8)"
    )
    add_color(group, AUTO)
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal, to select text")


def build_parsers() -> tuple[Parser, Mapping[str, Parser]]:
    """Return the parser of the whole command line, and the parser of each command."""
    parser = Parser(
        prog="noisewatch",
        description="Shows what disturbs the CPUs that a benchmark runs on, and says whether it may start.",
        epilog=EPILOG,
        formatter_class=HelpByQuestion,
    )
    parser._positionals.title = "commands"
    parser.add_argument("--version", action="version", version=f"noisewatch {__version__}")
    add_machine_options(parser, None)
    add_interval(parser, 1.0)
    _add_screen(parser)
    add_idle_probe(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        raw = argparse.RawDescriptionHelpFormatter
        _FILL[name](
            commands.add_parser(name, help=summary, description=summary, epilog=EXAMPLES.get(name), formatter_class=raw)
        )
    return parser, commands.choices


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """Parse the command line, with defaults from the configuration file. Raise UsageError."""
    parser, commands = build_parsers()
    try:
        arguments, unknown = parser.parse_known_args(argv)
    except UsageError:  # perhaps about the value of a misspelt option, which argparse takes for an argument
        _refuse_misspelt_options(parser, commands, argv)
        raise
    if unknown:  # argparse itself would show the usage of the whole command line
        command = commands.get(arguments.command, parser)
        command.refuse_unknown(unknown)
        command.error(f"unexpected argument {quoted(unknown[0])}")
    if arguments.command == PREFLIGHT and not arguments.no_config:
        arguments = _configured(parser, commands[PREFLIGHT], arguments, argv)
    arguments.words = argv
    return arguments


def _refuse_misspelt_options(parser: Parser, commands: Mapping[str, Parser], argv: Sequence[str]) -> None:
    """Raise UsageError for the first word that looks like an option of noisewatch and is not."""
    own = list(takewhile(lambda word: word != "--", argv))
    before = list(takewhile(lambda word: word not in commands, own))
    parser.refuse_unknown(before)
    name, *words = own[len(before) :] or [RUN]
    if name != RUN:  # its words may be those of the command that it runs
        commands[name].refuse_unknown(words)


def _configured(
    parser: ArgumentParser, command: ArgumentParser, arguments: Namespace, argv: Sequence[str]
) -> Namespace:
    """Parse the command line again, after the configuration file has set the defaults."""
    from noisewatch.surfaces.cli.configuration import configure

    configured = configure(command, arguments.config)
    if configured is None:
        return arguments
    cpus, arguments = arguments.cpus, parser.parse_args(argv)
    arguments.configured_by, arguments.configured_words = configured
    arguments.cpus = arguments.cpus if cpus is None else cpus  # --cpus may come before the command
    return arguments


def command_named_in(words: Sequence[str]) -> str | None:
    """Return the command of a command line that may be invalid: its first word that is a command, or None."""
    return next((word for word in words if word in COMMANDS), None)


def command_of(arguments: Namespace) -> Callable[[Namespace], int]:
    """Return the function that runs the command and returns its exit status."""
    name = arguments.command or MONITOR
    run: Callable[[Namespace], int] = import_module(f"noisewatch.surfaces.cli.commands.{name}").run
    return run
