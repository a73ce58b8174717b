"""Parses the command line. A command's module is imported only when the command is run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import takewhile

from noisewatch.errors import UsageError, quote
from noisewatch.surfaces.cli.help import COMMANDS
from noisewatch.surfaces.cli.parser import Parser
from noisewatch.surfaces.cli.parsers import PREFLIGHT, build_parsers

MONITOR, RUN = "monitor", "run"


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """Parse the command line, with defaults from the options file. Raise UsageError if either is invalid."""
    parser, commands = build_parsers()
    try:
        arguments, unknown = parser.parse_known_args(argv)
    except UsageError:  # the cause may be a misspelt option: argparse takes the word after it for an argument
        _refuse_misspelt_options(parser, commands, argv)
        raise
    if unknown:  # argparse itself would show the usage of the whole command line
        command = commands.get(arguments.command, parser)
        command.refuse_unknown(unknown)
        command.error(f"unexpected argument {quote(unknown[0])}")
    if arguments.command == PREFLIGHT and not arguments.no_config:
        arguments = _apply_options_file(parser, commands[PREFLIGHT], arguments, argv)
    arguments.words = argv
    return arguments


def _refuse_misspelt_options(parser: Parser, commands: Mapping[str, Parser], argv: Sequence[str]) -> None:
    """Raise UsageError for the first word that looks like an option of noisewatch, but is not one."""
    own = list(takewhile(lambda word: word != "--", argv))
    before = list(takewhile(lambda word: word not in commands, own))
    parser.refuse_unknown(before)
    name, *words = own[len(before) :] or [RUN]
    if name != RUN:  # words after `run` may belong to the command that it runs
        commands[name].refuse_unknown(words)


def _apply_options_file(
    parser: ArgumentParser, command: ArgumentParser, arguments: Namespace, argv: Sequence[str]
) -> Namespace:
    """Parse the command line again, with defaults from the options file; without a file return `arguments`."""
    from noisewatch.surfaces.cli.configuration import configure

    configured = configure(command, arguments.config)
    if configured is None:
        return arguments
    cpus, arguments = arguments.cpus, parser.parse_args(argv)
    arguments.configured_by, arguments.configured_words = configured
    arguments.cpus = arguments.cpus if cpus is None else cpus  # --cpus may come before the command
    return arguments


def command_named_in(words: Sequence[str]) -> str | None:
    """Return the first word that is a command's name, or None; the command line may be invalid."""
    return next((word for word in words if word in COMMANDS), None)


def command_of(arguments: Namespace) -> Callable[[Namespace], int]:
    """Return the function that runs the command and returns its exit status."""
    name = arguments.command or MONITOR
    run: Callable[[Namespace], int] = import_module(f"noisewatch.surfaces.cli.commands.{name}").run
    return run
