"""`noisewatch completion SHELL`"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.surfaces.cli.arguments import build_parsers
from noisewatch.surfaces.cli.rules import areas
from noisewatch.surfaces.output import print_answer
from noisewatch.surfaces.reports.topics import ALL_TOPICS, TOPICS

_FILES = (
    "--sysroot",
    "--replay",
    "--output",
    "--record",
    "--machine",
    "--config",
    "--fix-script",
    "--undo-script",
    "file",
)


def run(arguments: Namespace) -> int:
    """Print the script that completes noisewatch's command line in the shell."""
    import shtab

    parser, commands = build_parsers()
    checks = [check.id for check in CATALOGUE]
    _offer(commands["explain"], "id", list(dict.fromkeys([*TOPICS, ALL_TOPICS, *areas(), *checks])))
    for option in ("--select", "--ignore"):
        _offer(commands["preflight"], option, [*checks, *areas()])
    for command_parser in (parser, *commands.values()):
        for name in _FILES:
            _complete_files(command_parser, name)
    print_answer(shtab.complete(parser, shell=arguments.shell))
    return 0


def _offer(parser: ArgumentParser, name: str, words: list[str]) -> None:
    for action in _called(parser, name):
        action.choices = words


def _complete_files(parser: ArgumentParser, name: str) -> None:
    import shtab

    for action in _called(parser, name):
        action.complete = shtab.DIRECTORY if name == "--sysroot" else shtab.FILE  # type: ignore[attr-defined]  # shtab's


def _called(parser: ArgumentParser, name: str) -> list[Action]:
    """Return the arguments with this name; argparse has no public way to list them."""
    return [action for action in parser._actions if name in action.option_strings or name == action.dest]
