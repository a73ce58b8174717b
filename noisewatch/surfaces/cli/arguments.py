"""The command line's parser: the commands, their summaries and examples, and the options of most of them.

The many options of `preflight` and `run` are in `options/`, and so are shared options. A command's module is imported
only when the command is run.
"""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from noisewatch import __version__
from noisewatch.errors import UsageError
from noisewatch.patterns import regex
from noisewatch.surfaces.cli.options.preflight import fill_preflight
from noisewatch.surfaces.cli.options.run import fill_run
from noisewatch.surfaces.cli.options.shared import (
    MOST_AUTO_S,
    SHORTEST_CALIBRATION_S,
    SHORTEST_SAMPLE_S,
    USUAL_HISTORY,
    add_budget,
    add_idle_probe,
    add_interval,
    add_machine_options,
    add_output,
    add_record,
    add_tracer,
    or_auto,
    seconds,
    whole_number,
    words,
    zero_or_seconds,
)
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
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(0),
        default=60.0,
        help="duration (default 60; Ctrl-C ends it sooner)",
    )
    parser.add_argument(
        "--calibration",
        metavar="SECONDS",
        type=zero_or_seconds(SHORTEST_CALIBRATION_S),
        default=0.0,
        help="length of a microbenchmark at the end (default 0: none)",
    )
    parser.add_argument("--identify", action="store_true", help="include host name and full kernel command line")


def fill_screenshot(parser: ArgumentParser) -> None:
    """Add the options of `noisewatch screenshot`."""
    add_machine_options(parser, SUPPRESS)
    add_interval(parser, SUPPRESS)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="picture to write: .svg, or .png (needs resvg-py); or both"
    )
    parser.add_argument("--size", metavar="COLUMNSxLINES", default="100x30", help="terminal size (default 100x30)")
    parser.add_argument("--keys", metavar="KEYS", default="", help="keys to press first, such as s or question_mark,j")
    parser.add_argument(
        "--at",
        metavar="SECONDS",
        type=seconds(0.0),
        help="snapshot to show, in seconds from the start of the recording (default: the last)",
    )
    parser.add_argument(
        "--from",
        dest="begin_s",
        metavar="SECONDS",
        type=seconds(0.0),
        help="draw an animated SVG of the recording from there on",
    )
    parser.add_argument(
        "--to", dest="end_s", metavar="SECONDS", type=seconds(0.0), help="end of the animation (default: the end)"
    )
    parser.add_argument("--theme", choices=("dark", "light"), default="dark", help="colours (default dark)")


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
    parser.add_argument("--near", metavar="DEVICE", help="choose cores near this network device, disk or PCI address")
    parser.add_argument(
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
    parser.add_argument("--why", metavar="TEXT", help="reason to keep with `accept`")
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        default=SUPPRESS,
        help="show the entries of these target CPUs (default: those of the newest entry)",
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help=f"history to read (default: {USUAL_HISTORY})",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="all entries, not only the newest 20 (text)")
    add_output(parser, ("text", "json", "markdown", "svg"))
    parser.add_argument("--theme", choices=("dark", "light"), default="dark", help="colours of an SVG (default dark)")


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
    parser.add_argument(
        "--expect",
        metavar="FILE|LIST",
        help="hosts that should have reported: a file with one a line, or a list such as web1,web2",
    )
    parser.add_argument(
        "--max-age",
        metavar="AGE",
        type=_age,
        help="count reports as unknown that are older, such as 90min, 24h or 7d (default: any age counts)",
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR",
        help="compare with the verdicts there (default: with the one before it of the same host); hosts that are only "
        "there count as missing, unless --expect lists who should report",
    )
    parser.add_argument(
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
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=or_auto(seconds(SHORTEST_CALIBRATION_S)),
        default=5.0,
        help=f"total duration (default 5; auto: until the noise floor is known well enough, at most {MOST_AUTO_S:g}); "
        "with --under-load as long again",
    )
    parser.add_argument(
        "--settle",
        metavar="SECONDS",
        nargs="?",
        const=_SETTLE_S,
        type=seconds(LEAST_WORK_S),
        help="first work on all CPUs until their clocks are level, for SECONDS at most "
        f"({LEAST_WORK_S} or more, default {_SETTLE_S:g}), and tell when they had become level; a clock that is "
        f"level for less than {LEAST_S} does not count, as a turbo budget may last that long",
    )
    parser.add_argument("--against", metavar="LIST", help="CPUs to compare the target CPUs with")
    parser.add_argument(
        "--under-load",
        metavar="N",
        nargs="?",
        const=0,
        type=whole_number(1, _MOST_PROCESSES, " of processes"),
        help="calibrate again beside N busy processes, on all CPUs but isolated target CPUs (default one for each)",
    )
    parser.add_argument(
        "--workload",
        metavar="COMMAND",
        type=words,
        default=(),
        help="measure this command instead of the built-in work",
    )
    parser.add_argument(
        "--theme", choices=("dark", "light"), default="dark", help="colours of an SVG or PNG (default dark)"
    )
    add_budget(parser)
    add_record(parser)


