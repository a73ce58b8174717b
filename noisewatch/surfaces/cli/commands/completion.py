"""The command `noisewatch completion SHELL`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.surfaces.cli.parsers import build_parsers
from noisewatch.surfaces.cli.rules import areas
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS

_FILES = ("FILE", "FILE|DIR", "FILE|LIST", "BEFORE", "AFTER", "OUT")


def run(arguments: Namespace) -> int:
    """Print the shell's completion script for noisewatch."""
    import shtab

    parser, commands = build_parsers()
    checks = [check.id for check in CATALOGUE]
    _offer(commands["explain"], "id", list(dict.fromkeys([*TOPICS, ALL_TOPICS, *areas(), *checks])))
    for option in ("--select", "--ignore"):
        _offer(commands["preflight"], option, [*checks, *areas()])
    for action in (action for command in (parser, *commands.values()) for action in command._actions):
        if action.metavar == "DIR" or action.metavar in _FILES:
            completion = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            action.complete = completion  # type: ignore[attr-defined]  # read by shtab
    print_answer(shtab.complete(parser, shell=arguments.shell))
    return 0


def _offer(parser: ArgumentParser, name: str, words: list[str]) -> None:
    """Offer these words as completions of the argument `name`; argparse has no public way to list arguments."""
    for action in parser._actions:
        if name in action.option_strings or name == action.dest:
            action.choices = words
