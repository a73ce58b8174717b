"""Builds the parsers of all commands."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping

from noisewatch import __version__
from noisewatch.surfaces.cli.command_options import FILL_BY_COMMAND
from noisewatch.surfaces.cli.help import COMMANDS, EPILOG, EXAMPLES, HelpByQuestion
from noisewatch.surfaces.cli.options import MEASUREMENT, add_color, add_interval, add_machine, option_group
from noisewatch.surfaces.cli.parser import Parser
from noisewatch.surfaces.output import AUTO

PREFLIGHT = "preflight"


def _add_monitor(parser: ArgumentParser) -> None:
    """Add the options of the monitor."""
    screen = option_group(parser, "the monitor's screen")
    screen.flag("--ascii", what="draw with ASCII characters only (default if the locale is not UTF-8)")
    add_color(screen, AUTO)
    screen.flag("--no-mouse", what="leave the mouse to the terminal, to select text")
    option_group(parser, MEASUREMENT).flag(
        "--idle-probe",
        what="measure how much time idle target CPUs lose, by spinning on each for 2%% of the time (key S in the "
        "monitor)",
    )


def build_parsers() -> tuple[Parser, Mapping[str, Parser]]:
    """Return the parser of the whole command line, and the parsers of the commands by name."""
    parser = Parser(
        prog="noisewatch",
        description="Shows what disturbs the CPUs that a benchmark runs on, and whether the benchmark may start.",
        epilog=EPILOG,
        formatter_class=HelpByQuestion,
    )
    parser._positionals.title = "commands"
    parser.add_argument("--version", action="version", version=f"noisewatch {__version__}")
    add_machine(parser, None)
    add_interval(parser, 1.0)
    _add_monitor(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        epilog, raw = EXAMPLES.get(name), RawDescriptionHelpFormatter
        command = commands.add_parser(name, help=summary, description=summary, epilog=epilog, formatter_class=raw)
        FILL_BY_COMMAND[name](command)
    return parser, commands.choices