MONITOR, PREFLIGHT, RUN = "monitor", "preflight", "run"

_COMMANDS = {
    "preflight": "check whether a benchmark may start: verdict and exit status",
    "plan": "propose target CPUs for this machine, and print what keeps everything else off them",
    "run": "run a command, and say of each repetition whether it was disturbed, and by whom",
    "calibrate": "measure the noise that the machine adds to a benchmark's samples",
    "show": "print topology, clocks and IRQs, without a verdict",
    "explain": "explain a check or a topic of benchmarking, or list them all",
    "history": "show how this machine's speed and noise developed, and what changed when they did",
    "compare": "show what differs between two verdicts, calibrations, recordings or receipts",
    "fleet": "make one table of the verdicts of many machines, the worst first",
    "trace": "trace the target CPUs and name the culprits",
    "record": "record the machine into a file that replays anywhere",
    "integrations": "write the files for engines that you already run, such as Slurm and Nagios",
    "completion": "print a shell completion script",
    "screenshot": "draw the monitor's screen to an SVG or PNG file",
}

_EPILOG = """\
Without a command noisewatch opens the monitor.

exit status of preflight: 0 stable, 1 unstable, 2 usage or internal error, 3 unknown
(--on-unknown fail: 1, pass: 0), 4 not stable within --wait (--format nagios: 0 OK, 1 WARNING,
2 CRITICAL, 3 UNKNOWN, errors included);
of run: that of its command; 125 for all errors of its own (noisewatch run --help);
of compare: 0 no difference in what blocks, 1 they differ there, 2 usage or input error, 3 unknown;
of fleet: that of the worst host: 1 unstable, 3 unknown (also: broken, missing or old reports), 0 stable;
of all other commands: 0 done, 2 usage or input error, 3 could not measure
"""

_EXAMPLES = {
    "preflight": """\
examples:
  noisewatch preflight --cpus 2-3 && taskset -c 2-3 ./benchmark
  noisewatch preflight --wait 300 --lock    retry for 5 minutes, then keep others from starting
  noisewatch preflight --fix-script fix.sh --undo-script undo.sh
  noisewatch preflight --expect 3600 --format json --output verdict.json
  noisewatch show --format machine --output machine.toml && noisewatch preflight --machine machine.toml
""",
    "calibrate": """\
examples:
  noisewatch calibrate --cpus 2-3 --duration 10
  noisewatch calibrate --cpus 3 --against 0    compare an isolated CPU with another one
  noisewatch calibrate --cpus 3 --under-load    whether isolation holds while all other CPUs are busy
  noisewatch calibrate --at 10ms --max-cv 0.5%    against a benchmark's own budget
  sudo noisewatch calibrate --tracer osnoise    name the culprits at a lower overhead
  noisewatch calibrate --against 0 --format svg --output noise.svg

exit status: 0 measured, whatever came of it; 2 usage or input error; 3 could not measure, or the
load did not run all the time; a command that is interrupted ends its load
""",
    "plan": """\
examples:
  noisewatch plan 2                         two cores: which, why, and what to do
  noisewatch plan 4 --near eth0             four cores near a network card
  noisewatch plan --cpus 2-5                what is wrong with these, and the same commands
  noisewatch plan 2 --format script >take.sh; noisewatch plan 2 --format script --undo >give-back.sh
  noisewatch plan 2 --format cmdline        what to add to the kernel command line; standard error says what to replace
  noisewatch plan 2 --format systemd        a service that isolates the CPUs while it runs, where the kernel can do so
""",
    "show": """\
examples:
  noisewatch show irqs -v                                  a row for each IRQ
  noisewatch show --format machine --output machine.toml   describe this machine, for preflight --machine
""",
    "history": """\
examples:
  noisewatch preflight --history              check, and remember what was measured
  noisewatch history                          where speed or noise moved, and what changed just then
  noisewatch history --cpus 2-3               of these CPUs, and not of those of the newest entry
  noisewatch history accept --why 'new BIOS'  from here on this is the machine

Of each set of CPUs up to 200 entries count: the newest 40, and older ones evenly over time.

exit status: 0 shown, also where there is no entry yet, or the machine is not as usual (`preflight
--history` judges that), or accepted; 2 usage or input error, also where there is no entry to accept
""",
    "compare": """\
examples:
  noisewatch compare before.json after.json         verdicts, calibrations or receipts, before and after a change
  noisewatch compare good-host.nw bad-host.nw       two machines by their recordings
  noisewatch compare golden.json now.json || exit 1

They differ in what blocks where a blocking check fails on one side but not on the other, or is unknown on one side but
answered on the other; and where a figure differs by more than chance (5% false alarms for all figures together) and by
as much as counts: 1% of speed or run time, 5% of a clock reading, twice the gaps or the noise floor. Facts that
differ are shown, and do not block. What was measured under load, or on the CPUs of --against, is compared by itself.

exit status: 0 no difference in what blocks; 1 they differ in what blocks; 2 usage or input error; 3 unknown: a blocking
check is ignored or missing on one side, or unknown on both; a figure was not measured on one side, or not in the same
way on both; speeds are too noisy to compare; or nothing that blocks is known to both sides
""",
    "fleet": """\
examples:
  noisewatch fleet verdicts/ --expect hosts.txt --max-age 24h
  noisewatch fleet today/ --baseline yesterday/ --format markdown --output fleet.md
  pdsh -w 'web[1-40]' 'noisewatch preflight --format json --output /shared/$(hostname).json'

exit status: that of the worst host: 1 unstable, 3 unknown, 0 stable. Reports that are broken, missing,
too old or from the future count as unknown; 2 is a usage or input error.
""",
    "screenshot": """\
examples:
  noisewatch screenshot --replay r.nw --size 120x34 overview.svg overview.png
  noisewatch screenshot --replay r.nw --at 12 --keys 3 --theme light irqs.svg
  noisewatch screenshot --replay r.nw --from 10 --to 30 demo.svg    an animated SVG, for a README
""",
}


class _Parser(ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]  # raises instead of exiting, as all errors do
        raise UsageError(f"{message} (see {self.prog} --help)")

    def format_help(self) -> str:
        """Return the help text, with the program's path in commands that need root."""
        from noisewatch.program import named_for_root  # only help needs it

        return named_for_root(super().format_help())


def _fill_show(parser: ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="?",
        choices=("all", "cpus", "topology", "clock", "irqs"),
        default="all",
        help="all, cpus, topology, clock or irqs (default all; other formats than text are always all)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="a row for each CPU and each IRQ (text)")
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json", "machine"))


def _fill_trace(parser: ArgumentParser) -> None:
    add_machine_options(parser, SUPPRESS)
    add_output(parser, ("text", "json"))
    parser.add_argument(
        "--duration",
        metavar="SECONDS",
        type=seconds(SHORTEST_SAMPLE_S),
        default=5.0,
        help="duration of the trace (default 5)",
    )
    add_tracer(parser)
    add_record(parser)


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
    parser.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="output format (default text)"
    )


def _fill_completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


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
    group.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    group.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal, to select text")


def build_parsers() -> tuple[ArgumentParser, Mapping[str, ArgumentParser]]:
    """Return the parser of the whole command line, and the parser of each command."""
    parser = _Parser(
        prog="noisewatch",
        description="Shows what disturbs the CPUs that a benchmark runs on, and says whether it may start.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"noisewatch {__version__}")
    add_machine_options(parser, None)
    add_interval(parser, 1.0)
    _add_screen(parser)
    add_idle_probe(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        raw = argparse.RawDescriptionHelpFormatter
        _FILL[name](
            commands.add_parser(
                name, help=summary, description=summary, epilog=_EXAMPLES.get(name), formatter_class=raw
            )
        )
    return parser, commands.choices


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """Parse the command line, with defaults from the configuration file. Raise UsageError."""
    parser, commands = build_parsers()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:  # argparse itself would show the usage of the whole command line
        commands.get(arguments.command, parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.command == PREFLIGHT and not arguments.no_config:
        return _configured(parser, commands[PREFLIGHT], arguments, argv)
    return arguments


def _configured(
    parser: ArgumentParser, command: ArgumentParser, arguments: Namespace, argv: Sequence[str]
) -> Namespace:
    """Parse the command line again, after the configuration file has set the defaults."""
    from noisewatch.surfaces.cli.configuration import configure

    file = configure(command, arguments.config)
    if file is None:
        return arguments
    cpus, arguments = arguments.cpus, parser.parse_args(argv)
    arguments.configured_by = file
    arguments.cpus = arguments.cpus if cpus is None else cpus  # --cpus may come before the command
    return arguments


def command_named_in(words: Sequence[str]) -> str | None:
    """Return the command of a command line that may be invalid: its first word that is a command, or None."""
    return next((word for word in words if word in _COMMANDS), None)


def command_of(arguments: Namespace) -> Callable[[Namespace], int]:
    """Return the function that runs the command and returns its exit status."""
    name = arguments.command or MONITOR
    run: Callable[[Namespace], int] = import_module(f"noisewatch.surfaces.cli.commands.{name}").run
    return run
